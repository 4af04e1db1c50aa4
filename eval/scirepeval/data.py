"""Data of SciRepEval's tasks: papers with labels, or queries with judged candidates, and counts of irregularities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from corpora.errors import InputError
from eval.embedder import Text
from eval.files.text import Row, Told, is_id
from eval.reviewers.data import ReviewerSet, reviewer_set
from eval.scirepeval.labels import Labels, read_labels
from eval.scirepeval.tables import read_table
from eval.scirepeval.task_file import Task
from eval.trec.judgments import Qrels, qrels_of

PAPERS = ("metadata",)
"""Local names of the table of papers beside the hub's `evaluation`."""


@dataclass(frozen=True, slots=True, eq=False)
class SupervisedData:
    """Data of a classification or regression task.

    Attributes:
        texts: The labelled papers in the table of papers; all papers if the task saves its vectors.
        train: Labels to learn from.
        test: Labels to predict.
        counts: What was repeated.
    """

    texts: tuple[Text, ...]
    train: Labels
    test: Labels
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True, eq=False)
class RankingData:
    """Data of a proximity or search task.

    Attributes:
        queries: Papers or query texts that candidates are ranked for.
        candidates: Papers that aren't queries; an id that is both is embedded once, as the query, as SciRepEval does.
        judged: Judgments of the candidates of each query. Texts without a judgment are not embedded, unless the task
            saves its vectors.
        counts: Counts of what was repeated, or embedded as a query.
    """

    queries: tuple[Text, ...]
    candidates: tuple[Text, ...]
    judged: Qrels
    counts: Mapping[str, int]


def read_supervised(task: Task, folder: Path | None, separator: str) -> SupervisedData:
    """Read the data of a classification or regression task.

    Args:
        task: The task.
        folder: Of local data; the hub if None.
        separator: Between the fields of a text, as the model's tokenizer has it.

    Returns:
        The data.

    Raises:
        InputError: If a table is missing or damaged, or a label can't be one.
        UnavailableError: If the hub is needed and isn't there.
    """
    train, test = (read_table(task.data.judged, split, (), folder) for split in ("train", "test"))
    learnt, asked = read_labels(train, test, task)
    wanted = {*learnt.ids, *asked.ids}
    counts: Counter[str] = Counter()
    texts = _texts(_papers(task, folder), task, separator, counts)
    counts["papers_unknown"] = len(wanted - texts.keys())
    counts["labels_repeated"] = sum(len(split.ids) - len(set(split.ids)) for split in (learnt, asked))
    counts["test_papers_in_train"] = len(set(learnt.ids) & set(asked.ids))
    kept = tuple(text for name, text in texts.items() if task.saves or name in wanted)
    return SupervisedData(kept, learnt, asked, counts)


def read_ranking(task: Task, folder: Path | None, separator: str) -> RankingData:
    """Read the data of a proximity or search task.

    Args:
        task: The task.
        folder: As `read_supervised` takes it.
        separator: As `read_supervised` takes it.

    Returns:
        The data. The first of repeated judgments of a pair, or of repeated papers, counts.

    Raises:
        InputError: If a table is missing or damaged, or there are no judgments.
        UnavailableError: If the hub is needed and isn't there.
    """
    counts: Counter[str] = Counter()
    judged = qrels_of(_told("Judgment", read_table(task.data.judged, "test", ("test_qrel",), folder)), counts)
    rows = list(_papers(task, folder))
    if task.data.simple_format:
        papers = _texts(rows, task, separator, counts)
        queries = {name: text for name, text in papers.items() if name in judged.gains}
    else:
        queries = _texts((_query(row, task) for row in rows), task, separator, counts)
        # A candidate of many queries does not count as repeated, unless its text differs.
        papers = _texts(_candidates(rows, task), task, separator, Counter())
    ranked = {name for found in judged.gains.values() for name in found}
    counts["queries_unknown"] = len(judged.gains.keys() - queries.keys())
    counts["candidates_unknown"] = len(ranked - papers.keys() - queries.keys())
    counts["candidates_embedded_as_queries"] = sum(
        task.type == "adhoc_search" or papers.get(name, queries[name]) != queries[name]
        for name in ranked & queries.keys()
    )
    return RankingData(
        tuple(text for name, text in queries.items() if task.saves or name in judged.gains or name in ranked),
        tuple(text for name, text in papers.items() if (task.saves or name in ranked) and name not in queries),
        judged,
        counts,
    )


def read_matching(task: Task, folder: Path | None, separator: str) -> ReviewerSet:
    """Read the data of a task that names reviewers, or raise `InputError` where a table is missing or damaged."""
    counts: Counter[str] = Counter()
    papers = _texts(_papers(task, folder), task, separator, counts)
    hard, soft = (
        _told("Judgment", read_table(task.data.judged, f"test_{kind}", (f"test_{kind}_qrel",), folder))
        for kind in ("hard", "soft")
    )
    reviewers = read_table(task.data.reviewers or task.data.meta, "metadata", ("reviewer_metadata",), folder)
    return reviewer_set(hard, soft, _told("Reviewer", reviewers), papers, counts)


def _told(noun: str, rows: Iterable[Row]) -> Iterator[Told]:
    return ((f"{noun} {number}", row) for number, row in enumerate(rows, start=1))


def _papers(task: Task, folder: Path | None) -> Iterator[Row]:
    return read_table(task.data.meta, "evaluation", PAPERS, folder)


def _query(row: Row, task: Task) -> Row:
    query = row.get("query")
    if isinstance(query, str):
        return {"doc_id": row.get("doc_id"), "title": query}
    if isinstance(query, Mapping):
        return query
    raise InputError(
        f'A row of the task {task.name} has no "query" beside its "candidates"; where rows are papers, say '
        '"simple_format": true in its data.'
    )


def _candidates(rows: Iterable[Row], task: Task) -> Iterator[Row]:
    for row in rows:
        found = row.get("candidates")
        if not isinstance(found, list) or not all(isinstance(one, Mapping) for one in found):
            raise InputError(f'A row of the task {task.name} has no list of papers under "candidates".')
        yield from found


def _texts(rows: Iterable[Row], task: Task, separator: str, counts: Counter[str]) -> dict[str, Text]:
    """Return each id's first text; its fields but the first, if there are any, are an abstract to the model."""
    texts: dict[str, Text] = {}
    for row in rows:
        paper = row.get("doc_id")
        if not is_id(paper):
            counts["rows_without_id"] += 1
        elif str(paper) in texts:
            counts["papers_repeated"] += 1
        else:
            first, *rest = [str(row[field]) for field in task.fields if row.get(field)] or [""]
            counts["papers_without_text"] += not first
            texts[str(paper)] = Text(str(paper), first, f" {separator} ".join(rest) or None)
    return texts
