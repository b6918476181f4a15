/* Questions to the server; a refusal becomes an Error that says why. */

export const queueUrl = (id, part = "") => `api/queue/${encodeURIComponent(id)}${part}`;
export const clipUrl = (id, part = "") => `api/clips/${encodeURIComponent(id)}${part}`;

export async function ask(url, options) {
  const answer = await fetch(url, options);
  if (!answer.ok) throw new Error(reasonOf(await answer.text(), answer.status));
  return answer.status === 204 ? null : answer.json();
}

/* Posts a clip; `tell` gets the share that is sent. Only XMLHttpRequest knows it. */
export function post(file, tell, signal) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", `api/clips?name=${encodeURIComponent(file.name)}`);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.onprogress = ({ loaded, total }) => tell(loaded / total);
    request.onload = () => {
      if (request.status === 202) resolve(JSON.parse(request.responseText));
      else reject(new Error(reasonOf(request.responseText, request.status)));
    };
    request.onerror = () => reject(new Error("The studio does not answer; is it still running?"));
    request.onabort = () => reject(new DOMException("stopped", "AbortError"));
    signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}

/* Calls `tell` with the clip whenever it has come further; gives a function that ends it. */
export function watch(id, tell) {
  const events = new EventSource(clipUrl(id, "/events"));
  events.onmessage = ({ data }) => {
    const job = JSON.parse(data);
    if (job.state === "done" || job.state === "failed") events.close();
    tell(job);
  };
  return () => events.close();
}

function reasonOf(text, status) {
  try {
    const { detail } = JSON.parse(text);
    return typeof detail === "string" ? detail : detail.map(({ msg }) => msg).join("; ");
  } catch {
    return `The studio answered with ${status}.`;
  }
}
