# `make` lists the targets. Everything happens in .venv; uv is used when it is there, else venv and pip.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV ?= $(shell command -v uv 2>/dev/null)
export UV_COMPILE_BYTECODE = 1
# Some systems forbid bytecode files, which makes every start as slow as the first.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup run test test-all lint types contracts docs check lock bench clean

help: ## list these targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 18

$(VENV)/pyvenv.cfg:
	@$(if $(UV),$(UV) venv -q --python '>=3.11' $(VENV),$(PYTHON) -c 'import sys; sys.exit("Tutor needs Python 3.11 or newer; set PYTHON=/path/to/python3.11") if sys.version_info < (3, 11) else None' && $(PYTHON) -m venv $(VENV))

# $(1): the hashed lock to install
define install
	@echo "installing $(1) (a few minutes the first time)"
	$(if $(UV),$(UV) pip install -q --python $(BIN)/python --require-hashes -r $(1),$(BIN)/python -m pip install -q --require-hashes -r $(1))
	$(if $(UV),$(UV) pip install -q --python $(BIN)/python --no-deps --no-build-isolation -e .,$(BIN)/python -m pip install -q --no-deps --no-build-isolation -e .)
endef

$(VENV)/.run: requirements.lock pyproject.toml | $(VENV)/pyvenv.cfg
	$(call install,requirements.lock)
	@touch $@

$(VENV)/.dev: requirements.lock requirements-dev.lock pyproject.toml | $(VENV)/pyvenv.cfg
	$(call install,requirements-dev.lock)
	@touch $(VENV)/.run $@

setup: $(VENV)/.dev ## make .venv with everything for running, testing and linting

run: $(VENV)/.run ## open the interview in the terminal
	@$(BIN)/tutor

test: $(VENV)/.dev ## the default test suite (no model needed)
	@$(BIN)/python -m pytest -q -n auto --dist worksteal

test-all: $(VENV)/.dev ## also the slow tests and those against a real llama.cpp server
	@$(BIN)/python -m pytest -q -m "slow or model or not slow"

lint: $(VENV)/.dev ## ruff: rules and format
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/deptry --no-ansi .

types: $(VENV)/.dev ## mypy, strict, over source and tests
	@$(BIN)/mypy

contracts: $(VENV)/.dev ## which part may import which
	@$(BIN)/lint-imports

docs: $(VENV)/.dev ## the pages as a site in site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build -q --strict

check: lint types contracts test-all ## all that CI does

bench: $(VENV)/.dev ## the figures of README and docs
	@$(BIN)/python -m benchmarks.startup
	@$(BIN)/python -m benchmarks.sim_speed --quick
	@$(BIN)/python -m benchmarks.sim_papers
	@$(BIN)/python -m benchmarks.sim_fit --quick
	@$(BIN)/python -m benchmarks.numbers
	@$(BIN)/python -m benchmarks.claims

lock: ## renew both hashed locks (needs uv)
	uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 pyproject.toml --extra embedded --extra build -o requirements.lock
	uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 pyproject.toml --extra embedded --extra build --extra plots --extra parquet --extra anki --extra dask --extra serve --extra docs --extra dev -c requirements.lock -o requirements-dev.lock

clean: ## remove .venv and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
