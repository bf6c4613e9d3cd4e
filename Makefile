# Every target makes its own virtual environment in .venv when there is none.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.installed
READY_DOCS := .venv/.installed-docs
RUN_TESTS := $(BIN)/python -m pytest

.PHONY: demo test lint docs bench clean

demo: $(READY)
	$(BIN)/alloykit demo

test: $(READY)
	$(RUN_TESTS) -n 2

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(READY_DOCS)
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/docs
	@echo "open build/docs/index.html"

bench: $(READY)
	$(BIN)/python -m benchmarks --help

clean:
	rm -rf .venv runs build docs/results

# torch first and on its own: pinned in constraints.txt, so that no other package pulls in a larger build.
$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[demo,dev]'
	touch $(READY)

$(READY_DOCS): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[docs]'
	touch $(READY_DOCS)
