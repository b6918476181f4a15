/* A list of any length of which only what is near the window is in the document. The browser lays out
   what is there, and what is not is a margin as high as it. A row that has the focus stays, and so does
   one that is being edited; each says which of how many it is. */

const FEW = 60; // lists of so many are there whole: to be searched, printed and read from end to end
const NEAR = 1; // screens above and below what is seen that are there too
const GUESS = 150; // pixels of a row that nobody has seen

export class Rows {
  #list;
  #render;
  #count = 0;
  #rows = new Map(); // what is in the document, by number
  #heights = []; // with the gap below; undefined where nobody has looked
  #usual = GUESS;
  #wanted = null; // a row that is on its way into sight
  #isWaiting = false;

  /* `render` gets a number and gives its element. */
  constructor(list, render) {
    this.#list = list;
    this.#render = render;
    addEventListener("scroll", () => this.#updateSoon(), { passive: true });
    let width = null;
    new ResizeObserver(([{ contentRect }]) => {
      // In another width rows have other heights.
      if (contentRect.width !== width) this.#heights = [];
      width = contentRect.width;
      this.#updateSoon();
    }).observe(list);
  }

  /* Shows so many, all anew. If they are of the same clip, about the same rows stay in sight. */
  show(count, isSame) {
    const numbers = isSame ? [...this.#rows.keys()].filter((each) => each < count) : [];
    if (!isSame) {
      this.#heights = [];
      this.#usual = GUESS;
    }
    this.#count = count;
    this.#rows.clear();
    this.#list.replaceChildren();
    for (const number of numbers) this.#rows.set(number, this.#prepare(number));
    this.#lay(numbers.sort((a, b) => a - b));
    this.#update();
  }

  get count() {
    return this.#count;
  }

  /* The element of that number, if it is in the document. */
  get(number) {
    return this.#rows.get(number);
  }

  /* [number, element] of all that are. */
  get entries() {
    return [...this.#rows];
  }

  /* Brings a row into the document and into sight, and gives it; `block` is of scrollIntoView. */
  reveal(number, block = "nearest") {
    if (!(number >= 0 && number < this.#count)) return undefined;
    this.#wanted = number;
    this.#update();
    this.#rows.get(number)?.scrollIntoView({ block });
    this.#update();
    this.#wanted = null;
    return this.#rows.get(number);
  }

  /* At most once for each picture of the screen. */
  #updateSoon() {
    if (this.#isWaiting || this.#count <= FEW) return;
    this.#isWaiting = true;
    requestAnimationFrame(() => {
      this.#isWaiting = false;
      this.#update();
    });
  }

  #update() {
    // Rows may be lower than they were thought to be, and leave room for more.
    for (let turn = 0; turn < 4 && this.#fill(); turn += 1);
  }

  /* Whether anything was to be done. */
  #fill() {
    this.#measure();
    const wanted = this.#choose();
    const isNew = wanted.filter((number) => !this.#rows.has(number));
    if (isNew.length === 0 && wanted.length === this.#rows.size) return false;
    const anchor = [...this.#list.children].find((row) => row.getBoundingClientRect().bottom > 0);
    const before = anchor?.getBoundingClientRect().top;
    const page = document.documentElement;
    const isAtEnd = scrollY > 0 && scrollY + innerHeight >= page.scrollHeight - 2;
    const kept = new Set(wanted);
    for (const [number, row] of this.#rows) {
      if (kept.has(number)) continue;
      row.remove();
      this.#rows.delete(number);
    }
    for (const number of isNew) this.#rows.set(number, this.#prepare(number));
    this.#lay(wanted);
    this.#measure();
    this.#lay(wanted);
    // What is being looked at stays where it is, whatever was found out about what is above it.
    if (isAtEnd) {
      scrollTo({ top: page.scrollHeight, behavior: "instant" });
    } else if (anchor?.isConnected) {
      const moved = anchor.getBoundingClientRect().top - before;
      if (Math.abs(moved) >= 1) scrollBy({ top: moved, behavior: "instant" });
    }
    return true;
  }

  /* The numbers of rows that should be there, in order. */
  #choose() {
    if (this.#count <= FEW) return Array.from({ length: this.#count }, (_, number) => number);
    const { top } = this.#list.getBoundingClientRect();
    const [from, to] = [-NEAR * innerHeight - top, (1 + NEAR) * innerHeight - top];
    const chosen = new Set();
    for (let number = 0, place = 0; number < this.#count && place < to; number += 1) {
      place += this.#heightOf(number);
      if (place > from) chosen.add(number);
    }
    if (this.#wanted !== null) chosen.add(this.#wanted);
    for (const [number, row] of this.#rows) {
      const isHeld = row.contains(document.activeElement) || row.classList.contains("editing");
      if (isHeld) chosen.add(number);
    }
    return [...chosen].sort((a, b) => a - b);
  }

  #heightOf(number) {
    return this.#heights[number] ?? this.#usual;
  }

  #prepare(number) {
    const row = this.#render(number);
    row.setAttribute("aria-posinset", number + 1);
    row.setAttribute("aria-setsize", this.#count);
    return row;
  }

  /* Puts rows in their places, and room where there are none. */
  #lay(numbers) {
    let next = 0;
    numbers.forEach((number, place) => {
      const row = this.#rows.get(number);
      const there = this.#list.children[place];
      if (there !== row) this.#list.insertBefore(row, there ?? null);
      row.style.setProperty("--skipped", `${this.#sum(next, number)}px`);
      next = number + 1;
    });
    this.#list.style.paddingBottom = `${this.#sum(next, this.#count)}px`;
  }

  #sum(from, to) {
    let sum = 0;
    for (let number = from; number < to; number += 1) sum += this.#heightOf(number);
    return sum;
  }

  #measure() {
    const gap = parseFloat(getComputedStyle(this.#list).rowGap) || 0;
    for (const [number, row] of this.#rows) {
      if (!row.isConnected || row.offsetHeight === 0) continue;
      const { marginTop } = getComputedStyle(row);
      const skipped = parseFloat(row.style.getPropertyValue("--skipped")) || 0;
      this.#heights[number] = row.offsetHeight + gap + parseFloat(marginTop) - skipped;
    }
    const known = this.#heights.filter((height) => height !== undefined);
    if (this.#usual === GUESS && known.length > 0) {
      this.#usual = known.reduce((sum, height) => sum + height, 0) / known.length;
    }
  }
}
