/* How many sentences, how different, and in which format. */

import { ask, clipUrl } from "./api.js";

const byId = (id) => document.getElementById(id);

export class Choice {
  #id = null;
  #formats;
  #asked = new AbortController();

  /* `show` gets each new result, `fail` what went wrong. */
  constructor(formats, show, fail) {
    this.#formats = formats;
    byId("choice").addEventListener("input", async () => {
      this.#tell();
      try {
        show(await this.ask());
      } catch (error) {
        if (error.name !== "AbortError") fail(error);
      }
    });
    byId("choice").addEventListener("submit", (event) => event.preventDefault());
  }

  /* Null for a result without a clip on the server: there is nothing to choose. */
  open(id) {
    this.#id = id;
    byId("choice").hidden = id === null;
    this.#tell();
  }

  /* The result as chosen; a slider that moves on forgets the question before. */
  ask() {
    this.#asked.abort();
    this.#asked = new AbortController();
    return ask(clipUrl(this.#id, `/result?${this.#query()}`), { signal: this.#asked.signal });
  }

  #query() {
    return new URLSearchParams({ k: byId("k").value, diversity: byId("diversity").value });
  }

  #tell() {
    byId("k-value").textContent = byId("k").value;
    byId("diversity-value").textContent = Number(byId("diversity").value).toFixed(2);
    byId("formats").replaceChildren(
      ...Object.entries(this.#formats).map(([format, ending]) => {
        const item = document.createElement("li");
        const link = document.createElement("a");
        link.href = clipUrl(this.#id ?? "", `/export/${format}?${this.#query()}`);
        link.download = "";
        link.textContent = ending;
        item.append(link);
        return item;
      }),
    );
  }
}
