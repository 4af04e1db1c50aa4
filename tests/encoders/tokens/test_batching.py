"""Every text once, little padding, the same batches every time."""

from __future__ import annotations

from itertools import pairwise
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from encoders.cache import EmbeddingCache
from encoders.encoder import load_encoder
from encoders.models.formats import Format
from encoders.tokens.batching import CPU_TOKENS, LongText, batches, parts, pieces
from tests.tiny import WORDS, make_model

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
    assert all(batch.ids.size <= CPU_TOKENS or len(batch.rows) == 1 for batch in first)
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
    made = [len(batch.rows) for batch in batches([[7] * length for length in lengths], 8)]
    assert made == [1, 2, 2, 8, 2]  # the third batch begins with the last text of 1,024 tokens


@pytest.mark.parametrize(("tokens", "made"), [(CPU_TOKENS, [1, 2, 5, 1]), (2 * CPU_TOKENS, [1, 5, 3]), (4096, [7, 2])])
def test_a_batch_has_no_more_tokens_than_asked_unless_one_text_has_more(tokens, made):
    token_ids = [[7] * length for length in (CPU_TOKENS + 9, 200, 200, *[100] * 6)]
    assert [len(batch.rows) for batch in batches(token_ids, tokens=tokens)] == made


def test_batches_do_not_depend_on_the_number_of_cores(monkeypatch):
    made = []
    for cores in (1, 64):
        monkeypatch.setattr("os.cpu_count", lambda cores=cores: cores)
        made.append([len(batch.rows) for batch in batches([[7] * 2] * 1000)])
    assert made == [[CPU_TOKENS // 2] * 3 + [1000 - 3 * CPU_TOKENS // 2]] * 2


texts_in_pieces = st.lists(st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=12), min_size=1, max_size=3))


def cut(texts, numbers):
    """The tokens of some texts' pieces, and whose each piece is."""
    owners = [number for number in numbers for _ in texts[number]]
    return [piece for number in numbers for piece in texts[number]], np.array(owners, np.int64)


def made_parts(token_ids, owners, least):
    """The batches of each part; what was made of a batch stays with it."""
    made = list(parts(((batch, len(batch.rows)) for batch in batches(token_ids)), owners, least))
    assert all(len(batch.rows) == count for part in made for batch, count in part)
    return [[batch for batch, _ in part] for part in made]


@given(texts_in_pieces, st.integers(1, 9), st.data())
def test_who_goes_on_after_some_parts_makes_the_batches_of_the_others(texts, least, data):
    token_ids, owners = cut(texts, range(len(texts)))
    made = made_parts(token_ids, owners, least)
    assert [batch.rows.tolist() for part in made for batch in part] == [b.rows.tolist() for b in batches(token_ids)]
    assert all(sum(len(batch.rows) for batch in part) >= least for part in made[:-1])
    kept = data.draw(st.integers(0, len(made)))
    done = {owners[row] for part in made[:kept] for batch in part for row in batch.rows}
    left, whose = cut(texts, [number for number in range(len(texts)) if number not in done])
    again = made_parts(left, whose, least)
    assert [[b.ids.tolist() for b in part] for part in again] == [[b.ids.tolist() for b in p] for p in made[kept:]]


def test_texts_of_one_piece_are_kept_every_few_batches():
    owners = np.arange(512)
    ran = ((batch, None) for batch in batches([[1]] * 512, 8))
    sizes = [sum(len(batch.rows) for batch, _ in part) for part in parts(ran, owners)]
    assert sizes == [64] * 8


FIRST, LAST = 101, 102


@given(st.integers(0, 400), st.integers(8, 40), st.integers(1, 3), st.sampled_from(["start", "ends", "passages"]))
def test_pieces_have_the_prompt_the_last_token_and_no_token_too_many(count, limit, prompt, policy):
    ids = [FIRST, *[FIRST] * (prompt - 1), *range(1000, 1000 + count), LAST]
    cut = pieces(ids, limit, prompt, policy)
    for piece in cut:
        assert len(piece) <= limit
        assert (piece[:prompt], piece[-1]) == ([FIRST] * prompt, LAST)
        assert piece[prompt:-1] == sorted(set(piece[prompt:-1]))
    kept = sorted({token for piece in cut for token in piece[prompt:-1]})
    room = limit - prompt - 1
    if len(ids) <= limit:
        assert cut == [ids]
    elif policy == "start":
        assert kept == ids[prompt : limit - 1]
    elif policy == "ends":
        assert len(cut) == 1
        assert kept == [*ids[prompt : prompt + room - room // 2], *ids[len(ids) - 1 - room // 2 : -1]]
    else:
        # Each begins three quarters after the one before, until one holds the end.
        begun = [prompt]
        while begun[-1] + room < len(ids) - 1:
            begun.append(begun[-1] + room - room // 4)
        assert cut == [ids[:prompt] + ids[start : min(start + room, len(ids) - 1)] + ids[-1:] for start in begun]
        assert kept == ids[prompt:-1]
        # All but the last are full, and each begins before the one before it ends.
        assert all(len(piece) == limit for piece in cut[:-1])
        assert all(after[prompt] <= before[-2] + 1 for before, after in pairwise(cut))


@pytest.mark.parametrize("normalize", [False, True])
def test_passages_are_encoded_apart_and_their_mean_is_the_vector(normalize, tmp_path):
    folder = make_model(tmp_path / "m", codes=True)
    (folder / "ses_card.json").write_text(f'{{"normalize": {str(normalize).lower()}}}')
    plain = load_encoder(str(folder), cache_dir=tmp_path, precision="fp32")
    passages = load_encoder(str(folder), cache_dir=tmp_path, precision="fp32", long_text="passages")
    words = (list(WORDS) * 8)[:250]
    long = " ".join(words)
    # 128 tokens hold [CLS], the code, 125 words and [SEP]; each passage begins 94 words after the one before.
    parts = [" ".join(words[start : start + 125]) for start in (0, 94, 188)]
    expected = plain.encode(parts, Format.CLF).mean(axis=0)
    expected = expected / np.linalg.norm(expected) if normalize else expected
    found = passages.encode(["virus", long, "lung"], Format.CLF)
    np.testing.assert_allclose(found[1], expected, atol=1e-5)
    np.testing.assert_allclose(found[[0, 2]], plain.encode(["virus", "lung"], Format.CLF), atol=1e-5)


def test_the_cache_keeps_what_becomes_of_long_texts_apart(tmp_path):
    folder, cache = str(make_model(tmp_path / "m")), EmbeddingCache(tmp_path / "embeddings.sqlite")
    long = " ".join((list(WORDS) * 8)[:250])
    for policy in get_args(LongText):
        kept, plain = (
            load_encoder(folder, cache_dir=tmp_path, precision="fp32", long_text=policy, cache=into).encode([long])
            for into in (cache, None)
        )
        np.testing.assert_array_equal(kept, plain)


def test_the_ends_of_a_text_are_kept_in_equal_parts(tmp_path):
    folder = str(make_model(tmp_path / "m"))
    plain = load_encoder(folder, cache_dir=tmp_path, precision="fp32")
    ends = load_encoder(folder, cache_dir=tmp_path, precision="fp32", long_text="ends")
    words = (list(WORDS) * 8)[:300]
    expected = plain.encode([" ".join(words[:63] + words[-63:])])
    np.testing.assert_allclose(ends.encode([" ".join(words)]), expected, atol=1e-5)
    assert np.abs(plain.encode([" ".join(words)]) - expected).max() > 0.01
