/* From what a person put right to a better model: the manifest is written, the command shown. */

import { ask } from "./api.js";

const byId = (id) => document.getElementById(id);

export function offerTraining(fail) {
  byId("train").addEventListener("click", async () => {
    try {
      const made = await ask("api/training", { method: "POST" });
      const gone = made.missing ? ` The files of ${made.missing} more are gone.` : "";
      byId("training-text").textContent =
        `${made.sentences} ${made.sentences === 1 ? "sentence" : "sentences"} of ${made.clips} ` +
        `${made.clips === 1 ? "clip" : "clips"} that you gave or approved of are in ` +
        `${made.manifest}.${gone} This trains a model on them, from the one that comes with densevidcap:`;
      byId("training-command").textContent = made.command;
      byId("training").showModal();
    } catch (error) {
      fail(error);
    }
  });
  byId("training-copy").addEventListener("click", () =>
    navigator.clipboard?.writeText(byId("training-command").textContent).catch(() => null));
}
