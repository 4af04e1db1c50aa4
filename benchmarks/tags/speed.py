"""Tagging beside indexing again."""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import replace
from itertools import islice
from pathlib import Path

import ses
from benchmarks.common import seconds
from benchmarks.tags.papers import drawn, rows_of
from products.tags.apply import TaggingReport
from search_plugin.contract.engine import Document, Engine
from search_plugin.engines.registry import connect

ENCODED = 1_000
BATCH = 1_000


def speed(size: int, url: str) -> None:
    """Compare tagging an index with indexing it again without cached vectors, on the same engine.

    Papers beyond the first 1,000 are not encoded: they are written with the vectors of those, and the time of indexing
    them again is that of the first 1,000 in proportion.

    Args:
        size: Papers to tag.
        url: URL of the engine; empty for the embedded engine in a temporary folder.
    """
    os.environ["SES_EMBEDDING_CACHE"] = "false"
    rows = drawn([row for row in rows_of("pubmed") if row.get("mesh") and row["abstract"]])[: min(size, ENCODED)]
    papers = [ses.Paper(row["id"], row["title"], row["abstract"], fields=tuple(row["mesh"])) for row in rows]
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        url = url or f"embedded:{home / 'indexes'}"
        library = ses.open(url, data_dir=home / "data")
        library.index("bench-tags", papers[:1])  # builds the model's graph
        again = seconds(lambda: library.index("bench-tags", papers, fresh=True))
        library.tags.train("bench", "bench-tags", "fields", fewest=30)
        names = ["bench-tags"]
        if size > len(papers):
            repeat(connect(url), "bench-tags", "bench-tags-many", papers, size)
            names.append("bench-tags-many")
        tagged = names[-1]
        ids = list(islice(library[tagged].index.ids(), ENCODED))
        before = library[tagged].index.vectors(ids, "prx")
        reports = list[TaggingReport]()
        tagging = seconds(lambda: reports.append(library.tags.apply("bench", tagged)))
        after = library[tagged].index.vectors(ids, "prx")
        if not all((before[id_] == after[id_]).all() for id_ in ids):
            sys.exit("Tagging changed vectors.")
        labels = len(library.tags["bench"].labels)
        whole = again * reports[0].papers / len(papers)
        note = "" if size == len(papers) else f" (in proportion to {again:.1f} s for {len(papers):,})"
        print(
            f"{reports[0].papers:,} papers, {labels} labels, {reports[0].tagged:,} papers tagged: indexed again in "
            f"{whole:,.1f} s{note}, tagged in {tagging:.2f} s: {whole / tagging:.0f} times as fast; vectors unchanged"
        )
        for name in names:
            library.drop(name)


def repeat(engine: Engine, small: str, large: str, papers: list[ses.Paper], size: int) -> None:
    """Write an index of many papers, with the texts and vectors of a small one over and over."""
    source = engine.open(small)
    vectors = source.vectors([paper.id for paper in papers], "prx")
    index = engine.build(large, source.schema, "benchmark")
    for start in range(0, size, BATCH):
        batch = []
        for number in range(start, min(start + BATCH, size)):
            paper = replace(papers[number % len(papers)], id=f"{number}")
            own = vectors[papers[number % len(papers)].id]
            batch.append(Document(paper, paper.content_hash(), {"prx": own}))
        index.upsert(batch)
    index.finish()
    engine.publish(index)
