/* How a word glows: the server's picture has a tile for each frame that was looked at. */

import { ask, clipUrl } from "./api.js";

export class Glow {
  static async load(id, word, time) {
    const query = new URLSearchParams({ word, time });
    const { times, picture, ...peaks } = await ask(clipUrl(id, `/heatmap?${query}`));
    const tiles = new Image();
    tiles.src = picture;
    await tiles.decode();
    return new Glow(peaks, times, tiles);
  }

  constructor({ peak, peak_time, strongest }, times, tiles) {
    Object.assign(this, { peak, time: peak_time, strongest, times, tiles });
  }

  /* P(word | region) of the best region of the frame that was looked at next to that time. */
  at(time) {
    const away = this.times.map((each) => Math.abs(each - time));
    return this.strongest[away.indexOf(Math.min(...away))];
  }

  /* Even passage from one tile to the next. */
  paint(pen, time) {
    const found = this.times.findIndex((each) => each >= time);
    const after = found === -1 ? this.times.length - 1 : found;
    const before = Math.max(0, after - 1);
    const span = this.times[after] - this.times[before];
    const share = span > 0 ? Math.min(1, Math.max(0, (time - this.times[before]) / span)) : 1;
    this.#lay(pen, before, 1 - share);
    this.#lay(pen, after, share);
    pen.globalAlpha = 1;
  }

  #lay(pen, number, alpha) {
    const side = this.tiles.height / this.times.length;
    pen.globalAlpha = alpha;
    pen.imageSmoothingQuality = "high";
    const { width, height } = pen.canvas;
    pen.drawImage(this.tiles, 0, number * side, this.tiles.width, side, 0, 0, width, height);
  }
}
