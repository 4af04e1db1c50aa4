"""The weight of the title's own BM25 beside that of title and abstract together: nDCG@10 on two data sets.

Needs SES_TEST_DATA and the extra eval; encodes 6,600 papers first. Run: python -m benchmarks.boosts
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.common import data_dir
from corpora.registry import get_corpus
from encoders.encoder import load_encoder
from eval.retrieval.beir import BeirFolder
from eval.retrieval.protocol import Protocol, evaluate_queries
from indexer.job import IndexJob
from indexer.pipeline import index_corpus
from search_plugin.engines.registry import connect

if TYPE_CHECKING:
    from encoders.text_encoder import TextEncoder
    from search_plugin.contract.engine import Index

BOOSTS = (0.0, 0.1, 0.2, 0.3, 0.5, 1.0)


def main() -> None:
    for beir, index, encoder in indexed():
        for boost in BOOSTS:
            protocol = Protocol(("lexical", "hybrid"), measures=("nDCG@10",), options={"title_boost": boost})
            outcome = evaluate_queries(beir.judged("test"), index, encoder, protocol)
            shown = "  ".join(f"{mode} {result.scores.means['nDCG@10']:.4f}" for mode, result in outcome.items())
            print(f"{beir.path.name:10} boost {boost:.1f}  {shown}", flush=True)


def indexed() -> Iterator[tuple[BeirFolder, Index, TextEncoder]]:
    """Index SciFact and Cranfield with the default model, one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        engine = connect(f"embedded:{folder}/indexes")
        encoder = load_encoder("all-MiniLM-L6-v2", cache_dir=Path(folder))
        for name in ("scifact", "cranfield"):
            beir = BeirFolder(data_dir() / "eval" / name)
            job = IndexJob(
                records=lambda beir=beir: get_corpus("beir").read(beir.path, {}),
                source=name,
                index=name,
                card=encoder.card,
                encoder=lambda: encoder,
                state_dir=Path(folder),
            )
            index_corpus(job, engine)
            yield beir, engine.open(name), encoder


if __name__ == "__main__":
    main()
