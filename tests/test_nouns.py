"""A noun means one thing: no two modules define a class or an alias of the same name."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

pytestmark = pytest.mark.lint

ROOT = Path(__file__).parents[1]
PACKAGES = ("corpora", "encoders", "eval", "indexer", "products", "search_plugin", "ses", "training")


def defined(source):
    """Return the names of a module's classes and type aliases, without private ones."""
    for node in ast.parse(source).body:
        match node:
            case ast.ClassDef(name=name):
                pass
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                if not name[0].isupper() or name.isupper():
                    continue
            case _:
                continue
        if not name.startswith("_"):
            yield name


def test_no_noun_is_defined_twice():
    where = defaultdict(list)
    for path in (path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))):
        for name in defined(path.read_text(encoding="utf-8")):
            where[name].append(path.relative_to(ROOT).as_posix())
    assert {name: paths for name, paths in where.items() if len(paths) > 1} == {}


def test_what_counts_as_a_noun():
    source = "class One: ...\nTwo = dict[str, int]\nThree: type = int\nFOUR = 4\nfive = 5\n_Six = int\nR = TypeVar('R')"
    assert [*defined(source)] == ["One", "Two", "Three"]
