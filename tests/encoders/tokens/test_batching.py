"""Every text once, little padding, the same batches every time."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from encoders.tokens.batching import MAX_TEXTS, batches, parts

token_lists = st.lists(st.lists(st.integers(0, 30_000), min_size=1, max_size=40), max_size=40)


@given(token_lists, st.integers(1, 9))
def test_batches_hold_every_text_once_and_pad_to_their_longest_only(token_ids, most):
    made = list(batches(token_ids, most))
    assert sorted(row for batch in made for row in batch.rows) == list(range(len(token_ids)))
    assert [len(batch.rows) for batch in made[:-1]] == [most] * (len(made) - 1)
    for batch in made:
        assert batch.ids.dtype == batch.mask.dtype == np.int64
        assert batch.ids.shape == batch.mask.shape == (len(batch.rows), max(len(token_ids[row]) for row in batch.rows))
        for row, ids, mask in zip(batch.rows, batch.ids, batch.mask, strict=True):
            length = len(token_ids[row])
            assert ids.tolist() == token_ids[row] + [0] * (len(ids) - length)
            assert mask.tolist() == [1] * length + [0] * (len(ids) - length)


@given(token_lists)
def test_longest_first_and_the_same_every_time(token_ids):
    first, again = list(batches(token_ids)), list(batches(token_ids))
    widths = [batch.ids.shape[1] for batch in first]
    assert widths == sorted(widths, reverse=True)
    # Texts of one length stay in their order.
    by_length = sorted(range(len(token_ids)), key=lambda row: -len(token_ids[row]))
    assert [row for batch in first for row in batch.rows] == by_length
    assert all(len(batch.rows) <= MAX_TEXTS for batch in first)
    for a, b in zip(first, again, strict=True):
        assert a.rows.tolist() == b.rows.tolist()
        assert a.ids.tolist() == b.ids.tolist()


@given(st.lists(st.integers(1, 40), max_size=60), st.integers(1, 9))
def test_full_batches_by_length_pad_no_more_than_in_the_order_given(lengths, most):
    # With a smaller last batch that need not hold: 1, 1, 3 in pairs pads nothing as given, and two tokens sorted.
    lengths = lengths[: len(lengths) // most * most]
    padding = sum(int((1 - batch.mask).sum()) for batch in batches([[7] * n for n in lengths], most))
    as_given = [lengths[i : i + most] for i in range(0, len(lengths), most)]
    assert padding <= sum(max(group) * len(group) - sum(group) for group in as_given)


def test_fewer_texts_of_many_tokens_go_together():
    lengths = [4096, 1024, 1024, 1024, 512, 512, *[300] * 9]
    made = [len(batch.rows) for batch in batches([[7] * length for length in lengths])]
    assert made == [1, 2, 2, 8, 2]  # the third batch begins with the last text of 1,024 tokens


texts_in_pieces = st.lists(st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=12), min_size=1, max_size=3))


def cut(texts, numbers):
    """The tokens of some texts' pieces, and whose each piece is."""
    owners = [number for number in numbers for _ in texts[number]]
    return [piece for number in numbers for piece in texts[number]], np.array(owners, np.int64)


@given(texts_in_pieces, st.integers(1, 9), st.data())
def test_who_goes_on_after_some_parts_makes_the_batches_of_the_others(texts, least, data):
    token_ids, owners = cut(texts, range(len(texts)))
    made = list(parts(batches(token_ids), owners, least))
    assert [batch.rows.tolist() for part in made for batch in part] == [b.rows.tolist() for b in batches(token_ids)]
    assert all(sum(len(batch.rows) for batch in part) >= least for part in made[:-1])
    kept = data.draw(st.integers(0, len(made)))
    done = {owners[row] for part in made[:kept] for batch in part for row in batch.rows}
    left, whose = cut(texts, [number for number in range(len(texts)) if number not in done])
    again = list(parts(batches(left), whose, least))
    assert [[b.ids.tolist() for b in part] for part in again] == [[b.ids.tolist() for b in p] for p in made[kept:]]


def test_texts_of_one_piece_are_kept_every_few_batches():
    owners = np.arange(512)
    sizes = [sum(len(batch.rows) for batch in part) for part in parts(batches([[1]] * 512), owners)]
    assert sizes == [64] * 8
