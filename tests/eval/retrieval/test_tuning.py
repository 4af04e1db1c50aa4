"""Tuning: the grid, the choice, and folds that never see what they are measured on."""

from __future__ import annotations

import numpy as np
import pytest

from corpora.errors import InputError
from eval.retrieval.tuning import Folds, choose, fit, grid, measure_grid
from eval.trec.judgments import Qrels
from search_plugin.fusion import minmax, rrf
from search_plugin.legs import Scored
from search_plugin.tuned import Tuned

POINTS = tuple(Tuned("minmax", {"lexical": 1.0, "prx": float(weight)}) for weight in range(1, 7))


def test_the_grid_is_every_setting_once_the_simplest_first():
    points = grid(["lexical", "prx"])
    assert points[0] == Tuned("minmax", {"lexical": 0.5, "prx": 0.5})
    assert len(points) == 11 + 11 + 11 * 4
    assert len({(point.name, *point.weights.values()) for point in points}) == len(points)
    distances = [abs(point.weights["lexical"] - 0.5) for point in points]
    assert distances == pytest.approx(sorted(distances))
    assert all(sum(point.weights.values()) == pytest.approx(1) for point in grid(["a", "b", "c"], steps=4))
    assert len(grid(["a", "b", "c"], steps=4, constants=(60,))) == 3 * (15 + 1)  # equal weights are no quarters
    with pytest.raises(InputError, match="fewer than two legs"):
        grid(["prx"])


def test_points_are_measured_as_their_fusions_rank():
    legs = {
        "q": {"lexical": [Scored("a", 9.0), Scored("b", 8.0), Scored("c", 1.0)], "prx": [Scored("b", 0.9)]},
        "r": {"lexical": [Scored("a", 2.0)], "prx": [Scored("c", 0.5), Scored("a", 0.4)]},
    }
    qrels = Qrels({"r": {"a": 1}, "q": {"b": 1}, "s": {"a": 1}})
    points = [Tuned("minmax", {"lexical": 0.9, "prx": 0.1}), Tuned("rrf", {"lexical": 0.1, "prx": 0.9}, 5)]
    fused = [lambda of: minmax.fuse(of, points[0].weights), lambda of: rrf.fuse(of, points[1].weights, k=5)]
    expected = [
        [
            1 / (1 + [hit.id for hit in fuse(legs[query])].index(wanted)) if query in legs else 0.0
            for query, wanted in (("r", "a"), ("q", "b"), ("s", "a"))
        ]
        for fuse in fused
    ]
    assert measure_grid(points, legs, qrels, "MRR").tolist() == expected
    assert expected[0] != expected[1]


def test_the_choice_is_the_simplest_that_is_not_worse_by_a_standard_error():
    draw = np.random.default_rng(0)
    noise = draw.normal(0, 0.2, 200)
    better = np.stack([0.3 + noise, 0.31 + noise + draw.normal(0, 0.3, 200), 0.6 + noise])
    assert choose(better, 5, 0) == 2
    # Equal but for noise between the points: the first stays, though another has the higher mean.
    flat = np.stack([0.5 + noise, 0.5 + noise + draw.normal(0.002, 0.3, 200)])
    assert choose(flat, 5, 0) == 0
    assert choose(np.ones((3, 10)), 5, 0) == 0
    assert choose(np.stack([np.zeros(10), np.ones(10)]), 5, 0) == 1


def test_an_outer_fold_has_no_say_in_what_measures_it():
    draw = np.random.default_rng(1)
    values = draw.uniform(size=(6, 40)) * 0.2 + np.linspace(0, 0.5, 6)[:, None]
    queries = [f"q{number}" for number in range(40)]
    clean = fit(POINTS, values, queries)
    assert clean.chosen == POINTS[5]
    assert clean.flattered == pytest.approx(values[5].mean())
    assert list(clean.estimate) == queries
    assert clean.default == dict(zip(queries, values[0], strict=True))
    folds = Folds()
    parts = np.array_split(np.random.default_rng(folds.seed).permutation(40), folds.outer)
    for number, held_out in enumerate(parts):
        poisoned = values.copy()
        poisoned[:, held_out] = 0
        poisoned[2, held_out] = 1000  # would win, were it seen
        fitted = fit(POINTS, poisoned, queries)
        assert fitted.by_fold[number] == clean.by_fold[number]
        assert all(fitted.estimate[queries[column]] == 0 for column in held_out)
        assert fitted.by_fold[number - 1] != clean.by_fold[number - 1], "the others do see it"


def test_the_estimate_of_pure_noise_is_not_flattered():
    values = np.random.default_rng(2).uniform(size=(60, 40))
    points = tuple(Tuned("minmax", {"a": 1.0, "b": weight / 60}) for weight in range(60))
    fitted = fit(points, values, [str(number) for number in range(40)])
    assert np.mean(list(fitted.estimate.values())) < values.mean(axis=1).max() - 0.05


@pytest.mark.parametrize(("queries", "folds"), [(9, Folds()), (40, Folds(outer=1)), (40, Folds(inner=1))])
def test_too_few_queries_or_folds(queries, folds):
    with pytest.raises(InputError, match="need 2 folds each"):
        fit(POINTS, np.ones((6, queries)), [str(number) for number in range(queries)], folds)
