"""UniPR's rules (section 3.3, equation 10; P@K of equations 11 and 12) on drawn data in NIPS' form, written out."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.stats import rankdata

from corpora.errors import InputError
from encoders.models.formats import Format
from eval.reviewers.data import ReviewerSet, read_reviewers
from eval.reviewers.protocol import evaluate_reviewers, older_soft_precisions
from eval.trec.judgments import Qrels
from eval.trec.runs import Run
from products.reviewers.rules import MATCHINGS, matching_of
from tests.eval.vectors_by_hand import embedder, write_lines

FACTORS = ("semantic", "topic", "citation")
LEAST = {"soft": 2, "hard": 3}


def draw(folder, name):
    """Write a data set in the layout of UniPR's authors; return vectors by factor, profiles, and grades from 0 to 3.

    Two submissions have three judged reviewers each, the others 14.
    """
    folder.mkdir()
    rng = np.random.default_rng(8)
    papers, submissions = [f"p{number}" for number in range(120)], [f"s{number}" for number in range(10)]
    vectors = {factor: {one: rng.standard_normal(5) for one in (*papers, *submissions)} for factor in FACTORS}
    lines = [{"paper": one, "title": one, "abstract": one} for one in (*papers, *submissions)]
    write_lines(folder / f"{name}_papers_test.json", lines)
    profiles = {
        f"r{number}": rng.choice(papers, int(rng.integers(1, 9)), replace=False).tolist() for number in range(30)
    }
    lines = [{"reviewer": reviewer, "papers": own} for reviewer, own in profiles.items()]
    write_lines(folder / f"{name}_reviewers_test.json", lines)
    grades = {
        one: {
            reviewer: int(rng.integers(4))
            for reviewer in rng.choice(list(profiles), 3 if at < 2 else 14, replace=False)
        }
        for at, one in enumerate(submissions)
    }
    for kind, least in LEAST.items():
        lines = [
            {"query_id": one, "score": {reviewer: int(grade >= least) for reviewer, grade in of_each.items()}}
            for one, of_each in grades.items()
        ]
        write_lines(folder / f"{name}_queries_test_{kind}.json", lines)
    return vectors, profiles, grades


def top3(similarities):
    return np.mean(sorted(similarities)[-3:])


def first_grades(vectors, profiles, grades, cutoff, aggregate=top3):
    """Return the grades of the first reviewers of each submission, and how many are judged for it."""
    found = []
    for submission, judged in grades.items():
        total = np.zeros(len(profiles))
        for of_factor in vectors.values():
            relevance = [
                aggregate([of_factor[paper] @ of_factor[submission] for paper in own]) for own in profiles.values()
            ]
            total += 1 / rankdata(-np.array(relevance), method="min")
        score = dict(zip(profiles, total, strict=True))
        first = sorted(judged, key=score.__getitem__, reverse=True)[:cutoff]
        found.append(([judged[reviewer] for reviewer in first], len(judged)))
    return found


@pytest.mark.parametrize("name", ["NIPS", "KDD"])
def test_soft_and_hard_precision_are_those_of_the_equations(tmp_path, name):
    vectors, profiles, grades = draw(tmp_path / name, name)
    data = read_reviewers(tmp_path / name)
    assert data.name == name
    embedders = {factor: partial(embedder(vectors[factor]), task_format=Format.PRX) for factor in FACTORS}
    outcome = evaluate_reviewers(data, embedders, MATCHINGS["unipr"])
    first = {cutoff: first_grades(vectors, profiles, grades, cutoff) for cutoff in (5, 10)}
    assert {measure: cell.mean for measure, cell in outcome.cells.items()} == {
        f"{kind} P@{cutoff}": pytest.approx(
            np.mean([sum(g >= least for g in of_each) / cutoff for of_each, _ in found])
        )
        for kind, least in LEAST.items()
        for cutoff, found in first.items()
    }
    assert set(older(data, embedders)) == {"soft P@5 (Anjum)"}
    write_grades(tmp_path / name, name, grades)
    assert older(read_reviewers(tmp_path / name), embedders) == {
        "soft P@5 (Anjum)": pytest.approx(
            np.mean([sum(g >= 2 for g in of_each) / min(5, n) for of_each, n in first[5]])
        ),
        "soft P@5 (Liu)": pytest.approx(np.mean([sum(of_each) / 15 for of_each, _ in first[5]])),
    }


@pytest.mark.parametrize(
    ("factors", "aggregate", "by_hand"),
    [
        (("topic",), "", top3),  # table 6
        (("citation", "semantic"), "top3", top3),
        *((FACTORS, name, function) for name, function in {"max": max, "average": np.mean, "sum": sum}.items()),
    ],
)
def test_ablations_and_other_aggregates_are_those_of_the_equations(tmp_path, factors, aggregate, by_hand):
    vectors, profiles, grades = draw(tmp_path / "KDD", "KDD")
    kept = {factor: vectors[factor] for factor in factors}
    embedders = {factor: partial(embedder(one), task_format=Format.PRX) for factor, one in kept.items()}
    matching = matching_of("unipr", aggregate).only(factors)
    outcome = evaluate_reviewers(read_reviewers(tmp_path / "KDD"), embedders, matching)
    first = first_grades(kept, profiles, grades, 5, by_hand)
    wanted = [sum(g >= 2 for g in of_each) / 5 for of_each, _ in first]
    assert list(outcome.per_unit["soft P@5"].values()) == pytest.approx(wanted)


def test_unipr_knows_no_other_aggregate():
    with pytest.raises(InputError, match="no aggregate 'p75'; give one of top3, max, average, sum"):
        matching_of("unipr", "p75")
    assert matching_of("openreview", "p75").factors == ("proximity",)


def older(data, embedders):
    outcome = evaluate_reviewers(data, embedders, MATCHINGS["unipr"], older_soft_precisions)
    return {measure: cell.mean for measure, cell in outcome.cells.items() if "(" in measure}


def test_reviewers_judged_in_the_hard_set_alone_take_no_place_in_the_soft_one():
    run = Run("t", {"s": [("a", 3.0), ("b", 2.0), ("c", 1.0)]})
    data = ReviewerSet({}, Qrels({"s": {"a": 0}}), Qrels({"s": {"b": 1, "c": 0}}))
    assert older_soft_precisions(run, data) == {"soft P@5 (Anjum)": {"s": 0.5}}
    five = Run("t", {"s": [(name, -float(at)) for at, name in enumerate("abcdef")]})
    data = ReviewerSet({}, Qrels({}), Qrels({"s": dict.fromkeys("bcdef", 1)}))
    assert older_soft_precisions(five, data) == {"soft P@5 (Anjum)": {"s": 1.0}}


def write_grades(folder, name, grades):
    lines = [
        {"query_id": one, "score": {r: int(grade) for r, grade in judged.items()}} for one, judged in grades.items()
    ]
    write_lines(folder / f"{name}_queries_test_grades.json", lines)


def test_grades_belong_to_the_other_judgments(tmp_path):
    _, _, grades = draw(tmp_path / "NIPS", "NIPS")
    reviewer, grade = next(iter(grades["s3"].items()))
    grades["s3"][reviewer] = 3 if grade < 3 else 0
    write_grades(tmp_path / "NIPS", "NIPS", grades)
    with pytest.raises(InputError, match=r"grades\.json has other grades than the files _hard and _soft"):
        read_reviewers(tmp_path / "NIPS")
    grades["s3"][reviewer] = 4
    write_grades(tmp_path / "NIPS", "NIPS", grades)
    with pytest.raises(InputError, match="a grade is a whole number from 0 to 3"):
        read_reviewers(tmp_path / "NIPS")
