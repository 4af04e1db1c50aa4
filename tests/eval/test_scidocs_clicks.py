"""SciDocs' recommendations on invented clicks, against the arithmetic of its recomm_click_eval.py."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from corpora.errors import InputError
from eval.scidocs import SciDocs, evaluate_scidocs
from tests.eval.vectors_by_hand import embedder

PROPENSITIES = [0.5, 0.2, 0.15, 0.1, 0.05]


def write(folder, rows, propensities=PROPENSITIES):
    (folder / "recomm").mkdir(parents=True)
    lines = [
        "pid,clicked_pid,other_pids",
        *(f'{query},{clicked},"{",".join(shown)}"' for query, clicked, shown in rows),
    ]
    (folder / "recomm" / "test.csv").write_text("\n".join(lines) + "\n")
    (folder / "recomm" / "propensity_scores.json").write_text(json.dumps({"scores": propensities}))
    names = {name for query, _, shown in rows for name in (query, *shown)}
    papers = {name: {"paper_id": name, "title": name, "abstract": ""} for name in names}
    (folder / "paper_metadata_recomm.json").write_text(json.dumps(papers))
    return SciDocs(folder)


def by_harness(rows, vectors):
    """Return adjusted nDCG and P@1 as the harness adds them up, its network's score being the cosine."""
    scale = len(PROPENSITIES) / sum(PROPENSITIES)
    top = first = bottom = 0.0
    for query, clicked, shown in rows:
        scores = {name: cosine(vectors, query, name) for name in shown}
        negatives = [score for name, score in scores.items() if name != clicked]
        above = sum(score > scores[clicked] for score in negatives)
        above += sum(0.5 for score in negatives if score == scores[clicked])
        weight = 1 / (PROPENSITIES[shown.index(clicked)] * scale)
        top += weight / math.log2(2 + above)
        first += weight * (above == 0)
        bottom += weight
    return {"adjusted nDCG": top / bottom, "adjusted P@1": first / bottom}


def cosine(vectors, *names):
    if any(name not in vectors for name in names):
        return 0.0
    one, other = (np.array(vectors[name], float) for name in names)
    return round(float(one @ other / np.sqrt((one @ one) * (other @ other))), 12)


def found(folder, vectors):
    outcome = evaluate_scidocs(folder, embedder(vectors), tasks=["recomm-cosine"])["recomm-cosine"]
    return {name: cell.mean for name, cell in outcome.cells.items()}, outcome.counts


def test_measures_are_those_of_the_harness_for_the_same_scores(tmp_path):
    rng = np.random.default_rng(5)
    names = [f"p{number}" for number in range(40)]
    # Few directions, so that scores tie, and some papers have no vector.
    vectors = {name: rng.integers(1, 4, 2).astype(float) for name in names[:36]}
    rows = []
    for _ in range(60):
        query, *shown = rng.choice(names, 6, replace=False).tolist()
        rows.append((query, shown[int(rng.integers(5))], shown))
    measured, counts = found(write(tmp_path / "data", rows), vectors)
    assert measured == pytest.approx(by_harness(rows, vectors))
    assert counts == {"clicks": 60, "papers_missing": 4}


def test_a_click_weighs_the_inverse_of_its_places_propensity(tmp_path):
    rows = [("q", "a", ["a", "b"]), ("q", "b", ["a", "b"])]
    vectors = {"q": [1.0, 0.0], "a": [1.0, 0.0], "b": [0.0, 1.0]}
    measured, _ = found(write(tmp_path / "data", rows), vectors)
    # The first click, on the nearest paper, weighs 2, the second 5.
    assert measured["adjusted P@1"] == pytest.approx(2 / 7)
    assert measured["adjusted nDCG"] == pytest.approx((2 + 5 / math.log2(3)) / 7)


@pytest.mark.parametrize(
    ("row", "propensities", "told"),
    [
        (("q", "z", ["a", "b"]), [0.5, 0.2], "line 2: the paper clicked on, z, is not among those shown"),
        (("q", "b", ["a", "b"]), [0.5], "line 2: 2 papers are shown, and propensity_scores.json knows 1 places"),
        (("q", "b", ["a", "b"]), [0.5, 0], "holds no propensities above 0"),
        (("q", "b", ["a", "b"]), "x", "can't be read as SciDocs' propensities"),
    ],
)
def test_mistakes(tmp_path, row, propensities, told):
    folder = write(tmp_path / "data", [row], propensities)
    with pytest.raises(InputError, match=told):
        evaluate_scidocs(folder, embedder({"q": [1.0], "a": [1.0], "b": [1.0]}), tasks=["recomm-cosine"])
