"use strict";

const video = document.querySelector("video");
const canvas = document.querySelector("canvas");
const timeline = document.querySelector(".timeline");
const duration = Number(timeline.dataset.duration);
const now = document.querySelector(".now");
const spans = [...document.querySelectorAll(".span")];
const sentences = [...document.querySelectorAll(".sentence")];
const tracks = JSON.parse(document.getElementById("tracks").textContent);
tracks.forEach((track, rank) => {
  track.colour = getComputedStyle(spans[rank]).getPropertyValue("--colour");
});

let chosen = null; // rank of the one caption whose box is shown, null for all
let pointed = null; // {time, box} of the evidence that was asked for

const holds = (track, time) => track.start <= time && time < track.end;

/* Even passage between the frames that were looked at; before and after them boxes stay. */
function boxAt({ times, boxes }, time) {
  const after = times.findIndex((each) => each >= time);
  if (after === -1) return boxes[boxes.length - 1];
  if (after === 0) return boxes[0];
  const share = (time - times[after - 1]) / (times[after] - times[after - 1]);
  return boxes[after].map((edge, n) => boxes[after - 1][n] * (1 - share) + edge * share);
}

function outline(pen, [left, top, right, bottom], colour, inset, dash = []) {
  const [width, height] = [canvas.width, canvas.height];
  const place = [
    left * width + inset,
    top * height + inset,
    (right - left) * width - 2 * inset,
    (bottom - top) * height - 2 * inset,
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

function label(pen, [left, top], number, slot, colour) {
  const side = Math.max(16 * devicePixelRatio, canvas.height / 22);
  pen.font = `700 ${side * 0.72}px system-ui, sans-serif`;
  const width = Math.max(side, pen.measureText(number).width + side * 0.5);
  const x = left + slot * width;
  pen.fillStyle = colour;
  pen.fillRect(x, top, width, side);
  pen.fillStyle = "#16141f";
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillText(number, x + width / 2, top + side / 2);
}

function draw() {
  const time = video.currentTime;
  canvas.width = canvas.clientWidth * devicePixelRatio;
  canvas.height = canvas.clientHeight * devicePixelRatio;
  const pen = canvas.getContext("2d");
  pen.lineJoin = "round";
  const labels = [];
  tracks.forEach((track, rank) => {
    const held = holds(track, time);
    sentences[rank].closest("li").classList.toggle("silent", !held);
    spans[rank].classList.toggle("dimmed", chosen !== null && chosen !== rank);
    if (!held || (chosen !== null && chosen !== rank)) return;
    // Boxes in the same place lie inside each other, and their numbers side by side.
    const inset = (2 + labels.length * 3) * devicePixelRatio;
    const corner = outline(pen, boxAt(track, time), track.colour, inset);
    labels.push([corner, String(rank + 1), labels.length, track.colour]);
  });
  if (pointed !== null && Math.abs(time - pointed.time) < 0.05) {
    outline(pen, pointed.box, "#fff", 7 * devicePixelRatio, [8, 6]);
  }
  for (const each of labels) label(pen, ...each);
  now.style.left = `${(100 * time) / duration}%`;
}

function choose(rank) {
  chosen = rank;
  sentences.forEach((sentence, each) => {
    sentence.setAttribute("aria-pressed", String(each === rank));
    sentence.closest("li").classList.toggle("chosen", each === rank);
  });
  if (rank !== null) {
    sentences[rank].focus();
    if (!holds(tracks[rank], video.currentTime)) video.currentTime = tracks[rank].start;
  }
  draw();
}

function point(button) {
  choose(Number(button.dataset.caption));
  button.focus();
  pointed = { time: Number(button.dataset.time), box: JSON.parse(button.dataset.box) };
  video.pause();
  video.currentTime = pointed.time;
  draw();
}

document.addEventListener("click", ({ target }) => {
  const button = target.closest("button");
  if (button === null) return;
  const rank = Number(button.dataset.caption);
  if (button.matches(".word")) point(button);
  else if (button.matches(".sentence")) choose(chosen === rank ? null : rank);
  else choose(rank);
});

timeline.addEventListener("click", (event) => {
  const { left, width } = timeline.getBoundingClientRect();
  video.currentTime = (duration * (event.clientX - left)) / width;
});

const steps = { ArrowUp: -1, ArrowDown: 1 };
const seconds = { ArrowLeft: -1, ArrowRight: 1 };
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.target === video) return;
  const { key } = event;
  if (key === " " && !event.target.closest("button")) {
    video.paused ? video.play() : video.pause();
  } else if (key in seconds) {
    video.currentTime = Math.max(0, video.currentTime + seconds[key]);
  } else if (key in steps && tracks.length > 0) {
    const from = chosen ?? (steps[key] > 0 ? -1 : 0);
    choose((from + steps[key] + tracks.length) % tracks.length);
  } else if (key >= "1" && key <= "9" && Number(key) <= tracks.length) {
    choose(Number(key) - 1);
  } else if (key === "Escape") {
    choose(null);
  } else {
    return;
  }
  event.preventDefault();
});

function follow() {
  draw();
  if (!video.paused) requestAnimationFrame(follow);
}
video.addEventListener("play", follow);
for (const event of ["loadeddata", "seeked", "timeupdate"]) video.addEventListener(event, draw);
new ResizeObserver(draw).observe(canvas);
