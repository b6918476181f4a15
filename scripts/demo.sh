#!/usr/bin/env bash
# Shows on the sample clips what works today; `make demo` sets everything up and runs it.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"
mkdir -p demo-output

echo "== What the models see: frames sampled evenly from each clip, and its sound"
densevidcap frames samples/*.mp4 --sheet demo-output/frames.png

echo
echo "== Words that a clip shows, each with the place and time where it is strongest"
densevidcap words samples/bigbuckbunny.mp4 --top 10

echo
echo "== Where one word is: its response map"
densevidcap words samples/bigbuckbunny.mp4 --word grass --out demo-output

echo
echo "== Region-sequences: parts of the picture, followed through the clip, with their words"
densevidcap regions samples/bigbuckbunny.mp4 -k 5 --out demo-output

echo
echo "Done. The clips are in samples/ (their licences in samples/LICENCES.txt); look at"
ls demo-output/* | sed 's/^/  /'
