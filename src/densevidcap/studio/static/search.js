/* Answers to a question: pictures of the very moment, with the box, and why. */

import { ask, clipUrl } from "./api.js";
import { askAddress, writeAddress } from "./address.js";
import { timeCode } from "./clock.js";

const byId = (id) => document.getElementById(id);
const FRAME = 16 / 9; // as studio.css has it
const percent = (share) => `${Math.round(100 * share)}\u00a0%`;

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
    byId("hit-list").replaceChildren(...answers.map(render));
  }

  hide() {
    this.#asked += 1;
    byId("hits").hidden = true;
    byId("drop").hidden = false;
    byId("question").value = "";
  }
}

function render({ id, name, time, start, end, box, words, sentence, confidence }) {
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
  find(".length").textContent = timeCode(time);
  if (box !== null) {
    const [left, top, right, bottom] = box.map((edge) => 100 * edge);
    Object.assign(find(".box").style, {
      left: `${left}%`, top: `${top}%`, width: `${right - left}%`, height: `${bottom - top}%`,
    });
  }
  const seen = words.map(({ word, probability }) => `${word} ${percent(probability)}`).join(", ");
  find(".said").textContent = sentence === null ? `Seen: ${seen}` : sentence;
  find(".name").textContent = `${name}, ${timeCode(start)}–${timeCode(end)}`;
  const facts = sentence === null ? [] : [`said, ${percent(confidence)}`];
  if (sentence !== null && seen) facts.push(`seen: ${seen}`);
  find(".more").textContent = facts.join(" · ");
  return item;
}
