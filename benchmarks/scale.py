"""Encoding by worker processes: two of one core each against one, and the memory of the process that writes the index.

The first encodes PubMed's papers by the default model, and needs SES_TEST_DATA. The second has invented papers and a
small model with random weights. Each run is a process of its own. A third part tells how long each shard reads a corpus
of PubMed's papers, in CPU time, beside encoding it by one thread. Run: python -m benchmarks.scale workers [PAPERS], or
python -m benchmarks.scale memory [PAPERS ...], or python -m benchmarks.scale reading [PAPERS ...]
"""

from __future__ import annotations

import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from benchmarks.common import pubmed_rows
from benchmarks.indexing import run
from corpora.paper import Record
from corpora.progress import Silent
from corpora.registry import get_corpus
from encoders.encoder import load_encoder
from encoders.registry import DEFAULT_MODEL
from indexer.survey import open_survey
from tests.tiny import WORDS, make_model

ROUNDS = 3
ENCODED = 256


def main() -> None:
    part, *sizes = sys.argv[1:] or ["workers"]
    os.environ["SES_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        if part == "workers":
            workers(Path(folder), int(sizes[0]) if sizes else 4_000)
        elif part == "reading":
            reading(Path(folder), [int(size) for size in sizes] or [100_000, 1_000_000])
        else:
            memory(Path(folder), [int(size) for size in sizes] or [10_000, 100_000])


def workers(home: Path, papers: int) -> None:
    corpus = home / "papers.jsonl"
    corpus.write_text("".join(json.dumps(row) + "\n" for row in pubmed_rows()[:papers]), encoding="utf-8")
    given = ("--corpus", "jsonl", "--path", str(corpus), "--fresh", "--index", "papers")
    run(home, *given, "--limit", "1")  # builds the model's graph
    taken: dict[str, list[float]] = {"1": [], "2": []}
    for _ in range(ROUNDS):
        for count, seconds in taken.items():
            report, _ = run(home, *given, "--workers", count)
            seconds.append(report["seconds"])
            print(
                f"{count} workers: {report['seconds']:.1f} s, {report['encoding_seconds']:.1f} s encoding", flush=True
            )
    one, two = map(statistics.median, taken.values())
    print(f"{papers:,} papers: {one:.1f} s by one, {two:.1f} s by two, {one / two:.2f} times as fast")


def memory(home: Path, sizes: list[int]) -> None:
    corpus, draw = home / "papers.jsonl", random.Random(0)
    with corpus.open("w", encoding="utf-8") as file:
        for number in range(max(sizes)):
            abstract = " ".join(draw.choices(WORDS, k=120))
            file.write(json.dumps({"id": str(number), "title": "A title", "abstract": abstract}) + "\n")
    model = make_model(home / "model")
    given = ("--corpus", "jsonl", "--path", str(corpus), "--model", str(model), "--fresh", "--index", "papers")
    for size in sizes:
        for kind in (("--workers", "2"), ()):
            report, peak = run(home, *given, "--limit", str(size), *kind)
            by = "two workers" if kind else "itself"
            print(f"{size:9,} papers by {by}: {peak:.0f} MiB at most, {report['seconds']:.0f} s", flush=True)


def reading(home: Path, sizes: list[int]) -> None:
    corpus, rows = home / "papers.jsonl", pubmed_rows()
    with corpus.open("w", encoding="utf-8") as file:
        for number in range(max(sizes)):
            row = rows[number % len(rows)]
            file.write(json.dumps({"id": str(number), "title": row["title"], "abstract": row["abstract"]}) + "\n")
    encoder = load_encoder(DEFAULT_MODEL, cache_dir=home / "cache", threads=1)
    texts = [encoder.card.text(row["title"], row["abstract"] or "") for row in rows[:: len(rows) // ENCODED]]
    encoder.encode(texts[:8])
    encoding = cpu(lambda: encoder.encode(texts)) / len(texts)
    for size in sizes:

        def records(size: int = size) -> Iterator[Record]:
            return islice(get_corpus("jsonl").read(corpus, {}), size)

        def survey(records: Callable[[], Iterator[Record]] = records) -> None:
            with open_survey(home, "") as noted:
                noted.read(records(), print, Silent())
                deque(noted.hashes(), 0)

        first, second = cpu(survey) / size, cpu(lambda read=records: deque(read(), 0)) / size
        told = ", ".join(f"{1e6 * one:.0f} s ({one / encoding:.2%} of encoding)" for one in (first, second))
        print(f"{size:9,} papers: a million takes {told} for the survey and for reading again", flush=True)


def cpu(work: Callable[[], object]) -> float:
    """Return the CPU seconds that some work takes."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


if __name__ == "__main__":
    main()
