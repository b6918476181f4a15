/* Answers to a question: pictures of the very moment, with the box, and why. */

import { ask, clipUrl } from "./api.js";
import { askAddress, writeAddress } from "./address.js";
import { percent, timeCode } from "./figures.js";

const byId = (id) => document.getElementById(id);
const FRAME = 16 / 9; // as studio.css has it

export class Search {
  #asked = 0;

  /* `go` opens an address. */
  constructor(go) {
    let timer = null;
    const submit = () => {
      clearTimeout(timer);
      const question = byId("question").value.trim();
      go(question === "" ? "#" : askAddress(question));
    };
    byId("search").addEventListener("submit", (event) => {
      event.preventDefault();
      submit();
    });
    byId("hits-clear").addEventListener("click", () => {
      byId("question").value = "";
      submit();
      byId("shelf-title").focus();
    });
    byId("question").addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(submit, 300);
    });
  }

  async show(question) {
    const number = (this.#asked += 1);
    if (document.activeElement !== byId("question")) byId("question").value = question;
    const query = new URLSearchParams({ question, most: 24 });
    const { answers } = await ask(`api/find?${query}`);
    if (number !== this.#asked) return;
    byId("hits").hidden = false;
    // Whoever searches adds nothing just now, and a phone has little room.
    byId("drop").hidden = true;
    byId("hits-title").textContent = answers.length === 0
      ? `Nothing fits “${question}”`
      : `“${question}”: ${answers.length} ${answers.length === 1 ? "moment" : "moments"}`;
    byId("hits-why").textContent = answers.length === 0
      ? "Try other or fewer words: only those that the model knows can be found."
      : "Seen: how likely each word is to be anywhere in those seconds.";
    byId("hit-list").replaceChildren(...answers.map(render));
  }

  hide() {
    this.#asked += 1;
    byId("hits").hidden = true;
    byId("drop").hidden = false;
    byId("question").value = "";
  }
}

function render({ id, name, time, start, end, box, words, sentence, confidence, verdict }) {
  const item = byId("hit-template").content.firstElementChild.cloneNode(true);
  const find = (selector) => item.querySelector(selector);
  find("a").href = writeAddress(id, { time, box });
  // The picture is shown whole, and its box when it is there.
  find("img").onload = ({ target: { naturalWidth, naturalHeight } }) => {
    const ratio = naturalWidth / naturalHeight / FRAME;
    find(".fit").style.width = `${100 * Math.min(1, ratio)}%`;
    find(".fit").style.height = `${100 * Math.min(1, 1 / ratio)}%`;
    find(".box").hidden = box === null;
  };
  find("img").src = clipUrl(id, `/picture?time=${time.toFixed(3)}`);
  find(".length").textContent = `at ${timeCode(time)}`;
  if (box !== null) {
    const [left, top, right, bottom] = box.map((edge) => 100 * edge);
    Object.assign(find(".box").style, {
      left: `${left}%`, top: `${top}%`, width: `${right - left}%`, height: `${bottom - top}%`,
    });
  }
  const seen = words.map(({ word, probability }) => `${word}\u00a0${percent(probability)}`).join(", ");
  find(".said").textContent = sentence === null ? `Seen: ${seen}` : sentence;
  const span = document.createElement("span");
  span.textContent = `${timeCode(start)}–${timeCode(end)}`;
  find(".name").append(`${name}, `, span);
  find(".more").textContent = sentence === null ? "" : `${verdict}, ${percent(confidence)}`;
  find(".seen").textContent = sentence === null || !seen ? "" : `Seen: ${seen}`;
  return item;
}
