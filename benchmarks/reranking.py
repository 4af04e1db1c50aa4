"""Whether `--rerank complete` ranks better: nDCG@10 with and without it, on the test queries of two data sets.

Needs SES_TEST_DATA and the extra eval; encodes 6,600 papers first. Run: python -m benchmarks.reranking
"""

from __future__ import annotations

import statistics
from itertools import product

from benchmarks.boosts import indexed
from eval.measures.metrics import evaluate
from eval.retrieval.beir import BeirFolder
from eval.trec.runs import Run
from search_plugin.contract.legs import Fused
from search_plugin.contract.trace import Clock
from search_plugin.fusion.fusions import Legs, get_fusion
from search_plugin.request import MAX_QUERY, SearchRequest
from search_plugin.search import asked

FUSIONS = ("minmax", "rrf", "zscore")
WINDOWS = (10, 20, 100)
EVERYTHING = 10_000


def main() -> None:
    for beir, index, encoder in indexed():
        legs: dict[str, Legs] = {}
        for query, text in beir.judged("test").texts.items():
            request = SearchRequest(text[:MAX_QUERY], window=EVERYTHING)
            legs[query] = index.search(asked(index, request, encoder, Clock()).plan)
        measure(beir, legs)


def measure(beir: BeirFolder, legs: dict[str, Legs]) -> None:
    """Print the means of both rankings, and their difference, for each fusion and window."""
    for fusion, window in product(FUSIONS, WINDOWS):
        ways = [
            {query: rank(of_query, fusion, window) for query, of_query in legs.items()} for rank in (plain, complete)
        ]
        found = [
            Run("run", {query: [(hit.id, hit.score) for hit in hits[:10]] for query, hits in way.items()})
            for way in ways
        ]
        scores = [evaluate(run, beir.judged("test").qrels, ["nDCG@10"]).per_query["nDCG@10"] for run in found]
        gains = [scores[1][query] - scores[0][query] for query in legs if query in scores[0]]
        error = statistics.stdev(gains) / len(gains) ** 0.5
        means = [statistics.mean(by_query.values()) for by_query in scores]
        print(
            f"{beir.path.name:10} {fusion:7} window {window:3}: {means[0]:.4f}, complete {means[1]:.4f}, "
            f"gain {statistics.mean(gains):+.4f} with standard error {error:.4f}",
            flush=True,
        )


def plain(legs: Legs, fusion: str, window: int) -> list[Fused]:
    """Fuse the hits of each leg within a window."""
    return get_fusion(fusion)({leg: hits[:window] for leg, hits in legs.items()}, {})


def complete(legs: Legs, fusion: str, window: int) -> list[Fused]:
    """Fuse all scores of those papers, as `search_plugin.ranking.stages.complete` does."""
    found = {hit.id for hits in legs.values() for hit in hits[:window]}
    return get_fusion(fusion)({leg: [hit for hit in hits if hit.id in found] for leg, hits in legs.items()}, {})


if __name__ == "__main__":
    main()
