"""The picture of docs/architecture.md: it shows every package and room, and every import goes down in it."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import pytest

pytestmark = pytest.mark.lint

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "architecture.md"
PACKAGES = {"ses", "training", "eval", "products", "indexer", "search_plugin", "encoders", "corpora"}

_PICTURE = re.compile(r"^```tree\n(?P<picture>.*?)^```", re.DOTALL | re.MULTILINE)
_ROOM = r"(?:\*/)?[\w*]+(?:/|\.py)"
_LINE = re.compile(rf"(?P<packages>\w+(?: \| \w+)*)?(?: {{2,}}(?P<rooms>{_ROOM}(?: [|+] {_ROOM})*))?(?: {{2,}}.*)?")


@dataclass(frozen=True)
class Room:
    """A part of the tree that the picture names: a package, a folder in it, or modules beside that folder.

    Attributes:
        floor: The number of its line; the highest room has the smallest one.
        name: Its place on that line.
    """

    floor: int
    name: str


def rooms_of(page: str) -> dict[str, Room]:
    """Return the rooms of a page's first picture, by the modules that they hold.

    In the picture, `|` separates rooms of one floor, and `+` the parts of one room. `folder/` is a package, `file.py`
    is a module, and `*.py` stands for all modules of the package that have no room of their own. `*/file.py` stands for
    the modules of this name in all its folders.
    """
    found: dict[str, Room] = {}
    within = ""
    for floor, text in enumerate(_PICTURE.search(page)["picture"].splitlines()):
        line = _LINE.fullmatch(text.replace("│", " ").replace("▼", " ").rstrip())
        assert line, f"line {floor + 1} of the picture can't be read: {text}"
        for package in (line["packages"] or "").split(" | "):
            within = package or within
            if package and not line["rooms"]:
                found[package] = Room(floor, package)
        for room in (line["rooms"] or "").split(" | "):
            for part in filter(None, room.split(" + ")):
                name = part.removesuffix("/").removesuffix(".py").replace("/", ".")
                found[f"{within}.{name}"] = Room(floor, room)
    return found


def imports_of(source: str) -> Iterator[str]:
    """Yield the names that a module imports, in functions and for type checkers too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert not node.level, "a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def modules(root: Path) -> dict[str, Path]:
    """Return the modules of the packages, by their dotted names; `a/__init__.py` is the module `a`."""
    found = {}
    for package in PACKAGES:
        for path in (root / package).rglob("*.py"):
            found[".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")] = path
    return found


def room_of(name: str, rooms: dict[str, Room]) -> Room | None:
    """Return the room that holds a module, or a name in a module."""
    package, *rest = name.split(".")
    in_each = rooms.get(".".join([package, "*", *rest[1:2]])) if rest[1:] else None
    return in_each or rooms.get(".".join([package, *rest[:1]])) or rooms.get(package)


def faults_of(rooms: dict[str, Room], root: Path) -> Iterator[str]:
    """Yield a sentence for each module without a room, each room without modules, and each wrong import."""
    found = modules(root)
    for package in PACKAGES:
        if rest := rooms.get(f"{package}.*"):
            files = (module for module, path in found.items() if path.parent == root / package)
            rooms = dict.fromkeys(files, rest) | rooms
    for module, path in sorted(found.items()):
        here = room_of(module, rooms)
        if here is None and "." in module:
            yield f"{module} has no room"
        for name in imports_of(path.read_text(encoding="utf-8")):
            there = room_of(name, rooms)
            if here and there and here != there and here.floor >= there.floor:
                yield f"{module} ({here.name}) imports {name} ({there.name})"
    for name in rooms:
        if name.removesuffix(".*") not in found and not any(fnmatch(module, name) for module in found):
            yield f"{name} is not in the tree"


def test_every_import_goes_down_in_the_picture():
    assert sorted(set(faults_of(rooms_of(PAGE.read_text(encoding="utf-8")), ROOT))) == []


@pytest.fixture
def small(tmp_path):
    """A tree with two packages, one of them with three rooms."""
    files = {
        "ses/__init__.py": "import corpora.paper",
        "ses/terminal/__init__.py": "",
        "ses/terminal/cli.py": "from ses import library",
        "ses/library.py": "def open():\n    from ses.kept import Kept",
        "ses/kept.py": "",
        "corpora/__init__.py": "",
        "corpora/paper.py": "import numpy",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def picture(text):
    return "```tree\n" + textwrap.dedent(text).lstrip("\n") + "```\n"


def test_a_picture_of_the_tree_has_no_fault(small):
    rooms = rooms_of(
        picture("""
            ses       terminal/           the command line
             │        *.py                the Python API
             ▼
            corpora                       papers
        """)
    )
    assert list(faults_of(rooms, small)) == []
    assert rooms["ses.terminal"].floor == 0
    assert rooms["corpora"].floor == 3


@pytest.mark.parametrize(
    ("shown", "fault"),
    [
        ("ses  *.py\n     terminal/\ncorpora\n", "ses.terminal.cli (terminal/) imports ses.library (*.py)"),
        ("ses  terminal/ | *.py\ncorpora\n", "ses.terminal.cli (terminal/) imports ses.library (*.py)"),
        (
            "ses  kept.py\n     terminal/ + *.py\ncorpora\n",
            "ses.library (terminal/ + *.py) imports ses.kept.Kept (kept.py)",
        ),
        ("corpora\nses\n", "ses (ses) imports corpora.paper (corpora)"),
        ("ses  terminal/\n     kept.py\ncorpora\n", "ses.library has no room"),
        ("ses  terminal/\n     *.py\neval\ncorpora\n", "eval is not in the tree"),
        (
            "ses  terminal/\n     *.py\nses  */cli.py\ncorpora\n",
            "ses.terminal.cli (*/cli.py) imports ses.library (*.py)",
        ),
        ("ses  */cli.py | */web.py\n     terminal/ + *.py\ncorpora\n", "ses.*.web is not in the tree"),
    ],
)
def test_what_the_picture_shows_wrongly_is_a_fault(small, shown, fault):
    assert list(faults_of(rooms_of(f"```tree\n{shown}```\n"), small)) == [fault]


def files_named(page: str, root: Path) -> Iterator[tuple[str, Path | None]]:
    """Yield the files and folders of the packages that a text names, and where they are.

    A name that does not begin with a package is in the folder of the path before it, or above that.
    """
    folder = Path()
    for name in re.findall(r"`([\w/-]+(?:/|\.py))`", re.sub(r"^```.*?^```", "", page, flags=re.DOTALL | re.MULTILINE)):
        if name.partition("/")[0] in PACKAGES:
            folder = Path(name) if name.endswith("/") else Path(name).parent
            places = [root / name]
        else:
            places = [root / above / name for above in (folder, *folder.parents)]
        if name.endswith(".py") or folder == Path(name):
            yield name, next((place for place in places if place.exists()), None)


def missing_files(page: str, root: Path) -> list[str]:
    """Return the files that a page names and that do not exist, except patterns such as `NAME.py`."""
    return [name for name, place in files_named(page, root) if not place and "NAME" not in name]


def nouns_elsewhere(page: str, root: Path) -> Iterator[str]:
    """Yield the nouns of a page's table that the files beside them do not define."""
    for nouns, where in re.findall(r"^\| (`[A-Za-z_`, ]+`) \| (`[^|]+`) \|", page, re.MULTILINE):
        paths = [place for _, place in files_named(where, root) if place]
        files = [file for path in paths for file in (path.rglob("*.py") if path.is_dir() else [path])]
        source = "".join(file.read_text(encoding="utf-8") for file in files)
        for noun in re.findall(r"\w+", nouns):
            if not re.search(rf"^(class |def )?{noun}\b", source, re.MULTILINE):
                yield noun


@pytest.mark.parametrize("page", [PAGE, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_pages_name_files_that_exist(page):
    assert missing_files(page.read_text(encoding="utf-8"), ROOT) == []


def test_nouns_are_where_the_table_says():
    page = PAGE.read_text(encoding="utf-8")
    assert list(nouns_elsewhere(page, ROOT)) == []
    assert list(nouns_elsewhere("| `Paper`, `Row` | `corpora/registry.py`, `paper.py` | what |\n", ROOT)) == ["Row"]


def test_a_file_is_in_the_folder_of_the_path_before_it_or_above(small):
    page = (
        "`ses/library.py`, `kept.py`; `corpora/paper.py`, `kept.py`; `ses/terminal/`, `cli.py`, `kept.py`; `ses/no.py`"
    )
    assert missing_files(page, small) == ["kept.py", "ses/no.py"]
