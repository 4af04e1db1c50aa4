"""Errors know no transport: settings are named, and only `ses` writes them as flags."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from corpora.errors import (
    ConflictError,
    InputError,
    NotFoundError,
    SesError,
    StoppedError,
    UnavailableError,
    require,
    short_list,
    written,
)

ROOT = Path(__file__).parents[2]
LOWER = ("corpora", "encoders", "indexer", "search_plugin", "training", "eval", "products")
STYLES = ("eval/reports/html.py", "eval/reports/plots.py")  # CSS has names such as --page
CURL = "search_plugin/engines/cluster/frontends/languages/curl.py"  # it writes commands of curl, which have flags
COMMANDS = re.compile(r"products/\w+/command\.py")  # the commands of products stand above `ses`
FLAG = re.compile(r"(?<![\w-])--[a-z][\w-]*")
COMMAND = re.compile(r"`ses [a-z]")


@cache
def sources(package):
    """The syntax trees of a package's files, by path: parsing all packages takes two seconds."""
    paths = sorted((ROOT / package).rglob("*.py"))
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text()) for path in paths}


def strings(package, *, docstrings=True):
    """Yield the place and the value of each string in a package's sources; parts of an f-string each for itself."""
    for path, tree in sources(package).items():
        nodes = list(ast.walk(tree))
        left_out = () if docstrings else {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
                yield f"{path}:{node.lineno}", node.value


@pytest.mark.lint
@pytest.mark.parametrize("package", LOWER)
def test_the_lower_packages_name_no_flag_and_no_command(package):
    named = [
        f"{where}: {text}"
        for where, text in strings(package)
        if (FLAG.search(text) or COMMAND.search(text))
        and "pip install" not in text  # which has flags of its own
        and not where.startswith((*STYLES, CURL))
        and not COMMANDS.match(where)
    ]
    assert named == []


def test_a_message_is_the_sentence_and_the_hint_with_settings_as_arguments():
    error = InputError("The index a has int8 vectors", "leave <quantization> out, or set <fresh> and <model=my/model>")
    assert str(error) == "The index a has int8 vectors; leave quantization out, or set fresh and model=my/model."
    assert (
        error.marked == "The index a has int8 vectors; leave <quantization> out, or set <fresh> and <model=my/model>."
    )
    assert str(InputError("It is empty; type some words.")) == "It is empty; type some words."


def test_what_a_user_typed_is_not_taken_for_a_setting():
    error = InputError("There is no field '<fresh>'", "choose <model>")
    assert error.message(lambda name, value: name.upper()) == "There is no field '<fresh>'; choose MODEL."


def test_a_setting_is_a_name_with_or_without_a_value():
    seen = []
    assert written("<a> <b=c d> <b=> <1> < x> <a b>", lambda *pair: seen.append(pair) or "-") == "- - - <1> < x> <a b>"
    assert seen == [("a", None), ("b", "c d"), ("b", "")]


def test_a_condition_that_does_not_hold_is_an_error_with_its_hint():
    require(["something"], "There is nothing")
    with pytest.raises(InputError, match=r"^There is nothing; name another window\.$"):
        require([], "There is nothing", "name another <window>")


def test_a_long_list_says_how_many_more_there_are():
    assert short_list(["a"] * 5) == "a, a, a, a, a"
    assert short_list(range(1_006)) == "0, 1, 2, 3, 4 and 1,001 more"
    assert short_list([1, 2, 3], 2) == "1, 2 and 1 more"


def test_kinds():
    kinds = {error: error.kind for error in (InputError, NotFoundError, UnavailableError, ConflictError, StoppedError)}
    assert list(kinds.values()) == ["invalid", "not found", "unavailable", "conflict", "stopped"]
    assert issubclass(NotFoundError, InputError)
    assert issubclass(ConflictError, UnavailableError)
    assert SesError.kind == "invalid"
