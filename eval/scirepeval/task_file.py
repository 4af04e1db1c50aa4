"""SciRepEval's task file: one JSON object per line, each a task with its data and measures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from corpora.errors import InputError, require
from encoders.files.embeddings import layout_of
from eval.files.text import bad_line, numbered_lines, require_line

TaskKind = Literal["classification", "regression", "proximity", "adhoc_search"]

CLASSIFICATION = ("f1", "precision", "recall", "accuracy")
AVERAGES = ("macro", "micro", "weighted")
REGRESSION = ("kendalltau", "pearsonr", "r2", "mse")
RANKING = {"ndcg": "nDCG", "map": "MAP", "recip_rank": "MRR", "Rprec": "Rprec"}
"""pytrec_eval's names, which the task file uses, mapped to those of `eval.measures.metrics`."""
RANKING_CUT = {"ndcg_cut": "nDCG", "map_cut": "MAP", "recall": "Recall", "P": "P", "success": "Success"}
"""Those that take a cut-off, as in `P_5`."""

Use = Literal["loaded", "saved", "not_loaded", "not_saved"]
"""How a run used an embedding file that a task names."""

FIELDS = ("title", "abstract")

_strict = ConfigDict(extra="forbid")
_Name = Annotated[str, Field(min_length=1)]
_FolderName = Annotated[str, Field(pattern=r"^\w[\w.-]*$")]
_Count = Annotated[int, Field(ge=1)]
_Names = Annotated[tuple[str, ...], Field(min_length=1)]


@dataclass(frozen=True, slots=True, config=_strict)
class HubTable:
    """A table of a data set on the Hugging Face hub, or of a folder named after the configuration."""

    name: _Name
    config: _FolderName


Table = HubTable | str
"""Where a table is: on the hub, or a path."""


@dataclass(frozen=True, slots=True, config=_strict)
class Data:
    """Where a task's data are.

    Attributes:
        meta: Papers, or queries with their candidates.
        test: Labels or judgments; if None, where the papers are.
        reviewers: Reviewers and their papers, for matching.
        simple_format: Whether the papers of a ranking task are listed once, not below each query.
    """

    meta: Table
    test: Table | None = None
    reviewers: Table | None = None
    simple_format: bool = False

    @property
    def judged(self) -> Table:
        """Where labels or judgments are."""
        return self.meta if self.test is None else self.test


@dataclass(frozen=True, slots=True, config=_strict)
class FewShot:
    """How many papers (or papers per label) to train on, and how many times."""

    sample_size: _Count
    iterations: _Count


@dataclass(frozen=True, slots=True, config=_strict)
class EmbeddingFile:
    """Paths from the working directory of an embedding file to save, whose suffix decides the layout, or to load.

    A task that loads one saves nothing.
    """

    save: str | None = None
    load: str | None = None


@dataclass(frozen=True, slots=True, config=_strict)
class Task:
    """A task as in its line of the file.

    Attributes:
        name: Name, which is unique in a file.
        type: Type, which decides the protocol and the format of the vectors.
        data: Place of its data.
        metrics: Measures to report.
        few_shot: Sizes of small samples to train on, beside all papers.
        multi_label: Whether several classes may be true of one paper.
        fields: The fields of a paper that are embedded.
        embeddings: Files to load vectors from, or to save them to for other tasks and programs.
        batch_size: Batch size of the original, of no effect here.
    """

    name: _Name
    type: TaskKind
    data: Data
    metrics: _Names
    few_shot: tuple[FewShot, ...] = ()
    multi_label: bool = False
    fields: _Names = FIELDS
    embeddings: EmbeddingFile | None = None
    batch_size: int | None = None

    @property
    def is_ranking(self) -> bool:
        """Whether candidates are ranked, and not labels predicted."""
        return self.type in ("proximity", "adhoc_search")

    @property
    def saves(self) -> bool:
        """Whether all its papers are embedded, for tasks that load what it saves."""
        return self.embeddings is not None and bool(self.embeddings.save) and not self.embeddings.load


_TASK = TypeAdapter(Task)


def read_tasks(path: Path) -> list[Task]:
    """Read a task file: SciRepEval's own `scirepeval_tasks.jsonl` as it is, or one of your tasks.

    Raises `InputError` if a line is no task, has a type or measure that isn't known, or a name that came before.
    """
    tasks: dict[str, Task] = {}
    for number, line in numbered_lines(path):
        try:
            task = _TASK.validate_json(line)
        except ValidationError as error:
            raise bad_line(path, number, _reason(error)) from error
        if wrong := _wrong(task):
            raise bad_line(path, number, wrong)
        require_line(task.name not in tasks, path, number, f"the task {task.name} came before; keep one of them")
        tasks[task.name] = task
    require(tasks, f"{path} holds no tasks: name a file such as SciRepEval's scirepeval_tasks.jsonl.")
    return list(tasks.values())


def known_metrics(kind: TaskKind) -> tuple[str, ...]:
    """Return the measures that tasks of a type can have; N stands for a number."""
    if kind == "classification":
        averaged = (f"{name}_{average}" for name in CLASSIFICATION[:-1] for average in AVERAGES)
        return (*CLASSIFICATION, *averaged)
    if kind == "regression":
        return REGRESSION
    return (*RANKING, *(f"{name}_N" for name in RANKING_CUT))


def ranking_measure(metric: str) -> str:
    """Return a measure of the task file, such as `P_5`, as `eval.measures.metrics.parse_measure` takes it: `P@5`."""
    name, _, cutoff = metric.rpartition("_")
    return RANKING[metric] if metric in RANKING else f"{RANKING_CUT[name]}@{cutoff}"


def choose_tasks(tasks: Sequence[Task], names: Sequence[str]) -> list[Task]:
    """Return the tasks with these names (in any case), or all; if a name is unknown, `InputError` lists the names."""
    by_key = {key_of(task.name): task for task in tasks}
    unknown = [name for name in names if key_of(name) not in by_key]
    if unknown:
        raise InputError(f"There is no task {unknown[0]!r} in the file; it has: {', '.join(t.name for t in tasks)}.")
    return [by_key[key] for key in dict.fromkeys(map(key_of, names))] if names else list(tasks)


def key_of(name: str) -> str:
    """Return a name without what differs between the benchmark's own spellings, as in `Feeds-1` and `feeds_1`."""
    return "".join(char for char in name.casefold() if char.isalnum())


def _is_known(metric: str, kind: TaskKind) -> bool:
    return re.sub(r"_[1-9][0-9]{0,4}$", "_N", metric, flags=re.ASCII) in known_metrics(kind) and metric[-2:] != "_N"


def _wrong(task: Task) -> str:
    """Return what is wrong with a task, or nothing."""
    for metric in task.metrics:
        if not _is_known(metric, task.type):
            return f"a {task.type} task has no measure {metric!r}, only {', '.join(known_metrics(task.type))}"
    if task.few_shot and task.type != "classification":
        return f"few_shot belongs to classification, and {task.name} is {task.type}"
    if task.embeddings and task.embeddings.save:
        try:
            layout_of(Path(task.embeddings.save))
        except InputError:
            # Also, a task file must not make ses overwrite a file of another kind.
            return f"embeddings.save is {task.embeddings.save}; end it with .jsonl or .npy"
    return ""


def _reason(error: ValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part not in ("HubTable", "str"))
    if first["type"] == "unexpected_keyword_argument":
        return f"{where} is no member of a task there: correct its name, or take it out"
    if first["type"] == "missing":
        return f"{where} is not there: say it"
    return f"{where}: {first['msg']}" if where else f"this is no task ({first['msg']})"
