"""The inverted index of the embedded engine, against dense products."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from encoders.sparse import as_weights, rounded
from search_plugin.contract.schema import sparse_field
from search_plugin.engines.embedded import sparse
from search_plugin.engines.embedded.sparse import Entries, extend, load, packed, scored, unpacked

SIZE = 12
FIELD = sparse_field(SIZE, "m", "f")

weights = st.floats(2.0**-30, 2.0**30, width=32)
vectors = st.dictionaries(st.integers(0, SIZE - 1), weights, max_size=6).map(
    lambda held: rounded(np.array(sorted(held.items()), np.float32).reshape(-1, 2))
)


def reading(rows, live):
    """Reads the entries of the live ones of some vectors."""

    def read(start, stop):
        kept = [row for row in range(start, stop) if live[row]]
        held = [rows[row] for row in kept]
        counts = np.array([len(one) for one in held], np.int64)
        return Entries(np.array(kept, np.int64), counts, np.concatenate([*held, np.empty((0, 2), np.float32)]))

    return read


@given(st.lists(st.tuples(vectors, st.booleans()), max_size=30), vectors, st.data())
def test_scores_are_dense_products_however_many_rows_are_covered(held, query, data):
    rows, live = [one for one, _ in held], [alive for _, alive in held]
    covered = data.draw(st.integers(0, len(rows)))
    with pytest.MonkeyPatch.context() as patched, tempfile.TemporaryDirectory() as made:
        patched.setattr(sparse, "UNINDEXED", -1)
        patched.setattr(sparse, "_BLOCK", 7)
        folder = Path(made)
        extend(folder, FIELD, covered, reading(rows, live))
        postings = load(folder, FIELD, len(rows))
        assert (postings.covered if postings else 0) == covered
        scores = scored(query, len(rows), SIZE, reading(rows, live), postings)
    asked = as_weights(query, SIZE).astype(float)
    for row, score in enumerate(scores.tolist()):
        expected = float(as_weights(rows[row], SIZE).astype(float) @ asked) if live[row] else 0.0
        assert score == pytest.approx(expected, rel=1e-6)


@given(vectors)
def test_weights_fit_into_16_bits(vector):
    assert unpacked(packed(vector[:, 1])).tolist() == vector[:, 1].tolist()


def some_rows(count=40, seed=0):
    draw = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        ids = np.sort(draw.choice(SIZE, draw.integers(0, 5), replace=False))
        rows.append(rounded(np.stack([ids, draw.gamma(1.0, 1.0, len(ids)) + 0.01], axis=1).astype(np.float32)))
    return rows


def test_it_is_made_again_when_enough_rows_came(tmp_path, monkeypatch):
    monkeypatch.setattr(sparse, "UNINDEXED", 10)
    rows = some_rows(300)
    read = reading(rows, [True] * 300)
    covered = []
    for count in (10, 11, 21, 22, 200, 220, 221):
        extend(tmp_path, FIELD, count, read)
        postings = load(tmp_path, FIELD, count)
        covered.append(postings.covered if postings else 0)
    assert covered == [0, 11, 11, 22, 200, 200, 221]
    assert [path.name for path in tmp_path.iterdir()] == ["sparse.postings-221"]
    assert load(tmp_path, FIELD, 220) is None  # a reader of an older state


@pytest.mark.parametrize(
    ("name", "content"),
    [("starts", b""), ("starts", bytes(8 * (SIZE + 1))), ("rows", b"\xff"), ("weights", b""), ("manifest.json", b"{}")],
)
def test_damage_is_logged_and_rows_are_read_instead(tmp_path, monkeypatch, caplog, name, content):
    monkeypatch.setattr(sparse, "UNINDEXED", -1)
    rows = some_rows()
    read = reading(rows, [True] * len(rows))
    extend(tmp_path, FIELD, len(rows), read)
    path = tmp_path / f"sparse.postings-{len(rows)}" / name
    path.write_bytes(content + path.read_bytes()[len(content) :] if name == "rows" else content)
    with caplog.at_level(logging.WARNING, "ses"):
        assert load(tmp_path, FIELD, len(rows)) is None
    assert "is damaged" in caplog.text
