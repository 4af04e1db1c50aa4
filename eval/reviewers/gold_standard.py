"""The gold standard of reviewer assignment: 58 researchers rated their own expertise (Stelmakh et al. 2023).

A system predicts how well each reviewer suits each paper they reported on, from ten draws of the reviewers' profiles.
The loss is the share of reported differences in expertise that the predictions order wrongly, each weighted by its
size, with ties at half: 0 is perfect, 0.5 is chance. Easy pairs have one paper of 4 or more and one of 2 or less,
hard pairs two papers of 4 or more that differ.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from corpora.documents import read_json
from corpora.errors import InputError, require
from corpora.paper import Paper
from encoders.models.formats import Format
from eval.embedder import Embedder, Text, Vectors
from eval.files.archives import unpacked
from eval.files.text import bad_line, numbered_lines, require_line
from eval.outcome import Outcome
from eval.reviewers.protocol import rank_reviewers
from eval.statistics.interval import bootstrap_statistic
from products.indexed import in_blocks
from products.reviewers.factors import FactorBuilder, VectorsBuilder, WordsBuilder, stored
from products.reviewers.pool import PAPERS, make_pool
from products.reviewers.rules import Matching, openreview
from products.reviewers.scoring import score_venue
from search_plugin.contract.engine import Document

HIGH, LOW = 4.0, 2.0
"""Bounds of high and low expertise, which make a pair easy or hard."""

RESAMPLES = 1_000

Expertise = Mapping[str, Mapping[str, float]]
"""Reviewer to paper to expertise, reported or predicted; of predictions only the order matters."""


@dataclass(frozen=True, slots=True)
class GoldStandard:
    """The expertise, from 1 to 5, that reviewers reported; draws of their profiles; and texts of all papers.

    A draw has the ids of each reviewer's papers.
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
    left_out = {"papers_without_vector": missing, "scores_not_predicted": undecided}
    return replace(outcome, counts={**outcome.counts, **left_out})


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


WORDS = "words"
"""The factor of TF-IDF, which needs no vectors."""


def predict_combined(
    data: GoldStandard, vectors: Mapping[str, Vectors], *, words: bool, aggregate: str = "top3", combine: str = "scores"
) -> list[Expertise]:
    """Predict expertise as matching a venue does, by vectors of each factor, which has all papers, and by words.

    All papers that somebody reported on are the submissions, and all reviewers are scored for each, by the `aggregate`
    (`top3` or `max`) of a reviewer's papers, and the factors combined by `scores` or `ranks`. Returns for each draw of
    the profiles the scores by reviewer and paper. Raises `InputError` if there are neither vectors nor words, or a
    paper has no vector.
    """
    require(
        all(paper in of.rows for of in vectors.values() for paper in data.papers),
        "Some papers of the gold standard have no vector; give vectors of all of them.",
    )
    papers = {name: Paper(name, text.title, text.abstract or "") for name, text in data.papers.items()}
    submissions = sorted({paper for reported in data.expertise.values() for paper in reported})
    row = {paper: place for place, paper in enumerate(submissions)}
    predictions: list[Expertise] = []
    for profiles in data.draws:
        pool = make_pool(profiles)
        column = {reviewer: place for place, reviewer in enumerate(pool.reviewers)}
        with tempfile.TemporaryDirectory() as name:
            builders: dict[str, FactorBuilder] = {
                factor: VectorsBuilder(of.of(submissions), stored(factor), Path(name) / factor)
                for factor, of in vectors.items()
            }
            if words:
                builders[WORDS] = WordsBuilder([papers[paper] for paper in submissions])
            for ids in in_blocks((paper for own in pool.papers for paper in own), PAPERS):
                rows = {factor: of.of(ids) for factor, of in vectors.items()}
                held = [
                    Document(papers[paper], "", {factor: of[place] for factor, of in rows.items()})
                    for place, paper in enumerate(ids)
                ]
                for builder in builders.values():
                    builder.add(held)
            factors = {factor: builder.factor() for factor, builder in builders.items()}
            made = score_venue(factors, pool, len(submissions), Path(name), aggregate=aggregate, combine=combine)
            scores = made.combined.read(0, len(submissions))
        predictions.append(
            {
                reviewer: {paper: float(scores[row[paper], column[reviewer]]) for paper in reported}
                for reviewer, reported in data.expertise.items()
                if reviewer in column
            }
        )
    return predictions


def compare_factors(data: GoldStandard, vectors: Mapping[str, Vectors], aggregate: str = "top3") -> dict[str, Outcome]:
    """Measure words and the factors of vectors, each alone and all together, on the gold standard.

    Returns by name, also for the vectors together: the measures of `score_predictions`, and `loss - words`, the loss
    less that of words, with its interval over 1,000 resamples of the reviewers, the same for both (paired).
    """
    chosen = {WORDS: predict_combined(data, {}, words=True, aggregate=aggregate)}
    for factor, of in vectors.items():
        chosen[factor] = predict_combined(data, {factor: of}, words=False, aggregate=aggregate)
    if len(vectors) > 1:
        label = f"{' + '.join(vectors)}, by scores"
        chosen[label] = predict_combined(data, vectors, words=False, aggregate=aggregate)
    for combine in ("scores", "ranks"):
        label = f"{' + '.join((*vectors, WORDS))}, by {combine}"
        chosen[label] = predict_combined(data, vectors, words=True, aggregate=aggregate, combine=combine)
    base = pair_sums(chosen[WORDS], data.expertise)
    outcomes = {}
    for name, predictions in chosen.items():
        outcome = score_predictions(predictions, data.expertise)
        sums = pair_sums(predictions, data.expertise)
        paired = bootstrap_statistic(_difference, sums[:, 0], base[:, 0], base[:, 1], resamples=RESAMPLES)
        outcomes[name] = replace(outcome, cells={**outcome.cells, "loss - words": paired})
    return outcomes


def _difference(one: np.ndarray, other: np.ndarray, whole: np.ndarray) -> float:
    return float((np.sum(one) - np.sum(other)) / np.sum(whole))
