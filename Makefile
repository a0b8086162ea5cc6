# Everything runs in .venv, made on first use. `make help` lists the targets.
.POSIX:
.PHONY: help demo test lint bench reproduce clean

BIN = .venv/bin

help:
	@echo 'make demo    fit small data sets, print a table, draw the basis vectors (about a minute)'
	@echo 'make test    lint, then all tests and docstring examples'
	@echo 'make lint    ruff, import layers, types'
	@echo 'make bench   the benchmarks (long)'
	@echo 'make reproduce   the experiments of the paper into reproduction/ (hours; resumes)'
	@echo 'make clean   remove .venv, caches and what the demo wrote'

# The stamp makes the installation happen once, and again when the dependencies change.
.venv/stamp: pyproject.toml
	@py=python3.11; $$py -c '' 2>/dev/null || py=python3; $$py -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

demo: .venv/stamp
	$(BIN)/python examples/demo.py

lint: .venv/stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy

# Two workers with one BLAS thread each: together they use the two cores that every machine has.
test: lint
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -q -n 2

bench: .venv/stamp
	$(BIN)/python -m benchmarks

reproduce: .venv/stamp
	$(BIN)/spkm reproduce

clean:
	rm -rf .venv demo_output build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
