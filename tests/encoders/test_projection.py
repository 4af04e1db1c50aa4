"""Projections: what shorter vectors are, by the singular values of another library function, and whose they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from corpora.errors import InputError
from encoders.encoder import load_encoder
from encoders.models.formats import Format
from encoders.projection import VectorProjection, check_projectable, projected, projected_card, rotation
from encoders.registry import find_model
from tests.encoders.checkpoints import make_sentence_transformers
from tests.tiny import make_model

TEXTS = ["virus lung", "galaxy star", "soil", "a cell of the brain"]


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def uneven(count=200, numbers=12, seed=0):
    """Unit vectors that are long in some directions, which are no axes."""
    draw = np.random.default_rng(seed)
    turn, _ = np.linalg.qr(draw.standard_normal((numbers, numbers)))
    return unit((draw.standard_normal((count, numbers)) / np.arange(1, numbers + 1)) @ turn).astype(np.float32)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    folder = make_sentence_transformers(tmp_path_factory.mktemp("models") / "base", seed=4, layers=1)
    return load_encoder(str(folder), cache_dir=folder.parent / "cache", precision="fp32", threads=1)


def test_shorter_vectors_are_those_of_the_first_singular_vectors_with_length_one():
    vectors, others = uneven(), uneven(9, seed=1)
    made = VectorProjection.fitted(vectors, 5, "f")
    _, _, right = np.linalg.svd(vectors, full_matrices=False)
    wanted, found = unit(others @ right[:5].T), made.shortened(others)
    assert (found.shape, found.dtype) == ((9, 5), np.float32)
    # The directions may have the other sign. They are kept with eleven bits.
    assert np.abs(found) == pytest.approx(np.abs(wanted), abs=2e-3)
    assert found @ found.T == pytest.approx(wanted @ wanted.T, abs=2e-3)
    assert made.shortened(others[3]) == pytest.approx(found[3], abs=1e-6)
    assert made.shortened(others.reshape(3, 3, 12)) == pytest.approx(found.reshape(3, 3, 5), abs=1e-6)
    assert not made.shortened(np.zeros(12, np.float32)).any()


def test_a_projection_that_is_damaged_is_none():
    made = VectorProjection.fitted(uneven(), 5, "f")
    for wrong in ({"directions": made.directions[:-4]}, {"dimension": 6}, {"numbers": 13}):
        with pytest.raises(ValueError, match="A projection is damaged"):
            replace(made, **wrong)
    for dimension in (1, 2, 3, 4):  # with and without padding of base64
        assert VectorProjection.fitted(uneven(), dimension, "f").shortened(uneven(2)).shape == (2, dimension)


def test_too_few_vectors_have_no_rotation():
    assert rotation(uneven(5), 5).shape == (5, 12)
    with pytest.raises(InputError, match="to 6 numbers needs as many papers, and there are 5"):
        VectorProjection.fitted(uneven(5), 6, "f")


def test_a_card_says_which_vectors_compare(encoder):
    card = encoder.card
    ways = [VectorProjection.fitted(uneven(seed=seed, numbers=64), 8, card.fingerprint) for seed in (0, 1)]
    ways.append(VectorProjection.fitted(uneven(numbers=64), 9, card.fingerprint))
    cards = [projected_card(card, (way,)) for way in ways]
    assert projected_card(card, ()) is card
    assert [one.dimension for one in cards] == [8, 8, 9]
    assert {(one.name, one.formats, one.similarity) for one in cards} == {(card.name, card.formats, "cosine")}
    assert len({card.fingerprint, *(one.fingerprint for one in cards)}) == 4
    assert all(len(one.fingerprint) == 16 for one in cards)
    assert cards[0] == projected_card(card, (replace(ways[0]),))
    other = replace(card, weights_sha256="other")
    assert projected_card(other, (ways[0],)).fingerprint != cards[0].fingerprint
    asking = projected_card(replace(other, papers_by=card.fingerprint), (ways[0],))
    assert (asking.papers_by, cards[0].papers_by) == (cards[0].fingerprint, "")


def test_an_encoder_is_the_model_and_then_the_projection(encoder):
    way = VectorProjection.fitted(uneven(numbers=64), 8, encoder.card.fingerprint)
    both = projected(encoder, (way,))
    assert projected(encoder, ()) is encoder
    assert both.card == projected_card(encoder.card, (way,))
    for asked in (Format.PRX, Format.QRY):
        assert np.array_equal(both.encode(TEXTS, asked), way.shortened(encoder.encode(TEXTS, asked)))
    done = []
    made = both.encode_formats(TEXTS, [Format.QRY, Format.PRX], lambda texts, *, block=0.0: done.append(texts))
    assert list(made) == [Format.QRY, Format.PRX]
    assert np.array_equal(made[Format.PRX], both.encode(TEXTS))
    assert sum(done) == pytest.approx(len(TEXTS))
    assert both.count_tokens(TEXTS, Format.QRY) == encoder.count_tokens(TEXTS, Format.QRY) > len(TEXTS)


def test_what_can_not_be_shorter(encoder, tmp_path):
    check_projectable(encoder.card, 1)
    check_projectable(encoder.card, 63)
    for wrong in (0, 64, 65):
        with pytest.raises(InputError, match=rf"Vectors of 64 numbers can't be projected to {wrong}; .* from 1 to 63"):
            check_projectable(encoder.card, wrong)
    far = find_model(str(make_model(tmp_path / "far"))).card
    with pytest.raises(InputError, match="are compared by l2, and only those of the cosine can be shorter"):
        check_projectable(far, 8)
