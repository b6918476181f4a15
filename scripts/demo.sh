#!/usr/bin/env bash
# Captions and searches the sample clips with the bundled model; `make demo` sets everything up and runs it.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="${VENV:-$PWD/.venv}/bin:$PATH"
mkdir -p demo-output
library=demo-output/library

say() { printf '\n== %s\n' "$1"; }
run() { printf '$ %s\n' "$*"; "$@"; }

echo "densevidcap describes clips in one to five sentences, each tied to the part of the picture it is about."
echo "It runs on this machine alone, looks but does not listen, and never changes your clips."
echo "About half of what it says of a new clip is right, a quarter partly, a quarter wrong; you will see all three below."
echo "Everything is installed now, the model too; this takes another few minutes."

say "One clip: the best sentence first, then others that add something new, each with the words it rests on"
echo "The percentage is the chance that the whole sentence is right: from 75% it is called sure, from 50% likely, below that a guess."
echo "Those of words are of the sentence's own box alone; a sentence rests on the whole clip too, and can be surer than its words."
echo "The signs at the end show where in the picture it happens as time passes; a dot is the middle. A question mark: not seen there."
run densevidcap caption samples/carphone.mp4

say "A folder of clips, kept in a library, with a report and an annotated film of each"
run densevidcap caption samples --exclude photos.mp4 --library $library --format html --format mp4 2>&1 |
    grep --line-buffered -v "^$library/export"

say "Which clip, when and where?"
echo "After each word: the chance that it appears anywhere in those seconds. The last question finds nothing: the model has no word for rockets."
for question in "a man in a car" "a cup of coffee" "a bicycle" "a rocket"; do
    printf '$ densevidcap find %s "%s" -n 1\n' $library "$question"
    densevidcap find $library "$question" -n 1 2>&1 || true
done
densevidcap find $library "a man in a car" --sheet demo-output/search.html --overwrite 2> /dev/null > /dev/null

say "Where one word is: its map"
run densevidcap words samples/bikes.mp4 --word bicycle --out demo-output --overwrite

say "How good is that? What each clip really shows, and what a reader who looked at it says of each sentence"
python scripts/demo_page.py demo-output

say "All of it on one page, with films, reports and maps"
echo "file://$PWD/demo-output/index.html"
if [ -t 1 ] && [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] && command -v xdg-open > /dev/null; then
    xdg-open demo-output/index.html > /dev/null 2>&1 || true
fi

say "What next? These work when pasted in this folder"
cat scripts/next-steps.sh
