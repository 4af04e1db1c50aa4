"""How to join the legs of a search: fusions, windows, weights, sentences, neighbours, by nDCG@10 (docs/ranking.md).

Chosen on training splits, and confirmed on the topics of TREC-COVID; each test set is read once for each row shown.
Needs SES_TEST_DATA and the extra eval; encodes 10,000 papers or, with `sentences`, 45,000 sentences first. A folder
keeps all that is made. Run: python -m benchmarks.fusing FOLDER [sentences | sparse=MODEL] [confirm | test]
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from benchmarks.leg_scores import PAIRS, SENTENCES, SPARSE, LegScores, leg_scores
from encoders.registry import DEFAULT_MODEL, find_model
from eval.statistics.interval import mean_interval
from eval.statistics.pairs import reach_of
from search_plugin.contract.plan import LEXICAL
from search_plugin.contract.schema import SEARCHED
from ses.loaded_model import make_encoder
from ses.settings import load_settings

BOTH = {LEXICAL: 1.0, SEARCHED: 1.0}
CHOOSING = (
    ("scifact", "train"),
    ("nfcorpus-preprocessed", "train"),
    ("nfcorpus-preprocessed", "dev"),
)
CONFIRMING = (("covid", "made"),)
TESTING = (("scifact", "test"), ("cranfield", "test"), ("nfcorpus-preprocessed", "test"))
WITHOUT_SENTENCES = ("nfcorpus-preprocessed", "cranfield")
"""Data sets whose texts are in lower case, one of them without full stops: a paper is one sentence there."""
DEPTH = 10


@dataclass(frozen=True, slots=True)
class Method:
    """A way to rank.

    Attributes:
        fusion: `minmax`, `rrf`, `zscore` as in `search_plugin.fusion`, or `theoretical`: min-max with the least
            score that a leg can give (0 for words, -1 for cosines) as the minimum (Bruch et al., TOIS 2023).
        complete: Legs that are also scored for papers that they did not find: all, the vectors, or none.
        window: Papers of each leg.
        weights: Weights of the legs.
        pairs: Weight of pairs of words in the lexical leg.
        feedback: Weight of the first paper's vector in the query's.
        smoothing: Weight of the mean score of a paper's nearest neighbours.
        first: Weight of a paper's cosine to the first one, scaled to 0..1 over the pool.
        nearest: How many neighbours.
        pool: Of how many of the best papers neighbours are.
    """

    fusion: str = "minmax"
    complete: str = "none"
    window: int = 100
    weights: Mapping[str, float] = field(default_factory=lambda: {LEXICAL: 1.0, SEARCHED: 1.0})
    pairs: float = 0.0
    feedback: float = 0.0
    smoothing: float = 0.0
    first: float = 0.0
    nearest: int = 5
    pool: int = 50

    def __str__(self) -> str:
        weights = " ".join(f"{leg} {weight:g}" for leg, weight in self.weights.items())
        parts = [self.fusion, f"complete {self.complete}", f"window {self.window}", weights]
        if self.pairs:
            parts.append(f"pairs of words {self.pairs:g}")
        if self.feedback:
            parts.append(f"first hit {self.feedback:g}")
        if self.first:
            parts.append(f"like the first {self.first:g} in {self.pool}")
        if self.smoothing:
            parts.append(f"neighbours {self.smoothing:g} of {self.nearest} in {self.pool}")
        return ", ".join(parts)


def ndcg(case: LegScores, method: Method) -> np.ndarray:
    """Return nDCG@10 of every query, float64 (queries,)."""
    values = np.zeros(len(case.gains))
    discount = 1 / np.log2(np.arange(DEPTH) + 2)
    for query, ideal in enumerate(case.ideal):
        if ideal:
            legs = {leg: scores[query] for leg, scores in case.legs.items() if method.weights.get(leg)}
            if method.pairs:
                legs[LEXICAL] = legs[LEXICAL] + np.float32(method.pairs) * case.legs[PAIRS][query]
            best = ranked(legs, case.vectors, method)[:DEPTH]
            values[query] = case.gains[query, best] @ discount[: len(best)] / ideal
    return values


def ranked(legs: Mapping[str, np.ndarray], vectors: np.ndarray, method: Method) -> np.ndarray:
    """Return the papers of a query, best first, ties by number."""
    tops = {leg: top(scores, method.window) for leg, scores in legs.items()}
    papers = np.unique(np.concatenate(list(tops.values())))
    scores = joined(legs, tops, papers, method)
    if method.feedback:
        first = papers[np.argmax(scores)]
        moved = dict(legs)
        for leg in legs.keys() - {LEXICAL}:
            moved[leg] = (1 - method.feedback) * legs[leg] + method.feedback * (vectors @ vectors[first])
        scores = joined(moved, tops, papers, method)
    if method.smoothing or method.first:
        scores = smoothed(scores, papers, vectors, method)
    order: np.ndarray = papers[np.argsort(-scores, kind="stable")]
    return order


def top(scores: np.ndarray, window: int) -> np.ndarray:
    """Return the best papers that a leg found, best first."""
    found = np.flatnonzero(~np.isnan(scores))
    if len(found) > window:
        found = found[np.argpartition(-scores[found], window - 1)[:window]]
    best: np.ndarray = found[np.argsort(-scores[found], kind="stable")]
    return best


def joined(
    legs: Mapping[str, np.ndarray], tops: Mapping[str, np.ndarray], papers: np.ndarray, method: Method
) -> np.ndarray:
    """Return the fused scores of the papers found."""
    total = np.zeros(len(papers))
    for leg, best in tops.items():
        scored = method.complete == "all" or (method.complete == "vectors" and leg != LEXICAL)
        found = papers if scored else best
        scores = legs[leg][found].astype(np.float64)
        known = ~np.isnan(scores)
        values = np.zeros(len(found))
        values[known] = scaled(scores[known], method.fusion, -1.0 if leg != LEXICAL else 0.0)
        total[np.searchsorted(papers, found)] += method.weights[leg] * values
    return total / sum(method.weights[leg] for leg in tops)


def scaled(scores: np.ndarray, fusion: str, least: float) -> np.ndarray:
    if not len(scores):
        return scores
    if fusion == "rrf":
        ranks = np.empty(len(scores))
        ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
        return 1 / (60 + ranks)
    if fusion == "zscore":
        spread = scores.std()
        return np.maximum((scores - scores.mean()) / spread, 0.001) if spread else np.full(len(scores), 0.001)
    low = least if fusion == "theoretical" else scores.min()
    span = scores.max() - low
    return (scores - low) / span if span else np.ones(len(scores))


def smoothed(scores: np.ndarray, papers: np.ndarray, vectors: np.ndarray, method: Method) -> np.ndarray:
    """Return scores mixed with the mean of the nearest neighbours' among the best papers, weighted by cosine."""
    best = np.argsort(-scores, kind="stable")[: method.pool]
    near = vectors[papers[best]] @ vectors[papers[best]].T
    like_first = scaled(near[0].astype(np.float64), "minmax", 0.0)
    np.fill_diagonal(near, -np.inf)
    count = min(method.nearest, len(best) - 1)
    if count < 1:
        return scores
    neighbours = np.argpartition(-near, count - 1, axis=1)[:, :count]
    weights = np.maximum(np.take_along_axis(near, neighbours, 1), 0)
    means = (weights * scores[best][neighbours]).sum(1) / np.maximum(weights.sum(1), 1e-9)
    mixed: np.ndarray = (1 - method.smoothing - method.first) * scores
    mixed[best] += method.smoothing * means + method.first * like_first
    return mixed


def table(cases: Sequence[LegScores], methods: Iterable[tuple[str, Method]], base: Method) -> None:
    """Print each method's nDCG@10 on each data set, with its change against the base method."""
    first = [ndcg(case, base) for case in cases]
    print("| method | " + " | ".join(case.name for case in cases) + " | mean |")
    print("| --- |" + " --- |" * (len(cases) + 1))
    print("| base | " + " | ".join(f"{values.mean():.4f}" for values in first) + " | |", flush=True)
    for label, method in methods:
        cells, gains = [], []
        for case, values in zip(cases, first, strict=True):
            differences = ndcg(case, method) - values
            reach = reach_of(differences)
            change = mean_interval(differences, scale=(-reach, reach))
            cells.append(f"{change.mean:+.4f} [{change.low:+.3f}, {change.high:+.3f}]")
            gains.append(change.mean)
        print(f"| {label} | " + " | ".join(cells) + f" | {np.mean(gains):+.4f} |", flush=True)


NEAR = Method(first=0.1, smoothing=0.2)
"""What `--neighbours 0.3` does."""

ROWS: Mapping[str, Method] = {
    "rrf": Method("rrf"),
    "zscore": Method("zscore"),
    "window 50": Method(window=50),
    "window 200": Method(window=200),
    "vectors .7, words 1": Method(weights={**BOTH, SEARCHED: 0.7}),
    "vectors 1.4, words 1": Method(weights={**BOTH, SEARCHED: 1.4}),
    "pairs of words .1": Method(pairs=0.1),
    "complete": Method(complete="all"),
    "five nearest .2": Method(smoothing=0.2),
    "like the first .1": Method(first=0.1),
    "both": NEAR,
    "both, and complete": replace(NEAR, complete="all"),
}
TRIED: Mapping[str, Method] = {
    "theoretical, complete, vectors 2": Method("theoretical", complete="all", weights={**BOTH, SEARCHED: 2.0}),
    "complete, vectors only": Method(complete="vectors"),
    "like the first .2, five nearest .2": Method(first=0.2, smoothing=0.2),
    "query moved to the first .1, five nearest .2": Method(feedback=0.1, smoothing=0.2),
    "both, among 30": replace(NEAR, pool=30),
    "both, among 100": replace(NEAR, pool=100),
}
"""Methods that were tried on the sets to choose on alone."""

WITH_SENTENCES: Mapping[str, Method] = {
    "complete": replace(NEAR, complete="all"),
    **{
        f"sentences {best:g}, papers {paper:g}{label}": replace(
            NEAR, complete=scored, weights={**BOTH, SEARCHED: paper, SENTENCES: best}
        )
        for label, scored in (("", "none"), (", complete", "all"))
        for best, paper in ((0.3, 0.7), (0.5, 0.5), (0.7, 0.3), (1.0, 0.0), (0.7, 0.7), (1.0, 1.0))
    },
}
"""Changes of today's default, which has neighbours."""

READ_WITH_SENTENCES = ("sentences 0.5, papers 0.5", "sentences 0.7, papers 0.3, complete")
"""What is read on sets that nothing is chosen on: the weights by default, and the best that still has whole papers."""

WITH_SPARSE: Mapping[str, Method] = {
    f"{name}sparse {learned:g}, papers {paper:g}": replace(method, weights={**BOTH, SEARCHED: paper, SPARSE: learned})
    for name, method in (("", Method()), ("both, ", NEAR))
    for learned, paper in ((0.5, 0.5), (0.3, 0.7), (0.7, 0.7), (1.0, 1.0), (1.0, 0.0))
}


def main() -> None:
    folder, said = Path(sys.argv[1]), sys.argv[2:]
    encoder = make_encoder(load_settings(), find_model(DEFAULT_MODEL))
    test, by_sentence = "test" in said, "sentences" in said
    sets = TESTING if test else CONFIRMING if "confirm" in said else CHOOSING
    if by_sentence:
        sets = tuple(pair for pair in sets if pair[0] not in WITHOUT_SENTENCES)
    sparse = next((word.removeprefix("sparse=") for word in said if word.startswith("sparse=")), "")
    cases = [leg_scores(*pair, encoder, folder, by_sentence=by_sentence, sparse=sparse) for pair in sets]
    tried = ROWS if test else {**ROWS, **TRIED}
    rows = WITH_SENTENCES if by_sentence else WITH_SPARSE if sparse else tried
    if by_sentence and said[-1] in {"confirm", "test"}:
        rows = {name: WITH_SENTENCES[name] for name in READ_WITH_SENTENCES}
    table(cases, rows.items(), NEAR if by_sentence else Method())


if __name__ == "__main__":
    main()
