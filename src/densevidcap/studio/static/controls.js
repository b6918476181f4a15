/* Play, seek, mute and full screen below the video: the browser's own bar would hide boxes. */

import { timeCode } from "./clock.js";

const byId = (id) => document.getElementById(id);

export class Controls {
  #duration = 0;

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

  show(duration) {
    this.#duration = duration;
    byId("seek").max = duration;
  }

  follow(time) {
    byId("seek").value = time;
    byId("seek").setAttribute("aria-valuetext", timeCode(time));
    byId("clock").textContent = `${timeCode(time)} / ${timeCode(this.#duration)}`;
  }
}
