"""SciDocs' recommendations (Cohan et al. 2020, section 3.4): which of the papers shown beside a paper was clicked on.

The measures are those of its harness: a click weighs the inverse of how likely its place is clicked on, and equal
scores share the mean of their ranks. The papers shown are ranked by the network that the harness trains
(`eval.scidocs_network`), as in the paper, or by the vectors alone, which compares encoders without training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from corpora.documents import read_json
from corpora.errors import InputError, require
from corpora.opening import find_compressed
from corpora.tables import read_rows
from encoders.models.formats import Format
from eval.embedder import Embedder, Text, Vectors
from eval.files.text import file_in, require_line
from eval.outcome import Outcome
from eval.scidocs_network import features, pairs_of, read_facts, train
from eval.statistics.interval import bootstrap_statistic

TASK = "recomm"
BY_COSINE = "recomm-cosine"
METADATA = "paper_metadata_recomm.json"


@dataclass(frozen=True, slots=True)
class Clicks:
    """Clicks on papers that were shown beside others.

    Attributes:
        shown: For each click, the paper beside which others were shown, the one that was clicked on, and all shown, in
            their order.
        propensities: How likely a click on each place is, from the first; their scale does not matter.
    """

    shown: tuple[tuple[str, str, tuple[str, ...]], ...]
    propensities: tuple[float, ...]

    @property
    def papers(self) -> Sequence[str]:
        """The papers that clicks are about, each once."""
        return list(dict.fromkeys(name for query, _, shown in self.shown for name in (query, *shown)))

    @property
    def places(self) -> Sequence[tuple[int, Sequence[int]]]:
        """The place of the paper clicked on, from 0, and those of the others, for each click."""
        return [
            (shown.index(clicked), [place for place, name in enumerate(shown) if name != clicked])
            for _, clicked, shown in self.shown
        ]


def read_clicks(folder: Path, split: str) -> Clicks:
    """Read the clicks of a split and the propensities of `recomm` in SciDocs' folder.

    Raises `InputError` if a file is missing or malformed.
    """
    path, places = file_in(folder, f"{TASK}/{split}.csv"), file_in(folder, f"{TASK}/propensity_scores.json")
    propensities = _propensities(places)
    shown = []
    for number, cells in read_rows(path, "SciDocs' table of clicks"):
        values = tuple(cells.values())
        require_line(len(values) == 3, path, number, "a row is a paper, the one clicked on, and all shown")
        query, clicked, others = values
        listed = tuple(others.strip().split(","))
        require_line(clicked in listed, path, number, f"the paper clicked on, {clicked}, is not among those shown")
        reason = f"{len(listed)} papers are shown, and {places.name} knows {len(propensities)} places"
        require_line(listed.index(clicked) < len(propensities), path, number, reason)
        shown.append((query, clicked, listed))
    require(shown, f"{path} holds no clicks: fetch it again.")
    return Clicks(tuple(shown), propensities)


def rank_by_network(folder: Path, split: str, papers: Mapping[str, Text], embed: Embedder) -> Outcome:
    """Train the harness' network on the clicks of `train`, rank those of the split, and measure as `rank_by_cosine`.

    On `test`, the epoch is the best one on the clicks of `val`; on `val`, it is the last one. Raises `InputError` if a
    file is missing or malformed, or no paper has a vector, and `UnavailableError` if torch isn't installed.
    """
    for name in ("train.csv", "val.csv"):
        require(
            find_compressed(folder / TASK, name),
            f"{folder / TASK} holds no {name} to learn from: fetch it, or measure the task {BY_COSINE} alone.",
        )
    parts = {part: read_clicks(folder, part) for part in dict.fromkeys(("train", "val", split))}
    facts = read_facts(file_in(folder, METADATA))
    wanted = list(dict.fromkeys(name for clicks in parts.values() for name in clicks.papers))
    vectors = _vectors(wanted, papers, embed)
    rows = {
        part: [
            features(query, listed, facts, cosines)
            for (query, _, listed), cosines in zip(clicks.shown, _cosines(clicks, vectors), strict=True)
        ]
        for part, clicks in parts.items()
    }
    pairs = {part: pairs_of(rows[part], clicks.places) for part, clicks in parts.items()}
    network = train(pairs["train"], pairs["val"] if split == "test" else None, parts["train"].propensities)
    counts = {
        **_counts(parts[split], vectors),
        "training_clicks": len(parts["train"].shown),
        "papers_without_metadata": sum(name not in facts for name in parts[split].papers),
    }
    return measure_clicks(parts[split], [network(matrix) for matrix in rows[split]], counts)


def rank_by_cosine(folder: Path, split: str, papers: Mapping[str, Text], embed: Embedder) -> Outcome:
    """Rank the papers shown by the cosine of PRX vectors; return nDCG and P@1, adjusted by the propensities.

    A paper without a vector has the cosine 0 to all others, and is counted. Intervals are over clicks. Raises
    `InputError` if a file is missing or malformed, or no paper has a vector.
    """
    clicks = read_clicks(folder, split)
    vectors = _vectors(clicks.papers, papers, embed)
    return measure_clicks(clicks, _cosines(clicks, vectors), _counts(clicks, vectors))


def measure_clicks(clicks: Clicks, scores: Sequence[np.ndarray], counts: Mapping[str, int]) -> Outcome:
    """Return nDCG and P@1, adjusted by the propensities; `scores` has those of the papers shown for each click."""
    above = [
        np.count_nonzero(found[others] > found[place]) + np.count_nonzero(found[others] == found[place]) / 2
        for found, (place, others) in zip(scores, clicks.places, strict=True)
    ]
    ranks = np.array(above)
    weights = 1 / np.array([clicks.propensities[place] for place, _ in clicks.places])
    measured = {"adjusted nDCG": 1 / np.log2(2 + ranks), "adjusted P@1": (ranks == 0).astype(np.float64)}
    cells = {name: bootstrap_statistic(_weighted_mean, values, weights) for name, values in measured.items()}
    return Outcome(cells, counts=counts)


def _counts(clicks: Clicks, vectors: Vectors) -> dict[str, int]:
    papers = clicks.papers
    return {"clicks": len(clicks.shown), "papers_missing": len(papers) - len(vectors.known(papers))}


def _vectors(wanted: Sequence[str], papers: Mapping[str, Text], embed: Embedder) -> Vectors:
    vectors = embed([papers[name] for name in wanted if name in papers], Format.PRX)
    known = vectors.known(wanted)
    require(known, "No paper of the recommendations has a vector: the embeddings belong to other papers.")
    return vectors


def _cosines(clicks: Clicks, vectors: Vectors) -> list[np.ndarray]:
    """Return for each click the cosine of each paper shown to the paper beside which it is shown."""
    known = vectors.known(clicks.papers)
    direction = dict(zip(known, vectors.directions(known), strict=True))
    zero = np.zeros(vectors.matrix.shape[1])
    # Rounded, so that equal vectors have equal scores.
    return [
        np.round([direction.get(name, zero) @ direction.get(query, zero) for name in shown], 12)
        for query, _, shown in clicks.shown
    ]


def _weighted_mean(values: np.ndarray, weights: np.ndarray) -> float:
    return float((values * weights).sum() / weights.sum())


def _propensities(path: Path) -> tuple[float, ...]:
    try:
        scores: Sequence[float] = read_json(path)["scores"]
        found = tuple(map(float, scores))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} can't be read as SciDocs' propensities ({error}): fetch it again.") from error
    require(found and min(found) > 0, f"{path} holds no propensities above 0: fetch it again.")
    return found
