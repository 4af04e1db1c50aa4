"""A library beside somebody else's catalogue, and the catalogue attached to it."""

from __future__ import annotations

import pytest

import ses
from tests.engines.foreign import ALIAS, ATTACHED, document, drop, make
from tests.tiny import make_model


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("attached") / "model")


@pytest.fixture
def library(server, model, tmp_path):
    """A library of the server, beside somebody else's catalogue."""
    yield from beside(server, model, tmp_path)


def beside(server, model, folder):
    drop(server.cluster)
    make(server.cluster)
    yield opened(server, model, folder)
    drop(server.cluster)


def opened(server, model, folder):
    return ses.open(server.url, model=str(model), data_dir=folder, cache_dir=folder / "cache")


@pytest.fixture
def attached(library):
    return attach(library)


def attach(library):
    report = library.attach(ALIAS, **ATTACHED)
    assert (report.new, report.rejected, report.papers) == (60, 0, 60)
    return library[ALIAS]


def matching(test):
    return {f"id-{n}" for n in range(60) if test(document(n))}
