source .venv/bin/activate

# A clip of yours instead of cat.mp4: sentences here, and a report that any browser opens.
densevidcap caption samples/cat.mp4 --out cat.html

# A folder of yours instead of samples: kept in samples.library; after a stop the same command resumes.
densevidcap caption samples
densevidcap find samples.library "a cup of coffee"

# The same in a browser: drop clips, search, correct sentences. Ends with Ctrl-C.
pip install --quiet --editable '.[studio]'
densevidcap serve demo-output/library --open

# A model of your own, in minutes: drawn clips to try it with. Of yours it needs a .csv with the columns video and caption.
pip install --quiet --editable '.[train]'
python -c "from densevidcap.examples import *; write_world('drawn', range(50), World())"
densevidcap train drawn/manifest.jsonl --out my-model
densevidcap caption drawn/world-0-00000.mp4 --model my-model
