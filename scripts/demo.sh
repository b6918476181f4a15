#!/usr/bin/env bash
# Shows on the sample clips what works today; `make demo` sets everything up and runs it.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"
mkdir -p demo-output

echo "== What the model looks at: frames sampled evenly from each clip, and its sound"
densevidcap frames samples/*.mp4 --sheet demo-output/frames.png

echo
echo "== The words it sees in a clip, and where one of them is"
densevidcap words samples/photos.mp4 --top 12
densevidcap words samples/photos.mp4 --word cat --out demo-output

echo
echo "== What moves through the clips: region-sequences with the words that set them apart"
densevidcap regions samples/*.mp4 -k 4 --out demo-output

echo
echo "Done. The clips are in samples/ (their licences in samples/LICENCES.txt); the results are"
for result in demo-output/*; do echo "  $result"; done
