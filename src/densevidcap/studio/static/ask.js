/* What cannot be taken back lightly is asked for first, and can be undone for a while after; and what
   the browser is asked for. */

const byId = (id) => document.getElementById(id);
let forget = () => {};

/* Whether the person wants it. */
export function confirm(title, text, action) {
  const dialog = byId("ask");
  byId("ask-title").textContent = title;
  byId("ask-text").textContent = text;
  byId("ask-yes").textContent = action;
  dialog.returnValue = "";
  dialog.showModal();
  byId("ask-no").focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

/* To the clipboard, which browsers keep from pages that came over a network without TLS; whether it
   is there. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/* Say that something was done; `undo` takes it back, `later` is called if nobody did. */
export function offerUndo(text, undo, { later = () => {}, seconds = 12 } = {}) {
  forget();
  const toast = byId("toast");
  byId("toast-text").textContent = text;
  toast.hidden = false;
  let isOpen = true;
  const end = () => {
    if (!isOpen) return false;
    isOpen = false;
    clearTimeout(timer);
    removeEventListener("pagehide", expire);
    toast.hidden = true;
    return true;
  };
  const expire = () => {
    if (end()) later();
  };
  const timer = setTimeout(expire, 1000 * seconds);
  addEventListener("pagehide", expire);
  forget = expire;
  byId("toast-undo").onclick = () => {
    if (end()) undo();
  };
}
