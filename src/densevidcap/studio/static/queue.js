/* Clips on their way: those that this page still has to send, and those that wait at the server. */

import { ask, post, queueUrl } from "./api.js";
import { STAGES } from "./progress.js";

const byId = (id) => document.getElementById(id);
const MOST_SHOWN = 60;
const ORDER = ["working", "sending", "waiting", "unsent", "failed", "refused", "known", "done"];
const ENDED = new Set(["failed", "refused", "known", "done"]);
const NEWS = 2; // of which the first may have been on its way before the server knew of a move

export class Queue {
  jobs = new Map(); // all that the server has, by id
  #entries = []; // what is listed
  #moves = []; // {id, before, news} that what the server told may not have in it yet
  #sending = null;
  #changed;
  #limits;
  #isDrawing = false;

  /* `changed` is called when clips came or went; `limits` tells what fits. */
  constructor(limits, changed) {
    this.#limits = limits;
    this.#changed = changed;
    byId("queue-list").addEventListener("click", (event) => this.#click(event));
    byId("queue-clear").addEventListener("click", () => this.#clear());
  }

  /* Follows the server from now on. */
  follow() {
    let revision = null;
    const events = new EventSource("api/queue/events");
    events.onopen = () => (revision = null); // all is told again
    events.onmessage = ({ data }) => {
      const { jobs, gone, revision: now } = JSON.parse(data);
      const isFirst = revision === null;
      let isNews = isFirst || now !== revision;
      revision = now;
      if (isFirst) {
        const known = new Set(jobs.map(({ id }) => id));
        gone.push(...[...this.jobs.keys()].filter((id) => !known.has(id)));
      }
      for (const id of gone) {
        isNews ||= this.jobs.get(id)?.state === "done";
        this.jobs.delete(id);
        // What ended stays in sight until somebody clears it; what was stopped does not.
        const stays = new Set(["done", "known"]);
        this.#entries = this.#entries.filter((each) => each.id !== id || stays.has(each.state));
      }
      for (const job of jobs) {
        isNews ||= job.state === "done" && this.jobs.get(job.id)?.state !== "done";
        this.jobs.set(job.id, job);
        this.#take(job, isFirst);
      }
      for (const move of this.#moves) move.news += 1;
      this.#moves = this.#moves.filter(({ news }) => !(news >= NEWS));
      this.#draw();
      if (isNews) this.#changed();
    };
  }

  add(files) {
    for (const file of files) {
      const entry = { file, name: file.name, state: "unsent", share: 0, message: "" };
      if (file.size > this.#limits.max_bytes) {
        Object.assign(entry, {
          state: "refused",
          message: `${file.name}: too large; the limit is ${this.#limits.limits}`,
        });
      }
      this.#entries.push(entry);
    }
    this.#draw();
    this.#send();
  }

  #take(job, isFirst) {
    let entry = this.#entries.find(({ id }) => id === job.id);
    const sent = this.#sending?.entry;
    // The news of a clip may be faster than the answer to who sends it.
    if (entry === undefined && sent?.id === undefined && sent?.name === job.name) entry = sent;
    if (entry === undefined) {
      // What was done before this page was opened is among the clips already.
      if (job.state === "done" && isFirst) return;
      entry = { id: job.id };
      this.#entries.push(entry);
    }
    if (entry.state === "known" && job.state === "done") return;
    Object.assign(entry, job);
  }

  async #send() {
    if (this.#sending !== null) return;
    const entry = this.#entries.find(({ state }) => state === "unsent");
    if (entry === undefined) return;
    const stopping = new AbortController();
    this.#sending = { entry, stopping };
    entry.state = "sending";
    this.#draw();
    try {
      const { known, ...job } = await post(entry.file, (share) => {
        entry.share = share;
        this.#draw();
      }, stopping.signal);
      // Its events may have been faster than the answer.
      this.#entries = this.#entries.filter((each) => each === entry || each.id !== job.id);
      Object.assign(entry, this.jobs.get(job.id) ?? job);
      if (known) entry.state = "known";
      entry.file = null;
      if (entry.isUnwanted) await this.#withdraw(entry);
    } catch (error) {
      if (error.name === "AbortError") this.#drop(entry);
      else Object.assign(entry, { state: "refused", message: error.message });
    }
    this.#sending = null;
    this.#draw();
    this.#send();
  }

  #drop(entry) {
    this.#entries = this.#entries.filter((each) => each !== entry);
    this.#draw();
  }

  async #click({ target }) {
    const button = target.closest("button");
    if (button === null) return;
    const entry = this.#entries.find(({ key }) => key === button.closest("li").dataset.key);
    if (entry === undefined) return;
    try {
      await this[`_${button.dataset.act}`](entry);
    } catch (error) {
      entry.message = error.message;
    }
    this.#draw();
  }

  async _stop(entry) {
    if (this.#sending?.entry !== entry) await this.#withdraw(entry);
    else if (entry.share < 1) this.#sending.stopping.abort();
    else entry.isUnwanted = true; // the server has all of it, and tells its id in a moment
  }

  async #withdraw(entry) {
    if (entry.id !== undefined && !ENDED.has(entry.state)) {
      await ask(queueUrl(entry.id), { method: "DELETE" });
    }
    this.#drop(entry);
  }

  async _dismiss(entry) {
    if (entry.state === "failed") await ask(queueUrl(entry.id), { method: "DELETE" });
    this.#drop(entry);
  }

  async _retry(entry) {
    if (entry.state === "failed") {
      Object.assign(entry, await ask(queueUrl(entry.id), { method: "POST" }));
    } else {
      Object.assign(entry, { state: "unsent", message: "", share: 0 });
      this.#send();
    }
  }

  async _up(entry) {
    await this.#move(entry, -1);
  }

  async _down(entry) {
    await this.#move(entry, 1);
  }

  async #move(entry, step) {
    const peers = this.#sort().filter(({ state }) => state === entry.state);
    const place = peers.indexOf(entry) + step;
    if (place < 0 || place >= peers.length) return;
    if (entry.state === "waiting") {
      const pair = step < 0 ? [entry, peers[place]] : [peers[place], entry];
      const [id, before] = pair.map((each) => each.id);
      const move = { id, before, news: NaN }; // nothing is counted before the answer
      this.#moves.push(move);
      this.#draw();
      try {
        await ask(queueUrl(id, `?before=${encodeURIComponent(before)}`), { method: "PUT" });
        move.news = 0;
      } catch (error) {
        this.#moves = this.#moves.filter((each) => each !== move);
        throw error;
      }
    } else {
      const [one, other] = [entry, peers[place]].map((each) => this.#entries.indexOf(each));
      [this.#entries[one], this.#entries[other]] = [this.#entries[other], this.#entries[one]];
    }
  }

  #clear() {
    for (const entry of this.#entries.filter(({ state }) => ENDED.has(state))) {
      this._dismiss(entry).catch(() => null);
    }
  }

  #sort() {
    const rank = ({ state }) => ORDER.indexOf(state);
    const turns = this.#takeTurns();
    return [...this.#entries].sort((a, b) =>
      rank(a) - rank(b) || (a.state === "waiting" ? turns.get(a) - turns.get(b) : 0));
  }

  /* What waits, with how many clips are ahead: as the server told it last, and as it was moved since. */
  #takeTurns() {
    const waiting = this.#entries.filter(({ state }) => state === "waiting");
    waiting.sort((a, b) => a.ahead - b.ahead);
    const counts = waiting.map(({ ahead }) => ahead);
    for (const { id, before } of this.#moves) {
      const from = waiting.findIndex((each) => each.id === id);
      if (from === -1 || !waiting.some((each) => each.id === before)) continue;
      const [moved] = waiting.splice(from, 1);
      waiting.splice(waiting.findIndex((each) => each.id === before), 0, moved);
    }
    return new Map(waiting.map((entry, place) => [entry, counts[place]]));
  }

  /* At most once for each picture of the screen, however often something changes. */
  #draw() {
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    requestAnimationFrame(() => {
      this.#isDrawing = false;
      this.#render();
    });
  }

  #render() {
    const entries = this.#sort();
    const turns = this.#takeTurns();
    byId("queue").hidden = entries.length === 0;
    const left = entries.filter(({ state }) => !ENDED.has(state)).length;
    const done = entries.filter(({ state }) => state === "done" || state === "known").length;
    const bad = entries.length - left - done;
    const facts = [[left, "to go"], [done, "done"], [bad, "failed"]].filter(([count]) => count > 0);
    tell(byId("queue-facts"), facts.map(([count, what]) => `${count} ${what}`).join(", "));
    byId("queue-clear").hidden = entries.length === left;
    const list = byId("queue-list");
    const rows = new Map([...list.children].map((row) => [row.dataset.key, row]));
    const shown = entries.slice(0, MOST_SHOWN).map((entry) => {
      entry.key ??= crypto.getRandomValues(new Uint32Array(2)).join("-");
      const row = rows.get(entry.key) ?? renderRow(entry);
      const peers = entries.filter(({ state }) => state === entry.state);
      fillRow(row, { ...entry, ahead: turns.get(entry) }, peers.indexOf(entry), peers.length);
      return row;
    });
    // Rows that stay keep their focus: only what differs is moved.
    shown.forEach((row, place) => {
      if (list.children[place] !== row) list.insertBefore(row, list.children[place] ?? null);
    });
    while (list.children.length > shown.length) list.lastElementChild.remove();
    byId("queue-more").hidden = entries.length <= MOST_SHOWN;
    byId("queue-more").textContent = `and ${entries.length - MOST_SHOWN} more`;
  }
}

function renderRow({ key, name }) {
  const row = byId("queue-template").content.firstElementChild.cloneNode(true);
  row.dataset.key = key;
  row.querySelector(".name").textContent = name;
  for (const button of row.querySelectorAll("button")) {
    button.setAttribute("aria-label", `${button.title}: ${name}`);
  }
  return row;
}

function fillRow(row, entry, place, count) {
  const { state, stage, share, message, id, ahead } = entry;
  row.className = state;
  const link = row.querySelector(".name");
  if (id !== undefined && state !== "failed") link.href = `#${id}`;
  else link.removeAttribute("href");
  const words = {
    unsent: "waiting to be sent",
    sending: entry.isUnwanted ? "stopping" : share < 1 ? "sending" : "checking the file",
    waiting: ahead === 0 ? "next" : ahead === 1 ? "1 clip ahead" : `${ahead} clips ahead`,
    working: STAGES[stage] ?? "working",
    done: entry.sentence || "done",
    known: "was here already",
    failed: message,
    refused: message,
  };
  tell(row.querySelector(".state"), words[state]);
  const bar = row.querySelector("progress");
  bar.hidden = state !== "sending" && state !== "working";
  bar.value = share ?? 0;
  bar.setAttribute("aria-label", `${entry.name}: ${words[state]}`);
  const find = (act) => row.querySelector(`[data-act=${act}]`);
  const show = (act, isShown) => (find(act).hidden = !isShown);
  const canMove = (state === "waiting" || state === "unsent") && count > 1;
  show("up", canMove);
  show("down", canMove);
  // The first and the last keep the room of what they lack, so that arrows stand below each other.
  find("up").classList.toggle("absent", place === 0);
  find("down").classList.toggle("absent", place === count - 1);
  show("stop", !ENDED.has(state) && !entry.isUnwanted);
  show("retry", state === "failed" || (state === "refused" && entry.file));
  show("dismiss", ENDED.has(state));
}

function tell(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
