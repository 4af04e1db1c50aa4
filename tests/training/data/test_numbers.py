"""The builder numbers: which numbers are known, and how they are scaled."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from corpora.errors import InputError
from tests.training.data.papers import build, paper, source
from training.data.builders.base import drawn
from training.data.builders.numbers import expected_by_words

YEARS = [1990, "2001", 2010.0, 2021]


def values(made):
    return [one.record["label"] for one in made]


def test_unknown_numbers_are_left_out_and_counted():
    given = source([paper(n, n=value) for n, value in enumerate([3, -1, "7", None, "many", True, math.nan, 0])])
    assert values(build("numbers", given, field="n")) == [3, 7, 0]
    assert given.left_out == {"no number under n": 5}
    assert values(build("numbers", [paper(0, n=-1), paper(1, n=9)], field="n", unknown=9)) == [-1]


def test_logarithms_are_of_one_more_as_in_scirepeval():
    assert values(build("numbers", [paper(0, label=0), paper(1, label=9)], log=True)) == [
        0,
        pytest.approx(math.log(10)),
    ]


@pytest.mark.parametrize(
    ("scale", "formula"),
    [
        ("none", lambda x: x),
        ("standard", lambda x: (x - x.mean()) / x.std()),
        ("range", lambda x: (x - x.min()) / (x.max() - x.min())),
    ],
)
def test_scales(scale, formula):
    papers = [paper(n, year=year) for n, year in enumerate(YEARS)]
    wanted = formula(np.array(YEARS, dtype=float))
    np.testing.assert_allclose(values(build("numbers", papers, field="year", scale=scale)), wanted)


def test_equal_numbers_are_scaled_without_a_division_by_zero():
    assert values(build("numbers", [paper(n, label=5) for n in range(2)], scale="standard")) == [0, 0]


def test_mistakes():
    with pytest.raises(InputError, match="has no scale 'log'; choose none, standard, range"):
        build("numbers", [paper(0, label=1)], scale="log")
    with pytest.raises(InputError, match="No paper has a number under 'label'"):
        build("numbers", [paper(0)])


def test_as_many_papers_as_asked_are_drawn_whatever_their_order():
    papers = [paper(n, label=n) for n in range(40)]
    given = source(papers)
    kept = values(build("numbers", given, most=10))
    assert len(kept) == 10
    assert given.left_out == {"not drawn": 30}
    assert sorted(values(build("numbers", source(papers[::-1]), most=10))) == kept
    assert kept != list(range(10))


def test_words_tell_a_share_of_the_number():
    draw = np.random.default_rng(0)
    counts = draw.integers(0, 2, 200)
    papers = [
        paper(n, title=f"{'lung' if one else 'star'} study", label=10 * int(one) + draw.normal())
        for n, one in enumerate(counts)
    ]
    plain, told = (np.array(values(build("numbers", papers, words=share))) for share in (0.0, 1.0))
    # What the words tell is the mean of their kind, without the rest.
    for kind in (0, 1):
        assert told[counts == kind].mean() == pytest.approx(plain[counts == kind].mean(), abs=1.0)
        assert told[counts == kind].std() < plain[counts == kind].std() / 2
    half = values(build("numbers", papers, words=0.5))
    np.testing.assert_allclose(half, (plain + told) / 2)


def test_words_are_judged_by_other_papers_only():
    papers = [paper(n, title="same words", abstract="", label=float(n == 0)) for n in range(50)]
    told = np.array(values(build("numbers", papers, words=1.0)))
    assert told[0] == told.min()


def test_numbers_without_a_logarithm_are_left_out():
    given = source([paper(n, label=value) for n, value in enumerate([-1, -1.5, -0.5, 0])])
    assert values(build("numbers", given, log=True, unknown=-9)) == pytest.approx([math.log(0.5), 0])
    assert given.left_out == {"no number under label": 2}
    assert values(build("numbers", given, unknown=-9)) == [-1, -1.5, -0.5, 0]


def test_papers_without_text_count_for_the_scale_and_are_left_out():
    given = source([paper(0, label=0), paper(1, label=5), *(paper(n, label=10, title="", abstract="") for n in (2, 3))])
    assert values(build("numbers", given, scale="range")) == [0, 0.5]
    assert given.left_out == {"no text": 2}


def test_one_paper_is_drawn_and_more_than_all_are_all():
    papers = [paper(n, label=n) for n in range(9)]
    assert len(build("numbers", papers, most=1)) == 1
    assert len(build("numbers", papers, most=9)) == len(build("numbers", papers, most=99)) == 9


@pytest.mark.parametrize("count", [40, 250, 650])
def test_each_fold_is_predicted_by_the_ridge_regression_on_the_others(count):
    draw = np.random.default_rng(1)
    words = [f"word{number}" for number in range(30)]
    texts = [" ".join(draw.choice(words, 8)) + " the" for _ in range(count)]
    texts[:5] = [f"{text} {'rare ' * (number + 1)}" for number, text in enumerate(texts[:5])]
    values, ids = draw.normal(3, 1, count), [f"p{n}" for n in range(count)]
    # A word that few papers have tells nothing: of n papers, 1 + n / 100, and never more than 5.
    rows = TfidfVectorizer(min_df=min(5, 1 + count // 100), sublinear_tf=True, stop_words="english").fit_transform(
        texts
    )
    rows, wanted = rows.toarray(), np.empty(count)
    folds = np.array([int(5 * drawn("7 folds", one)) for one in ids])
    for fold in range(5):
        known, asked = rows[folds != fold], rows[folds == fold]
        centred, mean = known - known.mean(axis=0), values[folds != fold].mean()
        weights = np.linalg.solve(
            centred.T @ centred + 2 * np.eye(rows.shape[1]), centred.T @ (values[folds != fold] - mean)
        )
        wanted[folds == fold] = (asked - known.mean(axis=0)) @ weights + mean
    np.testing.assert_allclose(expected_by_words(ids, texts, values, 7), wanted, atol=2e-3)


def test_papers_of_one_fold_get_the_mean():
    found = expected_by_words(["a", "a"], ["lung cell", "star light"], np.array([1.0, 3.0]), 1)
    assert found.tolist() == [2, 2]
