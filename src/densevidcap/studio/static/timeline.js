/* A lane for each sentence, a bar for its time, and a line for now. */

export class Timeline {
  #element;
  #now;
  #sound;
  #bars = [];
  #duration = 1;

  /* `seek` gets the time that was pressed on. */
  constructor(element, now, sound, seek) {
    this.#element = element;
    this.#sound = sound;
    this.#now = now;
    element.addEventListener("click", ({ target, clientX }) => {
      if (target !== element && target !== sound) return;
      const { left, width } = element.getBoundingClientRect();
      seek((this.#duration * (clientX - left)) / width);
    });
  }

  show(captions, colours, duration) {
    this.#duration = duration;
    this.#bars = captions.map(({ text, start, end }, rank) => {
      const bar = document.createElement("button");
      bar.type = "button";
      bar.className = "span";
      bar.tabIndex = -1; // the sentence itself is the way for keyboards
      bar.dataset.rank = rank;
      bar.title = text;
      bar.textContent = rank + 1;
      bar.style.setProperty("--colour", colours[rank]);
      bar.style.setProperty("--lane", rank);
      bar.style.setProperty("--from", start / duration);
      bar.style.setProperty("--share", (end - start) / duration);
      return bar;
    });
    this.#element.style.setProperty("--lanes", captions.length);
    this.#element.replaceChildren(...this.#bars, this.#sound, this.#now);
  }

  /* The address of a picture of the sound, null if there is none. */
  hear(address) {
    this.#sound.hidden = address === null;
    this.#element.classList.toggle("sounding", address !== null);
    if (address === null) this.#sound.removeAttribute("src");
    else this.#sound.src = address;
  }

  isolate(rank) {
    this.#bars.forEach((bar, each) => bar.classList.toggle("dimmed", ![null, each].includes(rank)));
  }

  follow(time) {
    this.#now.style.left = `${(100 * Math.min(time, this.#duration)) / this.#duration}%`;
  }
}
