"""What every test may ask for, and the lanes: tests that need more than the project itself.

A test is in a lane by its marker (`@pytest.mark.torch`) and is skipped where the lane is not ready. SES_REQUIRE_LANES
(`realdata,torch`) names lanes that must run: their skipped tests fail, and so does a run in which none of them passed.
"""

from __future__ import annotations

import importlib
import os
import shutil
from collections import Counter
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from search_plugin.engines.connection import Connection


@dataclass(frozen=True, slots=True)
class Lane:
    """What tests of a lane need, and how to get it."""

    ready: Callable[[], bool]
    remedy: str


def _installed(*modules: str) -> Callable[[], bool]:
    return lambda: all(find_spec(module) for module in modules)


def _cuda() -> bool:
    """Whether torch or onnxruntime can use a GPU; neither is imported where there is none."""
    from encoders.runtimes.cuda import has_device

    if not has_device():
        return False
    import onnxruntime

    through_torch = find_spec("torch") is not None and importlib.import_module("torch").cuda.is_available()
    return through_torch or "CUDAExecutionProvider" in onnxruntime.get_available_providers()


def chromium() -> str | None:
    """Return where a Chromium is, if there is one: Playwright's own is a download of its own."""
    return os.environ.get("SES_TEST_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


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

LANES = {
    "realdata": Lane(_given("SES_TEST_DATA"), "set SES_TEST_DATA to a folder of real papers"),
    "torch": Lane(_installed("torch", "transformers"), "pip install 'ses[train]'"),
    "openvino": Lane(_installed("openvino", "nncf"), "pip install 'ses[openvino]'"),
    "optimum": Lane(
        _installed("optimum", "optimum.exporters.onnx"),
        "pip install 'ses[optimum]' in an environment of its own, without the extra train",
    ),
    "adapters": Lane(
        _installed("adapters", "torch"), "pip install adapters in an environment of its own, beside transformers 4"
    ),
    "gpu": Lane(_cuda, "take a machine with a GPU, and a torch for CUDA or pip install 'ses[gpu]'"),
    "mteb": Lane(_installed("mteb"), "pip install 'ses[mteb]'"),
    "browser": Lane(
        lambda: chromium() is not None and find_spec("playwright") is not None,
        "install Chromium (apt-get install chromium), or set SES_TEST_CHROMIUM to where it is",
    ),
    **{name: Lane(_given(variable), f"set {variable} to the server's URL") for name, variable in SERVERS.items()},
    **{
        name: Lane(_given(variable, *SECRETS), f"set {variable} to the server's URL, and {', '.join(SECRETS)}")
        for name, variable in SECURED.items()
    },
    **{name: Lane(_given(variable), f"set {variable} to the URLs of the nodes") for name, variable in NODES.items()},
    "engines_cli": Lane(
        _given("SES_TEST_ENGINE_COMMAND"), "set SES_TEST_ENGINE_COMMAND to a script that starts and kills servers"
    ),
}

# A busy machine is no bug: no test may fail for the time it took.
settings.register_profile("ses", deadline=None)
settings.load_profile("ses")

_required = pytest.StashKey[tuple[str, ...]]()
_passed = pytest.StashKey[Counter[str]]()


@pytest.fixture
def data_dir() -> Path:
    """The folder of real papers and judgments that SES_TEST_DATA names; puts the test in the lane realdata."""
    return Path(os.environ["SES_TEST_DATA"]).resolve()


def server_url(lane: str) -> str:
    """The URL of a lane's server, or of its nodes with commas between."""
    return os.environ[(SERVERS | SECURED | NODES)[lane]]


def server_connection(lane: str) -> Connection:
    """What it takes beside the URL to be let in by a lane's server."""
    from search_plugin.engines.connection import Connection

    if lane not in SECURED:
        return Connection()
    ca, username, password = (os.environ[variable] for variable in SECRETS)
    return Connection(username=username, password=password, ca_file=Path(ca))


def pytest_configure(config: pytest.Config) -> None:
    required = tuple(name for name in os.environ.get("SES_REQUIRE_LANES", "").replace(" ", "").split(",") if name)
    if unknown := set(required) - set(LANES):
        raise pytest.UsageError(f"SES_REQUIRE_LANES names {', '.join(unknown)}; the lanes are {', '.join(LANES)}.")
    config.stash[_required] = required
    config.stash[_passed] = Counter()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "data_dir" in getattr(item, "fixturenames", ()):
            item.add_marker("realdata")


def _lanes_of(item: pytest.Item) -> list[str]:
    return [name for name in LANES if item.get_closest_marker(name)]


def pytest_runtest_setup(item: pytest.Item) -> None:
    for name in _lanes_of(item):
        if not LANES[name].ready():
            pytest.skip(f"lane {name} is not ready: {LANES[name].remedy}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):
    report = yield
    lanes = _lanes_of(item)
    if report.skipped and not hasattr(report, "wasxfail"):
        if must := [name for name in lanes if name in item.config.stash[_required]]:
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid} was skipped, and SES_REQUIRE_LANES has {must[0]}: {report.longrepr[2]}"
    elif report.when == "call" and report.passed:
        item.config.stash[_passed].update(lanes)
    return report


def _idle(config: pytest.Config) -> list[str]:
    return [name for name in config.stash[_required] if not config.stash[_passed][name]]


def pytest_sessionfinish(session: pytest.Session) -> None:
    if _idle(session.config) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for name in _idle(config):
        terminalreporter.write_line(f"No test of the lane {name} passed, and SES_REQUIRE_LANES has it.", red=True)
