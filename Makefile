# make app: install packages and serve the app, which compiles in the background. make test: set up and run the suite. Needs Python ≥ 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PACKAGES := $(VENV)/.packages
PYTEST := $(BIN)/python -m pytest -n 5 --dist loadfile --no-loadscope-reorder -p tests.dividing

.PHONY: install app lint test verify docs bench chaos fuzz clean

# With the machine code: whoever tests or measures does not want to wait for it later.
install: $(PACKAGES)
	$(BIN)/python -c 'from nona.core.compiled.families import compile_families; compile_families()'

$(PACKAGES): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Nona Planner needs Python 3.11 or newer; name one with: make PYTHON=python3.12 app"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	@touch $(PACKAGES)

app: $(PACKAGES)
	$(BIN)/nona app

# The scripts are checked where npm has brought their linter: npm install --no-package-lock
lint: $(PACKAGES)
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python -m mypy nona evidence app.py pages/*.py
	$(BIN)/python -m pytest -q tests/test_javascript.py
	@$(BIN)/python -m pytest -qq --collect-only > $(VENV)/tests.txt || { cat $(VENV)/tests.txt; exit 1; }

# Byte code is kept also where Python is told to write none: every process of the suite would make it anew.
lint test verify: export PYTHONDONTWRITEBYTECODE =
test: install
	@$(BIN)/python -m compileall -q -j 0 nona evidence
	$(PYTEST) -m "not verify" --ignore tests/test_javascript.py

# All that takes longer: every case, full sizes, every journey, a short fuzz, chaos.
verify: install
	@$(BIN)/python -m compileall -q -j 0 nona evidence
	NONA_FULL=1 $(PYTEST) -m "verify or sized or hypothesis"
	$(BIN)/python -m benchmarks.fuzz_readers 300
	$(BIN)/python -m benchmarks.fuzz_tables 300
	$(BIN)/python -m benchmarks.fuzz_scenarios 300
	$(BIN)/python -m benchmarks.chaos

# The Python API as HTML, from its docstrings; a warning is an error.
docs: $(PACKAGES)
	$(BIN)/python -m evidence.api_docs build/docs

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
