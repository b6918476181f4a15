/* A film's chapters beside it. They are one stop of the Tab key; arrows lead from one to the next. */

import { filmCode } from "./figures.js";
import { findSpan } from "./outline.js";

const STEPS = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1 };

export class Chapters {
  #panel;
  #list;
  #chapters = [];
  #current = null;

  /* `open` gets the chapter that was chosen. */
  constructor(panel, list, open) {
    this.#panel = panel;
    this.#list = list;
    list.addEventListener("click", ({ target }) => {
      const number = target.closest("button")?.dataset.chapter;
      if (number !== undefined) open(this.#chapters[number]);
    });
    list.addEventListener("keydown", (event) => this.#walk(event));
  }

  show(chapters) {
    this.#chapters = chapters;
    this.#current = null;
    this.#panel.hidden = chapters.length === 0;
    this.#list.replaceChildren(...chapters.map(render));
    this.follow(0);
  }

  follow(time) {
    if (this.#chapters.length === 0) return;
    const current = findSpan(this.#chapters, time);
    if (current === this.#current) return;
    this.#current = current;
    this.#buttons.forEach((button, number) => {
      const isCurrent = number === current;
      if (isCurrent) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    });
    // Whoever walks among them is not led away.
    if (!this.#list.contains(document.activeElement)) {
      this.#stopAt(current);
      this.#show(this.#buttons[current]);
    }
  }

  /* The one before or after that which is played; undefined beyond the ends. */
  step(by) {
    return this.#chapters[this.#current + by];
  }

  get #buttons() {
    return [...this.#list.querySelectorAll("button")];
  }

  #stopAt(number) {
    this.#buttons.forEach((button, each) => (button.tabIndex = each === number ? 0 : -1));
  }

  /* Within the list alone: what else is on the screen stays in its place. */
  #show(button) {
    const [own, all] = [button, this.#list].map((each) => each.getBoundingClientRect());
    this.#list.scrollTop += Math.min(0, own.top - all.top) + Math.max(0, own.bottom - all.bottom);
    this.#list.scrollLeft += Math.min(0, own.left - all.left) + Math.max(0, own.right - all.right);
  }

  #walk(event) {
    const buttons = this.#buttons;
    const last = buttons.length - 1;
    const here = buttons.indexOf(event.target);
    const ends = { Home: 0, End: last };
    const to = ends[event.key] ?? here + (STEPS[event.key] ?? NaN);
    if (here === -1 || Number.isNaN(to)) return;
    event.preventDefault();
    event.stopPropagation();
    const number = Math.min(last, Math.max(0, to));
    this.#stopAt(number);
    buttons[number].focus({ preventScroll: true });
    this.#show(buttons[number]);
  }
}

function render({ start, title }, number) {
  const item = document.createElement("li");
  const button = document.createElement("button");
  button.type = "button";
  button.dataset.chapter = number;
  button.tabIndex = number === 0 ? 0 : -1;
  const when = document.createElement("time");
  when.textContent = filmCode(start);
  const name = document.createElement("span");
  name.textContent = title;
  button.append(when, " ", name);
  item.append(button);
  return item;
}
