"""Models that all tests of runtimes share."""

from __future__ import annotations

import pytest

from tests.encoders.runtimes.kinds import make_all


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """A model of each kind."""
    return make_all(tmp_path_factory.mktemp("models"))
