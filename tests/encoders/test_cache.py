"""What goes in comes out, for every process, and damage is told."""

from __future__ import annotations

import hashlib
import multiprocessing
import sqlite3
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from encoders.cache import EmbeddingCache, cache_key

any_text = st.text(st.characters(exclude_categories=[]))  # lone surrogates as well
vectors = st.dictionaries(
    st.binary(min_size=16, max_size=16), arrays(np.float32, st.integers(1, 5), elements=st.floats(width=32)), max_size=5
)


def vector(*values):
    return np.array(values, dtype=np.float32)


@pytest.mark.slow
@given(vectors, vectors)
@settings(max_examples=25)
def test_what_is_put_is_got_back_bit_for_bit_and_the_last_counts(first, second):
    with tempfile.TemporaryDirectory() as folder:
        cache = EmbeddingCache(Path(folder) / "deep" / "cache.db")
        cache.put(first)
        cache.put(second)
        expected = first | second
        found = EmbeddingCache(Path(folder) / "deep" / "cache.db").get([*expected, b"absent"])
        assert {key: array.tobytes() for key, array in found.items()} == {k: a.tobytes() for k, a in expected.items()}


def test_more_keys_than_one_query_takes(tmp_path):
    cache = EmbeddingCache(tmp_path / "cache.db")
    rows = {i.to_bytes(16, "big"): vector(i, -i) for i in range(1234)}
    cache.put(rows)
    found = cache.get([*rows, *rows])
    assert {key: array.tolist() for key, array in found.items()} == {key: array.tolist() for key, array in rows.items()}


@given(st.tuples(any_text, any_text, any_text), st.tuples(any_text, any_text, any_text))
def test_the_address_tells_text_model_and_runtime_apart(a, b):
    fingerprint, runtime = "0123456789abcdef", "onnx-int8"
    assert (cache_key(a[0], fingerprint, runtime) == cache_key(b[0], fingerprint, runtime)) == (a[0] == b[0])
    key = cache_key(a[0], fingerprint, runtime)
    assert len(key) == 16
    assert len({key, cache_key(a[0], fingerprint, "onnx-fp32"), cache_key(a[0], "fedcba9876543210", runtime)}) == 3


def test_the_address_stays_so_that_older_caches_serve():
    assert cache_key("text", "print", "run") == hashlib.blake2b(b"print\0run\0text", digest_size=16).digest()


def test_texts_that_differ_by_a_lone_surrogate_are_told_apart():
    assert cache_key("\ud800", "f", "r") != cache_key("?", "f", "r")


def _write(path, start):
    cache = EmbeddingCache(path)  # all processes create the file at once
    for i in range(start, start + 20):
        cache.put({bytes([i]) * 16: vector(i)})
        assert len(cache.get([bytes([j]) * 16 for j in range(start, i + 1)])) == i + 1 - start


@pytest.mark.slow
def test_processes_share_it(tmp_path):
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_write, args=(tmp_path / "cache.db", start)) for start in (0, 20, 40)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert len(EmbeddingCache(tmp_path / "cache.db").get([bytes([i]) * 16 for i in range(60)])) == 60


def test_a_put_that_fails_leaves_nothing(tmp_path, caplog):
    cache = EmbeddingCache(tmp_path / "cache.db")
    with sqlite3.connect(tmp_path / "cache.db") as connection:
        connection.execute(
            "CREATE TRIGGER full BEFORE INSERT ON vectors WHEN NEW.key = X'03' "
            "BEGIN SELECT RAISE(ABORT, 'disk full'); END"
        )
    cache.put({bytes([i]): vector(i) for i in range(1, 5)})
    assert ["disk full" in told for told in caplog.messages] == [True]
    assert EmbeddingCache(tmp_path / "cache.db").get([bytes([i]) for i in range(1, 5)]) == {}


@pytest.mark.parametrize("use", ["open", "get", "put"])
@pytest.mark.parametrize("damage", ["header", "pages"])
def test_a_damaged_file_is_told(use, damage, tmp_path, caplog):
    path = tmp_path / "cache.db"
    cache = EmbeddingCache(path)
    cache.put({i.to_bytes(16, "big"): vector(*range(400)) for i in range(50)})
    whole = path.read_bytes()
    path.write_bytes(b"not SQLite" * 1000 if damage == "header" else whole[:100] + b"\xaa" * (len(whole) - 100))
    for side in ("cache.db-wal", "cache.db-shm"):
        (tmp_path / side).unlink(missing_ok=True)
    if use == "open":
        cache = EmbeddingCache(path)
    else:
        cache.get([bytes(16)]) if use == "get" else cache.put({bytes(16): vector(1)})
    assert_unusable(cache, caplog)
    (told,) = caplog.messages
    assert told.startswith(f"The embedding cache {path} is damaged (")
    assert told.endswith("), so vectors are computed and not kept; delete that file: it is only a cache.")


@pytest.mark.parametrize("where", ["file/cache.db", "file/deep/cache.db", "folder"])
def test_a_place_that_can_not_be_written_is_told(where, tmp_path, caplog):
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    assert_unusable(EmbeddingCache(tmp_path / where), caplog)
    assert caplog.messages[0].endswith("free some disk, or set SES_CACHE_DIR to a folder that can be written.")


def assert_unusable(cache, caplog):
    """A cache was found to be unusable, and goes on to hold nothing without another warning."""
    assert len(caplog.messages) == 1
    cache.put({bytes(16): vector(1)})
    assert cache.get([bytes(16)]) == {}
    assert len(caplog.messages) == 1
