/* Results that the command line wrote: one file, several, lines of one, or a whole library's folder. */

import { ask } from "./api.js";

const byId = (id) => document.getElementById(id);
const MOST = 500;
const pathOf = (file) => file.webkitRelativePath || file.path || file.name;

export const isResult = (file) => /\.jsonl?$/i.test(file.name);

/* Reads results, with the clips that came along; {opened: [{name, result, clip}], ignored: [why]}. */
export async function readResults(files) {
  const ignored = [];
  const texts = [];
  const inLibrary = findLibraries(files);
  for (const file of files.filter(isResult)) {
    const root = inLibrary.find((folder) => pathOf(file).startsWith(folder));
    const inside = root === undefined ? "" : pathOf(file).slice(root.length);
    // The rest of a library is its own business, and is not worth a word.
    if (root !== undefined && !/^clips\/..\/[^/]+\.json$/.test(inside)) continue;
    const text = await file.text();
    if (/\.jsonl$/i.test(file.name)) {
      text.split("\n").forEach((line, number) => {
        if (line.trim()) texts.push([`${file.name}, line ${number + 1}`, line]);
      });
    } else texts.push([file.name, text]);
  }
  if (texts.length > MOST) ignored.push(`${texts.length - MOST} results beyond the first ${MOST}`);
  const clips = files.filter((file) => !isResult(file));
  const opened = [];
  for (const [from, body] of texts.slice(0, MOST)) {
    try {
      const headers = { "Content-Type": "application/json" };
      const result = await ask("api/results", { method: "POST", headers, body });
      const path = result.captions.source.replaceAll("\\", "/");
      const name = path.split("/").pop();
      const clip = clips.find((file) => `/${pathOf(file)}`.endsWith(`/${path}`))
        ?? clips.find((file) => file.name === name) ?? null;
      opened.push({ name, result, clip });
    } catch (error) {
      ignored.push(`${from}: ${error.message}`);
    }
  }
  const used = new Set(opened.map(({ clip }) => clip));
  for (const file of clips) {
    const isInside = inLibrary.some((folder) => pathOf(file).startsWith(folder));
    if (!used.has(file) && !isInside) ignored.push(`${file.name}: no result belongs to it`);
  }
  opened.sort((one, other) => one.name.localeCompare(other.name));
  return { opened, ignored };
}

function findLibraries(files) {
  return files
    .map(pathOf)
    .filter((path) => path.split("/").pop() === "library.json")
    .map((path) => path.slice(0, -"library.json".length));
}

/* Lists what was opened; `open` gets the one that is chosen. */
export function listOpened(opened, open) {
  byId("opened").hidden = opened.length < 2;
  byId("opened-title").textContent = `${opened.length} results`;
  byId("opened-list").replaceChildren(
    ...opened.map((each) => {
      const item = document.createElement("li");
      const button = document.createElement("button");
      button.type = "button";
      button.className = "plain";
      button.textContent = each.name;
      button.addEventListener("click", () => open(each));
      const said = document.createElement("span");
      said.className = "state";
      said.textContent = each.result.captions.captions[0]?.text ?? "no sentences";
      item.append(button, said);
      return item;
    }),
  );
}

/* In a line what was left aside, or nothing. */
export function tellIgnored(ignored) {
  if (ignored.length === 0) return "";
  const more = ignored.length > 4 ? `; and ${ignored.length - 4} more` : "";
  return `Ignored: ${ignored.slice(0, 4).join("; ")}${more}`;
}
