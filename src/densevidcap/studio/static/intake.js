/* Files on their way in: dropped anywhere on the page, or chosen. */

const isResult = (file) => file.name.toLowerCase().endsWith(".json");

/* `take` gets {clip} or, if captions are among the files, {results, clips}. */
export function takeFiles({ drop, choose, chooseResults, clipInput, resultsInput }, take) {
  const sort = (files) => {
    const results = files.filter(isResult);
    const clips = files.filter((file) => !isResult(file));
    if (results.length > 0) take({ results, clips });
    else if (clips.length > 0) take({ clip: clips[0] });
  };
  choose.addEventListener("click", () => clipInput.click());
  chooseResults.addEventListener("click", () => resultsInput.click());
  for (const input of [clipInput, resultsInput]) {
    input.addEventListener("change", () => {
      sort([...input.files]);
      input.value = "";
    });
  }
  addEventListener("dragover", (event) => {
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
  if (entry.isFile) return [await new Promise((resolve, reject) => entry.file(resolve, reject))];
  const reader = entry.createReader();
  const found = [];
  // A reader gives a folder's entries in batches, and an empty one at the end.
  for (;;) {
    const batch = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (batch.length === 0) return found;
    found.push(...(await Promise.all(batch.map(listFiles))).flat());
  }
}
