/* The ranked sentences: each word that has a heat map is a button, and so is each piece of
   evidence. A sentence is one stop of the Tab key; arrows lead to its words and to the others.
   What a person says of it stands beside what the model said. */

import { holds } from "../report/boxes.js";
import { timeCode } from "./clock.js";

const PUNCTUATION = /^\W+|\W+$/g;
const percent = (share) => `${Math.round(100 * share)} %`;

export class Sentences {
  #list;
  #template;
  #captions = [];
  #notes = [];
  #correct;

  /* `correct` gets a sentence of the model's and what a person says of it. */
  constructor(list, template, correct) {
    this.#list = list;
    this.#template = template;
    this.#correct = correct;
    list.addEventListener("keydown", (event) => this.#walk(event));
    list.addEventListener("click", ({ target }) => {
      const button = target.closest("[data-act]");
      if (button !== null) this.act(Number(button.closest("li").dataset.rank), button.dataset.act);
    });
  }

  /* `notes` is empty where nothing can be put right. */
  show(captions, colours, verdicts, words, notes = []) {
    const focused = document.activeElement.closest("#sentences li")?.dataset.rank;
    this.#captions = captions;
    this.#notes = notes;
    const known = new Set(words);
    this.#list.replaceChildren(
      ...captions.map((caption, rank) =>
        this.#render(caption, rank, colours[rank], verdicts[rank], known)),
    );
    if (focused !== undefined) this.focus(Math.min(focused, captions.length - 1));
  }

  focus(rank) {
    this.#list.children[rank]?.querySelector(".sentence").focus();
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
    [...this.#list.children].forEach((item, rank) => {
      item.classList.toggle("chosen", rank === chosen);
      item.classList.toggle("shown", rank === shown);
      item.querySelector(".sentence").setAttribute("aria-pressed", String(rank === chosen));
    });
  }

  markWord(word) {
    for (const button of this.#list.querySelectorAll("[data-word]")) {
      button.setAttribute("aria-pressed", String(button.dataset.word === word));
    }
  }

  follow(time) {
    [...this.#list.children].forEach((item, rank) => {
      // While the list is made anew, it may be longer than what it is made of.
      const caption = this.#captions[rank];
      item.classList.toggle("silent", caption === undefined || !holds(caption, time));
    });
  }

  #render(caption, rank, colour, verdict, words) {
    const item = this.#template.content.firstElementChild.cloneNode(true);
    const find = (selector) => item.querySelector(selector);
    item.dataset.rank = rank;
    item.style.setProperty("--colour", colour);
    find(".rank").textContent = rank + 1;
    find(".sentence").setAttribute("aria-label", `Play sentence ${rank + 1}: ${caption.text}`);
    find(".text").append(...this.#renderWords(caption, words));
    find(".span-text").textContent = `${timeCode(caption.start)}–${timeCode(caption.end)}`;
    find("meter").value = caption.confidence;
    find("meter").setAttribute("aria-label", "Confidence");
    find(".confidence").textContent = `${verdict}, ${percent(caption.confidence)}`;
    this.#renderNote(find, this.#notes[rank]);
    find(".evidence").append(...caption.evidence.map((evidence) => renderEvidence(evidence)));
    return item;
  }

  #renderNote(find, note) {
    find(".acts").hidden = note === undefined;
    const mark = note?.mark ?? "";
    if (mark !== "") {
      find("meter").hidden = true;
      find(".confidence").textContent = mark === "approved" ? "approved by you" : "changed by you";
    }
    find(".was").hidden = mark !== "changed";
    find(".was").textContent = mark === "changed" ? `The model said: ${note.said}` : "";
    find("[data-act=a]").setAttribute("aria-pressed", String(mark === "approved"));
    find("[data-act=a]").hidden = mark === "changed";
    find("[data-act=undo]").hidden = mark !== "changed";
  }

  #edit(rank) {
    const item = this.#list.children[rank];
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
        element.title = "without evidence in its region";
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
      (across < 0 ? item.previousElementSibling : item.nextElementSibling)
        ?.querySelector(".sentence")
        .focus();
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
