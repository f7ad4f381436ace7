# The front door. `make demo` and `make test` set up what they need; only Python 3.11 or later and make are assumed.
PYTHON ?= $(shell command -v python3.11 || command -v python3 || command -v python)
VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo docs test test-spark test-browser test-pgm lint audit reproduce reproduce-full bench-accuracy bench-noise bench-algebra bench-read bench-scale clean

help: ## Show what there is
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

demo: $(VENV)/.installed ## Run the main job on an embedded sample
	@$(BIN)/residuum demo

test: $(VENV)/.installed-test ## Run the tests, the documented examples and the import contracts
	@$(BIN)/python -m pytest

test-spark: $(VENV)/.installed-test $(VENV)/.installed-spark ## Count on a Spark cluster of two workers, one of which is killed
	@command -v java >/dev/null || test -n "$$JAVA_HOME" || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
		&& apt-get update -qq && apt-get install -qq -y --no-install-recommends openjdk-17-jre-headless; } \
		|| { echo "Spark needs Java 17 or later. Install it, as with: apt-get install openjdk-17-jre-headless"; exit 1; }
	@RESIDUUM_CLUSTER=1 $(BIN)/python -m pytest tests/data/test_spark.py tests/cli/test_spark.py tests/data/test_spark_cluster.py

test-browser: $(VENV)/.installed-test $(VENV)/.installed-explore $(VENV)/.installed-browser ## Use the explorer in a real browser
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
		&& apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium; } \
		|| { echo "The browser tests need Chromium. Install it, as with: apt-get install chromium"; exit 1; }
	@RESIDUUM_BROWSER=1 $(BIN)/python -m pytest tests/browser

test-pgm: $(VENV)/.installed-test $(VENV)/.installed-pgm ## Test AIM+PGM, the rival in the evaluation, which needs JAX
	@RESIDUUM_PGM=1 $(BIN)/python -m pytest tests/bench/test_job.py

lint: $(VENV)/.installed-test $(VENV)/.installed-bench $(VENV)/.installed-lint ## Check style and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/pyright

docs: $(VENV)/.installed-docs ## Build the documentation as a site, in site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Built the documentation: site/index.html"

audit: $(VENV)/.installed-test ## Audit the privacy claims empirically, then kill and resume 200 runs (some twenty minutes)
	@$(BIN)/python -m audit
	@$(BIN)/python -m tests.mechanism.killing --kills 200

reproduce: $(VENV)/.installed-bench $(VENV)/.installed-pgm ## Measure some of the paper's evaluation, and ours, and write the page; ACS=FILE, LOANS=FILE name real data
	@$(BIN)/python -W ignore -m bench.evaluation quick

reproduce-full: $(VENV)/.installed-bench $(VENV)/.installed-pgm ## Measure all of it (an hour or two)
	@$(BIN)/python -W ignore -m bench.evaluation full

bench-accuracy: $(VENV)/.installed-bench ## Measure errors against the truth, AIM+PGM's and others', intervals and synthetic rows (an hour or two)
	@$(BIN)/python -m bench.accuracy

bench-noise: $(VENV)/.installed-bench ## Time exact noise against OpenDP's, and private runs against seeded ones
	@$(BIN)/python -m bench.noise

bench-algebra: $(VENV)/.installed-bench ## Time Decomp and Recon against Kronecker products and against copying
	@$(BIN)/python -m bench.algebra

bench-read: $(VENV)/.installed-bench ## Time how 10 million rows of Parquet become codes, and the memory that takes
	@$(BIN)/python -m bench.read

bench-scale: $(VENV)/.installed-bench ## Measure how many rows a core counts in a second, and what that makes of larger tables
	@$(BIN)/python -m bench.scale

export ADULT ACS LOANS

clean: ## Remove the virtual environment and everything compiled
	rm -rf $(VENV) site .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("residuum needs Python 3.11 or later, found " + sys.version.split()[0] \
		+ ". Name another with: make PYTHON=/path/to/python") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[explore]'
	@touch $@

$(VENV)/.installed-%: pyproject.toml $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@
