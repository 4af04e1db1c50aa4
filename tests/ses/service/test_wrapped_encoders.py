"""Concurrent calls are one batch, with the vectors and the errors of separate calls."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest

import ses
from encoders.models.formats import Format
from ses.service.wrapped_encoders import MOST_TEXTS, Batched

pytestmark = pytest.mark.serve


class _Slow:
    """Encodes a text as its length; the first call waits until the test lets it go on."""

    card = None

    def __init__(self):
        self.calls, self.begun, self.go = [], Event(), Event()

    def encode(self, texts, task_format=Format.PRX):
        self.calls.append((list(texts), task_format))
        if len(self.calls) == 1:
            self.begun.set()
            assert self.go.wait(10)
        if "stop" in texts and len(self.calls) == 2:
            raise KeyboardInterrupt
        if "bad" in texts:
            raise ValueError("bad")
        return np.array([[len(text)] for text in texts], np.float32)


def _together(slow, asked):
    """Ask while a first call is running, and return the answers once all wait."""
    encoder = Batched(slow)
    with ThreadPoolExecutor(len(asked) + 1) as pool:
        first = pool.submit(encoder.encode, ["first"], Format.QRY)
        assert slow.begun.wait(10)
        futures = []
        for number, (texts, task_format) in enumerate(asked, 1):
            futures.append(pool.submit(encoder.encode, texts, task_format))
            while len(encoder._waiting) < number:
                pass
        slow.go.set()
        assert first.result(10).tolist() == [[5]]
        for future in futures:
            future.exception(10)
    assert not encoder._waiting
    assert not encoder._busy
    return futures


def test_calls_that_wait_are_one_batch_by_format():
    slow = _Slow()
    asked = [(["a"], Format.QRY), (["bb"], Format.PRX), (["ccc", "d"], Format.QRY)]
    futures = _together(slow, asked)
    assert [future.result().tolist() for future in futures] == [[[1]], [[2]], [[3], [1]]]
    assert slow.calls == [(["first"], Format.QRY), (["a", "ccc", "d"], Format.QRY), (["bb"], Format.PRX)]


def test_a_batch_has_a_limit():
    slow = _Slow()
    half = ["x"] * (MOST_TEXTS // 2)
    _together(slow, [(half, Format.QRY), (half, Format.QRY), (["y"], Format.QRY)])
    assert [len(texts) for texts, _ in slow.calls] == [1, MOST_TEXTS, 1]


def test_a_large_call_does_not_wait():
    slow = _Slow()
    slow.go.set()
    encoder = Batched(slow)
    encoder._busy = True  # another call is running
    assert len(encoder.encode(["x"] * MOST_TEXTS)) == MOST_TEXTS


def test_an_error_goes_to_its_own_call():
    slow = _Slow()
    good, bad, other = _together(slow, [([text], Format.QRY) for text in ("a", "bad", "ccc")])
    assert good.result().tolist() == [[1]]
    assert other.result().tolist() == [[3]]
    assert isinstance(bad.exception(), ValueError)


def test_an_interrupted_thread_leaves_the_others_to_one_of_them():
    slow = _Slow()
    stopped, other, last = _together(slow, [([text], Format.QRY) for text in ("stop", "bb", "ccc")])
    assert isinstance(stopped.exception(), KeyboardInterrupt)
    assert [other.result().tolist(), last.result().tolist()] == [[[2]], [[3]]]


def test_many_threads_get_the_vectors_of_separate_calls(small_model):
    plain = ses.load_model(small_model, embedding_cache=False).encoder
    encoder = Batched(plain)
    texts = [f"virus {'lung ' * (number % 9)}of a {'mouse' if number % 2 else 'star'}" for number in range(80)]
    formats = [Format.QRY if number % 3 else Format.PRX for number in range(80)]
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(encoder.encode, [[text] for text in texts], formats))
    for text, task_format, vectors in zip(texts, formats, found, strict=True):
        np.testing.assert_allclose(vectors, plain.encode([text], task_format), atol=1e-6)
    assert encoder.card is plain.card
