import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import LANES
from tests.mutations.entries import Mutation, read_mutations
from tests.mutations.runner import run_mutations

ROOT = Path(__file__).parents[1]
FILES = {
    "sums.py": "def grown(number):\n    return number + 1\n\n\ndef unwatched():\n    return 5\n",
    ".gitignore": "ignored.py\n",
    "ignored.py": "",
    "test_sums.py": """
import subprocess, sys, time
import pytest
import sums

def test_grown():
    assert sums.grown(1) == 2

def test_in_a_process():
    subprocess.run([sys.executable, "-c", "import sums; assert sums.grown(1) == 2"], check=True, cwd="/")

def test_slow():
    time.sleep(600 * (sums.grown(1) - 2))

@pytest.mark.skip
def test_skipped():
    assert sums.grown(1) == 2
""",
    "test_more.py": "import sums\n\ndef test_more():\n    assert sums.unwatched()\n",
    "test_broken.py": "def test_broken():\n    assert False\n",
}


def mutation(what, test, old="number + 1", new="number + 2", file="sums.py", lane=None):
    return Mutation("fake", what, file, old, new, tuple(f"test_{name}" for name in test.split()), lane)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project of one function and its tests, with one file that git ignores, and compiled files."""
    monkeypatch.delenv("SES_TEST_ELASTICSEARCH", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # pytest starts faster without
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    for command in (["git", "init", "--quiet", tmp_path], [sys.executable, "-m", "compileall", "-q", tmp_path]):
        subprocess.run(command, check=True)
    return tmp_path


def test_each_mutation_gets_its_verdict(project, capsys):
    unbroken = "on the unbroken sources pytest ends with"
    expected = {
        mutation("of the same size", "sums.py::test_grown"): "killed    fake: of the same size (sums.py)",
        mutation("in a process", "sums.py::test_in_a_process"): "killed    fake: in a process (sums.py)",
        mutation("hangs", "sums.py::test_slow"): "killed    fake: hangs (sums.py): by timeout, after ",
        mutation(
            "unseen", "sums.py::test_grown", "return 5", "return 6"
        ): "survived  fake: unseen (sums.py): test_sums.py::test_gr",
        mutation(
            "twice", "sums.py::test_grown", "return"
        ): "error     fake: twice (sums.py): its old text occurs 2 times in",
        mutation(
            "gone", "sums.py::test_grown", "gone"
        ): "error     fake: gone (sums.py): its old text occurs 0 times in",
        mutation(
            "same", "sums.py::test_grown", new="number + 1"
        ): "error     fake: same (sums.py): its old text occurs 1 times",
        mutation(
            "no file", "sums.py::test_grown", file="gone.py"
        ): "error     fake: no file (gone.py): there is no file gone.py",
        mutation(
            "ignored", "sums.py::test_grown", "", file="ignored.py"
        ): "error     fake: ignored (ignored.py): there is no file",
        mutation("no test", "sums.py::test_none"): f"error     fake: no test (sums.py): {unbroken} 4 and 0 tests pass",
        mutation(
            "skipped", "sums.py::test_skipped"
        ): f"error     fake: skipped (sums.py): {unbroken} 0 and 0 tests pass",
        mutation("broken", "broken.py"): f"error     fake: broken (sums.py): {unbroken} 1 and 0 tests pass",
        mutation(
            "syntax", "more.py sums.py", "def grown", "def ("
        ): "error     fake: syntax (sums.py): no test failed, but",
        mutation(
            "lane", "sums.py::test_grown", lane="elasticsearch"
        ): "not run   fake: lane (sums.py): lane elasticsearch is not",
    }
    assert run_mutations(project, list(expected), jobs=2, slack=0.5) == 1
    first, *lines, summary = capsys.readouterr().out.splitlines()
    assert first == "7 sets of tests run on the unbroken sources first."
    assert [line[: len(start)] for line, start in zip(lines, expected.values(), strict=True)] == list(expected.values())
    assert summary == "3 killed, 1 survived, 9 errors, 1 not run"
    assert {name: (project / name).read_text() for name in FILES} == FILES


@pytest.mark.parametrize(
    ("tried", "code"),
    [
        (
            [
                mutation("killed", "sums.py::test_grown"),
                mutation("unseen", "sums.py::test_grown", "return 5", "return 6"),
            ],
            1,
        ),
        ([mutation("killed", "sums.py::test_grown"), mutation("gone", "sums.py::test_grown", "gone")], 1),
        ([mutation("killed", "sums.py::test_grown"), mutation("lane", "sums.py::test_grown", lane="elasticsearch")], 0),
        ([mutation("lane", "sums.py::test_grown", lane="elasticsearch")], 1),
    ],
)
def test_only_a_clean_run_exits_with_zero(project, tried, code):
    assert run_mutations(project, tried, jobs=2) == code


def test_entries_are_read_by_area(tmp_path):
    entry = '[[mutation]]\nwhat = "{0}"\nfile = "a.py"\nold = "b"\nnew = "c"\ntests = ["d", "e"]\n'
    (tmp_path / "one.toml").write_text(entry.format("first") + entry.format("second") + 'lane = "torch"')
    (tmp_path / "two.toml").write_text(entry.format("third"))
    assert [(each.area, each.what, each.lane) for each in read_mutations(tmp_path)] == [
        ("one", "first", None),
        ("one", "second", "torch"),
        ("two", "third", None),
    ]
    assert read_mutations(tmp_path, ["two"]) == [Mutation("two", "third", "a.py", "b", "c", ("d", "e"))]
    with pytest.raises(SystemExit, match="no mutations named three; there are one, two"):
        read_mutations(tmp_path, ["two", "three"])


@pytest.mark.parametrize(
    "text", ["x = [", "mutations = []", "[[mutation]]\nnew = 1", "[[mutation]]\ntests = []\nx = 1"]
)
def test_a_file_that_holds_no_mutations_is_refused(tmp_path, text):
    (tmp_path / "fake.toml").write_text(text)
    with pytest.raises(SystemExit, match=r"fake\.toml is not a list of mutations"):
        read_mutations(tmp_path)


def test_every_mutation_of_this_project_can_be_tried():
    for one in read_mutations(ROOT / "tests" / "mutations"):
        assert one.broken(ROOT), one
        assert one.lane is None or one.lane in LANES, one
        named = [name.split("::")[0] for name in one.tests if name.startswith("tests/")]
        assert named, one
        assert all((ROOT / name).exists() for name in named), one
