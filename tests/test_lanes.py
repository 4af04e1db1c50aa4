import os
import subprocess
import sys
from pathlib import Path

import pytest

SKIPPED = "import pytest\n@pytest.mark.torch\ndef test_it():\n    pytest.skip('no reason')\n"
REAL = "def test_it(data_dir):\n    assert data_dir.is_dir()\n"
XFAIL = "import pytest\n@pytest.mark.torch\n@pytest.mark.xfail\ndef test_it():\n    assert False\n"
PLAIN = "def test_it():\n    pass\n"
MODULE = "import pytest\npytest.importorskip('no_such_package')\ndef test_it():\n    pass\n"
BARE = "import pytest\ndef test_it():\n    pytest.skip({!r})\n"
BOTH = "import pytest\n@pytest.mark.torch\n@pytest.mark.realdata\ndef test_it():\n    pass\n"


@pytest.fixture
def run(tmp_path):
    """Runs a test file beside this project's conftest.py, with lanes required and SES_TEST_DATA set or not."""
    (tmp_path / "conftest.py").write_bytes(Path(__file__).with_name("conftest.py").read_bytes())
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  torch\n  realdata\n")

    def run_file(source, required="", data="", options=()):
        (tmp_path / "test_it.py").write_text(source)
        environment = {**os.environ, "SES_REQUIRE_LANES": required, "SES_TEST_DATA": data}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
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


def test_nothing_but_a_lane_or_a_listed_reason_may_skip_where_lanes_are_required(run, tmp_path):
    for source in (MODULE, BARE.format("no reason")):
        assert run(source)[0] in (0, 5)
        (tmp_path / "test_real.py").write_text(REAL)
        code, said = run(source, "realdata", str(tmp_path))
        assert (code, "where lanes are required, only a lane" in said) == (2 if source == MODULE else 1, True)
    assert run(BARE.format("root may read everything"), "realdata", str(tmp_path))[0] == 0


def test_a_lane_that_is_not_required_may_skip_a_test_that_is_also_in_one_that_is(run):
    code, said = run(BOTH + PLAIN.replace("test_it", "test_plain"), "realdata")
    assert (code, "SES_REQUIRE_LANES has realdata" in said) == (1, True)
    ready = PLAIN.replace("def", "import pytest\n@pytest.mark.torch\ndef").replace("test_it", "test_ready")
    code, said = run(BOTH + ready, "torch")
    assert (code, "1 passed, 1 skipped" in said) == (0, True)


@pytest.mark.parametrize("options", [(), ("-n", "2")])
def test_a_required_lane_must_have_tests_that_pass(run, options, tmp_path):
    code, said = run(XFAIL, "torch", options=options)
    assert (code, "No test of the lane torch passed" in said, "1 failed" in said) == (1, True, False)
    code, said = run(REAL + PLAIN.replace("test_it", "test_plain"), "realdata", str(tmp_path), options)
    assert (code, "No test of the lane" in said) == (0, False)


def test_a_lane_that_is_not_there_is_refused(run):
    code, said = run(PLAIN, "torhc")
    assert (code, "torhc; the lanes are realdata, torch" in said) == (4, True)
