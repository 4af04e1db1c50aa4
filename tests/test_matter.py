"""The tests that matter for a file."""

import subprocess
from itertools import groupby
from pathlib import Path

import pytest

from tests.guide import ROOT
from tests.matter import matter

pytestmark = [pytest.mark.lint, pytest.mark.dev]


def test_tests_of_a_file_are_those_that_bear_its_name_or_import_it():
    found = matter("search_plugin/ranking/neighbours.py")
    assert "tests/search_plugin/ranking/test_neighbours.py" in found
    assert len(found) == len(set(found)) == 12
    assert all((ROOT / name).is_file() for name in found)
    assert matter("tests/test_matter.py", "tests/guide.py") == ["tests/test_matter.py"]
    both = matter("search_plugin/ranking/neighbours.py", "corpora/latex.py", "tests/test_lanes.py")
    assert {*found, "tests/test_lanes.py", "tests/corpora/test_latex.py"} <= set(both)


def test_files_of_a_folder_follow_each_other():
    """pytest 9.1 finds no fixture of a folder to which it comes back."""
    folders = [Path(name).parent for name in matter("tests/engines/attached", "tests/engines", "tests/corpora")]
    assert len([folder for folder, _ in groupby(folders)]) == len(set(folders)) > 3


@pytest.mark.parametrize("area", ["docs", "no/such.py"])
def test_where_no_test_matters_none_is_run(area):
    with pytest.raises(SystemExit, match=f"No test matters for {area}"):
        matter(area)


def test_make_runs_them_or_all(tmp_path):
    def runs(*variables):
        command = ["make", "--dry-run", "--no-print-directory", "test", f"VENV={tmp_path}", *variables]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        return done.stdout

    assert "tests=$(" in runs("OF=corpora/latex.py")
    assert "-m tests.matter corpora/latex.py) &&" in runs("OF=corpora/latex.py")
    assert "--no-loadscope-reorder $tests" in runs("OF=corpora/latex.py")
    assert "tests.matter" not in runs()
