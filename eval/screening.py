"""Screening for systematic reviews: papers ranked by similarity to a few that are known to be included."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from io import TextIOWrapper
from operator import attrgetter
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from corpora.errors import InputError, require
from corpora.opening import COMPRESSED_SUFFIXES, open_binary
from encoders.models.formats import Format
from eval.embedder import Embedder, Text, Vectors
from eval.files.archives import unpacked
from eval.outcome import Outcome
from eval.statistics.interval import UNIT, mean_interval
from products.screening.simulation import papers_until

LABELS = ("label_included", "labels", "included", "label")
"""Columns that may hold the decision; the first one found is used, and 1 means included."""

RECALLS = (10, 20, 50)
"""Percentages of papers read at which recall is measured."""

SCALES = {"WSS@95": (-0.05, 0.95)}
"""Scales of the measures that are not between 0 and 1."""

Likeness = Literal["mean", "max"]
"""Cosine to the mean of the seeds' vectors of length one, or the largest cosine to any seed."""

LIKENESSES: tuple[Likeness, ...] = get_args(Likeness)

Ranker = Callable[["Review", Sequence[int], Sequence[int]], np.ndarray]
"""A function from a review, the seeds' rows and the rows to rank, to the scores of the rows to rank."""


@dataclass(frozen=True, slots=True)
class Review:
    """The candidates of a systematic review with its name, and whether each was included."""

    name: str
    papers: tuple[Text, ...]
    included: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Reviews:
    """The reviews that can be used, and counts of what was left out."""

    reviews: tuple[Review, ...]
    counts: Mapping[str, int] = field(default_factory=dict)


def average_precision(relevant: np.ndarray) -> float:
    """Return average precision, the mean precision at the ranks of relevant papers, of bool (papers,) by rank."""
    ranks = np.flatnonzero(relevant) + 1
    return float((np.arange(1, ranks.size + 1) / ranks).mean())


def work_saved(relevant: np.ndarray, recall: float = 0.95) -> float:
    """Return work saved over sampling: (TN + FN) / N - (1 - R) (Cohen et al., JAMIA 2006, 13:206-219).

    TN + FN papers need not be read after the share R, `recall`, of relevant papers is found. In random order, a reader
    finds this share after reading R of all papers, so the result is about 0 there, and below 0 in a worse order.
    `relevant` says which ranks are relevant, at least one.
    """
    return (relevant.size - papers_until(recall, relevant)) / relevant.size - (1 - recall)


def recall_after(relevant: np.ndarray, percent: int) -> float:
    """Return recall after a percentage of the ranks, rounded down to whole papers, of bool (papers,) by rank."""
    return float(relevant[: relevant.size * percent // 100].sum() / relevant.sum())


def by_likeness(vectors: Vectors, likeness: Likeness) -> Ranker:
    """Return a ranker by vectors; a paper without a vector comes last, and a seed without a vector is ignored."""

    def rank(review: Review, seeds: Sequence[int], rest: Sequence[int]) -> np.ndarray:
        given, ranked = (vectors.known(review.papers[row].id for row in rows) for rows in (seeds, rest))
        scores = np.full(len(rest), -np.inf)
        if given:
            has_vector = [review.papers[row].id in vectors.rows for row in rest]
            likenesses = vectors.directions(ranked) @ vectors.directions(given).T
            # The mean of cosines orders papers as the cosine to the mean vector does: they differ by the mean's length.
            scores[has_vector] = likenesses.mean(axis=1) if likeness == "mean" else likenesses.max(axis=1)
        return scores

    return rank


def screen(data: Reviews, ranker: Ranker, *, seeds: int = 1, draws: int = 10, random_seed: int = 0) -> Outcome:
    """Rank the candidates of each review, several times from other seeds.

    Papers with equal scores are in random order, so that neither the file's order nor an id decides. Seeds are included
    papers that are known from the start; they are neither ranked nor counted, among the papers or among the relevant.
    Reviews with no more included papers than seeds, or none excluded, are left out and counted. The ranker scores
    candidates by vectors, by words, or by both. Seeds are drawn `draws` times; a review's draws don't depend on other
    reviews.

    Returns average precision, WSS@95 and recalls, each the mean over reviews of means over draws, with an interval over
    reviews. Raises `InputError` if a number is below 1, or no review has enough included papers.
    """
    require(seeds >= 1 and draws >= 1, f"Seeds and draws must be 1 or more, not {seeds} and {draws}.")
    usable = _usable(data, seeds)
    per_unit: dict[str, dict[str, float]] = {}
    for review in usable:
        generator = np.random.default_rng([random_seed, *review.name.encode()])
        measured = [_measure(review, ranker, seeds, generator) for _ in range(draws)]
        for measure in measured[0]:
            per_unit.setdefault(measure, {})[review.name] = float(np.mean([one[measure] for one in measured]))
    counts = {
        "reviews": len(usable),
        "papers": sum(len(review.papers) for review in usable),
        "included": sum(sum(review.included) for review in usable),
        "seeds": seeds,
        "draws": draws,
        "reviews_with_too_few_included": len(data.reviews) - len(usable),
        **data.counts,
    }
    cells = {
        measure: mean_interval(tuple(values.values()), scale=SCALES.get(measure, UNIT))
        for measure, values in per_unit.items()
    }
    return Outcome(cells, per_unit, counts)


def evaluate_screening(
    data: Reviews, embedder: Embedder, *, seeds: int = 1, draws: int = 10, random_seed: int = 0
) -> dict[str, Outcome]:
    """Screen by vectors for proximity, with both similarities to the seeds; the arguments are those of `screen`."""
    _usable(data, seeds)  # checked before hours of encoding
    texts = [paper for review in data.reviews for paper in review.papers]
    vectors = embedder(texts, Format.PRX)
    missing = sum(text.id not in vectors.rows for text in texts)
    counted = Reviews(data.reviews, {**data.counts, "papers_without_vector": missing})
    return {
        likeness: screen(counted, by_likeness(vectors, likeness), seeds=seeds, draws=draws, random_seed=random_seed)
        for likeness in LIKENESSES
    }


def read_reviews(path: Path) -> Reviews:
    """Read reviews as ASReview keeps them: CSV files with a title, an abstract and a decision of 1 or 0.

    The path is a CSV file, plain or packed, a folder of them, or a tar archive of such a folder. Ids are the file's
    name and the row's number, with a colon between. Rows without text or decision are left out and counted, and so are
    files without a column of decisions. Raises `InputError` if there are none, or a file is malformed.
    """
    with nullcontext(path) if _is_csv(path) else unpacked(path) as found:
        files = [found] if _is_csv(path) else sorted(filter(_is_csv, found.rglob("*.csv*")), key=attrgetter("name"))
        read = [_read(file) for file in files]
    reviews = tuple(review for review, _ in read if review)
    require(reviews, f"{path} holds no review: no CSV file with title, abstract and {' or '.join(LABELS)}.")
    require(
        len({review.name for review in reviews}) == len(reviews),
        f"{path} holds two files of the same name; rename one.",
    )
    counts = {"files_without_decisions": len(files) - len(reviews), "rows_left_out": sum(left for _, left in read)}
    return Reviews(reviews, counts)


def _usable(data: Reviews, seeds: int) -> list[Review]:
    usable = [r for r in data.reviews if sum(r.included) > seeds and not all(r.included)]
    require(
        usable,
        f"No review has included papers besides its seeds ({seeds}), and excluded ones; use fewer seeds, or other "
        "reviews.",
    )
    return usable


def _measure(review: Review, ranker: Ranker, seeds: int, generator: np.random.Generator) -> dict[str, float]:
    included = np.array(review.included)
    drawn = generator.choice(np.flatnonzero(included), seeds, replace=False)
    rest = np.setdiff1d(np.arange(included.size), drawn)
    scores = np.asarray(ranker(review, drawn.tolist(), rest.tolist()), dtype=np.float64)
    relevant = included[rest][np.lexsort((generator.random(rest.size), -scores))]
    return {
        "AP": average_precision(relevant),
        "WSS@95": work_saved(relevant),
        **{f"Recall@{percent}%": recall_after(relevant, percent) for percent in RECALLS},
    }


def _read(path: Path) -> tuple[Review | None, int]:
    """Read one file; return the review, if it has decisions, and how many rows were left out."""
    papers, included, left_out = [], [], 0
    name = path.name[: path.name.lower().rindex(".csv")]
    try:
        with open_binary(path) as stream, TextIOWrapper(stream, "utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            label = next((column for column in LABELS if column in (rows.fieldnames or ())), None)
            if label is None or "title" not in (rows.fieldnames or ()):
                return None, 0
            for number, row in enumerate(rows, start=1):
                title, abstract, decision = ((row.get(key) or "").strip() for key in ("title", "abstract", label))
                if decision in {"0", "1", "0.0", "1.0"} and (title or abstract):
                    papers.append(Text(f"{name}:{number}", title, abstract))
                    included.append(decision.startswith("1"))
                else:
                    left_out += 1
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} can't be read as CSV ({error}); save it as CSV in UTF-8.") from error
    return Review(name, tuple(papers), tuple(included)), left_out


def _is_csv(path: Path) -> bool:
    return path.name.lower().endswith(tuple(f".csv{packed}" for packed in COMPRESSED_SUFFIXES))
