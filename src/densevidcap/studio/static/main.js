/* The page's three views, and the way from one to the next. */

import { askAddress, readAddress } from "./address.js";
import { ask, clipUrl, post, watch } from "./api.js";
import { copyText } from "./ask.js";
import { Choice } from "./choice.js";
import { takeFiles } from "./intake.js";
import { listOpened, readResults, tellIgnored } from "./opened.js";
import { showProgress, tellJob, tellUpload } from "./progress.js";
import { Queue } from "./queue.js";
import { Search } from "./search.js";
import { Shelf } from "./shelf.js";
import { offerThemes } from "./theme.js";
import { offerTraining } from "./training.js";
import { Viewer } from "./viewer.js";

const byId = (id) => document.getElementById(id);
const VIEWS = ["welcome", "progress", "result"];

offerThemes(byId("theme"));
// A phone has little room above the sentences.
const narrow = matchMedia("(max-width: 860px)");
const unfold = () => (byId("choosing").open = !narrow.matches);
narrow.addEventListener("change", unfold);
unfold();
const facts = await ask("api/studio");
const isLibrary = facts.library !== null;
document.body.classList.toggle("library", isLibrary);
const viewer = new Viewer(fail, isLibrary);
const choice = new Choice(facts.formats, (result) => viewer.show(result), fail);
viewer.choice = choice;
const queue = new Queue(facts, () => shelf.refresh().then(compact, fail));
const shelf = new Shelf(facts.library, () => [...queue.jobs.values()]);
const search = new Search(go);
let leave = () => {}; // ends what the view before was doing
let clip = null; // {id, name} of the one that is shown
let visits = 0; // what was asked for before the last of them is not shown any more

byId("search").hidden = !isLibrary;
byId("limits").textContent = isLibrary
  ? "Drop clips or folders of any size anywhere on this page. They stay until you delete them."
  : `Drop them anywhere on this page. Up to ${facts.limits}; kept for ${facts.max_days} days.`;
offerTraining(fail);
takeFiles(
  {
    drop: byId("drop"),
    choose: byId("choose"),
    chooseFolder: byId("choose-folder"),
    chooseResults: byId("choose-results"),
    clipInput: byId("clip-input"),
    folderInput: byId("folder-input"),
    resultsInput: byId("results-input"),
  },
  ({ clips, ignored, results }) => (results ? openLocal(results) : take(clips, ignored)),
);
byId("delete").addEventListener("click", async () => {
  if (clip !== null && (await shelf.remove(clip.id, clip.name))) goHome();
});
byId("look").addEventListener("click", async () => {
  try {
    follow(await ask(clipUrl(clip.id, "/look"), { method: "POST" }));
  } catch (error) {
    fail(error);
  }
});
byId("copy").addEventListener("click", async () => {
  const isCopied = await copyText(location.href);
  viewer.say(isCopied ? "Link copied." : "Copy the link from the browser’s address bar.");
  setTimeout(() => viewer.say(""), 3000);
});
// An address that is there already, as after results that have none, is no news to the browser.
document.addEventListener("click", (event) => {
  if (event.target.closest("a[href='#']") === null || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  goHome();
});
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input, textarea, select, dialog");
  if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  (isLibrary ? byId("question") : byId("filter")).focus();
});
addEventListener("hashchange", route);
queue.follow();
route();

/* Opens an address; the same one again is no new entry for the way back. */
function go(address) {
  if (location.hash === address || (address === "#" && location.hash === "")) return;
  if (readAddress().question !== null) {
    history.replaceState(null, "", address);
    route();
  } else {
    location.hash = address;
  }
}

function show(view, title = "") {
  leave();
  leave = () => {};
  byId("fault").hidden = true;
  for (const each of VIEWS) byId(each).hidden = each !== view;
  document.title = title ? `${title} · densevidcap studio` : "densevidcap studio";
}

function fail(error) {
  byId("fault").textContent = error.message;
  byId("fault").hidden = false;
}

async function route() {
  const visit = (visits += 1);
  const { id, question } = readAddress();
  try {
    if (id === null) {
      await welcome(question);
      return;
    }
    const job = await ask(clipUrl(id));
    if (visit === visits) follow(job);
  } catch (error) {
    if (visit === visits) await giveUp(error);
  }
}

async function welcome(question = null) {
  show("welcome");
  const shown = shelf.refresh().then(compact);
  if (question !== null && isLibrary) await search.show(question);
  else search.hide();
  await shown;
}

/* Where there are clips, they matter more than how to add some. */
function compact({ total }) {
  byId("drop").classList.toggle("small", total > 0);
}

/* Back to the beginning, with the reason; none if something else was asked for meanwhile. */
async function giveUp(error) {
  if (error.name === "AbortError") return;
  await welcome();
  fail(error);
}

function take(clips, ignored) {
  if (clips.length === 1 && ignored.length === 0) {
    send(clips[0]);
    return;
  }
  if (byId("welcome").hidden) goHome();
  queue.add(clips);
  const names = ignored.map((file) => `${file.name}: not a clip`);
  if (names.length > 0) fail(new Error(tellIgnored(names)));
}

async function send(file) {
  if (file.size > facts.max_bytes) {
    fail(new Error(`${file.name}: too large; the limit is ${facts.limits}`));
    return;
  }
  visits += 1;
  const stopping = new AbortController();
  show("progress", file.name);
  showProgress(file.name, isLibrary);
  preview(file);
  leave = () => stopping.abort();
  byId("cancel").onclick = () => goHome();
  try {
    const job = await post(file, tellUpload, stopping.signal);
    leave = () => {};
    // The address of the clip, to come back to; the view is the right one already.
    history.pushState(null, "", `#${job.id}`);
    if (job.state === "done") {
      await open(job);
      if (job.known) viewer.say(`${file.name} was here already.`);
    } else wait(job);
  } catch (error) {
    await giveUp(error);
  }
}

function follow(job) {
  if (job.state === "done") {
    open(job);
  } else if (job.state === "failed") {
    throw new Error(job.message);
  } else {
    show("progress", job.name);
    showProgress(job.name, isLibrary);
    preview(null);
    wait(job);
  }
}

function wait(job) {
  tellJob(job);
  byId("cancel").onclick = async () => {
    leave();
    await ask(`api/queue/${job.id}`, { method: "DELETE" }).catch(() => null);
    goHome();
  };
  leave = watch(job.id, (now) => {
    if (now.state === "done") {
      open(now);
    } else if (now.state === "failed") {
      giveUp(new Error(now.message));
    } else {
      tellJob(now);
    }
  });
}

async function open({ id, name }) {
  const visit = visits;
  choice.open(id);
  const address = readAddress();
  try {
    const result = await choice.ask();
    if (visit !== visits) return;
    show("result", name);
    clip = { id, name };
    nameClip(name);
    viewer.open(id, result.missing ? null : clipUrl(id, "/footage"), result, address);
    if (result.missing) fail(new Error(`${name}: its file is gone; drop it here again to see it.`));
    leave = () => viewer.close();
  } catch (error) {
    await giveUp(error);
  }
}

/* Results that the command line wrote, with the clips that were given too. */
async function openLocal(files) {
  const { opened, ignored } = await readResults(files);
  if (opened.length === 0) {
    fail(new Error(tellIgnored(ignored) || "There are no results in these files."));
    return;
  }
  listOpened(opened, (one) => openOne(one));
  if (opened.length === 1) openOne(opened[0]);
  else if (byId("welcome").hidden) await welcome();
  const missing = opened.length === 1 && opened[0].clip === null
    ? `Drop ${opened[0].name} together with its captions to see them in place. `
    : "";
  const told = missing + tellIgnored(ignored);
  if (told) fail(new Error(told));
}

function openOne({ name, result, clip: file }) {
  visits += 1;
  choice.open(null);
  clip = null;
  show("result", name);
  nameClip(name);
  viewer.open(null, file ? URL.createObjectURL(file) : null, result, {});
  leave = () => viewer.close();
}

/* Above a result, with the way back to where it was found. */
function nameClip(name) {
  const question = byId("question").value.trim();
  byId("clip-name").textContent = name;
  byId("back").href = question === "" ? "#" : askAddress(question);
  byId("back").textContent = question === "" ? "← All clips" : "← Back to hits";
}

function goHome() {
  if (location.hash) location.hash = "";
  else route();
}

/* What was chosen, to look at while waiting. */
function preview(file) {
  const video = byId("waiting-video");
  byId("waiting-screen").hidden = file === null;
  if (file === null) return;
  video.src = URL.createObjectURL(file);
  video.onerror = () => (byId("waiting-screen").hidden = true);
  video.onloadedmetadata = () =>
    byId("waiting-screen").style.setProperty("--ratio", video.videoWidth / video.videoHeight || 1);
  video.play().catch(() => null);
}
