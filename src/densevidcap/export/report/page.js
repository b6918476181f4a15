const video = document.querySelector("video");
const canvas = document.querySelector("canvas");
const timeline = document.querySelector(".timeline");
const duration = Number(timeline.dataset.duration);
const now = document.querySelector(".now");
const spans = [...document.querySelectorAll(".span")];
const sentences = [...document.querySelectorAll(".sentence")];
const chapters = [...document.querySelectorAll(".chapter")];
const parts = [...document.querySelectorAll(".part")];
const tracks = JSON.parse(document.getElementById("tracks").textContent);
tracks.forEach((track, rank) => {
  track.rank = rank;
  track.colour = getComputedStyle(spans[rank]).getPropertyValue("--colour");
});

let chosen = null; // rank of the one caption whose box is shown, null for all
let pointed = null; // {time, box} of the evidence that was asked for

const items = sentences.map((sentence) => sentence.closest("li"));

function draw() {
  const time = video.currentTime;
  const pen = wipe(canvas);
  tracks.forEach((track, rank) => {
    items[rank].classList.toggle("silent", !holds(track, time));
    spans[rank].classList.toggle("dimmed", chosen !== null && chosen !== rank);
  });
  chapters.forEach(({ classList, dataset }, place) => {
    const current = Number(dataset.start) <= time && time < Number(dataset.end);
    classList.toggle("current", current);
    parts[place].classList.toggle("current", current);
  });
  drawBoxes(pen, chosen === null ? tracks : [tracks[chosen]], time);
  if (pointed !== null && Math.abs(time - pointed.time) < 0.05) pointOut(pen, pointed.box);
  now.style.left = `${(100 * time) / duration}%`;
}

function choose(rank) {
  chosen = rank;
  sentences.forEach((sentence, each) => {
    sentence.setAttribute("aria-pressed", String(each === rank));
    items[each].classList.toggle("chosen", each === rank);
  });
  if (rank !== null) {
    const chapter = items[rank].closest("details");
    if (chapter !== null) chapter.open = true;
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

/* A chapter that is opened is also played from. */
for (const chapter of chapters) {
  chapter.addEventListener("toggle", () => {
    const { start, end } = chapter.dataset;
    const inside = Number(start) <= video.currentTime && video.currentTime < Number(end);
    if (chapter.open && !inside && chosen === null) video.currentTime = Number(start);
  });
}

timeline.addEventListener("click", (event) => {
  const { left, width } = timeline.getBoundingClientRect();
  video.currentTime = (duration * (event.clientX - left)) / width;
});

const steps = { ArrowUp: -1, ArrowDown: 1 };
const seconds = { ArrowLeft: -1, ArrowRight: 1 };
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.target === video) return;
  const { key } = event;
  if (key === " " && !event.target.closest("button, summary")) {
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
/* Where nothing is said of the first moment, it opens where the first sentence is seen best. */
video.addEventListener("loadedmetadata", () => {
  if (tracks.length === 0 || tracks.some((track) => holds(track, 0))) return;
  video.currentTime = Number(items[0].querySelector(".word")?.dataset.time ?? tracks[0].start);
});
for (const event of ["loadeddata", "seeked", "timeupdate"]) video.addEventListener(event, draw);
new ResizeObserver(draw).observe(canvas);
