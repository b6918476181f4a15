#!/usr/bin/env bash
# Captions and searches the sample clips with the bundled model; `make demo` sets everything up and runs it.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="${VENV:-$PWD/.venv}/bin:$PATH"
mkdir -p demo-output
library=demo-output/library

say() { printf '\n== %s\n' "$1"; }
run() { printf '$ %s\n' "$*"; "$@"; }

echo "densevidcap describes clips: one to five sentences, each tied to the part of the picture it is about."
echo "The model, trained on web video, comes with it. All that is installed now; this takes another minute or two."

say "One clip: its sentences, the best first, then good ones that say something else; and the words that each rests on"
echo "The percentage is the chance that all of a sentence is right: sure from 60% on, likely from 30% on, else a guess."
echo "Signs at the end: where in the picture it is in each part of the time; a dot is the middle. A question mark: not seen there."
run densevidcap caption samples/carphone.mp4

say "A folder of clips, kept in a library; a report and a film with boxes of each"
run densevidcap caption samples --exclude photos.mp4 --library $library --format html --format mp4 2>&1 |
    grep --line-buffered -v "^$library/export"

say "Which clip, when and where?"
echo "After a word: the chance that it is seen anywhere in those seconds. The last question is one that it cannot answer: it has no word for rockets."
for question in "a man in a car" "a cup of coffee" "a bicycle" "a rocket"; do
    printf '$ densevidcap find %s "%s" -n 1\n' $library "$question"
    densevidcap find $library "$question" -n 1 2>&1 || true
done
densevidcap find $library "a man in a car" --sheet demo-output/search.html --overwrite 2> /dev/null > /dev/null

say "Where one word is: its map"
run densevidcap words samples/bikes.mp4 --word bicycle --out demo-output --overwrite

say "How good is that? What is really there, and what a reader, who watched the clips before, says of each sentence"
python scripts/demo_page.py demo-output

say "All of it on one page, with films, reports and maps"
echo "file://$PWD/demo-output/index.html"
if [ -t 1 ] && [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] && command -v xdg-open > /dev/null; then
    xdg-open demo-output/index.html > /dev/null 2>&1 || true
fi

say "Next, to paste in this folder"
cat scripts/next-steps.sh
