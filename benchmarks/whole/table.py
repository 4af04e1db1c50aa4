"""The figures of a run as a table in Markdown, and the versions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.common import percentile
from benchmarks.whole.base import SIZE
from benchmarks.whole.registry import OURS
from eval.measures.metrics import evaluate
from eval.trec.judgments import Qrels
from eval.trec.runs import Run

MEASURE = f"nDCG@{SIZE}"

Seen = Mapping[str, Mapping[str, Any]]
"""What `benchmarks.whole.worker` measures, by contender, ours among them."""


def table(seen: Seen, folder: Path) -> str:
    """Return the figures and the versions as Markdown; the folder holds the judgments."""
    judgments = Qrels(json.loads((folder / "judgments.json").read_bytes()))
    lines = [
        f"| | minutes | to ours | peak memory, MiB | {MEASURE} | page, ms: p50, p95 | p50 to ours |",
        "| --- " * 7 + "|",
    ]
    ours = seen[OURS]
    for name, own in seen.items():
        median, slow = (1000 * percentile(own["taken"], share) for share in (0.5, 0.95))
        lines.append(
            f"| {name} | {own['made'] / 60:.2f} | {own['made'] / ours['made']:.2f} | {own['peak']:.0f} "
            f"| {ndcg(own['pages'], judgments):.3f} | {median:.1f}, {slow:.1f} "
            f"| {median / (1000 * percentile(ours['taken'], 0.5)):.2f} |"
        )
    lines += ["", "| | versions |", "| --- | --- |"]
    for name, own in seen.items():
        lines.append(f"| {name} | {', '.join(map(' '.join, own['versions'].items()))} |")
    return "\n".join(lines)


def ndcg(pages: Mapping[str, list[str]], judgments: Qrels) -> float:
    """Return the mean nDCG@10 of some pages of ids, the best first, by question."""
    ranked = {query: [(paper, -float(rank)) for rank, paper in enumerate(ids)] for query, ids in pages.items()}
    return evaluate(Run("pages", ranked), judgments, [MEASURE]).means[MEASURE]
