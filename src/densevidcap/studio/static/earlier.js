/* The clips that the studio keeps. */

import { ask, clipUrl } from "./api.js";

const byId = (id) => document.getElementById(id);

export async function showEarlier() {
  const jobs = await ask("api/clips");
  byId("earlier").hidden = jobs.length === 0;
  byId("earlier-list").replaceChildren(...jobs.map(render));
}

function render(job) {
  const item = byId("earlier-template").content.firstElementChild.cloneNode(true);
  const link = item.querySelector("a");
  link.href = `#${job.id}`;
  link.textContent = job.name;
  const when = new Date(1000 * job.created).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  item.querySelector(".state").textContent = job.state === "done" ? when : `${job.state} · ${when}`;
  const button = item.querySelector("button");
  button.setAttribute("aria-label", `Delete ${job.name}`);
  button.addEventListener("click", async () => {
    button.disabled = true;
    await ask(clipUrl(job.id), { method: "DELETE" }).catch(() => null);
    await showEarlier();
    byId("choose").focus();
  });
  return item;
}
