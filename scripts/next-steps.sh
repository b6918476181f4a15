source .venv/bin/activate

# One clip: its sentences, and a report that any browser opens. Put your own clip in place of samples/cat.mp4.
densevidcap caption samples/cat.mp4 --out cat.html

# A folder, kept in samples.library; if it is stopped, the same command resumes. Put your own folder in place of samples.
densevidcap caption samples
densevidcap find samples.library "a cup of coffee"

# The studio, in a browser: drop clips, search, correct sentences. Ctrl-C ends it.
pip install --quiet --editable '.[studio]'
densevidcap serve demo-output/library --open

# A model of your own, trained in minutes on 50 drawn clips: too few to be good, enough to see how it goes.
# For your own clips, write a .csv with the columns video and caption, and put it in place of drawn/manifest.jsonl.
pip install --quiet --editable '.[train,eval]'
python -c "from densevidcap.examples import *; write_world('drawn', range(50), World())"
densevidcap train drawn/manifest.jsonl --out my-model
densevidcap caption drawn/world-0-00000.mp4 --model my-model
