/* How many sentences, how sure, how different, and in which format. */

import { ask, clipUrl } from "./api.js";
import { percent } from "./figures.js";

const byId = (id) => document.getElementById(id);
/* Each slider, with how its value is told. What nobody moved is left to the model. */
const SLIDERS = {
  k: (value) => value,
  sure: percent,
  diversity: (value) => Number(value).toFixed(1),
};

export class Choice {
  #id = null;
  #formats;
  #moved = new Set();
  #asked = new AbortController();

  /* `show` gets each new result, `fail` what went wrong. */
  constructor(formats, show, fail) {
    this.#formats = formats;
    byId("sliders").addEventListener("input", async ({ target }) => {
      this.#moved.add(target.id);
      this.#tell();
      try {
        show(await this.ask());
      } catch (error) {
        if (error.name !== "AbortError") fail(error);
      }
    });
    const menu = byId("downloads");
    document.addEventListener("click", ({ target }) => {
      if (target.closest("#downloads summary") === null) menu.open = false;
    });
    menu.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !menu.open) return;
      event.stopPropagation();
      menu.open = false;
      menu.querySelector("summary").focus();
    });
    byId("choice").addEventListener("submit", (event) => event.preventDefault());
  }

  /* Null for a result without a clip on the server: there is nothing to choose. */
  open(id) {
    this.#id = id;
    this.#moved.clear();
    byId("choice").hidden = id === null;
  }

  /* The question's part that says what is chosen, for those who change the result. */
  get query() {
    return String(this.#query());
  }

  /* The result as chosen; a slider that moves on forgets the question before. */
  async ask() {
    this.#asked.abort();
    this.#asked = new AbortController();
    const url = clipUrl(this.#id, `/result?${this.#query()}`);
    const result = await ask(url, { signal: this.#asked.signal });
    for (const [name, value] of Object.entries(result.usual)) {
      if (!this.#moved.has(name)) byId(name).value = value;
    }
    // Without what sentences were chosen from there is nothing to slide.
    byId("sliders").hidden = Object.keys(result.usual).length === 0;
    this.#tell();
    return result;
  }

  #query() {
    return new URLSearchParams([...this.#moved].map((name) => [name, byId(name).value]));
  }

  #tell() {
    for (const [name, tell] of Object.entries(SLIDERS)) {
      byId(`${name}-value`).textContent = tell(byId(name).value);
    }
    byId("formats").replaceChildren(
      ...Object.entries(this.#formats).map(([format, { ending, about }]) => {
        const item = document.createElement("li");
        const link = document.createElement("a");
        link.href = clipUrl(this.#id ?? "", `/export/${format}?${this.#query()}`);
        link.download = "";
        const suffix = document.createElement("small");
        suffix.textContent = ending;
        link.append(about, suffix);
        item.append(link);
        return item;
      }),
    );
  }
}
