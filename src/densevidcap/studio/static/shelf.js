/* The clips that there are: pictures with their first sentences, filtered, sorted, page by page. */

import { ask, clipUrl } from "./api.js";
import { confirm, offerUndo } from "./ask.js";
import { percent, timeCode } from "./figures.js";

const byId = (id) => document.getElementById(id);
const PAGE = 48;

const count = (clips) => `${clips} ${clips === 1 ? "clip" : "clips"}`;

export class Shelf {
  #library; // whether there is one
  #list; // gives the jobs of a studio without one
  #offset = 0;
  #hidden = new Set(); // deleted, but not yet at the server
  #asked = 0;

  constructor(library, listJobs) {
    this.#library = library !== null;
    this.#list = listJobs;
    byId("shelf-title").textContent = library ?? "Your clips";
    if (this.#library) byId("shelf-title").append(" ", mark("library"));
    for (const id of ["sort", "show"]) byId(id).closest("label").hidden = !this.#library;
    let timer = null;
    byId("tools").addEventListener("submit", (event) => event.preventDefault());
    byId("tools").addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => this.refresh(0), 150);
    });
    byId("before").addEventListener("click", () => this.#turn(-PAGE));
    byId("after").addEventListener("click", () => this.#turn(PAGE));
    byId("cards").addEventListener("click", (event) => this.#click(event));
  }

  /* Shows what is there now; the last question's answer counts. */
  async refresh(offset = this.#offset) {
    const number = (this.#asked += 1);
    const page = await this.#ask(offset);
    if (number !== this.#asked) return page;
    if (page.clips.length === 0 && offset > 0) {
      return this.refresh(Math.max(0, Math.floor((page.fitting - 1) / PAGE) * PAGE));
    }
    this.#offset = offset;
    // Before anything is put right there is nothing to learn from.
    byId("train").hidden = !page.corrected;
    const isFiltered = byId("filter").value !== "" || byId("show").value !== "all";
    byId("shelf").hidden = page.total === 0 && !isFiltered;
    byId("cards").replaceChildren(...page.clips.map((clip) => this.#render(clip)));
    byId("none").hidden = page.clips.length > 0;
    const last = offset + page.clips.length;
    byId("range").textContent = page.fitting > PAGE
      ? `${offset + 1}–${last} of ${page.fitting}`
      : count(page.fitting);
    byId("shelf-count").textContent = page.fitting === page.total
      ? count(page.total)
      : `${page.fitting} of ${count(page.total)}`;
    byId("pages").hidden = page.fitting <= PAGE;
    byId("before").disabled = offset === 0;
    byId("after").disabled = last >= page.fitting;
    return page;
  }

  #turn(step) {
    this.refresh(Math.max(0, this.#offset + step));
    byId("shelf").scrollIntoView({ block: "start" });
  }

  async #ask(offset) {
    const words = byId("filter").value;
    if (this.#library) {
      const query = { words, sort: byId("sort").value, show: byId("show").value, offset, most: PAGE };
      return ask(`api/library?${new URLSearchParams(query)}`);
    }
    const wanted = words.toLowerCase().split(/\s+/);
    const done = this.#list().filter(({ id, state }) => state === "done" && !this.#hidden.has(id));
    const fitting = done
      .filter(({ name, sentence }) =>
        wanted.every((word) => `${name} ${sentence}`.toLowerCase().includes(word)))
      .sort((one, other) => other.created - one.created);
    const clips = fitting.slice(offset, offset + PAGE).map(({ id, name, sentence }) =>
      ({ id, name, text: sentence, corrected: 0, missing: false }));
    return { total: done.length, fitting: fitting.length, clips };
  }

  #render(clip) {
    const item = byId("card-template").content.firstElementChild.cloneNode(true);
    const find = (selector) => item.querySelector(selector);
    const isDeleted = this.#library && byId("show").value === "deleted";
    item.dataset.id = clip.id;
    item.dataset.name = clip.name;
    if (!isDeleted) {
      find("a").href = `#${clip.id}`;
      if (!clip.missing) find("img").src = clipUrl(clip.id, "/picture");
    }
    find(".length").textContent = clip.duration ? timeCode(clip.duration, 0) : "";
    find(".said").textContent = clip.text || "Nothing to say about this clip.";
    find(".name").textContent = clip.name;
    const facts = [];
    if (clip.missing) facts.push("file is gone");
    if (clip.corrected) facts.push(`${clip.corrected} checked`);
    else if (clip.verdict && clip.text && !isDeleted) facts.push(`${percent(clip.confidence)} ${clip.verdict}`);
    find(".more").textContent = facts.join(" · ");
    for (const button of item.querySelectorAll("button")) {
      button.setAttribute("aria-label", `${button.textContent}: ${clip.name}`);
      button.hidden = isDeleted === (button.dataset.act === "delete");
    }
    return item;
  }

  async #click({ target }) {
    const button = target.closest("button");
    if (button === null) return;
    const { id, name } = button.closest("li").dataset;
    const act = button.dataset.act;
    if (act === "restore") {
      await ask(clipUrl(id, "/restore"), { method: "POST" });
      await this.refresh();
    } else if (act === "forget") {
      const text = "Its sentences and your corrections will be gone and cannot be restored.";
      if (!(await confirm(`Delete ${name} for good?`, text, "Delete for good"))) return;
      await ask(clipUrl(id, "?forever=true"), { method: "DELETE" });
      await this.refresh();
    } else {
      await this.remove(id, name);
    }
  }

  /* Asks, deletes, and can undo it; whether it was deleted. */
  async remove(id, name) {
    const text = this.#library
      ? "It moves to “Deleted”, where you can restore it. Your own file stays where it is."
      : "The clip and its sentences are removed from this studio.";
    if (!(await confirm(`Delete ${name}?`, text, "Delete"))) return false;
    if (this.#library) {
      await ask(clipUrl(id), { method: "DELETE" });
      offerUndo(`Deleted ${name}.`, async () => {
        await ask(clipUrl(id, "/restore"), { method: "POST" });
        await this.refresh();
      });
    } else {
      // There is no way back at the server, so it hears of it when nobody can undo it any more.
      this.#hidden.add(id);
      offerUndo(
        `Deleted ${name}.`,
        () => {
          this.#hidden.delete(id);
          this.refresh();
        },
        { later: () => fetch(clipUrl(id), { method: "DELETE", keepalive: true }), seconds: 8 },
      );
    }
    await this.refresh();
    byId("shelf-title").focus();
    return true;
  }
}

/* What something is, paler than its name. */
function mark(text) {
  const element = document.createElement("span");
  element.textContent = text;
  return element;
}
