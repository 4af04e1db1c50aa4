"""Chain-of-Factors on drawn data whose figures were computed once by its own script."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from encoders.models.formats import Format
from eval.reviewers.data import read_reviewers
from eval.reviewers.protocol import evaluate_reviewers
from products.reviewers.rules import MATCHINGS
from tests.eval.vectors_by_hand import embedder, write_lines

FACTORS = ("semantic", "topic", "citation")
SCRIPT = {"soft P@5": 0.42857143, "soft P@10": 0.41428571, "hard P@5": 0.33333333, "hard P@10": 0.3}


def draw(folder):
    """Reviewers with no, few, repeated and shared papers, an unknown one, and sets that judge different ones."""
    folder.mkdir()
    rng = np.random.default_rng(4)
    papers, submissions = [f"p{i}" for i in range(450)], [f"s{i}" for i in range(12)]
    vectors = {factor: {x: rng.integers(-3, 4, 4) for x in (*papers, *submissions)} for factor in FACTORS}
    lines = [{"paper": name, "title": name, "abstract": name} for name in (*papers, *submissions)]
    write_lines(folder / "KDD_papers_test.json", lines)
    own = [rng.choice(papers, int(rng.integers(1, 40)), replace=False).tolist() for _ in range(40)]
    lines = [{"reviewer": f"r{i}", "papers": [*some, some[0]] if i else []} for i, some in enumerate(own)]
    write_lines(folder / "KDD_reviewers_test.json", lines)
    judged = [rng.choice([f"r{i}" for i in range(40)] + ["nobody"], 25, replace=False) for _ in submissions]
    grades = [{name: int(rng.integers(4)) for name in some} for some in judged]
    for kind, least, left_out in (("hard", 3, 2), ("soft", 2, 5)):
        lines = [
            {
                "query_id": s,
                "score": {r: int(g >= least) for r, g in list(of_s.items())[left_out:]} if s != "s7" else {},
            }
            for s, of_s in zip(submissions[:-left_out], grades, strict=False)
        ]
        write_lines(folder / f"KDD_queries_test_{kind}.json", lines)
    return vectors


def test_soft_and_hard_are_as_the_script_measures_them(tmp_path):
    vectors = draw(tmp_path / "data")
    data = read_reviewers(tmp_path / "data")
    embedders = {factor: partial(embedder(vectors[factor]), task_format=Format.PRX) for factor in FACTORS}
    outcome = evaluate_reviewers(data, embedders, MATCHINGS["cof"])
    assert {name: cell.mean for name, cell in outcome.cells.items()} == pytest.approx(SCRIPT, abs=1e-6)
    assert outcome.counts["submissions_without_judgments"] == 1
    # SciRepEval's rules know the hard set's submissions only; here the soft set has no others.
    outcome = evaluate_reviewers(data, {"proximity": embedders["semantic"]}, MATCHINGS["scirepeval"])
    assert len(outcome.per_unit["soft P@5"]) == len(data.soft.gains)
