/* Play, seek, mute and full screen below the video: the browser's own bar would hide boxes. */

import { filmCode, timeCode } from "./figures.js";

const byId = (id) => document.getElementById(id);

export class Controls {
  #duration = 0;
  #code = timeCode;

  constructor(video, player) {
    const play = byId("play");
    for (const element of [play, video]) element.addEventListener("click", () => player.toggle());
    for (const event of ["play", "pause"]) {
      video.addEventListener(event, () => {
        play.textContent = video.paused ? "▶" : "❚❚";
        play.setAttribute("aria-label", video.paused ? "Play" : "Pause");
      });
    }
    byId("seek").addEventListener("input", ({ target }) => (video.currentTime = target.value));
    byId("mute").addEventListener("click", ({ target }) => {
      video.muted = !video.muted;
      target.setAttribute("aria-pressed", String(video.muted));
    });
    byId("full").addEventListener("click", () => byId("screen").requestFullscreen());
  }

  /* A film's times are told as everywhere on its page. */
  show(duration, isFilm) {
    this.#duration = duration;
    this.#code = isFilm ? filmCode : timeCode;
    byId("seek").max = duration;
  }

  follow(time) {
    byId("seek").value = time;
    byId("seek").setAttribute("aria-valuetext", this.#code(time));
    byId("clock").textContent = `${this.#code(time)} / ${this.#code(this.#duration)}`;
  }
}
