"""Whether the service lives, and whether it can answer, over a socket."""

import time

import httpx
import pytest

pytestmark = pytest.mark.serve


def test_it_lives_and_is_ready(address):
    assert httpx.get(f"{address}/healthz").json() == {"status": "ok"}
    while (reply := httpx.get(f"{address}/readyz")).status_code == 503:
        assert "loads the model" in reply.json()["detail"]
        assert int(reply.headers["retry-after"]) > 0
        time.sleep(0.05)
    assert httpx.get(f"{address}/readyz").json() == {"status": "ready", "index": "papers"}
