from dataclasses import replace

import numpy as np
import pytest

from corpora.errors import InputError
from encoders.models.formats import Format
from eval.statistics.interval import Interval
from products.trained import TrainedVectors
from training.own.worth import FormatWorth, LabelledVectors, common_labels, measured_worth, truth_of

SOURCE = TrainedVectors("tiny", "f", Format.PRX)


def made(count, seed, task, *, better):
    """Papers whose truth follows from `own` (or from `indexed`), up to noise, and not from the other."""
    draw = np.random.default_rng(seed)
    clear, vague = (draw.standard_normal((count, 8)).astype(np.float32) for _ in range(2))
    number = clear[:, 0] + 0.3 * draw.standard_normal(count)
    vague[:, 0] += clear[:, 0]
    classes = np.digitize(number, [-0.5, 0.5])
    truth = number if task == "number" else classes[:, None] == np.arange(3)
    if task == "labels":
        truth = np.column_stack([truth, truth.any(axis=1) & (clear[:, 1] > 0)])
    own, indexed = (clear, vague) if better else (vague, clear)
    return LabelledVectors(truth, indexed, indexed, own)


@pytest.mark.parametrize("task", ["label", "labels", "number"])
@pytest.mark.parametrize("better", [True, False])
def test_the_better_vectors_are_told_apart(task, better):
    worth = measured_worth(made(300, 0, task, better=better), made(300, 1, task, better=better), task, SOURCE)
    assert worth.worth is better
    assert (worth.gain.mean > 0.05) is better
    assert worth.gain.low <= worth.gain.mean <= worth.gain.high
    assert worth.gain.mean == pytest.approx(worth.scores[worth.own].mean - worth.scores[worth.other].mean)
    assert (worth.train, worth.test) == (300, 300)
    assert worth.labels == {"label": 3, "labels": 4, "number": 0}[task]
    models = ("ridge regression",) if task == "number" else ("ridge regression", "ses tags")
    vectors = ("the new format", "the index's vectors")
    assert set(worth.scores) == {f"{model} on {name}" for model in models for name in vectors}
    for best, name in zip((worth.own, worth.other), vectors, strict=True):
        assert worth.scores[best].mean == max(worth.scores[f"{model} on {name}"].mean for model in models)
    assert worth.sentence.startswith("Worth using" if better else "Not worth using")
    assert worth.to_dict()["sentence"] == worth.sentence


def test_the_new_format_may_be_there_for_the_first_papers_only():
    whole, test = made(300, 0, "labels", better=True), made(300, 1, "labels", better=True)
    some = measured_worth(replace(whole, own=whole.own[:120]), test, "labels", SOURCE)
    fewer = LabelledVectors(*(part[:120] for part in (whole.truth, whole.indexed, whole.tagged, whole.own)))
    alone, all_of_it = (measured_worth(one, test, "labels", SOURCE) for one in (fewer, whole))
    for name, score in some.scores.items():
        assert score == (alone if name.endswith("new format") else all_of_it).scores[name]
    assert alone.scores != all_of_it.scores


def told(low, mean, high):
    scores = {"a on x": Interval(0.5, 0.7 + mean, 0.9), "b on y": Interval(0.5, 0.7, 0.9)}
    return FormatWorth("macro F1", 3, 100, 50, scores, "a on x", "b on y", Interval(low, mean, high))


def test_one_line_says_whether_it_is_worth_using():
    assert told(0.01, 0.03, 0.05).sentence == (
        "Worth using: macro F1 +0.030 [+0.010, +0.050] beside the 0.700 of b on y."
    )
    assert told(-0.01, 0.03, 0.05).sentence == (
        "Not worth using: macro F1 +0.030 [-0.010, +0.050] beside the 0.700 of b on y; the difference may be chance, "
        "and a linear model on them is enough."
    )
    assert "; it is worse, and" in told(-0.05, -0.03, -0.01).sentence
    assert not told(0.0, 0.03, 0.05).worth


def test_labels_of_enough_papers():
    values = ["a", "b", "a", ["b", "c", "c"], ("a",)]
    assert common_labels(values, 2) == ["a", "b"]
    assert truth_of(values, "labels", ["a", "b"]).tolist() == [
        [True, False],
        [False, True],
        [True, False],
        [False, True],
        [True, False],
    ]
    with pytest.raises(InputError, match="1 labels have 3 papers or more"):
        common_labels(values, 3)
