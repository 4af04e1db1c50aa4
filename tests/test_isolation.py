"""No test sees what a developer has set: the tests once wrote to the cluster of a developer's settings."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROBE = """
import json, os, subprocess, sys, urllib.request
from pathlib import Path

def seen():
    from huggingface_hub import constants, get_token
    from platformdirs import user_config_path
    from ses.settings import load_settings
    files = [path.read_text() for path in Path().glob("ses.toml")] + [*user_config_path("ses").glob("*")]
    return [load_settings(), get_token(), constants.HF_HUB_CACHE, urllib.request.getproxies(), Path.home(), Path.cwd(),
            os.environ.get("NETRC"), Path("~/.netrc").expanduser().exists(), constants.HF_HUB_OFFLINE, files]

def test_it():
    child = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=True)
    for told in (str(seen()), child.stdout):
        assert "foe" not in told, told
        assert "True, []" in told
        assert "elsewhere" == os.environ["SES_TEST_OPENSEARCH"]

if __name__ == "__main__":
    print(seen())
"""


@pytest.fixture
def hostile(tmp_path):
    """Runs the probe, beside this project's conftest.py, where every setting and token has `foe` in it."""
    home = tmp_path / "foe"
    for folder in (".config/ses", ".cache/huggingface"):
        (home / folder).mkdir(parents=True)
    for place in (tmp_path, home / ".config/ses"):
        (place / "ses.toml").write_text('engine = "http://foe:9200"\n')
    (home / ".cache/huggingface/token").write_text("foe")
    (home / ".netrc").write_text("machine foe login foe password foe\n")
    (tmp_path / "test_probe.py").write_text(PROBE)
    given = {"SES_ENGINE": "http://foe:9200", "ses_model": "foe", "SES_DATA_DIR": str(home), "HF_TOKEN": "foe"}
    given |= {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "https_proxy": "http://foe:1",
        "NETRC": "foe",
    }
    given |= {"SES_TEST_OPENSEARCH": "elsewhere", "HF_HUB_OFFLINE": "0", "SES_REQUIRE_LANES": ""}

    def run(*options):
        (tmp_path / "conftest.py").write_bytes(Path(__file__).with_name("conftest.py").read_bytes())
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
        environment = {**os.environ, **given}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    return run


def test_no_setting_token_or_proxy_of_the_developer_reaches_a_test_or_its_subprocesses(hostile):
    done = hostile("--numprocesses", "1")
    assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout


def test_the_probe_sees_them_where_nothing_isolates_it(hostile):
    done = hostile("--noconftest")
    assert "1 failed" in done.stdout
    assert "http://foe:9200" in done.stdout
