"""The same small index in this process and over HTTP, and a watch on what other libraries ask the network for."""

import socket

import pytest

import ses
from tests.serving import served
from tests.ses.service.conftest import ODD, small_model  # noqa: F401 - a fixture
from tests.tiny import papers


@pytest.fixture(scope="package")
def library(tmp_path_factory, small_model):  # noqa: F811
    """A library with the index `papers`: 60 papers of random words, and an odd one."""
    folder = tmp_path_factory.mktemp("library")
    places = {"data_dir": folder / "data", "cache_dir": folder / "cache"}
    opened = ses.open(folder / "indexes", model=small_model, index="papers", **places)
    opened.index("papers", [*papers(60), ODD], fields={"shelf": "keyword"})
    return opened


@pytest.fixture(scope="package")
def over_http(library):
    """The index over HTTP."""
    with served(library) as address:
        yield ses.open(address, engine_patience=0)["papers"]


@pytest.fixture(params=["here", pytest.param("over HTTP", marks=pytest.mark.serve)])
def index(request, library):
    """The open index, in this process or over HTTP."""
    return library["papers"] if request.param == "here" else request.getfixturevalue("over_http")


@pytest.fixture
def named(library, monkeypatch):
    """Name and engine of the index, with the settings by which it can be opened by name."""
    settings = library._settings
    for name in ("model", "data_dir", "cache_dir"):
        monkeypatch.setenv(f"SES_{name.upper()}", str(getattr(settings, name)))
    return "papers", settings.engine_url


@pytest.fixture(autouse=True)
def only_this_machine_is_asked(monkeypatch):
    """Fail where a library connects to another machine, such as for telemetry."""
    asked, connect = [], socket.socket.connect

    def watched(self, place):
        if isinstance(place, tuple) and place[0] not in ("127.0.0.1", "::1", "localhost"):
            asked.append(place)
            raise OSError("no other machine may be asked")
        return connect(self, place)

    monkeypatch.setattr(socket.socket, "connect", watched)
    yield
    assert asked == []
