#!/usr/bin/env bash
# Shows on the sample clips what works today; `make demo` sets everything up and runs it.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"
mkdir -p demo-output

echo "== What the models will see: frames sampled evenly from each clip, and its sound"
densevidcap frames samples/*.mp4 --sheet demo-output/frames.png

echo
echo "Done. The clips are in samples/ (their licences in samples/LICENCES.txt); the result is"
echo "  demo-output/frames.png"
