"""What every test may ask for, and the lanes: tests that need more than the project itself.

A test is in a lane by its marker (`@pytest.mark.torch`) and is skipped where the lane is not ready. SES_REQUIRE_LANES
(`realdata,torch`) names lanes that must run: their skipped tests fail, and so does a run in which none of them passed.
"""

from __future__ import annotations

import gc
import importlib
import os
import platform
import shutil
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from tests.browsing import chromium
from tests.chance import effort
from tests.isolation import isolate

if TYPE_CHECKING:
    from collections.abc import Callable

    from search_plugin.contract.connection import Connection


@dataclass(frozen=True, slots=True)
class Lane:
    """What tests of a lane need, and how to get it."""

    ready: Callable[[], bool]
    remedy: str


def _installed(*modules: str) -> Callable[[], bool]:
    # One that is imported may have no spec, such as adapters, which replaces itself.
    return lambda: all(module in sys.modules or find_spec(module) for module in modules)


def _cuda() -> bool:
    """Whether torch or onnxruntime can use a GPU; neither is imported where there is none."""
    from encoders.runtimes.hardware import has_device

    if not has_device():
        return False
    import onnxruntime

    through_torch = find_spec("torch") is not None and importlib.import_module("torch").cuda.is_available()
    return through_torch or "CUDAExecutionProvider" in onnxruntime.get_available_providers()


def _given(*variables: str) -> Callable[[], bool]:
    return lambda: all(map(os.environ.get, variables))


SERVERS = {
    "opensearch": "SES_TEST_OPENSEARCH",
    "opensearch2": "SES_TEST_OPENSEARCH2",
    "elasticsearch": "SES_TEST_ELASTICSEARCH",
    "elasticsearch9": "SES_TEST_ELASTICSEARCH9",
}
"""Lanes of real servers, and the variable that holds each one's URL."""

SECURED = {"elasticsearch_tls": "SES_TEST_ELASTICSEARCH_TLS", "elasticsearch9_tls": "SES_TEST_ELASTICSEARCH9_TLS"}
"""The same for servers with TLS and a password, whose certificates and user all of them share."""

SECRETS = ("SES_TEST_CA", "SES_TEST_USERNAME", "SES_TEST_PASSWORD")
"""Variables of that file of certificates and of that user, who may do everything."""

NODES = {"elasticsearch_nodes": "SES_TEST_ELASTICSEARCH_NODES", "elasticsearch9_nodes": "SES_TEST_ELASTICSEARCH9_NODES"}
"""The same for clusters of two nodes; with commas between the URLs."""

MEMORY = "/dev/shm"  # noqa: S108 - a folder of the tests' own is made in it

GUZZLE = Path("/usr/share/php/GuzzleHttp/autoload.php")
"""Where Debian's package of Guzzle is."""

LANES = {
    "realdata": Lane(_given("SES_TEST_DATA"), "set SES_TEST_DATA to a folder of real papers"),
    "torch": Lane(_installed("torch", "transformers"), "pip install '.[train]'"),
    "dev": Lane(
        _installed("importlinter", "ipykernel", "jedi", "mutmut", "nbclient", "zensical"), "pip install '.[dev]'"
    ),
    "serve": Lane(
        _installed("babel", "fastapi", "httpx", "jinja2", "prometheus_client", "uvicorn"), "pip install '.[serve]'"
    ),
    "mcp": Lane(_installed("mcp"), "pip install '.[mcp]'"),
    "ray": Lane(_installed("ray"), "pip install '.[scale]'"),
    "s3": Lane(_installed("s3fs", "moto"), "pip install s3fs 'moto[server]' in an environment of its own"),
    "tensorboard": Lane(_installed("torch", "tensorboard"), "pip install '.[train,tensorboard]'"),
    "openvino": Lane(_installed("openvino"), "pip install '.[openvino]'"),
    "optimum": Lane(
        _installed("optimum", "optimum.exporters.onnx"),
        "pip install '.[optimum]' in an environment of its own, without the extra train",
    ),
    "adapters": Lane(
        _installed("adapters", "peft", "torch"),
        "pip install adapters peft in an environment of its own, beside transformers 4",
    ),
    "gpu": Lane(_cuda, "take a machine with a GPU, and a torch for CUDA or pip install '.[gpu]'"),
    "mteb": Lane(_installed("mteb"), "pip install '.[mteb]'"),
    "frameworks": Lane(
        _installed("langchain_core", "llama_index", "pyterrier", "ir_datasets", "beir"), "pip install '.[frameworks]'"
    ),
    "haystack": Lane(
        _installed("haystack"), "pip install '.[haystack]' in an environment of its own, without the extra dev"
    ),
    "emulation": Lane(
        lambda: platform.machine() == "x86_64" and shutil.which("qemu-x86_64") is not None,
        "install qemu-user (apt-get install qemu-user), on an x86-64 machine",
    ),
    "browser": Lane(
        lambda: chromium() is not None and find_spec("playwright") is not None,
        "install Chromium (apt-get install chromium), or set SES_TEST_CHROMIUM to where it is",
    ),
    "zotero": Lane(
        lambda: bool(os.environ.get("SES_TEST_ZOTERO")) and shutil.which("node") is not None,
        "install node, and set SES_TEST_ZOTERO to a folder of Zotero's translation-server with its modules",
    ),
    "npm": Lane(
        lambda: bool(os.environ.get("SES_TEST_NPM")) and shutil.which("node") is not None,
        "install node, run npm install in a folder with tests/front_ends/package.json, and set SES_TEST_NPM to it",
    ),
    "php": Lane(
        lambda: shutil.which("php") is not None, "install PHP (apt-get install php-cli php-curl php-intl php-mbstring)"
    ),
    "guzzle": Lane(
        lambda: shutil.which("php") is not None and GUZZLE.exists(),
        "install PHP and Guzzle (apt-get install php-cli php-intl php-mbstring php-guzzlehttp-guzzle)",
    ),
    "ruby": Lane(lambda: shutil.which("ruby") is not None, "install Ruby (apt-get install ruby)"),
    "node": Lane(lambda: shutil.which("node") is not None, "install node"),
    "nginx": Lane(lambda: shutil.which("nginx") is not None, "install nginx (apt-get install nginx-light)"),
    **{name: Lane(_given(variable), f"set {variable} to the server's URL") for name, variable in SERVERS.items()},
    **{
        name: Lane(_given(variable, *SECRETS), f"set {variable} to the server's URL, and {', '.join(SECRETS)}")
        for name, variable in SECURED.items()
    },
    **{name: Lane(_given(variable), f"set {variable} to the URLs of the nodes") for name, variable in NODES.items()},
    "engines_cli": Lane(
        _given("SES_TEST_ENGINE_COMMAND"), "set SES_TEST_ENGINE_COMMAND to a script that starts and kills servers"
    ),
    "slow": Lane(_given("SES_TEST_SLOW"), "set SES_TEST_SLOW=1, as .ci/run does"),
    "long": Lane(_given("SES_TEST_LONG"), "set SES_TEST_LONG=1, as .ci/run --long does"),
}

SKIPS = ("root may read everything", "only root may mount a small disk", "there is a GPU")
"""The reasons outside of lanes for which a test may be skipped, even where lanes are required."""


def _examples() -> int:
    """How many examples hypothesis tries: few for a newcomer, more in CI, very many where there is time."""
    return int(os.environ.get("SES_TEST_EXAMPLES") or effort(15, 25, 5_000))


LASTING = 1.5
"""CPU seconds from which on a test is told to be marked slow: more than its mark asks for, since the first test of a
worker also imports what it needs."""

# A busy machine is no bug: no test may fail for the time it took.
settings.register_profile("ses", deadline=None, max_examples=_examples())
settings.load_profile("ses")

_missing = pytest.StashKey[list[str]]()
_seconds = pytest.StashKey[float]()


@pytest.fixture
def data_dir() -> Path:
    """The folder of real papers and judgments that SES_TEST_DATA names; puts the test in the lane realdata."""
    return Path(os.environ["SES_TEST_DATA"]).resolve()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connecting to a server gives up after a moment instead of after seconds."""
    from search_plugin.engines.cluster import transport

    monkeypatch.setattr(transport, "READING", transport.RetryPolicy(0.2, 0.1))


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder that all tests and workers share, for the real model: its graphs take many seconds to build."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared-cache"


@pytest.fixture(scope="session", autouse=True)
def no_thread_outlives_the_tests():
    """Fail where a thread is left that would keep a process from its end."""
    yield
    # Python itself ends the pools that libraries leave open, as transformers and joblib do.
    pools = ("ThreadPoolExecutor", "ExecutorManagerThread")
    stray = [one for one in threading.enumerate() if not one.daemon and not one.name.startswith(pools)]
    assert stray == [threading.main_thread()]


def server_url(lane: str) -> str:
    """The URL of a lane's server, or of its nodes with commas between."""
    return os.environ[(SERVERS | SECURED | NODES)[lane]]


def server_connection(lane: str) -> Connection:
    """What it takes beside the URL to be let in by a lane's server."""
    from search_plugin.contract.connection import Connection

    if lane not in SECURED:
        return Connection()
    ca, username, password = (os.environ[variable] for variable in SECRETS)
    return Connection(username=username, password=password, ca_file=Path(ca))


def _required() -> list[str]:
    return _names_in("SES_REQUIRE_LANES")


def _left_out() -> list[str]:
    """The lanes that are skipped though they may be ready, since nothing has changed for them (`tests.lanes`)."""
    return _names_in("SES_TEST_LEFT_OUT")


def _names_in(variable: str) -> list[str]:
    return [name for name in os.environ.get(variable, "").replace(" ", "").split(",") if name]


def pytest_configure(config: pytest.Config) -> None:
    for variable in ("SES_REQUIRE_LANES", "SES_TEST_LEFT_OUT"):
        if unknown := set(_names_in(variable)) - set(LANES):
            raise pytest.UsageError(f"{variable} names {', '.join(unknown)}; the lanes are {', '.join(LANES)}.")
    home = Path(tempfile.mkdtemp(prefix="ses-tests-", dir=_in_memory())).resolve()
    config.add_cleanup(lambda: shutil.rmtree(home, ignore_errors=True))
    # Not in the folder of pytest, in which runs at the same time delete from each other.
    config.option.basetemp = config.option.basetemp or str(home / "tmp")
    isolate(home)
    # A worker of pytest-xdist reports to the controller, which counts for all of them.
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Counted(_required()))


def _in_memory() -> str | None:
    """Return a folder in memory if there is room in one: tests sync every file that they write."""
    room = "TMPDIR" not in os.environ and Path(MEMORY).is_dir() and shutil.disk_usage(MEMORY).free > 8 << 30
    return MEMORY if room else None


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session):
    """Leave the folder where pytest began, except in the controller of pytest-xdist: its workers start where it is.

    What is made while tests are collected stays until the end. So the garbage collector never looks at it: that would
    take a third of the time.
    """
    config = session.config
    if not config.pluginmanager.hasplugin("dsession"):
        began = Path.cwd()
        config.add_cleanup(lambda: os.chdir(began))
        os.chdir(Path.home() / "work")
    gc.disable()
    try:
        if hasattr(config, "workerinput") and config.args == config.getini("testpaths"):
            _import_from_another_file_on(config.workerinput)
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def _import_from_another_file_on(worker: dict[str, Any]) -> None:
    """Import all test files, each worker from another one on.

    Otherwise, where nothing is compiled yet, all workers would compile the same modules at the same time.
    """
    root = Path(__file__).parents[1]
    files = [".".join(path.relative_to(root).with_suffix("").parts) for path in sorted(root.glob("tests/**/test_*.py"))]
    first = len(files) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
    for name in files[first:] + files[:first]:
        # What fails here is told when the file is collected.
        with suppress(Exception, pytest.skip.Exception):
            importlib.import_module(name)


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    groups = {item: _group(item) for item in items}
    for item, group in groups.items():
        if "data_dir" in getattr(item, "fixturenames", ()):
            item.add_marker("realdata")
        item.add_marker(pytest.mark.xdist_group(group))
    if hasattr(config, "workerinput"):
        # The longest first, so that no worker is left with one of them when the others are done.
        slow = {groups[item] for item in items if item.get_closest_marker("slow")} | {"engines_cli", *SERVERS}
        items.sort(key=lambda item: groups[item] not in slow)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name long values by their length: the name of a test goes to and fro between the workers many times."""
    return f"{argname} of {len(val):,}" if isinstance(val, str | bytes) and len(val) > 500 else None


def _group(item: pytest.Item) -> str:
    """What keeps tests in one worker: a server, since they delete all its indexes, or the fixtures of their file."""
    alone = (name for name in _lanes_of(item) if name in SERVERS | SECURED | NODES or name == "engines_cli")
    return next(alone, item.location[0])


def _lanes_of(item: pytest.Item) -> list[str]:
    # One walk over the markers: one for each lane would take a second of a run for each thousand tests.
    marked = {marker.name for marker in item.iter_markers()}
    return [name for name in LANES if name in marked]


def pytest_runtest_setup(item: pytest.Item) -> None:
    if missing := [name for name in _lanes_of(item) if name in _left_out() or not LANES[name].ready()]:
        item.stash[_missing] = missing
        name = missing[0]
        pytest.skip(f"lane {name} is {'left out' if name in _left_out() else f'not ready: {LANES[name].remedy}'}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item):
    began = sum(os.times()[:4])  # of this process and of those that have ended
    try:
        return (yield)
    finally:
        item.stash[_seconds] = sum(os.times()[:4]) - began


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):
    report = yield
    report.lanes = _lanes_of(item)
    report.seconds = 0.0 if item.get_closest_marker("lint") else item.stash.get(_seconds, 0.0)
    if report.skipped and not hasattr(report, "wasxfail"):
        _judge_skip(report, item.stash.get(_missing, []))
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector):
    report = yield
    if report.skipped:
        _judge_skip(report, [])
    return report


def _judge_skip(report: pytest.TestReport | pytest.CollectReport, missing: list[str]) -> None:
    """Make a skip a failure where lanes are required, unless lanes that are not required or SKIPS allow it."""
    required, reason = set(_required()), str(report.longrepr[2]).removeprefix("Skipped: ")
    unmet = [name for name in missing or getattr(report, "lanes", ()) if name in required]
    if unmet:
        why = f"SES_REQUIRE_LANES has {unmet[0]}"
    elif required and not missing and reason not in SKIPS:
        why = "where lanes are required, only a lane or a reason in SKIPS of tests/conftest.py may skip a test"
    else:
        return
    report.outcome = "failed"
    report.longrepr = f"{report.nodeid} was skipped, and {why}: {reason}"


class Counted:
    """Counts the tests that passed, by lane, and fails a run in which a required lane had none.

    It also lists the tests that should be in the lane slow: `make test` runs them though they take long.
    """

    def __init__(self, required: list[str]) -> None:
        self._idle = required
        self._lasting: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call":
            return
        if report.passed:
            self._idle = [name for name in self._idle if name not in report.lanes]
        if report.seconds > LASTING and set(report.lanes) <= {"serve"}:
            self._lasting.append(f"{report.nodeid} took {report.seconds:.1f} CPU seconds: mark it slow.")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._idle and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for name in self._idle:
            terminalreporter.write_line(f"No test of the lane {name} passed, and SES_REQUIRE_LANES has it.", red=True)
        for sentence in self._lasting:
            terminalreporter.write_line(sentence, yellow=True)
