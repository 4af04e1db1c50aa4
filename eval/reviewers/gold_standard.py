"""The gold standard of reviewer assignment: 58 researchers rated their own expertise (Stelmakh et al. 2023).

A system predicts how well each reviewer suits each paper they reported on, from ten draws of the reviewers' profiles.
The loss is the share of reported differences in expertise that the predictions order wrongly, each weighted by its
size, with ties at half: 0 is perfect, 0.5 is chance. Easy pairs have one paper of 4 or more and one of 2 or less,
hard pairs two papers of 4 or more that differ.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from corpora.documents import read_json
from corpora.errors import InputError, require
from encoders.models.formats import Format
from eval.embedder import Embedder, Text
from eval.files.archives import unpacked
from eval.files.text import bad_line, numbered_lines, require_line
from eval.outcome import Outcome
from eval.reviewers.protocol import rank_reviewers
from eval.statistics.bootstrap import bootstrap_statistic
from products.reviewers.rules import Matching, openreview

HIGH, LOW = 4.0, 2.0
"""Bounds of high and low expertise, which make a pair easy or hard."""

RESAMPLES = 1_000

Expertise = Mapping[str, Mapping[str, float]]
"""Reviewer to paper to expertise, reported or predicted; of predictions only the order matters."""


@dataclass(frozen=True, slots=True)
class GoldStandard:
    """The data set.

    Attributes:
        expertise: What reviewers reported, from 1 to 5.
        draws: For each draw of the profiles, reviewer to the ids of their papers.
        papers: Texts of all papers.
    """

    expertise: Expertise
    draws: tuple[Mapping[str, tuple[str, ...]], ...]
    papers: Mapping[str, Text]


def compare_pairs(predicted: Mapping[str, float], reported: Mapping[str, float]) -> tuple[float, ...]:
    """Compare the order of every two papers of a reviewer, by their predicted similarity and reported expertise.

    A paper without similarity ties with all others. Returns loss and the largest possible loss; easy pairs in the right
    order, and all; hard pairs in the right order, and all: the measures are ratios of these sums.
    """
    sums = {name: np.zeros(2) for name in ("loss", "easy", "hard")}
    for one, other in combinations(reported, 2):
        truth = reported[one] - reported[other]
        agreement = (predicted.get(one, np.nan) - predicted.get(other, np.nan)) * truth
        share = 0.0 if agreement > 0 else 1.0 if agreement < 0 else 0.5
        sums["loss"] += (abs(truth) * share, abs(truth))
        if kind := _kind(reported[one], reported[other]):
            sums[kind] += (agreement > 0, 1)
    return tuple(np.concatenate(list(sums.values())).tolist())


def pair_sums(predictions: Sequence[Expertise], expertise: Expertise) -> np.ndarray:
    """Return the sums of `compare_pairs` for each reviewer, means over the draws, float64 (reviewers, 6)."""
    per_draw = [
        [compare_pairs(one.get(reviewer, {}), reported) for reviewer, reported in expertise.items()]
        for one in predictions
    ]
    return np.asarray(np.array(per_draw, dtype=np.float64).mean(axis=0))


def score_predictions(predictions: Sequence[Expertise], expertise: Expertise) -> Outcome:
    """Measure predictions of reported expertise, one for each draw of the profiles, by the mean over draws.

    Returns `loss`, and the accuracy on `easy` and `hard` pairs where there are any, with intervals over 1,000 resamples
    of the reviewers, and the loss of each reviewer.
    """
    sums = pair_sums(predictions, expertise)
    cells = {
        name: bootstrap_statistic(_ratio, sums[:, 2 * column], sums[:, 2 * column + 1], resamples=RESAMPLES)
        for column, name in enumerate(("loss", "easy", "hard"))
        if sums[:, 2 * column + 1].any()
    }
    losses = {name: row[0] / row[1] for name, row in zip(expertise, sums.tolist(), strict=True) if row[1]}
    papers = {paper for reported in expertise.values() for paper in reported}
    counts = {"reviewers": len(expertise), "papers": len(papers), "draws": len(predictions)}
    return Outcome(cells, {"loss of each reviewer": losses}, counts)


def evaluate_gold_standard(data: GoldStandard, embedder: Embedder, matching: Matching | None = None) -> Outcome:
    """Predict expertise from vectors of titles with abstracts, and measure it as `score_predictions` does.

    The matching aggregates papers' similarities to a reviewer's; if None, by their maximum, as the data set's authors
    ran openreview-expertise. Papers without a vector are counted, and tie where they were to be judged.
    """
    vectors = embedder(list(data.papers.values()), Format.PRX)
    papers = {paper: None for reported in data.expertise.values() for paper in reported}
    wanted = {paper: [r for r, reported in data.expertise.items() if paper in reported] for paper in papers}
    predictions: list[Expertise] = []
    for profiles in data.draws:
        run = rank_reviewers({"proximity": vectors}, profiles, wanted, matching or openreview()).run
        scores = {paper: dict(ranking) for paper, ranking in run.rankings.items()}
        predictions.append(
            {
                reviewer: {paper: scores[paper][reviewer] for paper in reported if reviewer in scores[paper]}
                for reviewer, reported in data.expertise.items()
            }
        )
    outcome = score_predictions(predictions, data.expertise)
    missing = len(data.papers) - sum(paper in vectors.rows for paper in data.papers)
    undecided = sum(len(data.expertise[r]) - len(found) for one in predictions for r, found in one.items())
    told = {"papers_without_vector": missing, "scores_not_predicted": undecided}
    return replace(outcome, counts={**outcome.counts, **told})


def read_gold_standard(path: Path) -> GoldStandard:
    """Read the data set, or raise `InputError` if it isn't there, or a file is malformed.

    Its folder holds `data/evaluations.csv` and `evaluation_datasets/d_20_1` to `d_20_10`; the path may also be a folder
    with that folder, or a tar archive of it.
    """
    with unpacked(path) as folder:
        found = [file for depth in ("", "*/") for file in folder.glob(f"{depth}data/evaluations.csv")]
        require(found, f"{path} is not the gold standard of reviewers: it has no data/evaluations.csv.")
        root = found[0].parents[1]
        draws = sorted(root.glob("evaluation_datasets/d_20_*"), key=lambda draw: (len(draw.name), draw.name))
        require(draws, f"{path} has no evaluation_datasets/d_20_1: fetch the whole data set.")
        papers: dict[str, Text] = {}
        expertise = _reported(found[0])
        profiles = tuple(_profiles(draw, expertise, papers) for draw in draws)
        return GoldStandard(expertise, profiles, papers)


def _ratio(part: np.ndarray, whole: np.ndarray) -> float:
    return float(part.sum()) / float(whole.sum())


def _kind(one: float, other: float) -> str:
    low, high = sorted((one, other))
    if low == high or high < HIGH:
        return ""
    return "hard" if low >= HIGH else "easy" if low <= LOW else ""


def _reported(path: Path) -> dict[str, dict[str, float]]:
    expertise: dict[str, dict[str, float]] = {}
    lines = (line.decode("utf-8", "replace") for _, line in numbered_lines(path))
    for number, row in enumerate(csv.DictReader(lines, delimiter="\t"), start=2):
        try:
            reported = {row[f"Paper{n}"]: float(row[f"Expertise{n}"]) for n in range(1, 11) if row[f"Paper{n}"]}
        except (KeyError, TypeError, ValueError) as error:
            raise bad_line(path, number, f"this is no row of reported expertise ({error})") from error
        require_line(np.isfinite(list(reported.values())).all(), path, number, "expertise must be a number")
        require_line(
            row.get("ParticipantID") and row["ParticipantID"] not in expertise,
            path,
            number,
            "a row is of one reviewer, named under ParticipantID, who comes once",
        )
        expertise[row["ParticipantID"]] = reported
    return expertise


def _profiles(draw: Path, expertise: Expertise, papers: dict[str, Text]) -> dict[str, tuple[str, ...]]:
    """Read a draw in OpenReview's layout; add the texts of its papers to `papers`."""
    submissions = draw / "submissions.json"
    try:
        members = read_json(submissions)
        for note in members.values():
            _add(note, papers)
    except (OSError, ValueError, AttributeError, KeyError, TypeError) as error:
        raise InputError(f"{submissions} can't be read as OpenReview's submissions ({error}).") from error
    return {reviewer: _archive(draw / "archives" / f"~{reviewer}.jsonl", papers) for reviewer in expertise}


def _archive(path: Path, papers: dict[str, Text]) -> tuple[str, ...]:
    own = []
    for number, line in numbered_lines(path):
        try:
            own.append(_add(orjson.loads(line), papers))
        except (orjson.JSONDecodeError, AttributeError, KeyError, TypeError) as error:
            raise bad_line(path, number, f"this is no paper in OpenReview's form ({error})") from error
    return tuple(own)


def _add(note: Any, papers: dict[str, Text]) -> str:
    name, content = str(note["id"]), note["content"]
    title, abstract = content["title"] or "", content.get("abstract") or ""
    if not isinstance(title, str) or not isinstance(abstract, str):
        raise TypeError("title and abstract are texts")
    papers[name] = Text(name, title, abstract)
    return name
