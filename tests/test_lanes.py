"""Lanes and skips, in runs of pytest beside this project's conftest.py, and lanes that are left out."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import LANES, NODES, SECURED, SERVERS
from tests.lanes import BASE, ROOT, concerns, imports_of, lane_paths, left_out

pytestmark = pytest.mark.lint

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
    "long": "import time\n@pytest.mark.parametrize('until', [0.1, 1.6])\ndef test_it(until):\n"
    "    until += time.process_time()\n    while time.process_time() < until: pass\n",
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


def test_a_lane_that_is_left_out_is_skipped_though_it_is_ready(run, monkeypatch):
    monkeypatch.setenv("SES_TEST_LEFT_OUT", "opensearch2")
    code, outcomes, said = run(["plain", "same_server"])
    assert (code, outcomes) == (0, {("PASSED", "plain")})
    assert "lane opensearch2 is left out" in said
    assert run(["same_server"], "opensearch2")[0] == 1
    monkeypatch.setenv("SES_TEST_LEFT_OUT", "opensearhc")
    assert "SES_TEST_LEFT_OUT names opensearhc" in run(["plain"])[2]


OF_SERVERS = {"opensearch2", *SERVERS, *SECURED, *NODES}
SOURCES = ("ses", "corpora", "encoders", "indexer", "search_plugin", "training", "eval", "products")


def test_every_path_of_a_lane_is_there():
    for lane, paths in lane_paths().items():
        assert lane in LANES
        missing = [path for path in paths if not (ROOT / path.removesuffix("/*")).exists()]
        assert not missing, f"tests/lanes.toml: {lane} names {missing}"


def users_of(lane):
    """The files of tests that ask for a lane, by its marker or as one of the servers."""
    server = r"|\b(SERVERS|SECURED|NODES|server_url)\b|tests\.engines\.conftest" if lane in OF_SERVERS else ""
    asks = re.compile(rf"mark\.{lane}\b{server}")
    files = {str(path.relative_to(ROOT)): path for path in sorted((ROOT / "tests").rglob("*.py"))}
    others = ("tests/test_lanes.py", "tests/conftest.py")
    return [
        name for name, path in files.items() if name not in others and asks.search(path.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize("lane", sorted(lane_paths()))
def test_a_change_of_a_lanes_tests_or_of_what_they_import_runs_the_lane(lane):
    paths, users = lane_paths()[lane], users_of(lane)
    assert users
    assert [one for one in users if not concerns(paths, [one])] == []
    if lane in OF_SERVERS or lane in ("emulation", "ray"):
        return  # what these depend on is found by its imports, or is the cluster alone
    named = re.compile(rf"^ *(?:from|import) ((?:{'|'.join(SOURCES)})[\w.]*)", re.MULTILINE)
    for user in users:
        modules = {name.replace(".", "/") for name in named.findall((ROOT / user).read_text(encoding="utf-8"))}
        found = (one for name in sorted(modules) for one in (f"{name}.py", f"{name}/__init__.py"))
        assert [(user, one) for one in found if (ROOT / one).is_file() and not concerns(paths, [one])] == []


def test_what_a_module_imports_by_way_of_others_counts():
    found = imports_of(["search_plugin/engines/cluster"])
    direct = imports_of(["search_plugin/engines/cluster/errors.py"])
    assert {"search_plugin/engines/cluster/errors.py", "corpora/errors.py"} <= direct < found
    assert {"search_plugin/contract/engine.py", "search_plugin/__init__.py"} <= found
    assert not any(one.startswith(("ses/", "training/", "eval/")) for one in found)
    assert concerns(lane_paths()["emulation"], ["README.md", "corpora/errors.py"]) == "corpora/errors.py"
    assert not concerns(lane_paths()["emulation"], ["training/loop.py", "README.md"])
    assert concerns(lane_paths()["emulation"], ["corpora/new.toml"])


def test_older_servers_are_asked_where_requests_or_their_plans_change():
    older = lane_paths()["elasticsearch_nodes"]
    for changed in ("search_plugin/engines/cluster/frontends/index_artifacts.py", "search_plugin/contract/plan.py"):
        assert concerns(older, ["README.md", changed]) == changed
    assert not concerns(older, ["corpora/errors.py", "encoders/registry.py", "tests/ses/service/test_cache.py"])


def test_a_lane_that_is_not_left_out_is_required():
    """So a lane of the table that nobody makes ready fails, and the newest servers are in no table."""
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    required = re.search(r"^lanes=\((.*?)\)", script, re.MULTILINE | re.DOTALL)[1].split()
    assert set(lane_paths()) <= set(required)
    assert not {"opensearch", "elasticsearch9", "slow", "dev", "realdata"} & set(lane_paths())
    asked = set(re.findall(r"\bwanted ([a-z]\w+)", script))
    assert asked <= set(lane_paths())
    assert asked >= {lane for lane in OF_SERVERS if lane in lane_paths()}


def test_a_test_that_takes_long_is_told_to_be_marked(run):
    code, _, said = run(["long"])
    assert (code, re.findall(r"test_it\[(.*?)\].* took \d\.\d CPU seconds: mark it slow", said)) == (0, ["1.6"])


@pytest.fixture
def repository(tmp_path):
    """A repository with a table of lanes and a commit `base`, and what runs git in it."""

    def git(*command):
        own = ("git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
        subprocess.run([*own, *command], cwd=tmp_path, check=True, capture_output=True)

    table = (
        'always = ["pyproject.toml"]\n[php]\npaths = ["pages"]\n[ruby]\nlike = "php"\n'
        '[ray]\nimports = ["work/run.py"]\npaths = []\n'
    )
    files = {"work/run.py": "def f():\n    from deep import f\n", "deep/f.py": "", "deep/more.py": ""}
    for name, text in {**files, "tests/lanes.toml": table}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-qm", "one")
    git("tag", "base")
    return tmp_path, git


def names(root, base="base"):
    return [lane for lane, _ in left_out(root, {BASE: base} if base else {})]


@pytest.mark.parametrize(
    ("changed", "out"),
    [
        ("README.md", ["php", "ruby", "ray"]),
        ("pages/a.html", ["ray"]),
        ("pagesother/a.html", ["php", "ruby", "ray"]),
        ("deep/f.py", ["php", "ruby"]),
        ("deep/more.py", ["php", "ruby", "ray"]),
        ("deep/note.toml", ["php", "ruby"]),
        ("pyproject.toml", []),
    ],
)
def test_lanes_without_a_change_are_left_out(repository, changed, out):
    root, git = repository
    (root / changed).parent.mkdir(exist_ok=True)
    (root / changed).write_text("x = 1")
    (root / "more").write_text("x")
    git("add", "more")
    git("commit", "-qm", "two")
    assert names(root) == out  # not yet committed, and not known to git
    git("add", "-A")
    git("commit", "-qm", "three")
    assert names(root) == out


def test_a_file_that_was_moved_away_or_deleted_counts(repository):
    root, git = repository
    (root / "pages").mkdir()
    (root / "pages" / "a.html").write_text("a page")
    git("add", "-A")
    git("commit", "-qm", "two")
    git("tag", "next")
    git("mv", "pages/a.html", "a.html")
    git("commit", "-qm", "three")
    assert names(root, "next") == ["ray"]
    git("rm", "-q", "a.html")
    git("commit", "-qm", "four")
    assert names(root, "next") == ["ray"]


def test_without_a_base_that_differs_all_lanes_are_run(repository, tmp_path_factory, capsys):
    root, git = repository
    for base in ("", "base", "none", "HEAD"):
        assert names(root, base) == []
        assert "All lanes are run" in capsys.readouterr().err
    (root / "more").write_text("x")
    git("add", "-A")
    git("commit", "-qm", "two")
    assert names(root) == ["php", "ruby", "ray"]
    assert names(root, "") == []  # there is no origin/main
    git("update-ref", "refs/remotes/origin/main", "base")
    assert names(root, "") == ["php", "ruby", "ray"]
    shallow = tmp_path_factory.mktemp("shallow") / "clone"
    git("clone", "-q", "--depth", "1", f"file://{root}", str(shallow))
    assert names(shallow, "HEAD") == []
    assert "this is a shallow clone" in capsys.readouterr().err
    assert names(tmp_path_factory.mktemp("none")) == []
