/* Lanes of sentences, a bar for the time of each, and a line for now. Of a film the lanes show the
   chapter that is played, or a piece of it; above them is all of it. */

import { filmCode } from "./figures.js";
import { findSpan } from "./outline.js";

const NUMBERED = 0.015; // share of the lanes that a digit of a bar's number takes, and its edges
const ROOM = 18; // rem of all lanes together, at most
const [ROW, LOWEST] = [1.5, 0.9]; // rem of a lane, and of one whose bars have room for numbers

export class Timeline {
  #parts; // lanes, now, sound, overview, piece, nowOverall, edges
  #bars = new Map(); // of what the lanes show, by rank
  #duration = 1;
  #shown = { captions: [], colours: [], lanes: [] };
  #pages = [{ start: 0, end: 1 }];
  #page = null;
  #isolated = null;

  /* `parts` are the elements; `seek` gets the time that was pressed on. */
  constructor(parts, seek) {
    this.#parts = parts;
    const { lanes, sound, overview } = parts;
    lanes.addEventListener("click", ({ target, clientX }) => {
      const { start, end } = this.#pages[this.#page];
      if (target === lanes || target === sound) seek(start + (end - start) * shareOf(lanes, clientX));
    });
    overview.addEventListener("click", ({ clientX }) =>
      seek(this.#duration * shareOf(overview, clientX)));
  }

  /* What `arrange` gave. */
  show({ captions: { captions, duration }, colours, lanes, film, pages }) {
    this.#duration = duration;
    this.#shown = { captions, colours, lanes };
    this.#pages = pages;
    this.#page = null;
    this.#isolated = null;
    const parts = this.#parts;
    const isLong = pages.length > 1;
    parts.overview.hidden = parts.edges.hidden = !isLong;
    (isLong ? parts.overview : parts.lanes).append(parts.sound);
    const chapters = (film?.chapters ?? []).map((chapter) => {
      const part = document.createElement("i");
      part.className = "part";
      part.title = `${filmCode(chapter.start)} ${chapter.title}`;
      place(part, chapter, { start: 0, end: duration });
      return part;
    });
    parts.overview.replaceChildren(
      ...chapters, parts.piece, ...(isLong ? [parts.sound] : []), parts.nowOverall);
    const count = lanes.reduce((most, lane) => Math.max(most, lane + 1), 1);
    const row = Math.min(ROW, ROOM / count);
    parts.lanes.style.setProperty("--lanes", count);
    parts.lanes.style.setProperty("--row", `${row}rem`);
    parts.lanes.classList.toggle("low", row < LOWEST);
    this.follow(0);
  }

  /* The address of a picture of the sound, null if there is none. */
  hear(address) {
    const { sound } = this.#parts;
    sound.hidden = address === null;
    for (const each of [this.#parts.lanes, this.#parts.overview]) {
      each.classList.toggle("sounding", address !== null && each === sound.parentElement);
    }
    if (address === null) sound.removeAttribute("src");
    else sound.src = address;
  }

  isolate(rank) {
    this.#isolated = rank;
    for (const [each, bar] of this.#bars) bar.classList.toggle("dimmed", ![null, each].includes(rank));
  }

  follow(time) {
    const { now, nowOverall } = this.#parts;
    const at = Math.min(time, this.#duration);
    const page = findSpan(this.#pages, at);
    if (page !== this.#page) this.#turn(page);
    const { start, end } = this.#pages[page];
    now.style.left = `${(100 * (at - start)) / (end - start)}%`;
    nowOverall.style.left = `${(100 * at) / this.#duration}%`;
  }

  #turn(page) {
    this.#page = page;
    const span = this.#pages[page];
    const { captions, colours, lanes } = this.#shown;
    this.#bars.clear();
    captions.forEach((caption, rank) => {
      if (caption.start < span.end && caption.end > span.start) {
        this.#bars.set(rank, renderBar(caption, rank, colours[rank], lanes[rank], span));
      }
    });
    const parts = this.#parts;
    const sound = parts.sound.parentElement === parts.lanes ? [parts.sound] : [];
    parts.lanes.replaceChildren(...this.#bars.values(), ...sound, parts.now);
    place(parts.piece, span, { start: 0, end: this.#duration });
    parts.edges.querySelectorAll("span").forEach((edge, number) =>
      (edge.textContent = filmCode(number === 0 ? span.start : span.end)));
    this.isolate(this.#isolated);
  }
}

function renderBar(caption, rank, colour, lane, span) {
  const bar = document.createElement("button");
  bar.type = "button";
  bar.className = "span";
  bar.tabIndex = -1; // the sentence itself is the way for keyboards
  bar.dataset.rank = rank;
  bar.title = caption.text;
  bar.setAttribute("aria-label", `Play sentence ${rank + 1}`);
  const number = String(rank + 1);
  if (place(bar, caption, span) >= NUMBERED * (1 + number.length)) {
    const told = document.createElement("b");
    told.textContent = number;
    bar.append(told);
  }
  bar.style.setProperty("--colour", colour);
  bar.style.setProperty("--lane", lane);
  return bar;
}

/* Puts an element where a stretch of time lies in a longer one; the share that it has of it. */
function place(element, { start, end }, span) {
  const [from, to] = [Math.max(start, span.start), Math.min(end, span.end)];
  const share = (to - from) / (span.end - span.start);
  element.style.setProperty("--from", (from - span.start) / (span.end - span.start));
  element.style.setProperty("--share", share);
  return share;
}

function shareOf(element, clientX) {
  const { left, width } = element.getBoundingClientRect();
  return (clientX - left) / width;
}
