import os
import subprocess
import sys
from pathlib import Path

import pytest

SKIPPED = "import pytest\n@pytest.mark.torch\ndef test_it():\n    pytest.skip('no reason')\n"
REAL = "def test_it(data_dir):\n    assert data_dir.is_dir()\n"
XFAIL = "import pytest\n@pytest.mark.torch\n@pytest.mark.xfail\ndef test_it():\n    assert False\n"
PLAIN = "def test_it():\n    pass\n"


@pytest.fixture
def run(tmp_path):
    """Runs a test file beside this project's conftest.py, with lanes required and SES_TEST_DATA set or not."""
    (tmp_path / "conftest.py").write_bytes(Path(__file__).with_name("conftest.py").read_bytes())
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  torch\n  realdata\n")

    def run_file(source, required="", data=""):
        (tmp_path / "test_it.py").write_text(source)
        environment = {**os.environ, "SES_REQUIRE_LANES": required, "SES_TEST_DATA": data}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    return run_file


def test_a_lane_that_is_not_ready_is_skipped_or_fails(run, tmp_path):
    code, said = run(REAL)
    assert (code, "1 skipped" in said) == (0, True)
    code, said = run(REAL, "realdata")
    assert (code, "1 failed" in said or "1 error" in said, "set SES_TEST_DATA" in said) == (1, True, True)
    code, said = run(REAL, "realdata", str(tmp_path))
    assert (code, "1 passed" in said) == (0, True)


def test_a_required_lane_may_not_be_skipped_from_within(run):
    assert run(SKIPPED)[0] == 0
    assert run(SKIPPED, "realdata,torch")[0] == 1
    assert run(SKIPPED.replace("@pytest.mark.torch", ""), "")[0] == 0


def test_a_required_lane_must_have_tests_that_pass(run):
    for source in (PLAIN, XFAIL):
        code, said = run(source, "torch")
        assert (code, "No test of the lane torch passed" in said) == (1, True)
        assert "1 failed" not in said
    assert run(PLAIN)[0] == 0


def test_a_lane_that_is_not_there_is_refused(run):
    code, said = run(PLAIN, "torhc")
    assert (code, "torhc; the lanes are realdata, torch" in said) == (4, True)
