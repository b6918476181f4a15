/* How far a clip has come, stage by stage. */

export const STAGES = {
  upload: "Sending the clip",
  waiting: "Waiting for its turn",
  film: "Preparing it for playback",
  shots: "Finding its shots",
  frames: "Picking frames",
  words: "Looking for words in every region",
  regions: "Following regions through time",
  sentences: "Finding sentences",
  ranking: "Weighing sentences against each other",
  shelving: "Adding it to the library",
};

const byId = (id) => document.getElementById(id);

export function showProgress(name, library) {
  byId("progress-title").textContent = name;
  byId("stages").replaceChildren(
    ...Object.entries(STAGES).map(([stage, label]) => {
      const item = document.createElement("li");
      item.dataset.stage = stage;
      item.textContent = label;
      item.hidden = stage === "shelving" && !library;
      return item;
    }),
  );
  tell("upload", 0);
}

export const tellUpload = (share) => tell("upload", share);

export function tellJob({ state, stage, share, ahead }) {
  if (state !== "waiting") tell(stage || "waiting", share);
  else tell("waiting", null, ahead === 1 ? "1 clip ahead" : ahead > 1 ? `${ahead} clips ahead` : "");
}

/* A share of null: nobody knows. */
function tell(stage, share, note = "") {
  const names = Object.keys(STAGES);
  for (const item of byId("stages").children) {
    const away = names.indexOf(item.dataset.stage) - names.indexOf(stage);
    item.className = away < 0 ? "done" : away > 0 ? "" : "current";
  }
  const bar = byId("progress-bar");
  if (share === null) bar.removeAttribute("value");
  else bar.value = share;
  const text = note ? `${STAGES[stage]}: ${note}` : STAGES[stage];
  const now = byId("progress-now");
  // Told once to those who listen, however often the share changes.
  if (now.textContent !== text) now.textContent = text;
}
