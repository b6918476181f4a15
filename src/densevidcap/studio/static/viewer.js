/* A result on the screen: the video, its sentences and its timeline move as one. */

import { Controls } from "./controls.js";
import { Glow } from "./glow.js";
import { Player } from "./player.js";
import { Sentences } from "./sentences.js";
import { Timeline } from "./timeline.js";

const byId = (id) => document.getElementById(id);

export class Viewer {
  #player;
  #timeline;
  #sentences;
  #video = byId("video");
  #controls;
  #fail;
  #captions = [];
  #chosen = null; // rank of the sentence that was clicked on
  #glowing = null; // the word whose heat map is asked for or shown
  #id = null; // of a clip on the server, null for a local file

  /* `fail` gets what went wrong. */
  constructor(fail) {
    this.#fail = fail;
    this.#timeline = new Timeline(byId("timeline"), byId("now"), (time) => {
      this.#video.currentTime = time;
    });
    this.#sentences = new Sentences(byId("sentences"), byId("sentence-template"));
    this.#player = new Player(this.#video, byId("canvas"), (time) => {
      this.#controls.follow(time);
      this.#timeline.follow(time);
      this.#sentences.follow(time);
    });
    this.#controls = new Controls(this.#video, this.#player);
    for (const part of [byId("sentences"), byId("timeline")]) this.#listen(part);
    document.addEventListener("keydown", (event) => this.#press(event));
  }

  /* A new clip: `footage` is the address of its video, null if there is none. */
  open(id, footage, result) {
    this.#id = id;
    const { width, height } = result.captions;
    byId("screen").style.setProperty("--ratio", width / height || 16 / 9);
    if (footage === null) this.#video.removeAttribute("src");
    else this.#video.src = footage;
    this.show(result);
  }

  /* Other captions of the same clip. */
  show({ captions, colours, verdicts, words }) {
    this.#captions = captions.captions;
    const tracks = this.#captions.map(({ start, end, boxes }, rank) => ({
      ...{ rank, start, end, colour: colours[rank] },
      times: boxes.map(({ time }) => time),
      boxes: boxes.map(({ left, top, right, bottom }) => [left, top, right, bottom]),
    }));
    this.#sentences.show(this.#captions, colours, verdicts, words);
    this.#timeline.show(this.#captions, colours, captions.duration);
    this.#controls.show(captions.duration);
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
    for (const event of ["pointerleave", "focusout"]) {
      part.addEventListener(event, () => this.#isolate(this.#chosen));
    }
    part.addEventListener("click", (event) => {
      const rank = rankOf(event);
      if (rank !== null) this.#click(rank, event.target.closest("button"));
    });
  }

  #click(rank, button) {
    if (button?.dataset.word) {
      this.#light(button.dataset.word, this.#captions[rank].start).catch(this.#fail);
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
  }

  #isolate(rank) {
    this.#player.isolate(rank);
    this.#timeline.isolate(rank);
    this.#sentences.isolate(rank, this.#chosen);
  }

  async #light(word, time) {
    if (word === this.#glowing) {
      this.#dim();
      return;
    }
    this.#glowing = word;
    const glow = await Glow.load(this.#id, word, time);
    if (word !== this.#glowing) return;
    this.#player.glow(glow);
    // A picture that stands still may as well be the one that shows most.
    if (this.#video.paused) this.#video.currentTime = glow.time;
    this.#sentences.markWord(word);
    byId("screen").classList.add("glowing");
    byId("glow").textContent =
      `“${word}” glows where it is seen, at most ${Math.round(100 * glow.peak)} %`;
  }

  #dim() {
    this.#glowing = null;
    this.#player.glow(null);
    this.#sentences.markWord(null);
    byId("screen").classList.remove("glowing");
    byId("glow").textContent = "";
  }

  #press(event) {
    if (byId("result").hidden || event.ctrlKey || event.altKey || event.metaKey) return;
    const busy = event.target.closest("button, input, summary, a, video");
    if (event.key === "Escape") {
      this.#choose(null);
      this.#dim();
    } else if (event.key === " " && !busy) {
      this.#player.toggle();
    } else if (event.key === "ArrowDown" && !busy) {
      byId("sentences").querySelector("button")?.focus();
    } else {
      return;
    }
    event.preventDefault();
  }
}
