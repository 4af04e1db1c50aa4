"""Lanes and skips, in runs of pytest beside this project's conftest.py."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ON_A_SERVER = """
import os, pathlib
@pytest.mark.opensearch2
@pytest.mark.parametrize("number", range(4))
def test_it(number):
    pathlib.Path(__file__).with_name(os.environ["PYTEST_XDIST_WORKER"]).touch()
"""
FILES = {
    "server": ON_A_SERVER,
    "same_server": ON_A_SERVER,
    "plain": "def test_it():\n    pass\n",
    "real": "def test_it(data_dir):\n    assert data_dir.is_dir()\n",
    "within": "@pytest.mark.opensearch2\ndef test_it():\n    pytest.skip('no reason')\n",
    "bare": "def test_it():\n    pytest.skip('no reason')\n",
    "listed": "def test_it():\n    pytest.skip('root may read everything')\n",
    "module": "pytest.importorskip('no_such_package')\ndef test_it():\n    pass\n",
    "both": "@pytest.mark.opensearch2\n@pytest.mark.realdata\ndef test_it():\n    pass\n",
    "xfail": "@pytest.mark.opensearch2\n@pytest.mark.xfail\ndef test_it():\n    assert False\n",
}


@pytest.fixture
def run(tmp_path):
    """Runs test files, where the lanes `realdata` and `opensearch2` are ready or not; gives code, outcomes, output."""
    (tmp_path / "conftest.py").write_bytes(Path(__file__).with_name("conftest.py").read_bytes())
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  opensearch2\n  realdata\n")

    def run_files(names, required="", data="", server="there", options=()):
        for name in names:
            (tmp_path / f"test_{name}.py").write_text(f"import pytest\n{FILES[name]}")
        environment = {**os.environ, "SES_REQUIRE_LANES": required, "SES_TEST_DATA": str(data)}
        environment["SES_TEST_OPENSEARCH2"] = server
        command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", *options]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        said = done.stdout + done.stderr
        return done.returncode, set(re.findall(r"^([A-Z]+) .*?test_(\w+)\.py", said, re.MULTILINE)), said

    return run_files


def test_lanes_that_are_not_ready_and_tests_themselves_may_skip_where_none_is_required(run):
    code, _, said = run(["plain", "real", "within", "bare", "listed", "module", "both"], server="")
    assert (code, "1 passed, 6 skipped" in said) == (0, True)


def test_where_lanes_are_required_only_another_lane_or_a_listed_reason_may_skip(run):
    names = ["plain", "real", "within", "bare", "listed", "module"]
    code, outcomes, said = run(names, "realdata,opensearch2", options=["--continue-on-collection-errors"])
    failed = {("ERROR", "real"), ("ERROR", "module"), ("FAILED", "within"), ("FAILED", "bare")}
    assert (code, outcomes - {("SKIPPED", "listed")}) == (1, {("PASSED", "plain")} | failed)
    assert "1 skipped" in said
    assert "set SES_TEST_DATA" in said
    assert said.count("only a lane or a reason in SKIPS") >= 2
    assert "SES_REQUIRE_LANES has opensearch2: no reason" in said


def test_a_lane_that_is_not_required_may_skip_a_test_that_is_also_in_one_that_is(run, tmp_path):
    code, _, said = run(["real", "both"], "realdata", tmp_path, server="")
    assert (code, "1 passed, 1 skipped" in said) == (0, True)


@pytest.mark.parametrize("options", [(), ("-n", "2")])
def test_a_required_lane_must_have_tests_that_pass(run, options, tmp_path):
    code, _, said = run(["plain", "real", "xfail"], "realdata,opensearch2", tmp_path, options=options)
    assert (code, "1 failed" in said) == (1, False)
    assert re.findall("No test of the lane (.*) passed", said) == ["opensearch2"]


def test_a_run_in_which_every_required_lane_passed_passes(run, tmp_path):
    assert run(["plain", "real", "listed"], "realdata", tmp_path)[0] == 0


def test_tests_of_one_server_run_in_one_worker(run, tmp_path):
    code, _, _ = run(["server", "same_server"], options=["-n", "2", "--dist", "loadgroup", "--no-loadscope-reorder"])
    assert (code, len(list(tmp_path.glob("gw*")))) == (0, 1)


def test_a_lane_that_is_not_there_is_refused(run):
    code, _, said = run(["plain"], "torhc")
    assert (code, "torhc; the lanes are realdata, torch" in said) == (4, True)
