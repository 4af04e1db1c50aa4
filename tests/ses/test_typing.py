"""What type checkers and editors know of ses as a user installs it: from the wheel."""

import ast
import re
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

import ses

pytestmark = [pytest.mark.dev, pytest.mark.slow]

ROOT = Path(__file__).parents[2]

PROGRAM = """\
import ses
from pathlib import Path

library = ses.open(Path("library"), model="specter2")
report = library.index("mine", [ses.Paper("a", "A virus"), {"id": "b", "title": "A lung"}], fields={"shelf": "keyword"})
reveal_type(report)  # indexer.job.IndexReport
index = library["mine"]
reveal_type(index)  # ses.indexes.open_index.OpenIndex
page = index.search("virus", filter=["year>=2000"], facets="journal", size=3, weights={"prx": 0.7})
reveal_type(page)  # search_plugin.pages.page.Page
reveal_type(page[0])  # search_plugin.pages.hit.Hit
reveal_type(page[:2])  # tuple[search_plugin.pages.hit.Hit, ...]
reveal_type([hit.paper for hit in page])  # list[corpora.paper.Paper]
reveal_type(index["a"].authors)  # tuple[str, ...]
reveal_type(list(index))  # list[corpora.paper.Paper]
reveal_type(index.similar(page[0]))  # search_plugin.pages.page.Page
reveal_type(library.feeds.get("air"))  # products.feeds.feed.Feed
reveal_type(library.tags["subject"])  # products.tags.tagger.Tagger
reveal_type(library.describe("mine").papers)  # int
with ses.open() as opened:
    reveal_type(opened)  # ses.library.Library
reveal_type(ses.measure({}, {}))  # ses.evaluation.result.Evaluation
reveal_type(index.evaluate("scifact").mean("AP"))  # float
reveal_type(ses.load_model().encode(["a"]).shape)  # tuple[Any, ...]
index.search("virus", sise=3)  # type: ignore[call-arg]
index.search(None)  # type: ignore[arg-type]
library.index("mine", "a.csv", frech=True)  # type: ignore[call-arg]
library.rebuild("mine", dimension="16")  # type: ignore[arg-type]
ses.Paper("a")  # type: ignore[call-arg]
"""
"""Each line that reveals a type, with the type. The ignored errors must be there: `--strict` tells of unused ones."""

SKIPPED = (
    *("torch", "transformers", "onnx", "onnxruntime", "pyarrow", "sklearn", "scipy", "matplotlib", "pydantic", "rich"),
    *("click", "rich_click", "lxml", "opensearchpy", "elasticsearch8", "elasticsearch9", "elastic_transport"),
    *("urllib3", "huggingface_hub", "tokenizers", "tantivy", "pandas", "faiss"),
)
"""Libraries behind ses, which mypy would read for minutes."""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with ses as pip would install it."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder / "built"]
    subprocess.run(build, check=True, capture_output=True, cwd=ROOT, timeout=120)
    (wheel,) = (folder / "built").glob("*.whl")
    with ZipFile(wheel) as packed:
        packed.extractall(folder / "installed")
    return folder / "installed"


def test_the_wheel_says_that_its_packages_are_typed(installed):
    packages = {path.parent for path in installed.glob("*/__init__.py")}
    assert len(packages) == 8
    assert {path.parent for path in installed.glob("*/py.typed")} == packages


@pytest.mark.slow
def test_types_under_strict_checks(installed, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    skipped = ",".join(f"{name},{name}.*" for name in SKIPPED)
    (tmp_path / "mypy.ini").write_text(f"[mypy]\nstrict = true\n[mypy-{skipped}]\nfollow_imports = skip\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "program.py"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        timeout=300,
        # As a user has it: installed, not as a folder of sources.
        env={"PYTHONPATH": str(installed), "PATH": ""},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = dict(re.findall(r'program.py:(\d+): note: Revealed type is "(.*)"', done.stdout))
    expected = {
        str(number): line.partition("  # ")[2]
        for number, line in enumerate(PROGRAM.splitlines(), start=1)
        if "reveal_type" in line
    }
    assert told == expected


@pytest.mark.parametrize(
    ("program", "offered"),
    [
        ("ses.", set(ses.__all__)),
        ("ses.Paper(ti", {"title="}),
        ("ses.open().", {"index", "feeds", "describe", "default", "rebuild"}),
        ("ses.open()['a'].", {"search", "similar", "similar_text", "show", "find", "suggest", "evaluate"}),
        ("ses.open()['a'].search('x').", {"hits", "facets", "notes", "to_dataframe"}),
        ("ses.open()['a'].search('x')[0].", {"paper", "score", "doi", "link", "weak"}),
        ("[hit.paper for hit in ses.open()['a'].search('x')][0].", {"title", "authors", "year", "extra"}),
        ("ses.open().feeds.", {"create", "show", "export"}),
        ("ses.open().tags.", {"train", "apply", "suggest"}),
        ("ses.load_model().", {"encode", "encode_papers", "card"}),
    ],
)
def test_what_an_editor_offers(installed, tmp_path, program, offered):
    import jedi

    project = jedi.Project(tmp_path, sys_path=[str(installed), *sys.path])
    script = jedi.Script(f"import ses\n{program}", project=project)
    found = {one.name for one in script.complete(2, len(program))}
    assert found >= offered


def test_every_public_name_has_a_type():
    stub = ast.parse((ROOT / "ses" / "__init__.pyi").read_text(encoding="utf-8"))
    names = [alias.asname for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert sorted(names) == sorted(ses.__all__)


def test_what_a_notebook_offers_of_options(tmp_path):
    import jedi

    names = [{"library": ses.open(data_dir=tmp_path)}]
    offered = {"index('a', fre": "fresh=", "rebuild('a', spa": "sparse=", "attach('a', lan": "language="}
    for typed, option in offered.items():
        assert option in {one.name for one in jedi.Interpreter(f"library.{typed}", names).complete()}
