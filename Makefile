# Everything runs in .venv, made on first use. `make help` lists the targets.
.POSIX:
.PHONY: help release-check demo docs docs-lite test test-all test-browser test-oldest test-arithmetic lint style bench ratchet reproduce clean

BIN = .venv/bin
# Tests whose numbers depend on the order in which sums are taken.
NUMERICAL = $(wildcard tests/test_[ckloprstv]*.py tests/test_explain_[ce]*.py tests/test_fit*.py tests/test_m*.py) paper/tests/test_competitors.py

help:
	@echo 'make demo    from a CSV file to a model and a report, then tables and pictures (a minute or two)'
	@echo 'make test    lint, then all tests and docstring examples, of the library and of paper/'
	@echo 'make test-all   as make test, with scikit-learn'"'"'s checks on all settings'
	@echo 'make test-oldest       the tests with the oldest versions that pyproject.toml names'
	@echo 'make test-arithmetic   the numerical tests as other CPUs compute'
	@echo 'make test-browser   the reports in chromium, which it installs where it is root on Debian'
	@echo 'make docs    this documentation as a web site, into build/site/html (a few minutes)'
	@echo 'make docs-lite   after make docs: the gallery as notebooks that run in the browser (JupyterLite)'
	@echo 'make release-check     build the wheel twice, compare, check and try it in clean environments; uploads nothing'
	@echo 'make lint    ruff, import layers, types'
	@echo 'make bench   all benchmarks (about 40 minutes on two cores)'
	@echo 'make ratchet   one figure for each capability beside the best of any version (minutes)'
	@echo 'make reproduce   the experiments of the paper into reproduction/ (hours; resumes)'
	@echo 'make clean   remove .venv, caches and what the demo wrote'

# Stamps make an installation happen once, and again when the dependencies change. There are four in one environment
# (the first compiles what the demo imports, and not all that is installed: a third of its time):
# what users of the library have, that and the paper's experiments, all of it with the tools of developers, and Sphinx.
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check

.venv/made:
	@py=python3.11; $$py -c '' 2>/dev/null || py=python3; $$py -m venv .venv
	@touch $@

.venv/user: .venv/made pyproject.toml
	$(PIP) --no-compile -e '.[plot,cli]'
	@touch $@

.venv/paper: .venv/made pyproject.toml paper/pyproject.toml
	$(PIP) -e . -e './paper[plot,progress]'
	@touch $@

.venv/stamp: .venv/made pyproject.toml paper/pyproject.toml
	$(PIP) -e '.[dev]' -e './paper[plot,progress]'
	@touch $@

.venv/docs: .venv/made pyproject.toml
	$(PIP) -e '.[docs]'
	@touch $@

# One BLAS thread: at the sizes of the demo two only wait for one another.
demo: .venv/user
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python examples/demo.py

lint: style
	$(BIN)/mypy

style: .venv/stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/lint-imports

# Two workers with one BLAS thread each: together they use the two cores that every machine has. Each begins with one
# half of the files, so that what tests of a file share is made once, and takes of the other's at the end. Types are
# checked beside them: without a cache that takes one core half a minute. Bytecode is kept, also where Python is told not to.
PYTEST = PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -q -n 2 --dist worksteal
test: style
	@$(BIN)/mypy & types=$$!; tests=0; $(PYTEST) || tests=$$?; wait $$types && exit $$tests

# Tests marked "exhaustive" as well: scikit-learn's checks on all settings. Packages that serve as oracles are installed
# for it; scikit-survival holds scikit-learn below a version of its own choice, so `make test` does without them.
test-all: lint
	$(PIP) scikit-survival shap
	$(PYTEST) --all

# Warnings are errors, the examples of the gallery run, and internal links are followed.
docs: .venv/docs
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python website/build.py

# Nothing is fetched; a browser that opens the notebooks loads Pyodide from its address.
docs-lite: docs
	$(PIP) -e '.[lite]'
	$(BIN)/python website/lite.py

# An environment of its own, of the oldest versions that pyproject.toml names.
.venv-oldest/stamp: pyproject.toml tests/oldest_versions.py
	@py=python3.11; $$py -c '' 2>/dev/null || py=python3; $$py -m venv .venv-oldest && \
	$$py tests/oldest_versions.py > .venv-oldest/oldest.txt
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check -r .venv-oldest/oldest.txt
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -e . -e ./paper
	@touch $@

test-oldest: .venv-oldest/stamp
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 .venv-oldest/bin/python -m pytest -q -n 2 tests src docs README.md

# BLAS and NumPy choose their code by the CPU. The same tests with the code of others: what the library promises to the
# bit (same machine, same samples, any threads, any order) must hold under each, all else within the tests' bounds.
test-arithmetic: .venv/stamp
	@cores='Nehalem Sandybridge Haswell Zen'; \
	if grep -q avx512f /proc/cpuinfo 2>/dev/null; then cores="$$cores SkylakeX"; fi; \
	for core in $$cores; do echo "OPENBLAS_CORETYPE=$$core"; \
	OPENBLAS_CORETYPE=$$core OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -q -n 2 -m 'not slow' $(NUMERICAL) || exit 1; done
	@for wide in 512,V4 ''; do \
	off=$$($(BIN)/python -c "import numpy._core._multiarray_umath as m; print(*(n for n in m.__cpu_dispatch__ if m.__cpu_features__.get(n) and any(w in n for w in '$$wide'.split(','))))"); \
	if [ -z "$$off" ]; then continue; fi; echo "NPY_DISABLE_CPU_FEATURES=$$off"; \
	NPY_DISABLE_CPU_FEATURES="$$off" OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -q -n 2 -m 'not slow' $(NUMERICAL) || exit 1; done

# Without chromium the tests of pages are skipped; this target is for those who want them run.
test-browser: .venv/stamp
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || \
	    (apt-get update -qq && apt-get install -y -qq chromium chromium-driver) >/dev/null
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -q tests/browser

# A release but for the upload: wheel and bill of materials in dist/. With the Python of .venv and the newest there is,
# or that of `make release-check NEWEST=/path/to/python`.
release-check: .venv/stamp
	$(PIP) -e '.[release]'
	@newest=$${NEWEST:-$$(for v in 14 13 12 11; do if python3.$$v -c '' 2>/dev/null; then echo python3.$$v; break; fi; done)}; \
	$(BIN)/python tests/release_check.py --python $(BIN)/python $${newest:+--python $$newest}

bench: .venv/stamp
	$(BIN)/python -m benchmarks --jobs 2

# Needs nothing but a clone; with SPKM_DATA a few more figures are measured.
ratchet: .venv/stamp
	$(BIN)/python -m benchmarks.ratchet --jobs 2

reproduce: .venv/paper
	$(BIN)/spkm-paper reproduce

clean:
	rm -rf .venv .venv-oldest demo_output build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
