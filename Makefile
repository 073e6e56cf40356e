# Two commands do everything: `make demo` and `make test`. Each sets up .venv by itself.
PYTHON ?= python3
BIN := .venv/bin
.DEFAULT_GOAL := help

.PHONY: help demo test test-all test-lowest test-production test-torch java coverage dist sbom release chromium test-browser lint style types layers clean-tree warm docs bench bench-all papers peers clean

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.venv/bin/python:
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"

.venv/.ready-demo: pyproject.toml | .venv/bin/python
	@$(BIN)/python -m pip install --quiet --editable ".[cli,report]"
	@touch $@

.venv/.ready: pyproject.toml | .venv/bin/python
	@$(BIN)/python -m pip install --quiet --editable ".[cli,plot,report]" --group test --group browser
	@touch $@

.venv/.ready-docs: .venv/.ready
	@$(BIN)/python -m pip install --quiet --group docs
	@touch $@

.venv/.ready-bench: .venv/.ready
	@$(BIN)/python -m pip install --quiet --editable ".[bench]"
	@touch $@

# What the tests need holds what the demo needs, and need not be there for it.
demo: $(if $(wildcard .venv/.ready),.venv/.ready,.venv/.ready-demo) ## decide and forecast on embedded data, and write a page about it
	@$(BIN)/argmetric demo --report demo.html

# Tries of the command line leave files in the root; without git nothing is checked.
clean-tree: # no file or folder in the root that git does not know
	@left=$$(git status --porcelain 2>/dev/null | sed -n 's|^?? \([^/]*/\{0,1\}\)$$|\1|p'); \
		test -z "$$left" || { echo "git does not know these in the root:" $$left; \
		echo "remove them, or git add them"; exit 1; }

lint: style types layers ## style, words, types, layers and sizes

style: .venv/.ready clean-tree
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python benchmarks/words.py >/dev/null

types: .venv/.ready
	$(BIN)/mypy

layers: .venv/.ready
	$(BIN)/lint-imports
	$(BIN)/python benchmarks/sizes.py >/dev/null

# Compiled while the types are checked, the kernels need not be compiled by every worker.
warm: .venv/.ready
	@$(BIN)/python -c "import argmetric; argmetric.warmup()"

# A worker for every core: threads of BLAS besides would wait for each other.
# Programs that tests start load compiled sources, also where Python is told to keep none.
test: export PYTHONDONTWRITEBYTECODE :=
test: .venv/.ready ## every check, reports in Chromium among them where there is one
	@$(MAKE) --no-print-directory --jobs 2 lint warm
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

# Tests marked slow, more examples of each property, 20,000 odd calls: many minutes more
test-all: export ARGMETRIC_SLOW = 1
test-all: test ## every check, and those that take long

# The oldest libraries that pyproject.toml allows. They and new ones of others warn of each
# other; that is not our news.
.venv-lowest/.ready: pyproject.toml packaging/lowest.txt
	@$(PYTHON) -m venv .venv-lowest
	@.venv-lowest/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	@.venv-lowest/bin/python -m pip install --quiet --constraint packaging/lowest.txt --editable ".[cli,plot,report]" --group test
	@touch $@

test-lowest: .venv-lowest/.ready ## the tests with the oldest libraries that are allowed
	OMP_NUM_THREADS=1 NUMBA_CACHE_DIR=$(CURDIR)/.venv-lowest/kernels .venv-lowest/bin/python -m pytest \
		--numprocesses auto --dist loadfile -W default::DeprecationWarning -W default::FutureWarning tests

# Engines and frameworks are large, and pin versions: they get an environment of their own.
PRODUCTION := .venv-production/bin
.venv-production/.ready: pyproject.toml
	@$(PYTHON) -m venv .venv-production
	@$(PRODUCTION)/python -m pip install --quiet --upgrade "pip>=25.1"
	@$(PRODUCTION)/python -m pip install --quiet --editable ".[cli,report,onnx,spark,mlflow,langchain,llama-index,haystack]" --group test --group production
	@touch $@

java: # the system's, for Spark; root of a Debian installs it
	@command -v java >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && \
		apt-get update -qq && apt-get install -qq -y openjdk-17-jre-headless >/dev/null; } || \
		echo "no Java: tests with Spark are skipped"

test-production: .venv-production/.ready java ## exports and integrations with the real engines
	ARGMETRIC_SLOW=1 OMP_NUM_THREADS=1 $(PRODUCTION)/python -m pytest tests/verbs/tune/test_exports.py tests/integrations

coverage: .venv/.ready ## which lines and branches the tests reach, kernels apart
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist loadfile --cov --cov-report=term

chromium: # the system's; root of a Debian installs it
	@for name in "$$ARGMETRIC_CHROMIUM" chromium chromium-browser google-chrome google-chrome-stable; do \
		command -v "$$name" >/dev/null && exit 0; done; \
	test "$$(id -u)" = 0 && command -v apt-get >/dev/null && \
		apt-get update -qq && apt-get install -qq -y chromium >/dev/null || \
		{ echo "no Chromium: install it, or set ARGMETRIC_CHROMIUM to its path"; exit 1; }

test-browser: .venv/.ready chromium ## only the reports in a real browser
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/browser

# torch weighs hundreds of megabytes: an environment of its own. A CPU build will do: name
# one that pip finds, such as TORCH=torch==2.13.0.
TORCH ?= torch
.venv-torch/.ready: pyproject.toml
	@$(PYTHON) -m venv .venv-torch
	@.venv-torch/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	@.venv-torch/bin/python -m pip install --quiet "$(TORCH)"
	@.venv-torch/bin/python -m pip install --quiet --editable ".[cli]" array-api-strict pytest hypothesis pytest-xdist \
		torchmetrics lightning monai transformers accelerate "triton; sys_platform == 'linux'"
	@touch $@

test-torch: .venv-torch/.ready ## only the tests of tensors and training loops, with torch in .venv-torch
	OMP_NUM_THREADS=1 .venv-torch/bin/python -m pytest tests/tensors tests/integrations/test_training.py

# All pages are written anew (-a): the search forgets the index entries of others.
docs: .venv/.ready-docs ## HTML documentation in docs/_build/html, warnings are errors
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -a -W --keep-going -b html docs docs/_build/html
	@ARGMETRIC_HTML=docs/_build/html $(BIN)/python -m pytest -q tests/browser/test_search.py

.venv/.ready-release: .venv/.ready
	@$(BIN)/python -m pip install --quiet --group release
	@touch $@

dist: .venv/.ready-release ## wheel and sdist in dist/, built twice, compared, and tried outside of the checkout
	$(BIN)/python packaging/release.py --dist

# What a light install brings, in an environment that has nothing else
sbom: .venv/.ready-release ## sbom.cdx.json: the libraries of a light install, as CycloneDX
	@rm -rf .venv-sbom && $(PYTHON) -m venv .venv-sbom && .venv-sbom/bin/python -m pip install --quiet .
	@.venv-sbom/bin/python -m pip uninstall --quiet --yes pip setuptools
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --output-file sbom.cdx.json .venv-sbom
	@rm -rf .venv-sbom

release: .venv/.ready-release ## make release VERSION=0.1.0: check, date the changelog, test, build, commit, tag; pushes nothing
	$(BIN)/python packaging/release.py $(VERSION)

papers: .venv/.ready ## re-run the claims of the papers and report which hold
	$(BIN)/python benchmarks/papers.py --fast

# Peers are large too, NannyML and torch above all: an environment of their own.
.venv-peers/.ready: pyproject.toml
	@$(PYTHON) -m venv .venv-peers
	@.venv-peers/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	@.venv-peers/bin/python -m pip install --quiet "$(TORCH)"
	@.venv-peers/bin/python -m pip install --quiet --editable ".[files,plot,sklearn]" --group peers
	@touch $@

peers: .venv-peers/.ready ## beside other libraries on the same data, and docs/peers.rst from it
	OMP_NUM_THREADS=1 .venv-peers/bin/python benchmarks/peers.py
	.venv-peers/bin/python benchmarks/peers.py --page
	.venv-peers/bin/python docs/draw_results.py peers

SHORT = decide spans tune files cliffs scale production
LONG = summaries classes monitor train stream trust search compare guarantees ordinal sets

bench: .venv/.ready-bench ## figures of README and docs in JSON lines, those of an hour together
	for one in $(SHORT); do $(BIN)/python benchmarks/$$one.py || exit; done

bench-all: bench ## also those that take from 20 minutes to 90 each
	for one in $(LONG); do $(BIN)/python benchmarks/$$one.py || exit; done

clean: ## remove what can be made again
	rm -rf .venv .venv-lowest .venv-production .venv-torch .venv-peers .venv-sbom dist sbom.cdx.json demo.html docs/_build docs/gallery docs/api
