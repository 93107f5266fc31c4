# Works with GNU make 3.81 and newer. Everything that is installed lies in .venv, which make owns and may rebuild.
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
.PHONY: help try test check lint goldens bench run-env dev-env

# The interpreter for .venv; empty = the newest one that scripts/venv.sh finds.
PYTHON ?=
export PYTHON
PYTEST_FLAGS ?= -q
BENCH_FLAGS ?=

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' Makefile
	@echo "PYTHON=python3.13 before or after the target chooses the interpreter."

try: run-env ## search your own history, or a sample where there is none
	@sh scripts/try.sh

test: dev-env ## run the tests
	@.venv/bin/python -m pytest -n 2 --dist loadfile $(PYTEST_FLAGS)

check: lint test ## lint, types, import contracts, tests: what CI runs

lint: dev-env ## ruff, mypy and the import contracts
	@.venv/bin/ruff check --quiet .
	@.venv/bin/mypy --no-error-summary
	@.venv/bin/lint-imports --no-cache >.venv/lint-imports.log 2>&1 || { cat .venv/lint-imports.log; exit 1; }

goldens: dev-env ## rewrite the recorded outputs; read the diff
	@.venv/bin/python -m pytest $(PYTEST_FLAGS) --update-goldens tests/test_store_contract.py tests/test_spec.py tests/test_docs.py tests/test_pages.py

bench: dev-env ## measure speed and memory
	@.venv/bin/python benchmarks/run.py $(BENCH_FLAGS)

run-env:
	@sh scripts/venv.sh run

dev-env:
	@sh scripts/venv.sh dev
