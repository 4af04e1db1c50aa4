"""Data of SciRepEval's tasks: papers with labels, or queries with judged candidates, and counts of irregularities.

Tables are JSON lines, CSV or Parquet in a folder, or a data set on the Hugging Face hub.
"""

from __future__ import annotations

import json
import math
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from corpora.errors import InputError, UnavailableError, require
from corpora.installed import optional
from corpora.opening import find_compressed
from corpora.tables import read_rows
from eval.embedder import Text
from eval.files.text import NamedRow, Row, is_id, json_objects
from eval.probes.linear import SEED
from eval.reviewers.data import ReviewerSet, reviewer_set
from eval.scirepeval.task_file import FewShot, HubTable, Table, Task
from eval.trec.judgments import Qrels, qrels_of

_ENDINGS = (".jsonl", ".json", ".csv", ".parquet")


def read_table(table: Table, split: str, stems: Sequence[str], folder: Path | None) -> Iterator[Row]:
    """Read a split of a table.

    Args:
        table: The table in the task file.
        split: Its name on the hub.
        stems: Other names that a local file may have, without ending. The hub's shards are found too, such as
            `test-00000-of-00001.parquet`, and `test/0000.parquet` of its branch refs/convert/parquet.
        folder: Folder of local data. A table on the hub is then read from `<folder>/<data set's last name>/<config>` or
            `<folder>/<config>`, and a relative path from it.

    Returns:
        Its rows, each a mapping of column to value.

    Raises:
        InputError: If a file is damaged; `InputError` if there is none.
        UnavailableError: If the hub is needed, and it or the library datasets isn't there.
    """
    if folder is None and not isinstance(table, str):
        return _hub_rows(table, split)
    return _chained(find_files(table, (*stems, split), folder))


def find_files(table: Table, stems: Sequence[str], folder: Path | None) -> list[Path]:
    """Return a table's files, or raise `InputError` that lists the places searched."""
    if isinstance(table, str):
        places = [Path(table) if folder is None else folder / table]
    else:
        base = folder or Path()
        places = [base / _folder_of(table), base / table.config]
    for place in places:
        if found := next(filter(None, _files_at(place, stems)), None):
            return found
    sought = " or ".join(map(str, places))
    raise InputError(f"There is no {stems[0]} table (.jsonl, .csv or .parquet) in {sought}: put it there.")


def _files_at(place: Path, stems: Sequence[str]) -> Iterator[list[Path]]:
    yield [place] if place.is_file() else []
    for stem in stems:
        yield [path for ending in _ENDINGS if (path := find_compressed(place, f"{stem}{ending}"))][:1]
        yield from (sorted(place.glob(shards)) for shards in (f"{stem}-*-of-*.parquet", f"{stem}/*.parquet"))


def _folder_of(table: HubTable) -> str:
    return f"{table.name.rsplit('/', 1)[-1]}/{table.config}"


def _chained(paths: Sequence[Path]) -> Iterator[Row]:
    for path in paths:
        name = path.name.lower()
        if ".parquet" in name:
            yield from _parquet_rows(path)
        elif ".csv" in name:
            yield from (cells for _, cells in read_rows(path, "a table of labels or judgments"))
        else:
            yield from (row for _, row in json_objects(path))


def _parquet_rows(path: Path) -> Iterator[Row]:
    arrow, parquet = (
        optional(name, "Reading Parquet files needs pyarrow", "eval") for name in ("pyarrow", "pyarrow.parquet")
    )
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(1024):
                yield from batch.to_pylist()
    except (arrow.ArrowException, OSError) as error:
        raise InputError(f"{path} is not a sound Parquet file: fetch it again.") from error


def _hub_rows(table: HubTable, split: str) -> Iterator[Row]:
    try:
        datasets = import_module("datasets")  # not in an extra, because the same data are available as files
    except ImportError as error:
        raise UnavailableError(
            f"{table.name} is on the Hugging Face hub",
            f"install datasets (pip install datasets), or give a folder with <data> that holds {_folder_of(table)}",
        ) from error
    try:
        rows: Any = datasets.load_dataset(table.name, table.config, split=split)
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        raise UnavailableError(
            f"{table.name} ({table.config}, {split}) can't be loaded from the Hugging Face hub "
            f"({' '.join(str(error).split())[:200]})",
            f"try again online, or give a folder with <data> that holds {_folder_of(table)}",
        ) from error
    return iter(rows)


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """Papers of a split with their labels: `labels` is (papers,) or, for several labels per paper, (papers, k)."""

    ids: tuple[str, ...]
    labels: np.ndarray


def read_labels(train: Iterable[Row], test: Iterable[Row], task: Task) -> tuple[Labels, Labels]:
    """Read the labels of both splits, from rows of `paper_id` and `label`: those to learn from, and those to predict.

    They are numbers for a task of regression, lists of 0 and 1 for several labels per paper, else classes. Raises
    `InputError` if there are none, or one can't be a label of the task.
    """
    learnt, to_predict = ([_label(row, task) for row in rows] for rows in (train, test))
    for split, rows in (("train", learnt), ("test", to_predict)):
        require(rows, f"The task {task.name} has no {split} labels; each line needs paper_id and label.")
    labels = _as_array([label for _, label in (*learnt, *to_predict)], task)
    return (
        Labels(tuple(paper for paper, _ in learnt), labels[: len(learnt)]),
        Labels(tuple(paper for paper, _ in to_predict), labels[len(learnt) :]),
    )


def few_shot_samples(labels: np.ndarray, few_shot: FewShot) -> Iterator[list[int]]:
    """Yield the training rows of each run, from labels (rows,) or (rows, labels).

    With one class per paper, they are the held-out parts of stratified folds of about the sample size, so that no two
    runs share a paper, and there are no more runs than folds. With several labels per paper, the sample size is drawn
    from the papers of each label, with a different seed for each run. Raises `InputError` if there are too few rows,
    and `UnavailableError` if scikit-learn isn't installed.
    """
    yield from (_of_each_label if labels.ndim == 2 else _held_out_parts)(labels, few_shot)


def _label(row: Row, task: Task) -> tuple[str, object]:
    paper, label = row.get("paper_id"), row.get("label")
    if not is_id(paper) or label is None or label == "":
        raise InputError(f"A label of the task {task.name} lacks its paper_id or label: {str(dict(row))[:100]}.")
    return str(paper), label


def _as_array(labels: Sequence[object], task: Task) -> np.ndarray:
    if task.multi_label:
        return _several(labels, task)
    if task.type == "regression":
        try:
            numbers = np.array([float(str(label)) for label in labels])
        except ValueError:
            numbers = np.array([np.nan])
        require(
            np.isfinite(numbers).all(), f"A label of the task {task.name} is no number, and {task.type} needs numbers."
        )
        return numbers
    require(
        not any(isinstance(label, list | dict) for label in labels),
        f'A paper of the task {task.name} has several labels: say "multi_label": true in the task file.',
    )
    words = [str(label) for label in labels]
    # 0, 1, ... stay numbers also where CSV made them words: f1 without an average is that of class 1.
    whole = all(word.removeprefix("-").isdecimal() and len(word) < 10 for word in words)
    return np.array([int(word) for word in words] if whole else words)


def _several(labels: Sequence[object], task: Task) -> np.ndarray:
    try:
        rows = [json.loads(label) if isinstance(label, str) else label for label in labels]
    except ValueError:
        rows = []
    lists = [row for row in rows if isinstance(row, list) and row and all(value in (0, 1) for value in row)]
    require(
        len(lists) == len(labels) and len(set(map(len, lists))) == 1,
        f"The labels of the task {task.name} must be lists of 0 and 1, one for each of its classes, as multi_label "
        "says.",
    )
    return np.array(lists, dtype=np.int64)


def _held_out_parts(labels: np.ndarray, few_shot: FewShot) -> Iterator[list[int]]:
    stratified = optional("sklearn.model_selection", "Few-shot samples need scikit-learn", "eval").StratifiedKFold
    folds = math.ceil(len(labels) / few_shot.sample_size)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the protocol allows a class with fewer papers than folds
            parts = list(islice(stratified(folds).split(labels, labels), few_shot.iterations))
    except ValueError as error:
        raise InputError(
            f"{len(labels):,} training papers can't be divided into samples of {few_shot.sample_size}: take fewer."
        ) from error
    yield from (part.tolist() for _, part in parts)


def _of_each_label(labels: np.ndarray, few_shot: FewShot) -> Iterator[list[int]]:
    rarest = int(labels.sum(axis=0).min())
    require(
        rarest >= few_shot.sample_size,
        f"A label has {rarest} training papers, and {few_shot.sample_size} are to be drawn of each: take fewer.",
    )
    holders = [np.flatnonzero(column == 1) for column in labels.T]
    for run in range(few_shot.iterations):
        # The generator that np.random.seed sets, not default_rng, and a set's order, since folds and liblinear's
        # coordinate descent depend on it.
        draw = np.random.RandomState(SEED + run)
        rows: set[int] = set()
        for holder in holders:
            rows.update(draw.choice(holder, few_shot.sample_size, replace=False).tolist())
        yield list(rows)


PAPERS = ("metadata",)
"""Local names of the table of papers beside the hub's `evaluation`."""


@dataclass(frozen=True, slots=True, eq=False)
class SupervisedData:
    """Data of a classification or regression task: labels to learn from, and labels to predict.

    The texts are the labelled papers in the table of papers; all papers if the task saves its vectors. What was
    repeated is counted.
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
    """Read the data of a classification or regression task, from a local folder, or from the hub if it is None.

    `separator` stands between the fields of a text, as the model's tokenizer has it. Raises `InputError` if a table is
    missing or damaged, or a label can't be one, and `UnavailableError` if the hub is needed and isn't there.
    """
    train, test = (read_table(task.data.judged, split, (), folder) for split in ("train", "test"))
    learnt, to_predict = read_labels(train, test, task)
    wanted = {*learnt.ids, *to_predict.ids}
    counts: Counter[str] = Counter()
    texts = _texts(_papers(task, folder), task, separator, counts)
    counts["papers_unknown"] = len(wanted - texts.keys())
    counts["labels_repeated"] = sum(len(split.ids) - len(set(split.ids)) for split in (learnt, to_predict))
    counts["test_papers_in_train"] = len(set(learnt.ids) & set(to_predict.ids))
    kept = tuple(text for name, text in texts.items() if task.saves or name in wanted)
    return SupervisedData(kept, learnt, to_predict, counts)


def read_ranking(task: Task, folder: Path | None, separator: str) -> RankingData:
    """Read the data of a proximity or search task; arguments and errors are those of `read_supervised`.

    The first of repeated judgments of a pair, or of repeated papers, counts.
    """
    counts: Counter[str] = Counter()
    judged = qrels_of(_named("Judgment", read_table(task.data.judged, "test", ("test_qrel",), folder)), counts)
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
        _named("Judgment", read_table(task.data.judged, f"test_{kind}", (f"test_{kind}_qrel",), folder))
        for kind in ("hard", "soft")
    )
    reviewers = read_table(task.data.reviewers or task.data.meta, "metadata", ("reviewer_metadata",), folder)
    return reviewer_set(hard, soft, _named("Reviewer", reviewers), papers, counts)


def _named(noun: str, rows: Iterable[Row]) -> Iterator[NamedRow]:
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
