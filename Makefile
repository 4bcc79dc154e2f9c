# Everything runs in a virtual environment of its own, made with plain pip.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: help run test test-all check lint types docs clean

help:
	@echo "make run    the main job on real text, nothing to download but packages"
	@echo "make test   the whole test suite"
	@echo "make check  lint, strict types, tests and documentation"
	@echo "make docs   the documentation, in docs/_build/html"
	@echo "make clean  remove the virtual environment and everything built"

# One stamp per set of extras: `make run` does not wait for the tools of developers.
$(VENV)/.product: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --editable ".[ppmd]"
	@touch $@

$(VENV)/.test: $(VENV)/.product
	$(PIP) install --quiet --editable ".[ppmd,test]"
	@touch $@

$(VENV)/.dev: $(VENV)/.test
	$(PIP) install --quiet --editable ".[ppmd,dev]"
	@touch $@

run: $(VENV)/.product
	@$(BIN)/protoglot demo

test: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow"

test-all: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

docs: $(VENV)/.dev
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -q -b doctest docs docs/_build/doctest

check: lint types docs
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow"

clean:
	rm -rf $(VENV) docs/_build build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
