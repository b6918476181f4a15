source .venv/bin/activate

# A clip of yours instead of cat.mp4: sentences here, and a report that any browser opens.
densevidcap caption samples/cat.mp4 --out cat.html

# A folder of yours instead of samples: kept in samples.library; the same command goes on after a stop.
densevidcap caption samples
densevidcap find samples.library "a cup of coffee"

# The same in a browser: drop clips, search, put sentences right. Ends with Ctrl-C.
pip install --quiet --editable '.[studio]'
densevidcap serve demo-output/library --open

# A model of your own, in minutes: 50 drawn clips to try it with; yours need a table with video,caption.
pip install --quiet --editable '.[train]'
python -c "from densevidcap.examples import *; write_world('drawn', range(50), World())"
densevidcap train drawn/manifest.jsonl --out my-model
