/* From what a person put right to a better model: the manifest is written, the command shown. */

import { ask } from "./api.js";
import { copyText } from "./ask.js";

const byId = (id) => document.getElementById(id);

export function offerTraining(fail) {
  byId("train").addEventListener("click", async () => {
    try {
      const made = await ask("api/training", { method: "POST" });
      const gone = made.missing ? ` The files of ${made.missing} more are gone.` : "";
      byId("training-text").textContent =
        `Saved in ${made.manifest}: ${made.sentences} ${made.sentences === 1 ? "sentence" : "sentences"} ` +
        `of ${made.clips} ${made.clips === 1 ? "clip" : "clips"} that you wrote or accepted.${gone} ` +
        "This command trains a model on them, starting from the bundled one:";
      byId("training-command").textContent = made.command;
      byId("training-then").textContent = made.then;
      byId("training-copied").textContent = "";
      byId("training").showModal();
    } catch (error) {
      fail(error);
    }
  });
  byId("training-copy").addEventListener("click", async () => {
    const isCopied = await copyText(byId("training-command").textContent);
    byId("training-copied").textContent = isCopied ? "Copied." : "Select it and copy it by hand.";
  });
}
