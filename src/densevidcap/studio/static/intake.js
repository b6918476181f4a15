/* Files on their way in: dropped anywhere on the page, or chosen. */

import { isResult } from "./opened.js";

const CLIPS = /\.(mp4|m4v|mov|mkv|webm|avi|mpe?g|ts|m2ts|mts|wmv|flv|3gp|ogv|vob|asf|gif|png|jpe?g|webp|bmp|tiff?)$/i;
const isClip = (file) => CLIPS.test(file.name) || /^(video|image)\//.test(file.type);
const isHidden = (file) => file.name.startsWith(".");

/* `take` gets {clips, ignored} or, if captions are among the files, {results}: all of them. */
export function takeFiles({ drop, choose, chooseFolder, chooseResults, clipInput, folderInput, resultsInput }, take) {
  const sort = (found) => {
    const files = found
      .filter((file) => !isHidden(file))
      .sort((one, other) => one.name.localeCompare(other.name, undefined, { numeric: true }));
    if (files.some(isResult)) take({ results: files });
    else if (files.length > 0) {
      // One that was given by itself is tried, whatever it is called: the server says what is wrong.
      const clips = files.length === 1 ? files : files.filter(isClip);
      take({ clips, ignored: files.filter((file) => !clips.includes(file)) });
    }
  };
  const pairs = [[choose, clipInput], [chooseFolder, folderInput], [chooseResults, resultsInput]];
  for (const [button, input] of pairs) {
    button.addEventListener("click", () => input.click());
    input.addEventListener("change", () => {
      sort([...input.files]);
      input.value = "";
    });
  }
  addEventListener("dragover", (event) => {
    if (![...event.dataTransfer.types].includes("Files")) return;
    event.preventDefault();
    drop.classList.add("over");
  });
  addEventListener("dragleave", () => drop.classList.remove("over"));
  addEventListener("drop", async (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry());
    sort((await Promise.all(entries.filter(Boolean).map(listFiles))).flat());
  });
}

async function listFiles(entry) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    file.path = entry.fullPath.slice(1);
    return [file];
  }
  const reader = entry.createReader();
  const found = [];
  // A reader gives a folder's entries in batches, and an empty one at the end.
  for (;;) {
    const batch = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (batch.length === 0) return found;
    found.push(...(await Promise.all(batch.map(listFiles))).flat());
  }
}
