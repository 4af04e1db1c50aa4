"""Groups import the command that runs, and no other."""

import subprocess
import sys
from pathlib import Path

import pytest

from ses.cli import COMMANDS, ses
from ses.commands.eval import COMMANDS as PROTOCOLS
from ses.commands.eval import eval_
from tests.commands import PLAIN, call

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("group", "name"), [*((ses, name) for name in COMMANDS), *((eval_, name) for name in PROTOCOLS)]
)
def test_the_help_of_a_group_begins_a_command_s_own_help(group, name):
    # A shorter form of the same sentence: its first words.
    first, own = group.lazy[name][1].split(), group.load(name).help.split()
    assert own[: len(first) // 2] == first[: len(first) // 2]
    assert group.load(name).name == name


def loaded(*arguments):
    """Return the modules that a command of its own process has imported at its end."""
    code = (
        "import atexit, runpy, sys; sys.argv = ['ses', *sys.argv[1:]]\n"
        "atexit.register(lambda: print('\\nMODULES', *sys.modules))\n"
        "runpy.run_module('ses', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, cwd=ROOT, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.rpartition("MODULES")[2].split())


def test_the_help_of_ses_imports_no_command():
    modules = loaded("--help")
    assert not {name for name in modules if name.startswith(("ses.commands", "encoders", "search_plugin", "eval"))}


def test_a_command_s_help_imports_no_other_command_and_no_heavy_library():
    modules = loaded("search", "--help")
    assert {name for name in modules if name.startswith("ses.commands.")} == {"ses.commands.search"}
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
    assert not {"encoders.runtimes.onnx", "corpora.readers.pubmed", "encoders.graph"} & modules


def test_an_unknown_command_is_told():
    done = call(["serch"], PLAIN)
    assert done.returncode == 2
    assert "No such command 'serch'" in done.stderr


def test_importing_ses_imports_nothing_else():
    code = "import sys; before = set(sys.modules); import ses; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert {name.split(".")[0] for name in done.stdout.split()} <= {"ses", "importlib", "warnings", "__future__"}
