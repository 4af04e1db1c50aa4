"""Encoding by worker processes: two of one core each against one, and the memory of the process that writes the index.

The first encodes PubMed's papers by the default model, and needs SES_TEST_DATA. It also runs `ses index` twice at the
same time, each with half of the papers and one worker: what the two cores can give. The second has invented papers and
a small model with random weights. Each run is a process of its own. A third part tells how long each shard reads a
corpus of PubMed's papers, in CPU time, beside encoding it by one thread.
Run: python -m benchmarks.scale workers [PAPERS], or
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
from concurrent.futures import ThreadPoolExecutor
from functools import partial
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
    rows, given = pubmed_rows()[:papers], ("--corpus", "jsonl", "--fresh", "--index", "papers", "--path")
    whole, *halves = (home / name for name in ("whole.jsonl", "first.jsonl", "second.jsonl"))
    for path, part in zip((whole, *halves), (rows, rows[: papers // 2], rows[papers // 2 :]), strict=True):
        path.write_text("".join(json.dumps(row) + "\n" for row in part), encoding="utf-8")

    def timed(folder: Path, corpus: Path, count: int) -> float:
        return run(folder, *given, str(corpus), "--workers", str(count))[0]["seconds"]

    def at_once() -> float:
        with ThreadPoolExecutor(2) as pool:
            return max(pool.map(timed, (home / "first", home / "second"), halves, (1, 1)))

    for folder in (home, home / "first", home / "second"):
        run(folder, *given, str(whole), "--limit", "1")  # builds the model's graph
    one_and_two = {name: partial(timed, home, whole, count) for name, count in (("one", 1), ("two", 2))}
    contenders: dict[str, Callable[[], float]] = {**one_and_two, "halves": at_once}
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(ROUNDS):
        for name, contender in contenders.items():
            taken[name].append(contender())
            print(f"{name}: {taken[name][-1]:.1f} s", flush=True)
    one, two, apart = (statistics.median(taken[name]) for name in contenders)
    print(f"{papers:,} papers: {one:.1f} s by one worker, {two:.1f} s by two, {one / two:.2f} times as fast;")
    print(f"two runs at once, of half of the papers each, take {apart:.1f} s: {one / apart:.2f} times as fast")


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
