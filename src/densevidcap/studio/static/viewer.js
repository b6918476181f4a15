/* A result on the screen: the video, its sentences and its timeline move as one. */

import { writeAddress } from "./address.js";
import { ask, clipUrl } from "./api.js";
import { Chapters } from "./chapters.js";
import { percent, timeCode } from "./figures.js";
import { Controls } from "./controls.js";
import { Glow } from "./glow.js";
import { arrange } from "./outline.js";
import { Player } from "./player.js";
import { Sentences } from "./sentences.js";
import { Timeline } from "./timeline.js";

const byId = (id) => document.getElementById(id);

export class Viewer {
  #player;
  #timeline;
  #sentences;
  #chapters;
  #video = byId("video");
  #controls;
  #fail;
  #captions = [];
  #isFilm = false;
  #chosen = null; // rank of the sentence that was clicked on
  #glowing = null; // {word, rank} of the heat map that is asked for or shown
  #id = null; // of a clip on the server, null for a local file
  #isLibrary;
  choice; // what sentences are chosen by

  /* `fail` gets what went wrong. */
  constructor(fail, isLibrary) {
    this.#fail = fail;
    this.#isLibrary = isLibrary;
    this.#timeline = new Timeline(
      {
        lanes: byId("timeline"),
        now: byId("now"),
        sound: byId("sound"),
        overview: byId("overview"),
        piece: byId("piece"),
        nowOverall: byId("now-overall"),
        edges: byId("edges"),
      },
      (time) => this.#seek(time),
    );
    this.#chapters = new Chapters(byId("chapters"), byId("chapter-list"), (chapter) =>
      this.#enter(chapter));
    this.#sentences = new Sentences(byId("sentences"), byId("sentence-template"), (said, text) =>
      this.#correct(said, text));
    this.#player = new Player(this.#video, byId("canvas"), (time) => {
      this.#controls.follow(time);
      this.#timeline.follow(time);
      this.#chapters.follow(time);
      this.#sentences.follow(time);
    });
    this.#controls = new Controls(this.#video, this.#player);
    for (const part of [byId("sentences"), byId("timeline")]) this.#listen(part);
    byId("rejected-list").addEventListener("click", ({ target }) => {
      const said = target.closest("button")?.dataset.said;
      if (said !== undefined) this.#correct(said, undefined);
    });
    for (const event of ["pause", "seeked"]) {
      this.#video.addEventListener(event, () => this.#note());
    }
    document.addEventListener("keydown", (event) => this.#press(event));
  }

  /* A new clip: `footage` is the address of its video, null if there is none. */
  open(id, footage, result, { time = null, sentence = null, box = null }) {
    this.#id = null; // nothing is noted before all is there
    byId("clip-acts").hidden = id === null;
    byId("copied").textContent = "";
    const { width, height } = result.captions;
    byId("result").style.setProperty("--ratio", width / height || 16 / 9);
    this.#video.preload = result.captions.scenes ? "metadata" : "auto"; // a film is long
    if (footage === null) this.#video.removeAttribute("src");
    else this.#video.src = footage;
    scrollTo({ top: 0, behavior: "instant" });
    this.show(result, false);
    this.#hear(id, footage);
    const isThere = sentence !== null && this.#captions[sentence - 1] !== undefined;
    const chosen = isThere ? sentence - 1 : null;
    if (chosen !== null) this.#choose(chosen);
    if (time !== null) this.#player.point({ time, box });
    else if (chosen !== null) this.#seek(this.#captions[chosen].start);
    const block = this.#isFilm ? "start" : "nearest";
    if (chosen !== null) this.#sentences.reveal(chosen, block);
    else if (time !== null && this.#isFilm) this.#sentences.reveal(this.#findAfter(time), block);
    this.#id = id;
  }

  #seek(time) {
    this.#video.currentTime = time;
    // Before the picture is there, or where there is none.
    this.#player.draw(time);
  }

  /* To a chapter's first picture, and its first sentence. */
  #enter({ start }) {
    this.#seek(start);
    this.#sentences.reveal(this.#findAfter(start), "start");
  }

  /* The first sentence of a film that is told after a time, or at it; else the first of all. */
  #findAfter(time) {
    return Math.max(0, this.#captions.findIndex(({ end }) => end > time));
  }

  /* Something that nobody has to do anything about. */
  say(text) {
    byId("copied").textContent = text;
  }

  async #hear(id, footage) {
    this.#timeline.hear(null);
    if (id === null || footage === null) return;
    const answer = await fetch(clipUrl(id, "/sound")).catch(() => null);
    if (answer?.status === 200 && id === this.#id) this.#timeline.hear(clipUrl(id, "/sound"));
  }

  /* The address of what is seen, to be shared; the way back stays as it is. */
  #note() {
    if (this.#id === null || byId("result").hidden || !this.#video.paused) return;
    const sentence = this.#chosen === null ? null : this.#chosen + 1;
    const address = writeAddress(this.#id, { time: this.#video.currentTime || null, sentence });
    history.replaceState(null, "", address);
  }

  /* `text` instead of what the model said: the same approves, null leaves it out, undefined undoes. */
  async #correct(said, text) {
    const query = new URLSearchParams(this.choice.query);
    query.set("said", said);
    if (typeof text === "string") query.set("text", text);
    const method = text === undefined ? "DELETE" : "PUT";
    try {
      const chosen = this.#chosen;
      this.show(await ask(clipUrl(this.#id, `/correction?${query}`), { method }));
      if (chosen !== null && chosen < this.#captions.length) this.#choose(chosen);
    } catch (error) {
      this.#fail(error);
    }
  }

  /* Other captions of the same clip, or those of a new one. */
  show(result, isSame = true) {
    const arranged = arrange(result);
    const { captions, colours, rejected, usual, missing, film } = arranged;
    this.#captions = captions.captions;
    this.#isFilm = film !== null;
    byId("result").classList.toggle("film", film !== null);
    byId("result").classList.toggle("chaptered", film !== null && film.chapters.length > 0);
    byId("summary").hidden = !film?.summary;
    byId("summary").textContent = film?.summary ?? "";
    byId("reading").hidden = this.#captions.length === 0;
    byId("order").textContent = film
      ? "In order of time."
      : "Best first, then different ones.";
    byId("k-unit").textContent = film ? "a scene" : "sentences";
    byId("look").hidden = !this.#isLibrary || missing || Object.keys(usual).length > 0;
    byId("look-why").hidden = byId("look").hidden;
    byId("rejected").hidden = rejected.length === 0;
    byId("sentences").dataset.empty = rejected.length > 0
      ? "You rejected every sentence."
      : "Nothing to say: this looks like nothing the model has seen.";
    byId("rejected-title").textContent = `Rejected by you (${rejected.length})`;
    byId("rejected-list").replaceChildren(...rejected.map(renderRejected));
    const tracks = this.#captions.map(({ start, end, boxes }, rank) => ({
      ...{ rank, start, end, colour: colours[rank] },
      times: boxes.map(({ time }) => time),
      boxes: boxes.map(({ left, top, right, bottom }) => [left, top, right, bottom]),
    }));
    this.#sentences.show(arranged, isSame);
    this.#timeline.show(arranged);
    this.#chapters.show(film?.chapters ?? []);
    this.#controls.show(captions.duration, this.#isFilm);
    this.#player.show(tracks);
    this.#choose(null);
    this.#dim();
  }

  close() {
    this.#video.pause();
    this.#video.removeAttribute("src");
    this.#dim();
  }

  #listen(part) {
    const rankOf = ({ target }) => {
      const owner = target.closest("[data-rank]");
      return owner === null ? null : Number(owner.dataset.rank);
    };
    for (const event of ["pointerover", "focusin"]) {
      part.addEventListener(event, (e) => this.#isolate(rankOf(e) ?? this.#chosen));
    }
    // One that is being written keeps its box, wherever the pointer is.
    const written = () => rankOf({ target: document.activeElement.closest(".editing") ?? part });
    part.addEventListener("pointerleave", () => this.#isolate(written() ?? this.#chosen));
    part.addEventListener("focusout", () => this.#isolate(this.#chosen));
    part.addEventListener("click", (event) => {
      const rank = rankOf(event);
      if (event.target.closest(".acts, .edit") !== null) return;
      if (rank !== null) this.#click(rank, event.target.closest("button"));
    });
  }

  #click(rank, button) {
    if (button?.dataset.word) {
      this.#light(button.dataset.word, rank).catch(this.#fail);
    } else if (button?.dataset.evidence) {
      this.#choose(rank);
      this.#player.point(JSON.parse(button.dataset.evidence));
    } else if (rank === this.#chosen) {
      this.#choose(null);
    } else {
      this.#choose(rank);
      this.#player.playSpan(this.#captions[rank]);
    }
  }

  #choose(rank) {
    this.#chosen = rank;
    this.#isolate(rank);
    this.#note();
  }

  #isolate(rank) {
    this.#player.isolate(rank);
    this.#timeline.isolate(rank);
    this.#sentences.isolate(rank, this.#chosen);
  }

  async #light(word, rank) {
    if (word === this.#glowing?.word && rank === this.#glowing.rank) {
      this.#dim();
      return;
    }
    const wanted = (this.#glowing = { word, rank });
    this.#choose(rank); // its figure is told, so its box stays when the pointer leaves
    const { start, evidence } = this.#captions[rank];
    const glow = await Glow.load(this.#id, word, start);
    if (wanted !== this.#glowing) return;
    this.#player.glow(glow);
    const own = evidence.find((each) => each.word === word);
    // A picture that stands still may as well be the one that shows most.
    if (this.#video.paused) this.#video.currentTime = own?.box.time ?? glow.time;
    this.#sentences.markWord(word);
    byId("screen").classList.add("glowing");
    byId("scale").hidden = false;
    const here = own === undefined ? "not seen" : percent(own.probability);
    byId("glow").textContent = `“${word}”: ${here} in this sentence’s region;`
      + ` best ${percent(glow.peak)} at ${timeCode(glow.time)}`;
  }

  #dim() {
    this.#glowing = null;
    this.#player.glow(null);
    this.#sentences.markWord(null);
    byId("screen").classList.remove("glowing");
    byId("scale").hidden = true;
    byId("glow").textContent = "";
  }

  #press(event) {
    if (byId("result").hidden || event.ctrlKey || event.altKey || event.metaKey) return;
    const { target, key } = event;
    if (target.closest("input:not([type=range]), textarea, select, dialog")) return;
    const busy = target.closest("button, input, summary, a, video");
    if (key === "Escape") {
      this.#choose(null);
      this.#dim();
    } else if (key === " " && !busy) {
      this.#player.toggle();
    } else if (key === "ArrowDown" && !busy) {
      byId("sentences").querySelector("button")?.focus();
    } else if ((key === "ArrowLeft" || key === "ArrowRight") && !target.closest("input")) {
      this.#player.step((key === "ArrowLeft" ? -1 : 1) * (event.shiftKey ? 5 : 1));
    } else if (key === "j" || key === "k") {
      this.#walk(key === "j" ? 1 : -1);
    } else if (key === "J" || key === "K") {
      const chapter = this.#chapters.step(key === "J" ? 1 : -1);
      if (chapter !== undefined) this.#enter(chapter);
    } else if ("aex".includes(key) && this.#chosen !== null) {
      this.#sentences.act(this.#chosen, key);
    } else {
      return;
    }
    event.preventDefault();
  }

  /* To the next sentence or the one before, and to where it begins. */
  #walk(step) {
    const count = this.#captions.length;
    if (count === 0) return;
    const first = step > 0 ? -1 : count;
    const rank = Math.min(count - 1, Math.max(0, (this.#chosen ?? first) + step));
    this.#video.pause();
    this.#seek(this.#captions[rank].start);
    this.#choose(rank);
    this.#sentences.focus(rank);
  }
}

function renderRejected(said) {
  const item = document.createElement("li");
  const text = document.createElement("s");
  text.textContent = said;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet";
  button.textContent = "Undo";
  button.dataset.said = said;
  button.setAttribute("aria-label", `Undo: ${said}`);
  item.append(text, button);
  return item;
}
