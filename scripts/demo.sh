#!/usr/bin/env bash
# Captions the sample clips with the bundled model; `make demo` sets everything up and runs it.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"
mkdir -p demo-output

echo "== Captions: several sentences, each tied to a part of the picture, with what it rests on"
densevidcap caption samples/carphone.mp4 samples/bikes.mp4 --story --format mp4 --format html --format vtt \
    --out demo-output --overwrite

echo
echo "== What the model sees: words, each with the place and time where it is strongest"
densevidcap words samples/bikes.mp4 --top 10

echo
echo "== Where one word is: its response map"
densevidcap words samples/bikes.mp4 --word car --out demo-output --overwrite

echo
echo "Done. The clips are in samples/ (their licences in samples/LICENCES.txt); look at"
ls demo-output/* | sed 's/^/  /'
echo "The .html files are reports that open in any browser; the .mp4 files show the boxes."
