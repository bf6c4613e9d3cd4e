# Every target makes its own virtual environment in .venv when there is none.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.installed
READY_DOCS := .venv/.installed-docs
RUN_TESTS := $(BIN)/python -m pytest
LOWEST := .venv-lowest
# Quick tests that use every dependency: files of all kinds, the store, reports, statistics, and a student from recipe to answers.
LOWEST_TESTS := tests/data tests/test_files.py tests/test_file_errors.py tests/recipe tests/knowledge/test_store.py tests/evaluation/test_significance.py \
	tests/stats/test_mahalanobis.py tests/reporting/test_page.py tests/commands/test_predict.py \
	tests/run_folder/test_lock.py tests/cli/test_commands.py::test_wrong_usage_ends_with_2

.PHONY: demo test test-slow test-lowest lint docs bench clean

demo: $(READY)
	$(BIN)/alloykit demo

test: $(READY)
	$(RUN_TESTS) -n 2 --dist worksteal -m "not slow"

# Whole runs, killed processes, a cluster, a server, a browser, and most of many similar cases.
test-slow: $(READY)
	$(RUN_TESTS) -n 2 --dist worksteal -m slow

# Python 3.11 too is the lowest: wheels of the lowest versions are made for it.
test-lowest: $(LOWEST)/.installed
	$(LOWEST)/bin/python -m pytest -n 2 --dist loadfile $(LOWEST_TESTS)

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
	rm -rf .venv $(LOWEST) runs build docs/results

# torch first and on its own: pinned in constraints.txt, so that no other package pulls in a larger build.
$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[demo,dev,optional]'
	touch $(READY)

$(READY_DOCS): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[docs]'
	touch $(READY_DOCS)

$(LOWEST)/.installed: pyproject.toml constraints.txt .ci/lowest.py .ci/lowest-others.txt | $(READY)
	rm -rf $(LOWEST)
	$(PYTHON) -m venv $(LOWEST)
	$(BIN)/python .ci/lowest.py > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --only-binary :all: \
		--constraint $(LOWEST)/constraints.txt --editable '.[sentencepiece,dev]'
	touch $@
