"""UniPR's rules (section 3.3, equation 10; P@K of equation 11) on drawn data in NIPS' form, written out with scipy."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.stats import rankdata

from encoders.models.formats import Format
from eval.reviewers.data import read_reviewers
from eval.reviewers.protocol import evaluate_reviewers
from products.reviewers.rules import MATCHINGS
from tests.eval.vectors_by_hand import embedder, write_lines

FACTORS = ("semantic", "topic", "citation")
LEAST = {"soft": 2, "hard": 3}


def draw(folder, name):
    """Write a data set in the layout of UniPR's authors; return vectors by factor, profiles, and grades from 0 to 3."""
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
        one: {reviewer: int(rng.integers(4)) for reviewer in rng.choice(list(profiles), 14, replace=False)}
        for one in submissions
    }
    for kind, least in LEAST.items():
        lines = [
            {"query_id": one, "score": {reviewer: int(grade >= least) for reviewer, grade in of_each.items()}}
            for one, of_each in grades.items()
        ]
        write_lines(folder / f"{name}_queries_test_{kind}.json", lines)
    return vectors, profiles, grades


def by_formula(vectors, profiles, grades, kind, cutoff):
    """Return the mean over submissions of the share of reviewers with a sufficient grade among the first."""
    shares = []
    for submission, judged in grades.items():
        total = np.zeros(len(profiles))
        for of_factor in vectors.values():
            relevance = [
                np.mean(sorted(of_factor[paper] @ of_factor[submission] for paper in own)[-3:])
                for own in profiles.values()
            ]
            total += 1 / rankdata(-np.array(relevance), method="min")
        score = dict(zip(profiles, total, strict=True))
        first = sorted(judged, key=score.__getitem__, reverse=True)[:cutoff]
        shares.append(sum(judged[reviewer] >= LEAST[kind] for reviewer in first) / cutoff)
    return np.mean(shares)


@pytest.mark.parametrize("name", ["NIPS", "KDD"])
def test_soft_and_hard_precision_are_those_of_the_equations(tmp_path, name):
    vectors, profiles, grades = draw(tmp_path / name, name)
    data = read_reviewers(tmp_path / name)
    assert data.name == name
    embedders = {factor: partial(embedder(vectors[factor]), task_format=Format.PRX) for factor in FACTORS}
    outcome = evaluate_reviewers(data, embedders, MATCHINGS["unipr"])
    assert {measure: cell.mean for measure, cell in outcome.cells.items()} == {
        f"{kind} P@{cutoff}": pytest.approx(by_formula(vectors, profiles, grades, kind, cutoff))
        for kind in LEAST
        for cutoff in (5, 10)
    }
