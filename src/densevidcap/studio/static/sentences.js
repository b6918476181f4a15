/* The sentences, ranked or scene by scene: each word that has a heat map is a button, and so is each
   piece of evidence. A sentence is one stop of the Tab key; arrows lead to its words and to the others.
   What a person says of it stands beside what the model said. */

import { holds } from "../report/boxes.js";
import { filmCode, percent, timeCode } from "./figures.js";
import { Rows } from "./rows.js";

const PUNCTUATION = /^\W+|\W+$/g;

export class Sentences {
  #list;
  #rows;
  #template;
  #captions = [];
  #notes = [];
  #scenes = []; // of each caption of a film
  #correct;
  #render; // gets a rank
  #time = 0;
  #shown = null;
  #chosen = null;
  #word = null;

  /* `correct` gets a sentence of the model's and what a person says of it. */
  constructor(list, template, correct) {
    this.#list = list;
    this.#template = template;
    this.#correct = correct;
    this.#rows = new Rows(list, (rank) => this.#dress(this.#render(rank), rank));
    list.addEventListener("keydown", (event) => this.#walk(event));
    list.addEventListener("click", ({ target }) => {
      const button = target.closest("[data-act]");
      if (button !== null) this.act(Number(button.closest("li").dataset.rank), button.dataset.act);
    });
  }

  /* What `arrange` gave; `notes` is empty where nothing can be put right. */
  show({ captions: { captions }, colours, verdicts, words, notes, scenes }, isSame) {
    const focused = document.activeElement.closest("#sentences li")?.dataset.rank;
    this.#captions = captions;
    this.#notes = notes;
    this.#scenes = scenes;
    const known = new Set(words);
    this.#render = (rank) =>
      this.#renderRow(captions[rank], rank, colours[rank], verdicts[rank], known);
    this.#rows.show(captions.length, isSame);
    if (focused !== undefined) this.focus(Math.min(focused, captions.length - 1));
  }

  focus(rank) {
    this.#rows.reveal(rank)?.querySelector(".sentence").focus({ preventScroll: true });
  }

  /* Into sight, without the focus; `block` is of scrollIntoView. */
  reveal(rank, block) {
    this.#rows.reveal(rank, block);
  }

  /* a approves, e edits, x leaves out; the same again undoes it. */
  act(rank, key) {
    const note = this.#notes[rank];
    if (note === undefined) return;
    const { text } = this.#captions[rank];
    if (key === "e") this.#edit(rank);
    else if (key === "x") this.#correct(text, null);
    else if (key === "undo" || note.mark === "approved") this.#correct(note.said, undefined);
    else this.#correct(text, text);
  }

  /* `chosen` stays when the pointer leaves; `shown` is the one isolated just now. */
  isolate(shown, chosen) {
    [this.#shown, this.#chosen] = [shown, chosen];
    for (const [rank, item] of this.#rows.entries) this.#dress(item, rank);
  }

  markWord(word) {
    this.#word = word;
    for (const [, item] of this.#rows.entries) this.#markWords(item);
  }

  follow(time) {
    this.#time = time;
    for (const [rank, item] of this.#rows.entries) this.#pale(item, rank);
  }

  /* As all is just now: rows come and go. */
  #dress(item, rank) {
    item.classList.toggle("chosen", rank === this.#chosen);
    item.classList.toggle("shown", rank === this.#shown);
    item.querySelector(".sentence").setAttribute("aria-pressed", String(rank === this.#chosen));
    this.#pale(item, rank);
    this.#markWords(item);
    return item;
  }

  #pale(item, rank) {
    item.classList.toggle("silent", !holds(this.#captions[rank], this.#time));
  }

  #markWords(item) {
    for (const button of item.querySelectorAll("[data-word]")) {
      button.setAttribute("aria-pressed", String(button.dataset.word === this.#word));
    }
  }

  #renderRow(caption, rank, colour, verdict, words) {
    const item = this.#template.content.firstElementChild.cloneNode(true);
    const find = (selector) => item.querySelector(selector);
    const code = this.#scenes.length > 0 ? filmCode : timeCode;
    item.dataset.rank = rank;
    item.style.setProperty("--colour", colour);
    this.#renderScene(item, rank);
    find(".rank").textContent = rank + 1;
    find(".sentence").setAttribute("aria-label", `Play sentence ${rank + 1}: ${caption.text}`);
    find(".text").append(...this.#renderWords(caption, words));
    find(".span-text").textContent = `${code(caption.start)}–${code(caption.end)}`;
    find("meter").value = caption.confidence;
    find("meter").setAttribute("aria-label", "Confidence");
    find(".confidence").textContent = `${percent(caption.confidence)} ${verdict}`;
    this.#renderNote(find, this.#notes[rank]);
    find(".evidence").append(...caption.evidence.map((evidence) => renderEvidence(evidence)));
    return item;
  }

  /* Above the first sentence of a scene. */
  #renderScene(item, rank) {
    const scene = this.#scenes[rank];
    const heading = item.querySelector(".scene");
    if (scene === undefined || scene.number === this.#scenes[rank - 1]?.number) {
      heading.remove();
      return;
    }
    item.classList.add("opening");
    const when = document.createElement("span");
    when.textContent = `${filmCode(scene.start)}–${filmCode(scene.end)}`;
    heading.append(`Scene ${scene.number} of ${scene.of}`, " ", when);
  }

  #renderNote(find, note) {
    find(".acts").hidden = note === undefined;
    const mark = note?.mark ?? "";
    if (mark !== "") {
      find("meter").hidden = true;
      find(".confidence").textContent = mark === "approved" ? "accepted by you" : "edited by you";
    }
    find(".was").hidden = mark !== "changed";
    find(".was").textContent = mark === "changed" ? `The model said: ${note.said}` : "";
    find("[data-act=a]").setAttribute("aria-pressed", String(mark === "approved"));
    find("[data-act=a]").hidden = mark === "changed";
    find("[data-act=undo]").hidden = mark !== "changed";
  }

  #edit(rank) {
    const item = this.#rows.reveal(rank);
    const { text } = this.#captions[rank];
    if (item.querySelector(".edit") !== null) return;
    const form = document.getElementById("edit-template").content.firstElementChild.cloneNode(true);
    const field = form.querySelector("textarea");
    const close = () => {
      form.remove();
      item.classList.remove("editing");
      this.focus(rank);
    };
    field.value = text;
    form.querySelector("button[type=button]").addEventListener("click", close);
    form.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Escape") close();
      if (event.key === "Enter" && !event.shiftKey && event.target === field) {
        event.preventDefault();
        form.requestSubmit();
      }
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const said = field.value.trim().replace(/\s+/g, " ");
      close();
      if (said !== "" && said !== text) this.#correct(text, said);
    });
    item.classList.add("editing");
    item.querySelector(".text").after(form);
    field.focus();
    field.select();
  }

  #renderWords({ text, unsupported }, words) {
    const missing = new Set(unsupported);
    return text.split(/(\s+)/).map((piece) => {
      const word = piece.replace(PUNCTUATION, "").toLowerCase();
      if (!words.has(word) && !missing.has(word)) return piece;
      const element = document.createElement(words.has(word) ? "button" : "span");
      element.textContent = piece;
      if (missing.has(word)) {
        element.className = "unsupported";
        element.title = "not seen in this sentence’s region";
      }
      if (words.has(word)) {
        element.type = "button";
        element.tabIndex = -1;
        element.dataset.word = word;
        element.setAttribute("aria-pressed", "false");
      }
      return element;
    });
  }

  #walk(event) {
    const item = event.target.closest("li");
    const along = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const across = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (item === null || (along ?? across) === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    if (across !== undefined) {
      this.focus(Number(item.dataset.rank) + across);
      return;
    }
    const buttons = [...item.querySelectorAll("button")];
    buttons[buttons.indexOf(document.activeElement) + along]?.focus();
  }
}

function renderEvidence({ word, probability, box }) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "word";
  button.tabIndex = -1;
  button.title = `seen best at ${timeCode(box.time)}`;
  button.dataset.evidence = JSON.stringify({
    time: box.time,
    box: [box.left, box.top, box.right, box.bottom],
  });
  button.style.setProperty("--share", probability);
  const share = document.createElement("small");
  share.textContent = percent(probability);
  button.append(word, " ", share);
  return button;
}
