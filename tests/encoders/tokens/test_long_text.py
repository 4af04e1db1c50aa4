"""Texts longer than a model takes: what is kept, and what passages become."""

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
from encoders.tokens.long_text import LongText, pieces
from tests.tiny import WORDS, make_model

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
