# make app: set up and serve the app. make test: set up and run every check. Needs Python ≥ 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PACKAGES := $(VENV)/.packages
STAMP := $(VENV)/.installed

.PHONY: install app caches test lint-js bench chaos fuzz clean

install: $(STAMP)

$(PACKAGES): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Nona Planner needs Python 3.11 or newer; name one with: make PYTHON=python3.12 app"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	@touch $(PACKAGES)

$(STAMP): $(PACKAGES)
	$(BIN)/python -m nona.simulation.compiled
	$(BIN)/python -m nona.serverless.policies.esg
	$(BIN)/python -m nona.serverless.engine.compiled
	@touch $(STAMP)

app: install
	$(BIN)/nona app

# Fills caches that the suite reads: mypy's, and the byte code of sources and tests, which every process would
# make anew where Python is told to write none. What is wrong is found, and said, by the suite.
caches: $(PACKAGES)
	-@$(BIN)/python -m compileall -q nona
	-@$(BIN)/python -m mypy nona app.py >/dev/null 2>&1
	-@env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest --collect-only -q -p no:cacheprovider >/dev/null 2>&1

test: install
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder -p tests.dividing

lint-js: install  # the tool comes from `npm install --no-package-lock`
	$(BIN)/python -m pytest -q tests/test_javascript.py

bench: install
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	$(BIN)/python -m benchmarks

chaos: install  # Linux, at most 10 minutes
	$(BIN)/python -m benchmarks.chaos

fuzz: install
	$(BIN)/python -m benchmarks.fuzz_readers
	$(BIN)/python -m benchmarks.fuzz_tables
	$(BIN)/python -m benchmarks.fuzz_scenarios

clean:
	rm -rf $(VENV) build dist test-artifacts node_modules .pytest_cache .mypy_cache .ruff_cache .hypothesis
