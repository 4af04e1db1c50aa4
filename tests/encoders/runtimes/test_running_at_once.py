"""Batches that run at once: in their order, as many as asked, and only a few ahead."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from encoders.encoder import load_encoder
from encoders.runtimes.registry import Session
from encoders.tokens.batching import batches
from tests.tiny import make_model, papers

AT_ONCE = 3


class Work:
    """A session that notes how many batches run at once, and how many were taken from the input."""

    def __init__(self, at_once, fails_at=None):
        self.running = self.most = self.taken = 0
        self.lock, self.fails_at = threading.Lock(), fails_at
        self.session = Session(self.run, at_once)

    def run(self, ids, mask):
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
        time.sleep(0.002 * (int(ids[0, 0]) % 3))
        with self.lock:
            self.running -= 1
        if ids[0, 0] == self.fails_at:
            raise ValueError("no memory")
        return [ids[:, :1].astype(np.float32)]

    def batches(self, count):
        for batch in batches([[number] for number in range(count)], 1):
            self.taken += 1
            yield batch


@pytest.mark.parametrize(("at_once", "count"), [(1, 9), (AT_ONCE, 0), (AT_ONCE, 1), (AT_ONCE, 2), (AT_ONCE, 60)])
def test_each_batch_is_run_once_in_order(at_once, count):
    work = Work(at_once)
    made = [(batch.rows.tolist(), found.tolist()) for batch, (found,) in work.session.each(work.batches(count))]
    assert made == [([number], [[number]]) for number in range(count)]
    assert work.most == min(at_once, count) if count != 2 else work.most <= 2
    assert not [one for one in threading.enumerate() if one.name.startswith("encode")]


def test_only_a_few_batches_are_read_ahead():
    work = Work(AT_ONCE)
    for number, _ in enumerate(work.session.each(work.batches(40)), 1):
        assert work.taken <= number + 2 * AT_ONCE


def test_an_error_ends_the_work_and_the_threads():
    work = Work(AT_ONCE, fails_at=5)
    seen = []
    with pytest.raises(ValueError, match="no memory"):
        seen.extend(batch.rows[0] for batch, _ in work.session.each(work.batches(100)))
    assert seen == [0, 1, 2, 3, 4]
    assert work.taken <= 5 + 1 + 2 * AT_ONCE
    assert not [one for one in threading.enumerate() if one.name.startswith("encode")]


@pytest.mark.parametrize("precision", ["int8", "fp32"])
def test_vectors_do_not_depend_on_the_number_of_threads(tmp_path, precision):
    model = str(make_model(tmp_path / "model"))
    texts = [f"{paper.title} {paper.abstract}" for paper in papers(200)]
    made = [
        load_encoder(model, cache_dir=tmp_path / "cache", precision=precision, threads=threads).encode(texts)
        for threads in (1, 4)
    ]
    assert np.array_equal(*made)
