"""What all contenders get: papers and questions, with the judgments that their pages are measured by."""

from __future__ import annotations

import json
import random
from pathlib import Path

from benchmarks.common import data_dir, pubmed_rows
from benchmarks.whole.base import Read
from eval.retrieval.beir import BeirFolder

QUESTIONS = 200
SEED = 0


def prepare(folder: Path, count: int) -> None:
    """Write papers, questions and judgments into a folder, unless they are there.

    The papers are those that are judged for the questions, then SciFact's others in their order, then PubMed's.
    """
    if (folder / "judgments.json").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    scifact = BeirFolder(data_dir() / "eval" / "scifact")
    judged = scifact.judged("test")
    drawn = random.Random(SEED).sample(sorted(judged.texts), QUESTIONS)
    judgments = {query: judged.qrels.gains[query] for query in drawn}
    wanted = {paper for gains in judgments.values() for paper in gains}
    papers = sorted(_scifact(scifact), key=lambda paper: paper.id not in wanted)
    if count > len(papers):
        papers += [
            Read(f"pubmed-{number}", row["title"], row["abstract"] or "") for number, row in enumerate(pubmed_rows())
        ]
    if count < len(wanted):
        raise SystemExit(f"Choose at least {len(wanted):,} papers: those that are judged.")
    if count > len(papers):
        raise SystemExit(f"There are {len(papers):,} papers: choose no more.")
    (folder / "papers.json").write_text(json.dumps(papers[:count]))
    (folder / "questions.json").write_text(json.dumps({query: judged.texts[query] for query in drawn}))
    (folder / "judgments.json").write_text(json.dumps(judgments))


def _scifact(folder: BeirFolder) -> list[Read]:
    with folder.corpus.open(encoding="utf-8") as lines:
        rows = map(json.loads, lines)
        return [Read(row["_id"], row["title"], row["text"]) for row in rows]
