# `make` alone lists every command.

SHELL := /bin/bash
.DEFAULT_GOAL := help
PY := .venv/bin/python
ARGS ?=

.PHONY: help
help: ## list the commands
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: runtime ## see it work: an agent asks, you answer (needs Python 3.11, nothing else)
	@.venv/bin/placet demo $(ARGS)

.PHONY: dev
dev: runtime ## all of Placet as one process on SQLite, with the web inbox
	@.venv/bin/placet dev $(ARGS)

.PHONY: runtime
runtime:
	@scripts/setup runtime

.PHONY: setup
setup: ## make .venv with everything for development, pinned
	@scripts/setup dev

.PHONY: system
system: setup ## install the servers, the browser and the compiler that the tests need (Debian, Ubuntu)
	@scripts/system

.PHONY: test
test: system ## run every test, three files at a time; ARGS="tests/unit -k name" for some
	@$(PY) -m pytest $(or $(ARGS),$(if $(PLACET_TEST_AMQP_URL),,-n 3 --dist loadfile))

.PHONY: faults
faults: system ## the long form of the fault tests: kills, cuts, lost queues, fuzzing
	@PLACET_FAULTS=long $(PY) -m pytest -m faults $(ARGS)

.PHONY: bench
bench: system ## measure a cycle from question to resumed run
	@$(PY) -m benchmarks $(ARGS)

.PHONY: check
check: lint types imports contracts ## everything that reads the code without running it

.PHONY: lint
lint: setup ## ruff: rules and format
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .

.PHONY: format
format: setup ## let ruff mend what it can
	@$(PY) -m ruff check --fix .
	@$(PY) -m ruff format .

.PHONY: types
types: setup ## mypy, strict
	@$(PY) -m mypy

.PHONY: imports
imports: setup ## which part may import which
	@.venv/bin/lint-imports

.PHONY: contracts
contracts: setup ## contracts/ is what the models say
	@$(PY) -m placet.cli.contracts --check

.PHONY: lock
lock: setup ## pin the dependencies again after a change of pyproject.toml; ARGS=--upgrade for newer ones
	@scripts/lock $(ARGS)

.PHONY: clean
clean: ## remove .venv and every cache
	@rm -rf .venv .bench-venv .strands-venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .schemathesis
