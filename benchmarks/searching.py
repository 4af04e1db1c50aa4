"""A hybrid query over 33,000 papers against the encoding of the query alone.

Real PubMed papers with random vectors (see `benchmarks.common.random_index`), and SciFact's claims as queries.
Needs SES_TEST_DATA. Run: python -m benchmarks.searching [PAPERS]
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

from benchmarks.common import data_dir, percentile, random_index
from encoders.encoder import load_encoder
from encoders.formats import Format
from encoders.registry import DEFAULT_MODEL
from search_plugin.request import SearchRequest
from search_plugin.search import search

QUERIES = 200


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 33_000
    with (data_dir() / "eval" / "scifact" / "queries.jsonl").open(encoding="utf-8") as file:
        queries = [json.loads(line)["text"] for line in islice(file, QUERIES)]
    with tempfile.TemporaryDirectory() as folder:
        encoder = load_encoder(DEFAULT_MODEL, cache_dir=Path(folder))
        card = encoder.card
        index = random_index(f"lance:{folder}/indexes", count, card.name, card.fingerprint, card.dimension)
        index.finish()
        encoding, modes = [], {"lexical": [], "vector": [], "hybrid": [], "hybrid with facets": []}
        for query in [*queries[:10], *queries]:
            encoding.append(_milliseconds(lambda query=query: encoder.encode([query], Format.QRY)))
            for mode, taken in modes.items():
                facets = ("journal", "year") if "facets" in mode else ()
                request = SearchRequest(query, mode.split()[0], facets=facets)
                taken.append(_milliseconds(lambda request=request: search(index, request, encoder)))
    alone = percentile(encoding[10:], 0.5)
    print(f"{count:,} papers, {len(queries)} queries one after another; ratios to encoding the query alone")
    print(f"{'encoding alone':20} p50 {alone:6.1f} ms  p99 {percentile(encoding[10:], 0.99):6.1f} ms")
    for mode, taken in modes.items():
        middle, tail = percentile(taken[10:], 0.5), percentile(taken[10:], 0.99)
        print(f"{mode:20} p50 {middle:6.1f} ms  p99 {tail:6.1f} ms  {middle / alone:5.2f}x")


def _milliseconds(work: object) -> float:
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1000


if __name__ == "__main__":
    main()
