"""Groups import the command that runs, and no other."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ses.terminal.cli import COMMANDS, ses
from ses.terminal.commands.eval import COMMANDS as PROTOCOLS
from ses.terminal.commands.eval import eval_
from tests.commands import PLAIN, call, of
from tests.commands import ses as run
from tests.tiny import make_model

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("group", "name"), [*((ses, name) for name in COMMANDS), *((eval_, name) for name in PROTOCOLS)]
)
def test_the_help_of_a_group_begins_a_command_s_own_help(group, name):
    # A shorter form of the same sentence: its first words.
    first, own = group.lazy[name][1].split(), group.load(name).help.split()
    assert own[: len(first) // 2] == first[: len(first) // 2]
    assert group.load(name).name == name


def loaded(*arguments, **environment):
    """Return the modules that a command of its own process has imported at its end."""
    code = (
        "import atexit, runpy, sys; sys.argv = ['ses', *sys.argv[1:]]\n"
        "atexit.register(lambda: print('\\nMODULES', *sys.modules))\n"
        "runpy.run_module('ses', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        timeout=120,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.rpartition("MODULES")[2].split())


def test_the_help_of_ses_imports_no_command():
    unwanted = ("ses.terminal.commands", "encoders", "search_plugin", "eval", "products")
    assert not {name for name in loaded("--help") if name.startswith(unwanted)}


@pytest.mark.slow
def test_a_command_s_help_imports_no_other_command_and_no_heavy_library():
    modules = loaded("search", "--help")
    assert {name for name in modules if name.startswith("ses.terminal.commands.")} == {"ses.terminal.commands.search"}
    heavy = {
        "numpy",
        "pydantic",
        "onnx",
        "onnxruntime",
        "tantivy",
        "faiss",
        "pyarrow",
        "tokenizers",
        "huggingface_hub",
        "torch",
    }
    assert not heavy & modules
    assert not {"encoders.runtimes.onnx", "corpora.readers.pubmed", "encoders.runtimes.graph"} & modules


OF_INDEXING = {
    *("faiss", "onnx", "safetensors", "huggingface_hub", "pydantic", "lark", "filelock", "torch", "scipy", "rich"),
    *("numpy.ma", "search_plugin.pages.formats", "encoders.runtimes.auto", "encoders.runtimes.openvino", "indexer.job"),
}
"""What a search of a few papers needs nothing of; each takes from 5 to 200 ms."""

OF_MODELS = {"onnxruntime", "tokenizers", "sqlite3", "encoders.registry", "encoders.encoder", "encoders.layouts"}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    make_model(folder / "model")
    rows = [{"id": name, "title": f"Virus {name}", "year": 2020} for name in "abc"]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = run(folder, "index", "--corpus", "jsonl", "--path", folder / "corpus.jsonl", "--model", folder / "model")
    assert done.returncode == 0, done.stderr
    run(folder, "search", "cells")  # builds the graph
    return folder


@pytest.mark.slow
def test_a_lexical_search_imports_nothing_of_models(home):
    modules = loaded("search", "virus", "--mode", "lexical", **of(home))
    assert not (OF_INDEXING | OF_MODELS) & modules


@pytest.mark.slow
def test_a_hybrid_search_imports_what_runs_the_model_alone(home):
    modules = loaded("search", "lung", **of(home))
    assert not OF_INDEXING & modules
    assert modules >= OF_MODELS


@pytest.mark.slow
def test_a_search_loads_nothing_of_what_it_was_not_asked_for(home):
    unasked = {
        *("engines.cluster", "engines.embedded.diagnosis", "engines.embedded.merging", "contract.diagnosis"),
        *("ranking.model_reranking", "ranking.feedback", "understanding.pasted.read", "filters.containing"),
    }
    of_other_models = {
        *("layouts.pals", "layouts.static", "layouts.sparse", "architectures.bert", "ops.base", "ops.names")
    }
    found = loaded("search", "lung", **of(home))
    assert not {f"search_plugin.{name}" for name in unasked} & found
    assert not {f"encoders.{name}" for name in of_other_models} & found


def test_an_unknown_command_is_told():
    done = call(["serch"], PLAIN)
    assert done.returncode == 2
    assert "No such command 'serch'" in done.stderr


def imported_by(module):
    """Return the packages that the import of a module imports in a process of its own."""
    code = f"import sys; before = set(sys.modules); import {module}; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return {name.split(".")[0] for name in done.stdout.split()}


def test_importing_ses_imports_nothing_else():
    assert imported_by("ses") <= {"ses", "importlib", "warnings", "__future__"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "late"),
    [
        # It reads when it is imported whether there are workers.
        pytest.param("ses.service.run", "prometheus_client", marks=pytest.mark.serve),
        # It tells that a package of another project hides it.
        ("ses.terminal.foreign", "corpora"),
    ],
)
def test_what_has_to_wait_is_imported_late(module, late):
    assert late not in imported_by(module)
