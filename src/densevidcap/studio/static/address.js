/* Addresses that can be shared: `#ID&t=12.4&s=3` is a clip at a time with its third sentence, `b` a
   box to point out, and `#q=a dog` a question. */

export function readAddress() {
  const [first, ...rest] = location.hash.slice(1).split("&");
  const isClip = first !== "" && !first.includes("=");
  const given = new URLSearchParams((isClip ? rest : [first, ...rest]).join("&"));
  const number = (name) => (given.has(name) && isFinite(given.get(name)) ? Number(given.get(name)) : null);
  const box = (given.get("b") ?? "").split(",").map(Number);
  return {
    id: isClip ? decode(first) : null,
    question: given.get("q"),
    time: number("t"),
    sentence: number("s"),
    box: box.length === 4 && box.every(isFinite) ? box : null,
  };
}

export function writeAddress(id, { time = null, sentence = null, box = null } = {}) {
  const parts = [encodeURIComponent(id)];
  if (time !== null) parts.push(`t=${Number(time.toFixed(2))}`);
  if (sentence !== null) parts.push(`s=${sentence}`);
  if (box !== null) parts.push(`b=${box.map((edge) => Number(edge.toFixed(3))).join(",")}`);
  return `#${parts.join("&")}`;
}

export const askAddress = (question) => `#${new URLSearchParams({ q: question })}`;

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
