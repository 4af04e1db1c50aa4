"""SciRepEval's task of matching papers with reviewers, from its own tables."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import InputError
from encoders.formats import Format
from eval.outcome import Outcome
from eval.reviewers import MATCHINGS
from eval.reviewers.data import ReviewerSet
from eval.reviewers.protocol import evaluate_reviewers
from eval.scirepeval.data import read_judgments, read_papers
from eval.scirepeval.labels import is_id
from eval.scirepeval.tables import read_table
from eval.scirepeval.task_file import Task

if TYPE_CHECKING:
    from eval.embedder import Embedder


def evaluate_matching(task: Task, folder: Path | None, embed: Embedder, separator: str) -> Outcome:
    """Rank each paper's judged reviewers, and measure precision on hard and soft judgments.

    Args:
        task: A task that names reviewers.
        folder: Of local data; the hub if None.
        embed: Makes the vectors.
        separator: Between the fields of a text.

    Returns:
        The outcome of `eval.reviewers`, by SciRepEval's rules.

    Raises:
        InputError: If a table is missing or damaged, or nothing in them has a vector.
        UnavailableError: If the hub is needed and isn't there.
    """
    data = read_matching(task, folder, separator)
    return evaluate_reviewers(data, {"proximity": lambda texts: embed(texts, Format.PRX)}, MATCHINGS["scirepeval"])


def read_matching(task: Task, folder: Path | None, separator: str) -> ReviewerSet:
    """Read the data of a task that names reviewers, or raise `InputError` where a table is missing or damaged."""
    counts: Counter[str] = Counter()
    hard, soft = (
        read_judgments(read_table(task.data.judged, f"test_{kind}", (f"test_{kind}_qrel",), folder), counts)
        for kind in ("hard", "soft")
    )
    profiles: dict[str, tuple[str, ...]] = {}
    for row in read_table(task.data.reviewers or task.data.meta, "metadata", ("reviewer_metadata",), folder):
        reviewer, papers = row.get("r_id"), row.get("papers")
        if not is_id(reviewer) or not isinstance(papers, list) or not all(map(is_id, papers)):
            raise InputError(f"A reviewer of the task {task.name} needs r_id, and papers as a list of ids.")
        counts["reviewers_repeated"] += str(reviewer) in profiles
        profiles.setdefault(str(reviewer), tuple(map(str, papers)))
    return ReviewerSet(profiles, hard, soft, read_papers(task, folder, separator, counts), counts)
