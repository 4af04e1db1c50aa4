"""A library over HTTP, beside the same one in this process."""

import pytest

import ses
from tests.ses.service.conftest import ODD, address, library, small_model  # noqa: F401 - fixtures
from tests.tiny import papers  # noqa: F401


@pytest.fixture(scope="module")
def remote(address):  # noqa: F811
    with ses.open(f"{address}/", engine_patience=0) as opened:
        yield opened


@pytest.fixture(params=["here", "over HTTP"])
def opened(request, library, address):  # noqa: F811
    """The index of the same papers, in this process or over HTTP."""
    if request.param == "here":
        return library["papers"]
    return ses.open(address, engine_patience=0)["papers"]
