/* The ranked sentences: each word that has a heat map is a button, and so is each piece of
   evidence. A sentence is one stop of the Tab key; arrows lead to its words and to the others. */

import { holds } from "../report/boxes.js";

const PUNCTUATION = /^\W+|\W+$/g;
const percent = (share) => `${Math.round(100 * share)} %`;

export class Sentences {
  #list;
  #template;
  #captions = [];

  constructor(list, template) {
    this.#list = list;
    this.#template = template;
    list.addEventListener("keydown", (event) => this.#walk(event));
  }

  show(captions, colours, verdicts, words) {
    const focused = this.#list.contains(document.activeElement);
    this.#captions = captions;
    this.#list.replaceChildren(
      ...captions.map((caption, rank) =>
        this.#render(caption, rank, colours[rank], verdicts[rank], new Set(words))),
    );
    if (focused) this.#list.querySelector("button")?.focus();
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
    [...this.#list.children].forEach((item, rank) =>
      item.classList.toggle("silent", !holds(this.#captions[rank], time)));
  }

  #render(caption, rank, colour, verdict, words) {
    const item = this.#template.content.firstElementChild.cloneNode(true);
    const find = (selector) => item.querySelector(selector);
    item.dataset.rank = rank;
    item.style.setProperty("--colour", colour);
    item.setAttribute("aria-label", `Sentence ${rank + 1}`);
    find(".rank").textContent = rank + 1;
    find(".sentence").setAttribute("aria-label", `Play sentence ${rank + 1}: ${caption.text}`);
    find(".text").append(...this.#renderWords(caption, words));
    find(".span-text").textContent = `${caption.start.toFixed(1)}–${caption.end.toFixed(1)} s`;
    find("meter").value = caption.confidence;
    find(".confidence").textContent = `${verdict}, ${percent(caption.confidence)}`;
    find(".evidence").append(...caption.evidence.map((evidence) => renderEvidence(evidence)));
    return item;
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
  button.title = `seen best at ${box.time.toFixed(1)} s`;
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
