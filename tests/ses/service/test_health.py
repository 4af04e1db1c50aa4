"""Whether the service lives, and whether it can answer, over a socket."""

import httpx
import pytest

pytestmark = pytest.mark.serve


def test_it_lives_and_is_ready(address):
    assert httpx.get(f"{address}/healthz").json() == {"status": "ok"}
    assert httpx.get(f"{address}/readyz").json() == {"status": "ready", "index": "papers"}
