from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from corpora.errors import InputError
from encoders.models.formats import Format
from products.tags.hierarchy import Concept, Hierarchy, make_hierarchy
from products.tags.labels import labelled_papers
from products.tags.measures import calibration_error, reliability
from products.tags.tagger import read_tagger, write_tagger
from products.tags.training import STRENGTHS, Calibration, TaggerOptions, _platt, threshold_for, train_tagger
from products.trained import TrainedVectors
from tests.products import planted

SOURCE = TrainedVectors("tiny", "f", Format.CLF)
ANIMALS = make_hierarchy([Concept("cats", ("animals",))])


def trained(matrix, hierarchy=ANIMALS, given=None, **options):
    chosen = TaggerOptions(**options)
    judged = planted.judgments(matrix) if given is None else given
    papers = labelled_papers(judged, judged, hierarchy, chosen.fewest)
    rows = matrix[[int(id_[1:]) for id_ in papers.ids]]
    return train_tagger("topics", SOURCE, rows, papers, hierarchy, chosen)


@pytest.fixture(scope="module")
def matrix():
    return planted.vectors(1_500)


def test_planted_labels_are_learnt_and_calibrated(matrix):
    tagger = trained(matrix)
    found = tagger.measures
    assert tagger.labels == planted.LABELS
    assert found.macro_f1 > 0.85
    assert found.ece < 0.07
    assert "that were held out" in found.how
    assert found.papers == len(planted.judgments(matrix)) // 5
    # On papers that nobody labelled, it says what the vectors say.
    fresh = planted.vectors(800, seed=9)
    truth = planted.labels_of(fresh, noise=0)
    right = [set(said) == set(true) for said, true in zip(tagger.tags(fresh), truth, strict=True) if true]
    assert np.mean(right) > 0.7


def test_no_test_paper_was_trained_on(matrix):
    """Random labels can't be predicted: F1 on papers that were trained on would be better than guessing all."""
    draw = np.random.default_rng(0)
    given = {f"p{row:04}": {"even": bool(draw.random() < 0.3), "all": row % 3 > 0} for row in range(300)}
    found = trained(np.tile(matrix[:300], (1, 20)), Hierarchy(), given).measures
    even = next(one for one in found.labels if one.label == "even")
    assert even.f1 < 0.65
    assert even.trained + even.positives == sum(row["even"] for row in given.values())


def test_a_tag_brings_its_broader_ones(matrix):
    tagger = trained(matrix)
    probabilities = tagger.probabilities(matrix)
    assert (probabilities[:, 0] >= probabilities[:, 1]).all()
    forced = np.array([[0.0, 1.0, 0.0]])
    assert tagger.given(forced).tolist() == [[True, True, False]]


def test_few_labels_are_measured_by_cross_validation():
    matrix = planted.vectors(60)
    tagger = trained(matrix, fewest=3)
    assert tagger.measures.how.startswith("cross-validation of all")
    assert tagger.measures.macro_f1 > 0.5


@pytest.mark.parametrize("calibration", ["platt", "isotonic"])
def test_both_calibrations_give_probabilities(matrix, calibration):
    assert set(get_args(Calibration)) == {"auto", "platt", "isotonic"}  # what the library accepts
    tagger = trained(matrix, calibration=calibration)
    assert set(tagger.curves) == (set(planted.LABELS) if calibration == "isotonic" else set())
    probabilities = tagger.probabilities(matrix)
    assert probabilities.min() >= 0
    assert probabilities.max() <= 1
    assert tagger.measures.ece < 0.07


@pytest.mark.slow
def test_a_label_that_cannot_reach_the_precision_is_never_given(matrix):
    draw = np.random.default_rng(3)
    given = {id_: {**row, "noise": bool(draw.random() < 0.2)} for id_, row in planted.judgments(matrix).items()}
    tagger = trained(matrix, given=given, precision=0.95)
    by_label = {one.label: one for one in tagger.measures.labels}
    assert by_label["noise"].threshold is None or by_label["noise"].recall < 0.05
    assert by_label["animals"].precision > 0.85
    assert by_label["animals"].recall < trained(matrix).measures.labels[0].recall + 0.05
    assert not tagger.given(np.full((1, 4), 0.5))[0, tagger.labels.index("noise")]


def test_labels_that_all_papers_have_are_left_out_or_refused(matrix):
    given = {f"p{row:04}": {"all": True, "even": row % 2 == 0} for row in range(60)}
    assert trained(matrix, Hierarchy(), given).labels == ("even",)
    with pytest.raises(InputError, match="two papers with it and two without it, and none has them"):
        trained(matrix, Hierarchy(), {id_: {"all": True} for id_ in given})


def test_papers_of_unknown_label_do_not_count(matrix):
    """Labels asked for a few papers only: the others are no examples against them."""
    truth = planted.labels_of(matrix, noise=0)
    given = {f"p{row:04}": {"stones": "stones" in truth[row]} for row in range(0, 300, 2)}
    given |= {f"p{row:04}": {"animals": True} for row in range(300, 900) if "animals" in truth[row]}
    tagger = trained(matrix, Hierarchy(), {**given, "p0001": {"animals": False}, "p0003": {"animals": False}}, fewest=5)
    stones = next(one for one in tagger.measures.labels if one.label == "stones")
    assert stones.trained + stones.positives == sum(row.get("stones", False) for row in given.values())
    assert stones.f1 > 0.7


@pytest.mark.slow
def test_each_label_is_regularised_as_suits_it():
    """Few papers with much noise need a small C; many with a rule of many dimensions a large one.

    The C of the best F1 would be another one for the rare label, by chance.
    """
    draw = np.random.default_rng(1)
    matrix = draw.normal(size=(600, 40))
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    noise = draw.random(600)
    plain, noisy = matrix @ np.sign(np.arange(40) - 20) > 0, matrix[:, 0] + noise > 0.95
    rare = 2 * matrix[:, 1] + matrix[:, 2] + noise > 1.2
    given = {
        f"p{row:04}": {"plain": bool(plain[row]), "noisy": bool(noisy[row]), "rare": bool(rare[row])}
        for row in range(600)
    }
    tagger = trained(matrix, Hierarchy(), given, held_out=0, fewest=5)
    best = []
    for label, weight in zip(tagger.labels, tagger.head.weight, strict=True):
        true = np.array([row[label] for row in given.values()])
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        loss = {}
        for strength in STRENGTHS:
            model = LogisticRegression(C=strength, max_iter=1_000)
            odds = cross_val_predict(model, matrix, true, cv=folds, method="decision_function")
            calibrated = LogisticRegression(C=1e6).fit(odds[:, None], true).predict_proba(odds[:, None])
            loss[strength] = log_loss(true, calibrated)
        best.append(min(loss, key=loss.__getitem__))
        wanted = LogisticRegression(C=best[-1], max_iter=1_000).fit(matrix, true).coef_[0]
        assert weight @ wanted / np.linalg.norm(weight) / np.linalg.norm(wanted) > 0.99999
    assert len(set(best)) == 2


@given(st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=1, max_size=30))
def test_the_threshold_has_the_best_f1_of_all(pairs):
    probabilities = np.array([place / 8 for place, _ in pairs])
    true = np.array([said for _, said in pairs])

    def f1(threshold):
        said = probabilities >= threshold
        return 2 * (said & true).sum() / max(said.sum() + true.sum(), 1)

    best = max(f1(place / 16) for place in range(-1, 18))
    assert f1(threshold_for(probabilities, true)) == pytest.approx(best)


@given(st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=1, max_size=30), st.sampled_from([0.5, 0.8, 1.0]))
def test_the_threshold_for_a_precision_gives_as_many_as_it_can(pairs, precision):
    probabilities = np.array([place / 8 for place, _ in pairs])
    true = np.array([said for _, said in pairs])
    enough = [
        said.sum()
        for place in range(-1, 17)
        if (said := probabilities >= place / 16).any() and true[said].mean() >= precision
    ]
    threshold = threshold_for(probabilities, true, precision)
    assert (probabilities >= threshold).sum() == max(enough, default=0)


def test_a_threshold_is_halfway_to_the_next_paper():
    assert threshold_for(np.array([0.9, 0.5, 0.1]), np.array([True, False, False])) == pytest.approx(0.7)
    assert threshold_for(np.array([0.5, 0.9]), np.array([True, True])) == pytest.approx(0.25)


@pytest.mark.parametrize("count", [12, 300])  # of few papers, the targets are far from 0 and 1
def test_platts_calibration_is_the_minimum_of_its_own_loss(count):
    draw = np.random.default_rng(5)
    true = draw.random(count) < 0.3
    odds = 4 * true + draw.standard_normal(count) * 2 - 5
    up, down = (true.sum() + 1) / (true.sum() + 2), 1 / ((~true).sum() + 2)
    target = np.where(true, up, down)

    def loss(parts):
        scaled = parts[0] * odds + parts[1]
        return (target * np.logaddexp(0, -scaled) + (1 - target) * np.logaddexp(0, scaled)).sum()

    (slope,), shift = _platt(odds[:, None], true)
    np.testing.assert_allclose([slope, shift], minimize(loss, [1.0, 0.0]).x, atol=2e-3)
    assert _platt(-odds[:, None], true)[0] == 0  # the order of papers is never turned around
    # A model that says the contrary of what is true does not count beside one that is right.
    (slope, none), shift = _platt(np.column_stack([odds, -odds + draw.standard_normal(count)]), true)
    assert none == 0
    np.testing.assert_allclose([slope, shift], minimize(loss, [1.0, 0.0]).x, atol=2e-3)


def worded(count=400):
    """Papers of which vectors say one half of a label, and words the other; the texts have other words too."""
    draw = np.random.default_rng(3)
    matrix = draw.standard_normal((count, 6)).astype(np.float32)
    said = draw.random(count) < 0.5
    fill = np.array(["river", "stone", "cloud", "window", "garden", "market", "bridge", "mirror"])
    texts = [" ".join([*draw.choice(fill, 4), "enzymes" if yes else "galaxies", *draw.choice(fill, 3)]) for yes in said]
    return matrix, texts, (matrix[:, 0] > 0) & said


def test_words_say_what_vectors_do_not(tmp_path):
    matrix, texts, true = worded()
    judged = {f"p{row:04}": {"both": bool(yes)} for row, yes in enumerate(true)}
    papers = labelled_papers(judged, judged, Hierarchy(), 10)
    made = {
        only: train_tagger("x", SOURCE, matrix, papers, Hierarchy(), TaggerOptions(vectors_only=only), texts=texts)
        for only in (False, True)
    }
    assert made[False].measures.macro_f1 > 0.85
    assert made[True].measures.macro_f1 < 0.75
    assert made[True].words is None
    # Its files hold the words, as one byte for each weight, and give the same tags.
    write_tagger(tmp_path / "x", made[False])
    again = read_tagger(tmp_path / "x")
    assert again.tags(matrix, texts) == made[False].tags(matrix, texts)
    telling = again.words.telling("Galaxies, an Enzyme and enzymes near a river", 0, 3)
    assert next(iter(telling)) == "enzyme"
    assert "galaxies" not in telling
    with pytest.raises(InputError, match="400 vectors came with 0 texts; give title and abstract of each paper"):
        again.tags(matrix)


@pytest.mark.slow
def test_words_that_say_nothing_do_no_harm(matrix):
    judged = planted.judgments(matrix)
    papers = labelled_papers(judged, judged, ANIMALS, 10)
    rows = matrix[[int(id_[1:]) for id_ in papers.ids]]
    draw = np.random.default_rng(4)
    texts = [" ".join(f"word{number}" for number in draw.integers(0, 300, 20)) for _ in papers.ids]
    plain, beside = (
        train_tagger("x", SOURCE, rows, papers, ANIMALS, TaggerOptions(), texts=given).measures for given in ((), texts)
    )
    assert beside.macro_f1 > plain.macro_f1 - 0.02
    assert beside.ece < plain.ece + 0.02


def test_the_calibration_error_is_that_of_its_equation():
    probabilities = np.array([0.05, 0.08, 0.55, 0.51, 1.0])
    truth = np.array([0, 1, 1, 0, 1])
    bins = reliability(probabilities, truth)
    assert [one.count for one in bins] == [2, 2, 1]
    expected = 2 / 5 * abs(0.065 - 0.5) + 2 / 5 * abs(0.53 - 0.5) + 0
    assert calibration_error(bins) == pytest.approx(expected)


@pytest.mark.parametrize("options", [{"held_out": 0.9}, {"precision": 0.0}, {"precision": 1.5}])
def test_options_out_of_bounds_are_refused(options):
    with pytest.raises(InputError):
        TaggerOptions(**options)
