/* Play, seek, mute and full screen below the video: the browser's own bar would hide boxes. */

const byId = (id) => document.getElementById(id);
const clock = (seconds) =>
  `${Math.floor(seconds / 60)}:${(seconds % 60).toFixed(1).padStart(4, "0")}`;

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
    byId("seek").setAttribute("aria-valuetext", `${time.toFixed(1)} seconds`);
    byId("clock").textContent = `${clock(time)} / ${clock(this.#duration)}`;
  }
}
