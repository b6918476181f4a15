/* The page's three views, and the way from one to the next. */

import { ask, clipUrl, post, watch } from "./api.js";
import { Choice } from "./choice.js";
import { showEarlier } from "./earlier.js";
import { takeFiles } from "./intake.js";
import { showProgress, tellJob, tellUpload } from "./progress.js";
import { offerThemes } from "./theme.js";
import { Viewer } from "./viewer.js";

const byId = (id) => document.getElementById(id);
const VIEWS = ["welcome", "progress", "result"];

offerThemes(byId("theme"));
const facts = await ask("api/studio");
const viewer = new Viewer(fail);
const choice = new Choice(facts.formats, (result) => viewer.show(result), fail);
let leave = () => {}; // ends what the view before was doing

byId("limits").textContent = `Up to ${facts.limits}; kept for ${facts.max_days} days.`;
takeFiles(
  {
    drop: byId("drop"),
    choose: byId("choose"),
    chooseResults: byId("choose-results"),
    clipInput: byId("clip-input"),
    resultsInput: byId("results-input"),
  },
  ({ clip, results, clips }) => (clip ? send(clip) : openLocal(results, clips)),
);
addEventListener("hashchange", route);
route();

function show(view, title = "") {
  leave();
  leave = () => {};
  byId("fault").hidden = true;
  for (const each of VIEWS) byId(each).hidden = each !== view;
  byId("facts").textContent = title;
  document.title = title ? `${title} · densevidcap studio` : "densevidcap studio";
}

function fail(error) {
  byId("fault").textContent = error.message;
  byId("fault").hidden = false;
}

async function route() {
  const id = location.hash.slice(1);
  try {
    if (id === "") await welcome();
    else follow(await ask(clipUrl(id)));
  } catch (error) {
    await giveUp(error);
  }
}

async function welcome() {
  show("welcome");
  await showEarlier();
}

/* Back to the beginning, with the reason; none if something else was asked for meanwhile. */
async function giveUp(error) {
  if (error.name === "AbortError") return;
  await welcome();
  fail(error);
}

async function send(file) {
  if (file.size > facts.max_bytes) {
    fail(new Error(`${file.name}: too large; what fits is ${facts.limits}`));
    return;
  }
  const stopping = new AbortController();
  show("progress", file.name);
  showProgress(file.name);
  preview(file);
  leave = () => stopping.abort();
  byId("cancel").onclick = () => goHome();
  try {
    const job = await post(file, tellUpload, stopping.signal);
    leave = () => {};
    // The address of the clip, to come back to; the view is the right one already.
    history.pushState(null, "", `#${job.id}`);
    wait(job);
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
    showProgress(job.name);
    preview(null);
    wait(job);
  }
}

function wait(job) {
  tellJob(job);
  byId("cancel").onclick = async () => {
    leave();
    await ask(clipUrl(job.id), { method: "DELETE" });
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
  choice.open(id);
  try {
    const result = await choice.ask();
    show("result", name);
    viewer.open(id, clipUrl(id, "/footage"), result);
    leave = () => viewer.close();
  } catch (error) {
    await giveUp(error);
  }
}

/* A .json that was exported earlier, with the video of the same name if it was given too. */
async function openLocal(results, clips) {
  try {
    const captions = await results[0].text();
    const headers = { "Content-Type": "application/json" };
    const result = await ask("api/results", { method: "POST", headers, body: captions });
    const name = result.captions.source.split(/[\\/]/).pop();
    const clip = clips.find((file) => file.name === name);
    choice.open(null);
    show("result", name);
    viewer.open(null, clip ? URL.createObjectURL(clip) : null, result);
    if (!clip) fail(new Error(`Drop ${name} together with its captions to see them in place.`));
    leave = () => viewer.close();
  } catch (error) {
    fail(error);
  }
}

function goHome() {
  if (location.hash) location.hash = "";
  else welcome();
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
