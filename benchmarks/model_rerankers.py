"""Whether a reranker with a model ranks better than none: nDCG@10 of the first page, and milliseconds for 30 papers.

For each data set: the means, their difference with its paired 95 % interval (bootstrap), and the median time of the
stage on two cores, also as the time of the processor. Needs SES_TEST_DATA and the extra eval; encodes the papers of
each set first. Run: python -m benchmarks.model_rerankers MODEL [SET:SPLIT ...] [--queries N]
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.common import data_dir
from corpora.registry import get_corpus
from encoders.encoder import load_encoder
from encoders.registry import DEFAULT_MODEL
from encoders.rerankers.registry import load_reranker
from eval.measures.metrics import evaluate
from eval.retrieval.beir import BeirFolder
from eval.trec.runs import Run
from indexer.job import IndexJob
from indexer.pipeline import index_corpus
from search_plugin.engines.registry import connect
from search_plugin.request import make_request
from search_plugin.search import search

if TYPE_CHECKING:
    import numpy as np

    from encoders.rerankers.scorer import PairScorer
    from encoders.text_encoder import TextEncoder
    from search_plugin.contract.engine import Index

THREADS = 2
DRAWS = 2_000


class Timed:
    """A reranker, and the time that all threads of the process computed while it ran."""

    def __init__(self, scorer: PairScorer) -> None:
        self.card, self.runtime, self.milliseconds, self._scorer = scorer.card, scorer.runtime, 0.0, scorer

    def scores(self, query: str, texts: Sequence[str]) -> np.ndarray:
        """The scores of the other one."""
        begun = time.process_time()
        found = self._scorer.scores(query, texts)
        self.milliseconds += 1_000 * (time.process_time() - begun)
        return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("sets", nargs="*", default=["scifact:train", "nfcorpus-preprocessed:dev"])
    parser.add_argument("--queries", type=int, default=200, help="Judged queries of each set, drawn.")
    parser.add_argument("--precision", default="int8")
    parser.add_argument("--indexes", help="Folder of indexes by the names of the sets, which are made if missing.")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cache, engine = Path(folder), connect(f"embedded:{asked.indexes or folder}")
        encoder = load_encoder(DEFAULT_MODEL, cache_dir=cache, threads=THREADS)
        scorer = load_reranker(asked.model, cache_dir=cache, precision=asked.precision, threads=THREADS)
        for name, _, split in (one.partition(":") for one in asked.sets):
            beir = BeirFolder(data_dir() / "eval" / name)
            job = IndexJob(
                records=lambda beir=beir: get_corpus("beir").read(beir.path, {}),
                source=name,
                index=name,
                card=encoder.card,
                encoder=lambda: encoder,
                state_dir=cache,
            )
            if name not in engine.names():
                index_corpus(job, engine)
            measure(f"{name} {split}", beir, split, engine.open(name), encoder, scorer, asked.queries)


def measure(
    label: str, beir: BeirFolder, split: str, index: Index, encoder: TextEncoder, scorer: PairScorer, most: int
) -> None:
    """Print the means of both rankings, their difference, and the median time of the stage."""
    judged = beir.judged(split)
    names = sorted(judged.texts)
    chosen = random.Random(0).sample(names, min(most, len(names)))
    runs: dict[str, dict[str, list[tuple[str, float]]]] = {"": {}, "model": {}}
    spent, busy = [], []
    for query in chosen:
        for rerank, rankings in runs.items():
            request = make_request(judged.texts[query], literal=True, rerank=rerank)
            timed = Timed(scorer)
            page = search(index, request, encoder, lambda _, timed=timed: timed)
            rankings[query] = [(hit.id, float(-rank)) for rank, hit in enumerate(page)]
            if rerank:
                spent.append(page.milliseconds["rerank"])
                busy.append(timed.milliseconds)
    plain, model = (
        evaluate(Run("run", ranked), judged.qrels, ["nDCG@10"]).per_query["nDCG@10"] for ranked in runs.values()
    )
    gains = [model[query] - plain[query] for query in chosen if query in plain]
    draw = random.Random(1)
    means = sorted(statistics.mean(draw.choices(gains, k=len(gains))) for _ in range(DRAWS))
    low, high = means[int(0.025 * DRAWS)], means[int(0.975 * DRAWS)]
    print(
        f"{label} ({len(gains)} queries): none {statistics.mean(plain[one] for one in chosen):.3f}, model "
        f"{statistics.mean(model[one] for one in chosen):.3f}, difference {statistics.mean(gains):+.3f} "
        f"[{low:+.3f}, {high:+.3f}], {statistics.median(spent):.0f} ms for 30 papers, of the "
        f"processor {statistics.median(busy):.0f} ms",
        flush=True,
    )


if __name__ == "__main__":
    main()
