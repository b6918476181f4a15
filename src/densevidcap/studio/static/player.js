/* The video with boxes, and the glow of a word, drawn over it in step. */

import { drawBoxes, pointOut, wipe } from "../report/boxes.js";

const MOMENT = 0.01; // seconds

export class Player {
  #video;
  #canvas;
  #tracks = [];
  #shown = null; // rank of the only track whose box is drawn, null for all
  #pointed = null; // {time, box} of the evidence that was asked for
  #glow = null;
  #stop = null; // seconds at which to pause

  /* `follow` gets the time whenever it has changed. */
  constructor(video, canvas, follow) {
    this.#video = video;
    this.#canvas = canvas;
    this.follow = follow;
    for (const event of ["loadeddata", "seeked", "pause"]) {
      video.addEventListener(event, () => this.draw());
    }
    video.addEventListener("seeking", () => {
      if (this.#stop !== null && video.currentTime >= this.#stop) this.#stop = null;
    });
    // The time of the very picture on the screen, where the browser tells it.
    if ("requestVideoFrameCallback" in video) {
      const step = (_, { mediaTime }) => {
        this.#play(mediaTime);
        video.requestVideoFrameCallback(step);
      };
      video.requestVideoFrameCallback(step);
    } else {
      const step = () => {
        this.#play(video.currentTime);
        if (!video.paused) requestAnimationFrame(step);
      };
      video.addEventListener("play", step);
    }
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  show(tracks) {
    this.#tracks = tracks;
    this.#shown = this.#pointed = null;
    this.draw();
  }

  isolate(rank) {
    this.#shown = rank;
    this.draw();
  }

  glow(map) {
    this.#glow = map;
    this.draw();
  }

  /* `box` may be null. */
  point({ time, box }) {
    this.#pointed = box && { time, box };
    this.#video.pause();
    this.#video.currentTime = time;
    this.draw(time);
  }

  step(seconds) {
    this.#stop = null;
    const { currentTime, duration } = this.#video;
    this.#video.currentTime = Math.min(duration || 0, Math.max(0, currentTime + seconds));
  }

  playSpan({ start, end }) {
    this.#stop = end;
    this.#video.currentTime = start;
    this.#start();
  }

  toggle() {
    this.#stop = null;
    this.#video.paused ? this.#start() : this.#video.pause();
  }

  draw(now = this.#video.currentTime) {
    // A video that has ended still shows its last picture.
    const time = this.#video.ended ? now - MOMENT : now;
    const pen = wipe(this.#canvas);
    this.#glow?.paint(pen, time);
    const tracks = this.#tracks.filter(({ rank }) => this.#shown === null || rank === this.#shown);
    drawBoxes(pen, tracks, time);
    if (this.#pointed !== null && Math.abs(time - this.#pointed.time) < 0.05) {
      pointOut(pen, this.#pointed.box);
    }
    this.follow(time);
  }

  #start() {
    // A pause that comes before the first picture is no failure.
    this.#video.play().catch(() => null);
  }

  #play(time) {
    if (this.#video.paused) return;
    if (this.#stop !== null && time >= this.#stop) {
      // The last moment at which the sentence still holds.
      this.#video.currentTime = this.#stop - MOMENT;
      this.#stop = null;
      this.#video.pause();
    }
    this.draw(time);
  }
}
