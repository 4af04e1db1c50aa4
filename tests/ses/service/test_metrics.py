"""What a service says of itself, and counts of the work of its models."""

from __future__ import annotations

import time

import httpx
import pytest

from encoders.models.formats import Format
from ses.service.metrics import Metrics

pytestmark = pytest.mark.serve


@pytest.mark.slow
def test_it_lives_and_is_ready(address):
    assert httpx.get(f"{address}/healthz").json() == {"status": "ok"}
    while (reply := httpx.get(f"{address}/readyz")).status_code == 503:
        assert "loads the model" in reply.json()["detail"]
        assert int(reply.headers["retry-after"]) > 0
        time.sleep(0.05)
    assert httpx.get(f"{address}/readyz").json() == {"status": "ready", "index": "papers"}


class Encoder:
    """Takes three seconds by the clock, which stands still otherwise."""

    now = 100.0

    def encode(self, texts, _task_format):
        self.now += 3
        return texts

    def encode_formats(self, texts, formats, _done):
        self.now += 3
        return dict.fromkeys(formats, texts)


def test_the_time_of_a_model_is_divided_among_the_formats_of_a_call(monkeypatch):
    counted, encoder = Metrics(), Encoder()
    monkeypatch.setattr(time, "perf_counter", lambda: encoder.now)
    model = counted.counting(encoder)
    model.encode(["a"], Format.QRY)
    model.encode_formats(["a", "b"], [Format.PRX, Format.CLF])
    lines = counted.text().decode().splitlines()
    for task_format, texts in (("qry", 1.0), ("prx", 2.0), ("clf", 2.0)):
        assert f'ses_encoded_texts_total{{format="{task_format}"}} {texts}' in lines
    assert "ses_encoding_seconds_count 3.0" in lines
    assert "ses_encoding_seconds_sum 6.0" in lines
