/* How a result is shown. Sentences of a film stand by time, scene by scene, and count so, as in the
   report; those of other clips stay as they are, the best first. */

const MOST_LANES = 12; // as many as there are colours
const LONGEST = 240; // seconds of film that lanes can show in one piece

/* The result in the order in which it is shown, with `film`: null, or its summary and chapters. */
export function arrange(result) {
  const { captions } = result;
  const { scenes = [], chapters = [], summary = "", duration } = captions;
  const order = captions.captions.map((_, rank) => rank);
  const places = captions.captions.map((caption) => findPlace(scenes, caption));
  if (scenes.length > 0) {
    const start = (rank) => captions.captions[rank].start;
    order.sort((a, b) => places[a] - places[b] || start(a) - start(b) || a - b);
  }
  const sorted = (list) => (list.length > 0 ? order.map((rank) => list[rank]) : []);
  const isFilm = scenes.length > 0;
  return {
    ...result,
    captions: { ...captions, captions: sorted(captions.captions) },
    colours: sorted(result.colours),
    verdicts: sorted(result.verdicts),
    notes: sorted(result.notes),
    // A lane for each sentence, as long as there are few.
    lanes: isFilm || order.length > MOST_LANES ? sorted(result.lanes) : order,
    scenes: isFilm ? sorted(places).map((place) => nameScene(scenes, place)) : [],
    film: isFilm ? { summary, chapters } : null,
    pages: listPages(chapters, duration),
  };
}

/* What lanes show at once: chapters, or all; what is too long, in pieces. */
export function listPages(chapters, duration) {
  const spans = chapters.length > 0 ? chapters : [{ start: 0, end: duration }];
  return spans.flatMap(({ start, end }) => {
    const count = Math.max(1, Math.ceil((end - start) / LONGEST));
    const step = (end - start) / count;
    return Array.from({ length: count }, (_, n) => ({
      start: start + n * step,
      end: n === count - 1 ? end : start + (n + 1) * step,
    }));
  });
}

/* The span that a time lies in; the first and the last reach as far as they have to. */
export function findSpan(spans, time) {
  const after = spans.findIndex(({ start }) => start > time);
  return after === -1 ? spans.length - 1 : Math.max(0, after - 1);
}

function findPlace(scenes, { start, end }) {
  const middle = (start + end) / 2;
  const after = scenes.findIndex(([begin]) => begin > middle);
  return after === -1 ? scenes.length - 1 : Math.max(0, after - 1);
}

function nameScene(scenes, place) {
  const [start, end] = scenes[place];
  return { number: place + 1, of: scenes.length, start, end };
}
