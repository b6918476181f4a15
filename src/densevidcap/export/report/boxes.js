/* Boxes that move over a video: for the report's page, and for the studio's.
   A track has a rank, a colour, the seconds `start` and `end`, and `boxes` at `times`. */

export const holds = (track, time) => track.start <= time && time < track.end;

/* Even passage between the frames that were looked at; before and after them boxes stay. */
export function boxAt({ times, boxes }, time) {
  const after = times.findIndex((each) => each >= time);
  if (after === -1) return boxes[boxes.length - 1];
  if (after === 0) return boxes[0];
  const share = (time - times[after - 1]) / (times[after] - times[after - 1]);
  return boxes[after].map((edge, n) => boxes[after - 1][n] * (1 - share) + edge * share);
}

/* An empty sheet with a pixel for each one of the screen. */
export function wipe(canvas) {
  canvas.width = canvas.clientWidth * devicePixelRatio;
  canvas.height = canvas.clientHeight * devicePixelRatio;
  const pen = canvas.getContext("2d");
  pen.lineJoin = "round";
  return pen;
}

/* The boxes of these tracks at that time, each with its number. */
export function drawBoxes(pen, tracks, time) {
  const held = tracks.filter((track) => holds(track, time));
  // Boxes in the same place lie inside each other.
  const corners = held.map((track, slot) =>
    outline(pen, boxAt(track, time), track.colour, (2 + slot * 3) * devicePixelRatio));
  const taken = [];
  held.forEach((track, slot) => taken.push(label(pen, corners[slot], track, taken)));
}

/* A region that was asked for; where its caption's box is the region's own, inside that. */
export function pointOut(pen, box) {
  outline(pen, box, "#fff", 7 * devicePixelRatio, [8, 6]);
}

function outline(pen, [left, top, right, bottom], colour, depth, dash = []) {
  const { width, height } = pen.canvas;
  const [across, down] = [(right - left) * width, (bottom - top) * height];
  // Never so far in that nothing is left of the box.
  const inset = Math.min(depth, across / 3, down / 3);
  const place = [
    left * width + inset,
    top * height + inset,
    across - 2 * inset,
    down - 2 * inset,
  ];
  const line = Math.max(2, width / 260);
  pen.setLineDash(dash);
  // A dark rim, to be seen on anything.
  for (const [style, thick] of [["#141414", line + 2 * devicePixelRatio], [colour, line]]) {
    pen.strokeStyle = style;
    pen.lineWidth = thick;
    pen.strokeRect(...place);
  }
  return place;
}

/* The number of a track at a corner, or beside those of others that are there. */
function label(pen, [left, top], { rank, colour }, taken) {
  const side = Math.max(16 * devicePixelRatio, pen.canvas.height / 22);
  pen.font = `700 ${side * 0.72}px system-ui, sans-serif`;
  const width = Math.max(side, pen.measureText(rank + 1).width + side * 0.5);
  const touches = (other) => Math.abs(other.x - x) < width && Math.abs(other.y - top) < side;
  let x = left;
  while (taken.some(touches)) x += width / 4;
  pen.fillStyle = colour;
  pen.fillRect(x, top, width, side);
  pen.fillStyle = "#16141f";
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillText(rank + 1, x + width / 2, top + side / 2);
  return { x, y: top };
}
