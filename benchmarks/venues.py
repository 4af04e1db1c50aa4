"""Whether the probabilities of suggested venues hold: `ses similar --suggest venues` on papers whose venue is known.

600 papers of each corpus are manuscripts, one at a time; the others are the index. The expected calibration error (ECE)
is over ten bins: of the first suggestion, and of the first five. Beside the fitted temperature, which is the default,
stands the fixed one. The likelihood of a venue is cut at 0.001.

Needs SES_TEST_DATA; encodes 12,000 papers, once. Run: python -m benchmarks.venues
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.tags.papers import PAPERS, drawn, rows_of, vectors
from corpora.paper import Paper
from encoders.registry import DEFAULT_MODEL
from eval.frozen import read_frozen, title_key
from products.suggestions import NEAREST, TEMPERATURE, Neighbour, fit_temperature, weights_of
from products.tags.measures import calibration_error, reliability

MANUSCRIPTS = 600
SHOWN = 5
LEAST = 0.001


def main() -> None:
    frozen = read_frozen().titles
    corpora = {
        "PubMed, journals": (
            "journal",
            drawn([row for row in rows_of("pubmed") if row.get("mesh") and row["abstract"]]),
        ),
        "conferences": (
            "venue",
            drawn([row for row in rows_of("conf") if row["abstract"] and title_key(row["title"]) in frozen]),
        ),
    }
    print(
        "| papers | number | venues | temperature | first is right | ECE of the first | ECE of five | log likelihood |"
    )
    print("| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: |")
    for what, (field, rows) in corpora.items():
        kept = list({row["id"]: row for row in rows if row[field]}.values())[:PAPERS]
        _, matrix = vectors(DEFAULT_MODEL, "prx", kept)
        papers = [Paper(row["id"], row["title"], venue=row[field]) for row in kept]
        nearest = neighbours_of(papers, matrix / np.linalg.norm(matrix, axis=1, keepdims=True))
        ways: dict[str, Callable[[Sequence[Neighbour]], float]] = {
            f"{TEMPERATURE:g}": lambda _: TEMPERATURE,
            "fitted": fit_temperature,
        }
        for name, temperature in ways.items():
            cells = " | ".join(f"{one:.3f}" for one in measure(nearest, temperature))
            print(f"| {what} | {len(papers):,} | {len({p.venue for p in papers})} | {name} | {cells} |", flush=True)


def neighbours_of(papers: Sequence[Paper], units: np.ndarray) -> list[tuple[str, list[Neighbour]]]:
    """Return the venue and the nearest papers of each manuscript."""
    found = []
    for row in np.random.default_rng(0).choice(len(papers), MANUSCRIPTS, replace=False):
        cosines = units @ units[row]
        cosines[row] = -np.inf
        best = np.argsort(-cosines, kind="stable")[:NEAREST]
        found.append((papers[row].venue, [Neighbour(papers[at], float(cosines[at]), units[at]) for at in best]))
    return found


def measure(manuscripts: Sequence[tuple[str, list[Neighbour]]], temperature: Callable[[Any], float]) -> list[float]:
    """Return how often the first venue is right, both calibration errors, and the mean log likelihood."""
    first: list[tuple[float, bool]] = []
    shown: list[tuple[float, bool]] = []
    likelihoods = []
    for venue, near in manuscripts:
        said: dict[str, float] = {}
        for one, weight in zip(near, weights_of(near, temperature(near)).tolist(), strict=True):
            said[one.paper.venue] = said.get(one.paper.venue, 0) + weight
        ranked = sorted(((share, name == venue) for name, share in said.items()), reverse=True)
        first.append(ranked[0])
        shown += ranked[:SHOWN]
        likelihoods.append(np.log(max(said.get(venue, 0), LEAST)))
    right = float(np.mean([true for _, true in first]))
    return [right, error_of(first), error_of(shown), float(np.mean(likelihoods))]


def error_of(said: Sequence[tuple[float, bool]]) -> float:
    probabilities, true = np.array(said, float).T
    return calibration_error(reliability(probabilities, true.astype(bool)))


if __name__ == "__main__":
    main()
