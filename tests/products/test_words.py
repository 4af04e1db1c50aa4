"""The words of papers, as taggers and forecasters learn from them."""

import json

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfTransformer

from corpora.errors import InputError
from products.words import DESCRIPTION, MOST_TERMS, read_words, vocabulary_of, word_weights, write_words
from search_plugin.words.terms import terms_of

TEXTS = [
    "The viruses infect cells",
    "Cells of a virus",
    "virus virus cells and a star",
    "star light",
    "star, light",
    "light",
]


def test_rows_are_those_of_another_library():
    held = vocabulary_of(TEXTS, "english", 1)
    counts = np.array([[terms_of(text).count(term) for term in held.places] for text in TEXTS])
    assert sorted(held.places) == ["cell", "light", "star", "virus"]  # "infect" is in one text only
    wanted = TfidfTransformer(sublinear_tf=True).fit_transform(counts).toarray()
    np.testing.assert_allclose(held.matrix(TEXTS).toarray(), wanted, atol=1e-6)
    assert vocabulary_of(["a cell", "a star", ""], "english", 1) is None


def test_weights_of_many_outputs_have_fewer_terms():
    texts = [" ".join(f"word{number}" for number in range(start, start + 300)) for start in range(0, 900, 100)] * 2
    assert len(vocabulary_of(texts, "english", 1).places) == 900 < MOST_TERMS
    assert len(vocabulary_of(texts, "english", 40_000).places) == 100


def test_stored_words_add_the_same_up_to_rounding(tmp_path):
    held = vocabulary_of(TEXTS, "english", 2)
    weights = np.random.default_rng(0).standard_normal((2, len(held.places)))
    words = word_weights(held, weights)
    write_words(tmp_path, words)
    again = read_words(tmp_path, 2)
    np.testing.assert_array_equal(again.add(TEXTS), words.add(TEXTS))
    np.testing.assert_allclose(words.add([*TEXTS, ""]), held.matrix([*TEXTS, ""]) @ weights.T, atol=0.02)
    assert read_words(tmp_path / "none", 2) is None
    with pytest.raises(InputError, match=r"can't be read .*4 terms and 3 outputs.*; train it again"):
        read_words(tmp_path, 3)
    described = json.loads((tmp_path / DESCRIPTION).read_text())
    (tmp_path / DESCRIPTION).write_text(json.dumps({**described, "terms": "virus cell"}))
    with pytest.raises(InputError, match="train it again"):
        read_words(tmp_path, 2)
    (tmp_path / DESCRIPTION).unlink()
    with pytest.raises(InputError, match="train it again"):
        read_words(tmp_path, 2)
