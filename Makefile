# make app: set up and serve the app. make test: set up and run every check. Needs Python ≥ 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: install app test lint-js bench fuzz clean

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Nona Planner needs Python 3.11 or newer; name one with: make PYTHON=python3.12 app"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	$(BIN)/python -m nona.simulation.compiled
	$(BIN)/python -m nona.serverless.policies.esg
	@touch $(STAMP)

app: install
	$(BIN)/nona app

test: install
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder -p tests.dividing

lint-js: install  # the tool comes from `npm install --no-package-lock`
	$(BIN)/python -m pytest -q tests/test_javascript.py

bench: install
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	$(BIN)/python -m benchmarks

fuzz: install
	$(BIN)/python -m benchmarks.fuzz_readers
	$(BIN)/python -m benchmarks.fuzz_scenarios

clean:
	rm -rf $(VENV) build dist test-artifacts node_modules .pytest_cache .mypy_cache .ruff_cache .hypothesis
