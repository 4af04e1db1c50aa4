"""The words of papers as numbers, against scikit-learn's weights and numpy's singular vectors."""

import math
import random
from collections import Counter
from dataclasses import asdict, replace

import numpy as np
import pytest

from corpora.documents import typed
from encoders.models.formats import Format
from search_plugin.words import space
from search_plugin.words.space import WordPart, WordSpace
from search_plugin.words.terms import terms_of
from tests.tiny import WORDS

BOTH = (Format.CLF, Format.RGN)


def said(count, *, seed=0, words=WORDS):
    """Texts with few words of the kind of each, so that their singular values differ."""
    draw = random.Random(seed)
    return [" ".join(draw.choices(words[kind : kind + 6], k=draw.randint(3, 40))) for kind in range(0, 30, 3)] + [
        " ".join(draw.choices(words, k=draw.randint(3, 40))) for _ in range(count - 10)
    ]


def unit(rows):
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def latent(texts, others, numbers):
    """The words of other texts by the first right singular vectors of all of the TF-IDF of some, float64."""
    text = pytest.importorskip("sklearn.feature_extraction.text")

    def terms(one):
        return [term for term in terms_of(one) if term]

    weights = text.TfidfVectorizer(analyzer=terms, sublinear_tf=True, min_df=3)
    fitted = weights.fit_transform(texts).toarray()
    _, _, right = np.linalg.svd(fitted, full_matrices=False)
    return unit(weights.transform(others).toarray() @ right[:numbers].T)


@pytest.fixture
def narrow(monkeypatch):
    monkeypatch.setattr(space, "PARTS", {Format.CLF: (4, 0.5), Format.RGN: (8, 2.0)})


def test_words_stand_beside_the_vectors_as_latent_semantic_analysis_places_them(narrow):
    texts, others = said(80), [*said(20, seed=1), "nothing known here", ""]
    made = WordSpace.fitted(iter(texts), "english", BOTH)
    assert made.parts == (WordPart("clf", 4, 0.5), WordPart("rgn", 8, 2.0))
    vectors = np.random.default_rng(0).standard_normal((22, 5)).astype(np.float32)
    found = made.beside(vectors, others)
    for part in made.parts:
        words = latent(texts, others, part.numbers)
        wanted = unit(np.hstack([unit(vectors), part.weight * words]))
        assert (found[part.format].shape, found[part.format].dtype) == ((22, 5 + part.numbers), np.float32)
        # Directions may have the other sign, and are kept with eight bits.
        assert found[part.format] @ found[part.format].T == pytest.approx(wanted @ wanted.T, abs=0.01)
        assert np.linalg.norm(found[part.format], axis=1) == pytest.approx(1)
        assert found[part.format][-1] == pytest.approx([*unit(vectors)[-1], *[0] * part.numbers], abs=1e-6)


def test_each_paper_has_the_same_words_alone(narrow):
    texts = said(60)
    made = WordSpace.fitted(texts, "english", BOTH)
    vectors = np.eye(60, 7, dtype=np.float32) + 0.1
    whole = made.beside(vectors, texts)
    for row in (0, 31, 59):
        alone = made.beside(vectors[row : row + 1], texts[row : row + 1])
        assert all(alone[name][0] == pytest.approx(whole[name][row], abs=1e-5) for name in ("clf", "rgn"))


def test_terms_are_those_of_three_papers_and_of_the_most_papers_first(monkeypatch):
    texts = [*["lung virus"] * 30, *["lung the kidneys"] * 12, "stray", "stray"]
    made = WordSpace.fitted(texts, "english", BOTH)
    assert made.terms.split() == ["lung", "virus", "kidney"]
    assert WordSpace.fitted(texts, "german", BOTH).terms.split()[0] == "lung"
    monkeypatch.setattr(space, "MOST_TERMS", 2)
    assert WordSpace.fitted(texts, "english", BOTH).terms.split() == ["lung", "virus"]


def test_there_are_a_quarter_as_many_numbers_as_papers():
    assert [part.numbers for part in WordSpace.fitted(said(80), "english", BOTH).parts] == [20, 20]
    (part,) = WordSpace.fitted(said(600), "english", [Format.CLF]).parts
    assert (part.format, part.numbers) == ("clf", 128)


@pytest.mark.parametrize("texts", [[""] * 40, ["a lung"] * 40, ["the of and"] * 40])
def test_papers_that_say_nothing_or_all_the_same_are_no_fault(texts):
    made = WordSpace.fitted(texts, "english", BOTH)
    found = made.beside(np.ones((2, 3), np.float32), ["a lung", ""])
    assert all(np.isfinite(rows).all() for rows in found.values())
    assert np.linalg.norm(found["clf"], axis=1) == pytest.approx(1)


def test_terms_that_always_stand_together_have_one_direction():
    made = WordSpace.fitted(["lung virus"] * 40, "english", BOTH)
    found = made.beside(np.zeros((3, 3), np.float32), ["lung", "virus", "virus lung"])
    assert all(rows[1:] == pytest.approx(np.stack([rows[0]] * 2), abs=1e-3) for rows in found.values())


def test_it_is_kept_as_it_is_and_damage_is_found():
    made = WordSpace.fitted(said(60), "english", BOTH)
    assert typed(WordSpace, asdict(made)) == made
    assert WordSpace.fitted(said(60), "english", BOTH) == made
    others = [
        WordSpace.fitted(said(60, seed=5), "english", BOTH),
        WordSpace.fitted(said(60), "english", [Format.CLF]),
        replace(made, parts=(replace(made.parts[0], weight=0.7), made.parts[1])),
    ]
    marks = {one.fingerprint_after("model") for one in (made, *others)}
    assert len({*marks, made.fingerprint_after("other")}) == 5
    assert all(len(one) == 16 for one in marks)
    for wrong in ({"directions": made.directions[:-4]}, {"scales": ""}, {"terms": "one two"}, {"numbers": 16}):
        with pytest.raises(ValueError, match="words of an index are damaged"):
            replace(made, **wrong)
    with pytest.raises(ValueError, match="fewer words than its vectors"):
        replace(made, parts=(WordPart("clf", 16, 0.5),))


def test_weights_are_one_and_the_logarithm_of_the_count_times_the_rarity(narrow):
    """With a direction for each term, the products of two papers' words are those of their weights."""
    texts = [*["lung"] * 24, *["lung virus"] * 8, *["kidney"] * 8]
    made = WordSpace.fitted(texts, "english", [Format.RGN])
    held = Counter({"lung": 32, "virus": 8, "kidney": 8})
    rarity = {term: 1 + math.log(41 / (1 + papers)) for term, papers in held.items()}
    one = {"lung": (1 + math.log(3)) * rarity["lung"], "virus": rarity["virus"]}
    other = {"virus": (1 + math.log(2)) * rarity["virus"], "kidney": rarity["kidney"]}
    cosine = one["virus"] * other["virus"] / math.prod(math.hypot(*own.values()) for own in (one, other))
    (rows,) = made.beside(np.zeros((2, 3), np.float32), ["lung lung virus lung", "virus kidneys virus"]).values()
    assert rows[0] @ rows[1] == pytest.approx(cosine, abs=0.01)
