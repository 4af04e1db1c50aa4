"""SciRepEval's protocols: functions from a task's data and an embedder to a result.

`run_task` chooses the protocol of a task. A task can load its vectors from a file instead of encoding, or save them for
other tasks. As in the original, a path is relative to the working directory, and a task that loads saves nothing.
Unlike in the original, loaded vectors aren't rounded to float16, so that a task's numbers don't depend on which task
made its vectors; a file is written whole or, if the task fails, not at all; and vectors that come from files aren't
saved again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from corpora.errors import InputError, SesError, UnavailableError, require
from encoders.files.embeddings import Embeddings, Writer, layout_of, open_writer, read_embeddings
from encoders.models.formats import Format
from eval.embedder import Embedder, Text, Vectors, by_file, by_format
from eval.measures.similarity import minus_distance, require_same_dimension
from eval.outcome import Outcome
from eval.probes.linear import CLASSIFIER_GRID, Predictions, classify, classify_multi_label, regress
from eval.reranking import only_found, ranked_outcome, rerank
from eval.reviewers.protocol import evaluate_reviewers
from eval.scirepeval.data import (
    Labels,
    RankingData,
    SupervisedData,
    few_shot_samples,
    read_matching,
    read_ranking,
    read_supervised,
)
from eval.scirepeval.measures import classification_measure, regression_measure
from eval.scirepeval.task_file import EmbeddingFile, FewShot, Task, Use, ranking_measure
from eval.statistics.interval import caution, mean_interval
from products.reviewers.rules import MATCHINGS


def run_task(
    task: Task, folder: Path | None, embed: Embedder, separator: str = "[SEP]", given: Set[Format] = frozenset()
) -> TaskResult:
    """Read a task's data and run it, with the embedding files that the task names.

    The data are in a local folder, or on the hub if it is None. `separator` stands between the fields of a text, as the
    model's tokenizer has it. `given` are the formats whose vectors `embed` has from files, which take precedence over
    files that the task loads. Raises `InputError` if data or vectors are missing or damaged, or don't suit the task,
    and `UnavailableError` if the extra eval isn't installed, the hub can't be reached, or vectors can't be saved.
    """
    with _task_vectors(task, FORMATS[task.type], embed, given) as (vectors, files):
        return replace(_run(task, folder, vectors, separator), files=files)


def run_tasks(
    tasks: Iterable[Task],
    folder: Path | None,
    embed: Embedder,
    separator: str = "[SEP]",
    given: Set[Format] = frozenset(),
) -> Iterator[tuple[Task, TaskResult | SesError]]:
    """Run tasks one after the other, with the arguments of `run_task`; if one fails, the others still run.

    Yields each task, with its result or the error.
    """
    for task in tasks:
        try:
            yield task, run_task(task, folder, embed, separator, given)
        except SesError as error:
            yield task, error


def _run(task: Task, folder: Path | None, embed: Embedder, separator: str) -> TaskResult:
    if task.data.reviewers is not None:
        embedders = {"proximity": lambda texts: embed(texts, Format.PRX)}
        matched = evaluate_reviewers(read_matching(task, folder, separator), embedders, MATCHINGS["scirepeval"])
        return TaskResult(task, matched)
    if task.is_ranking:
        return TaskResult(task, evaluate_ranking(task, read_ranking(task, folder, separator), embed))
    return evaluate_supervised(task, read_supervised(task, folder, separator), embed)


@contextmanager
def _task_vectors(
    task: Task, formats: Sequence[Format], embed: Embedder, given: Set[Format]
) -> Iterator[tuple[Embedder, Mapping[Use, str]]]:
    """Yield the embedder to use until the context is left, when the file to save is written; and the files' uses."""
    named = task.embeddings or EmbeddingFile()
    load, save, over = named.load, named.save, given & set(formats)
    files: dict[Use, str] = {}
    if load and over:
        files["not_loaded"] = load
    if load and len(over) < len(formats):
        files["loaded"] = load
        read = _read(task, load)
        # If vectors were given too, take from the file only the requested ones, or its query would replace the given
        # one.
        embed = by_format(dict.fromkeys(over, embed), by_file(read)) if over else _by_whole_file(read)
    if not save:
        yield embed, files
    elif load or len(over) == len(formats):
        yield embed, {**files, "not_saved": save}
    else:
        with ExitStack() as stack:
            writer = _open(task, save, stack)
            yield _recorded(embed, writer, over), {**files, "saved": save}


def _read(task: Task, load: str) -> Embeddings:
    path = Path(load)
    require(
        path.is_file(),
        f"The task {task.name} loads its vectors from {load}, which does not exist",
        'run the task that saves it first, give vectors with <embeddings>, or take "embeddings" out of its line',
    )
    return read_embeddings(path)


def _by_whole_file(embeddings: Embeddings) -> Embedder:
    """Return an embedder of all vectors of a file, also of papers that the task's table lacks, as in the original."""
    vectors = Vectors({name: row for row, name in enumerate(embeddings.ids)}, embeddings.vectors)
    return lambda texts, task_format: vectors  # noqa: ARG005 - a file is of one format


def _open(task: Task, save: str, stack: ExitStack) -> Writer:
    """Open the file before anything is encoded, so that an error of writing is reported at once."""
    path = Path(save)
    try:
        return stack.enter_context(open_writer(path, layout_of(path)))
    except (InputError, UnavailableError) as error:
        raise UnavailableError(
            f"The task {task.name} can't save its vectors as {save} ({error.__cause__ or 'it is no file'}): name "
            'another file in its line, or take "embeddings" out of it.'
        ) from error


def _recorded(embed: Embedder, writer: Writer, given: Set[Format]) -> Embedder:
    def embed_and_write(texts: Sequence[Text], task_format: Format) -> Vectors:
        vectors = embed(texts, task_format)
        if task_format not in given:
            ids = list(vectors.rows)
            writer.write(ids, vectors.of(ids))
        return vectors

    return embed_and_write


FORMATS: Mapping[str, tuple[Format, ...]] = {
    "classification": (Format.CLF,),
    "regression": (Format.RGN,),
    "proximity": (Format.PRX,),
    "adhoc_search": (Format.QRY, Format.PRX),
}
"""The format of each task type's vectors."""

WITHOUT_SEARCH = (1.0,)
"""C of few-shot probes with one class per paper."""


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The result of a task.

    Attributes:
        task: The task.
        outcome: Its measures, from 0 to 1, where the benchmark's own code gives 0 to 100.
        solver: What trained its probes, if it has any.
        files: Embedding files of the task file, by how they were used.
    """

    task: Task
    outcome: Outcome
    solver: str = ""
    files: Mapping[Use, str] = field(default_factory=dict)


def evaluate_supervised(task: Task, data: SupervisedData, embed: Embedder) -> TaskResult:
    """Train probes on the vectors of labelled papers, and measure their predictions for the test papers.

    Intervals are over test papers, with the probe as it is; those of few-shot means are over runs. Labels of papers
    without a vector are left out, as in the original, and counted. The result has the measures of the probe of all
    training papers, then those of few shots. Raises `InputError` if no labelled paper has a vector, or labels don't
    suit the measures or samples, and `UnavailableError` if the extra eval isn't installed.
    """
    vectors = embed(data.texts, FORMATS[task.type][0])
    (train, y_train), (test, y_test) = (_with_vectors(split, vectors, task) for split in (data.train, data.test))
    measure = regression_measure if task.type == "regression" else classification_measure
    predicted = _probe(task)(train, y_train, test)
    cells = {metric: measure(metric, y_test, predicted.labels) for metric in task.metrics}
    counts = Counter(
        train=len(train),
        test=len(test),
        train_papers_missing=len(data.train.ids) - len(train),
        test_papers_missing=len(data.test.ids) - len(test),
        probes_not_converged=predicted.not_converged,
    )
    per_unit: dict[str, dict[str, float]] = {}
    for few_shot in task.few_shot:
        runs = _few_shot(task, few_shot, train, y_train, test, y_test, counts)
        per_unit |= runs
        # Runs vary far less than the measure's scale, which would make the interval much too wide.
        cells |= {metric: mean_interval(tuple(values.values()), scale=None) for metric, values in runs.items()}
    notes = {metric: note for metric, runs in per_unit.items() if (note := caution(len(runs)))}
    return TaskResult(task, Outcome(cells, per_unit, {**counts, **data.counts}, notes), predicted.solver)


def evaluate_ranking(task: Task, data: RankingData, embed: Embedder) -> Outcome:
    """Rank each query's judged candidates by Euclidean distance, nearest first; intervals are over queries.

    As in the original, a query without a vector is left out of the mean, and a candidate without a vector isn't ranked,
    but still counts as one to find. Both are counted. Raises `InputError` if no query has a vector, or vectors of
    queries and candidates differ in length, and `UnavailableError` if pytrec_eval isn't installed.
    """
    vectors = _ranking_vectors(task, data, embed)
    ranked = rerank(
        task.name,
        data.judged,
        vectors,
        vectors,
        lambda query, candidates: minus_distance(candidates.astype(float), query),
    )
    run, judged = only_found(ranked.run, data.judged)
    require(run.rankings, f"No query of the task {task.name} has a vector: its data and vectors are of other papers.")
    counts = {
        "queries_missing": ranked.counts["queries_missing"],
        "queries_without_candidates": len(ranked.run.rankings) - len(run.rankings),
        "candidates_missing": ranked.counts["candidates_missing"],
        **data.counts,
    }
    return ranked_outcome(run, judged, list(map(ranking_measure, task.metrics)), counts, task.metrics)


def _with_vectors(split: Labels, vectors: Vectors, task: Task) -> tuple[np.ndarray, np.ndarray]:
    rows = [row for row, paper in enumerate(split.ids) if paper in vectors.rows]
    require(rows, f"No labelled paper of the task {task.name} has a vector: labels and papers don't belong.")
    # The form that probes work on, converted once and not for each probe.
    return vectors.of([split.ids[row] for row in rows]).astype(np.float64), split.labels[rows]


def _probe(task: Task) -> Callable[..., Predictions]:
    if task.type == "regression":
        return regress
    return classify_multi_label if task.multi_label else classify


def _few_shot(
    task: Task,
    few_shot: FewShot,
    train: np.ndarray,
    y_train: np.ndarray,
    test: np.ndarray,
    y_test: np.ndarray,
    counts: Counter[str],
) -> dict[str, dict[str, float]]:
    """Return, by measure, the value of each run; count the runs, and their probes that didn't converge."""
    shots = f"{few_shot.sample_size}_shot"
    names = {metric: f"{metric} {few_shot.sample_size}-shot" for metric in task.metrics}
    runs: dict[str, dict[str, float]] = {name: {} for name in names.values()}
    # As in the original, few-shot probes of several labels search C for each label; those of one class don't.
    grid = CLASSIFIER_GRID if task.multi_label else WITHOUT_SEARCH
    for number, rows in enumerate(few_shot_samples(y_train, few_shot), start=1):
        if y_train.ndim == 1 and (y_train[rows] == y_train[rows[0]]).all():
            counts[f"{shots}_runs_of_one_class"] += 1
        else:
            predicted = _probe(task)(train[rows], y_train[rows], test, grid=grid)
            counts["probes_not_converged"] += predicted.not_converged
            for metric, name in names.items():
                runs[name][str(number)] = classification_measure(metric, y_test, predicted.labels).mean
    counts[f"{shots}_runs"] = len(next(iter(runs.values())))
    require(
        counts[f"{shots}_runs"],
        f"Every sample of {few_shot.sample_size} papers of {task.name} is of one class: take more.",
    )
    return runs


def _ranking_vectors(task: Task, data: RankingData, embed: Embedder) -> Vectors:
    if task.type == "proximity":
        return embed((*data.queries, *data.candidates), Format.PRX)
    queries, candidates = embed(data.queries, Format.QRY), embed(data.candidates, Format.PRX)
    require_same_dimension(queries.matrix, candidates.matrix)
    names = (*queries.rows, *candidates.rows)
    matrix = np.concatenate((queries.of(queries.rows), candidates.of(candidates.rows)))
    return Vectors({name: row for row, name in enumerate(names)}, matrix)
