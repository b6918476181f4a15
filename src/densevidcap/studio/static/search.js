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
    const asked = [...new Set(answers.flatMap(({ words }) => words.map(({ word }) => word)))];
    const hits = answers.map((answer) => {
      const seen = new Set(answer.words.map(({ word }) => word));
      return { ...answer, unseen: asked.filter((word) => !seen.has(word)) };
    });
    byId("hits-title").textContent = tellCount(question, hits);
    byId("hits-why").textContent = hits.length === 0
      ? "Try other or fewer words: only those that the model knows can be found."
      : "Seen: how likely each word is to appear anywhere in those seconds.";
    byId("hit-list").replaceChildren(...hits.map(render));
  }

  hide() {
    this.#asked += 1;
    byId("hits").hidden = true;
    byId("drop").hidden = false;
    byId("question").value = "";
  }
}

const countMoments = (count) => `${count} ${count === 1 ? "moment" : "moments"}`;

/* Those that show only some of what was asked for are counted apart. */
function tellCount(question, hits) {
  const partial = hits.filter(({ unseen }) => unseen.length > 0).length;
  const whole = hits.length - partial;
  if (hits.length === 0) return `Nothing matches “${question}”`;
  if (whole === 0) return `“${question}”: ${countMoments(partial)} with only part of it`;
  const more = partial === 0 ? "" : `, and ${partial} with only part of it`;
  return `“${question}”: ${countMoments(whole)}${more}`;
}

const isWhole = (box) => box[0] < 0.02 && box[1] < 0.02 && box[2] > 0.98 && box[3] > 0.98;

function render({ id, name, time, start, end, box, words, unseen, sentence, confidence, verdict }) {
  const item = byId("hit-template").content.firstElementChild.cloneNode(true);
  const find = (selector) => item.querySelector(selector);
  find("a").href = writeAddress(id, { time, box });
  // The picture is shown whole, and its box when it is there; one round all of it tells nothing.
  find("img").onload = ({ target: { naturalWidth, naturalHeight } }) => {
    const ratio = naturalWidth / naturalHeight / FRAME;
    find(".fit").style.width = `${100 * Math.min(1, ratio)}%`;
    find(".fit").style.height = `${100 * Math.min(1, 1 / ratio)}%`;
    find(".box").hidden = box === null || isWhole(box);
  };
  find("img").src = clipUrl(id, `/picture?time=${time.toFixed(3)}`);
  find(".length").textContent = `at ${timeCode(time)}`;
  if (box !== null) {
    const [left, top, right, bottom] = box.map((edge) => 100 * edge);
    Object.assign(find(".box").style, {
      left: `${left}%`, top: `${top}%`, width: `${right - left}%`, height: `${bottom - top}%`,
    });
  }
  const told = words.map(({ word, probability }) => `${word}\u00a0${percent(probability)}`);
  const rest = unseen.length > 0 ? `; not ${unseen.join(", ")}` : "";
  const seen = told.length > 0 ? `Seen: ${told.join(", ")}${rest}` : "";
  find(".said").textContent = sentence ?? seen;
  const span = document.createElement("span");
  span.textContent = `${timeCode(start)}–${timeCode(end)}`;
  find(".name").append(`${name}, `, span);
  find(".more").textContent = sentence === null ? "" : `${percent(confidence)} ${verdict}`;
  find(".seen").textContent = sentence === null ? "" : seen;
  return item;
}
