import shutil
import subprocess
from pathlib import Path

import pytest

from tests import mutate
from tests.mutate import Bench, Mutation, importers, sample

pytestmark = pytest.mark.dev

SOURCE = '''"""Grows."""
from typing import TYPE_CHECKING

T = TypeVar("T", bound=int)
NUMBER = cast("int", 1)
if TYPE_CHECKING:
    SIZE = 1


def grown(number: "int", *, by=3) -> "str":
    """Add one."""
    if number < 0:
        raise ValueError("not below 0", 7)
    print("a line of the log")
    return open("name", encoding="utf-8", buffering=by)
'''


def test_mutations_are_drawn_by_the_seed_from_what_changes_results(tmp_path):
    (tmp_path / "sums.py").write_text(SOURCE)
    every, possible = sample(["sums.py"], 100, 1, tmp_path)
    assert {(one.line, one.before, one.after) for one in every} == {
        (10, SOURCE.splitlines()[9], 'def grown(number: "int", *, by=4) -> "str":'),
        (12, "if number < 0:", "if number <= 0:"),
        (12, "if number < 0:", "if number < 1:"),
        (14, 'print("a line of the log")', "pass"),
        (15, SOURCE.splitlines()[14].strip(), 'return open("XXnameXX", encoding="utf-8", buffering=by)'),
        (15, SOURCE.splitlines()[14].strip(), 'return open("NAME", encoding="utf-8", buffering=by)'),
        (15, SOURCE.splitlines()[14].strip(), 'return open(encoding="utf-8", buffering=by)'),
        (15, SOURCE.splitlines()[14].strip(), 'return open("name", encoding="utf-8", )'),
    }
    assert len(every) == possible
    for seed in (1, 2):
        some = [sample(["sums.py"], 3, seed, tmp_path)[0] for _ in range(2)]
        assert some[0] == some[1]
        assert len(set(some[0])) == 3
    assert [sample(["sums.py"], 3, seed, tmp_path)[0] == some[0] for seed in (1, 2)] == [False, True]


def test_tests_are_found_by_imports_and_fixtures_nearest_first():
    found = importers(limit=1_000)
    guard = found("training/data/guard.py")
    assert guard[0] == "tests/training/data/test_guard.py"
    assert "tests/training/data/test_building.py" in guard  # by way of the sources that it imports
    columns = found("search_plugin/engines/embedded/columns.py")
    assert columns[0] == "tests/search_plugin/engines/embedded/test_columns.py"
    assert "tests/engines/test_bm25.py" in columns  # by way of the fixtures in tests/engines/conftest.py
    assert found("encoders/runtimes/torch.py")[0] == "tests/encoders/runtimes/test_torch.py"  # imported by its name
    assert found("encoders/layouts/composed.py")[0] == "tests/encoders/test_composed.py"  # by the registry, by its name
    assert found("ses/service/web/map.py")[0] == "tests/ses/service/web/papers/test_map.py"  # of a table of routes
    assert "tests/ses/terminal/eval/test_retrieval.py" in found("ses/evaluation/tuning.py")  # by a command
    assert "tests/eval/test_miread.py" in found("ses/terminal/commands/eval/protocols.py")[:12]  # one of its commands
    # Two commands of one name.
    assert "tests/products/reviewers/test_api.py" in found("products/reviewers/command.py")
    assert "tests/eval/reviewers/test_reviewers.py" in found("ses/terminal/commands/eval/reviewers.py")
    assert importers(limit=2)("corpora/paper.py") == found("corpora/paper.py")[:2]


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """A function to copy and break. Of its tests, one fails anyway, and one looks on from another process."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # pytest starts faster without
    monkeypatch.setenv("SES_TEST_LONG", "1")
    looks = "import sums; assert sums.grown(1) != 1"
    files = {
        "tests/__init__.py": "",
        "sums.py": "def grown(number):\n    return number + 1\n",
        "tests/test_sums.py": "import os, resource, subprocess, sys, sums\n\n"
        "def test_broken():\n    assert 'SES_TEST_LONG' in os.environ\n\n"
        "def test_limited():\n    assert resource.getrlimit(resource.RLIMIT_CPU)[0] < 1000\n"
        "    assert os.environ['SES_TEST_SLOW']\n\n"
        f"def test_grown():\n    subprocess.run([sys.executable, '-c', {looks!r}], check=True, cwd='/')\n",
        "tests/test_other.py": "import sums\n\ndef test_other():\n    assert sums\n",
        ".gitignore": "ignored.py\n",
        "ignored.py": "",
    }
    root = tmp_path / "root"
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    shutil.copy(Path(mutate.__file__), root / "tests")
    subprocess.run([shutil.which("git"), "init", "--quiet", root], check=True)
    yield Bench(root, tmp_path / "copies", 2, 20)
    assert {name: (root / name).read_text() for name in files} == files
    assert {(tmp_path / "copies" / job / "sums.py").read_text() for job in "01"} == {files["sums.py"]}
    assert not (tmp_path / "copies" / "1" / "ignored.py").exists()


def sums(code):
    return Mutation("sums.py", 2, "", "", f"def grown(number):\n    return number {code}\n")


def test_a_mutation_is_killed_by_what_passes_without_it(bench, capsys):
    tests = ["tests/test_other.py", "tests/test_sums.py"]
    assert not bench.kills(sums("+ 2"), tests)
    assert bench.kills(sums("+ 0"), tests)
    assert not bench.kills(sums("+ 0"), tests[:1])
    assert not bench.kills(sums("+ 0"), [])
    assert bench.kills(sums("+"), tests), "what can't be imported"
    assert bench.kills(sums("\n\nimport signal\nsignal.raise_signal(9)"), tests), "what ends the process"
    fails = "Without a mutation, too, this fails: tests/test_sums.py::test_broken\n"
    assert capsys.readouterr().out == fails


def test_tests_end_when_the_time_is_used_up(bench):
    bench._limit = 0
    assert not bench.kills(sums("+ 0"), ["tests/test_sums.py"])
