"""SciDocs' recommendations (Cohan et al. 2020, section 3.4): which of the papers shown beside a paper was clicked on.

The measures are those of its harness: a click weighs the inverse of how likely its place is clicked on, and equal
scores share the mean of their ranks. But the harness ranks by a network that learns from clicks, with the cosine of the
two vectors as one of eleven features. Here the cosine alone ranks, so figures compare encoders, not with the paper's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from corpora.documents import read_json
from corpora.errors import InputError, require
from encoders.models.formats import Format
from eval.embedder import Embedder, Text
from eval.files.text import file_in, require_line, table_rows
from eval.outcome import Outcome
from eval.statistics.interval import bootstrap_statistic

TASK = "recomm"


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


def read_clicks(folder: Path, split: str) -> Clicks:
    """Read the clicks of a split and the propensities of `recomm` in SciDocs' folder.

    Raises `InputError` if a file is missing or malformed.
    """
    path, places = file_in(folder, f"{TASK}/{split}.csv"), file_in(folder, f"{TASK}/propensity_scores.json")
    propensities = _propensities(places)
    shown = []
    for number, cells in table_rows(path, "SciDocs' table of clicks"):
        values = tuple(cells.values())
        require_line(len(values) == 3, path, number, "a row is a paper, the one clicked on, and all shown")
        query, clicked, others = values
        listed = tuple(others.strip().split(","))
        require_line(clicked in listed, path, number, f"the paper clicked on, {clicked}, is not among those shown")
        told = f"{len(listed)} papers are shown, and {places.name} knows {len(propensities)} places"
        require_line(listed.index(clicked) < len(propensities), path, number, told)
        shown.append((query, clicked, listed))
    require(shown, f"{path} holds no clicks: fetch it again.")
    return Clicks(tuple(shown), propensities)


def evaluate_clicks(data: Clicks, papers: Mapping[str, Text], embed: Embedder) -> Outcome:
    """Rank the papers shown by the cosine of PRX vectors; return nDCG and P@1, adjusted by the propensities.

    A paper without a vector has the cosine 0 to all others, and is counted. Intervals are over clicks. Raises
    `InputError` if no paper has a vector.
    """
    wanted = dict.fromkeys(name for query, _, shown in data.shown for name in (query, *shown))
    vectors = embed([papers[name] for name in wanted if name in papers], Format.PRX)
    known = vectors.known(wanted)
    require(known, "No paper of the recommendations has a vector: the embeddings belong to other papers.")
    direction = dict(zip(known, vectors.directions(known), strict=True))
    zero = np.zeros(vectors.matrix.shape[1])
    above = []
    for query, clicked, shown in data.shown:
        others = np.array([direction.get(name, zero) for name in shown if name != clicked]).reshape(-1, len(zero))
        of_query = direction.get(query, zero)
        # Rounded, so that equal vectors have equal scores.
        score, rest = (np.round(rows @ of_query, 12) for rows in (direction.get(clicked, zero), others))
        above.append(np.count_nonzero(rest > score) + np.count_nonzero(rest == score) / 2)
    ranks = np.array(above)
    places = [shown.index(clicked) for _, clicked, shown in data.shown]
    weights = 1 / np.array([data.propensities[place] for place in places])
    measured = {"adjusted nDCG": 1 / np.log2(2 + ranks), "adjusted P@1": (ranks == 0).astype(np.float64)}
    cells = {name: bootstrap_statistic(_weighted_mean, values, weights) for name, values in measured.items()}
    counts = {"clicks": len(data.shown), "papers_missing": len(wanted) - len(known)}
    return Outcome(cells, counts=counts)


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
