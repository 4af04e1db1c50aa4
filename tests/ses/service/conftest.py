"""A service over a small library, with clients that ask it in this process and over a socket."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import ses
from corpora.paper import Paper
from tests.serving import served
from tests.tiny import make_model, papers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.testclient import TestClient

    from ses.library import Library

ODD = Paper(
    "<b>",
    "Masks & <script>alert(1)</script>",
    abstract="The virus, the lung, and a mask.",
    authors=("O'Brien, Ana", "李 明"),
    year=2021,
    venue="J. of <X>",
    identifiers=("doi:10.1000/1",),
    extra={"shelf": "<i>"},
    retracted=True,
)
"""A paper whose values are text for attackers."""


@pytest.fixture(scope="session")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a model of random weights."""
    return str(make_model(tmp_path_factory.mktemp("service") / "model"))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, small_model: str) -> Library:
    """A library with the index `papers`: 60 papers of random words, and an odd one."""
    folder = tmp_path_factory.mktemp("library")
    opened = ses.open(
        folder / "indexes", model=small_model, data_dir=folder / "data", cache_dir=folder / "cache", index="papers"
    )
    opened.index("papers", [*papers(60), ODD], fields={"shelf": "keyword"})
    return opened


@pytest.fixture(scope="module")
def client(library: Library) -> Iterator[TestClient]:
    """A client of the service in this process; errors of the service are answers, as over a socket."""
    from starlette.testclient import TestClient

    from ses.service.app import make_app
    from ses.service.service import Service
    from ses.service.settings import ServiceSettings

    app = make_app(Service(ses.Library(library._settings), ServiceSettings()))
    with TestClient(app, raise_server_exceptions=False) as opened:
        yield opened


@pytest.fixture(scope="module")
def address(library: Library) -> Iterator[str]:
    """The address of the service under uvicorn, over a socket."""
    with served(library) as found:
        yield found
