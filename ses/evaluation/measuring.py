"""Measuring runs, in memory and in files, and comparing systems of any kind on the same judged queries."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from corpora.errors import InputError, require
from corpora.installed import needing
from corpora.json_objects import JsonObject, read_lines
from corpora.opening import open_binary
from corpora.outgoing import in_a_line
from eval.measures.metrics import MEASURES, Scores, evaluate, parse_measure
from eval.reports.results import Results
from eval.retrieval.beir import BeirFolder, JudgedQueries, join
from eval.retrieval.protocol import make_protocol, run_queries
from eval.statistics.compare import Comparison, compare_runs
from eval.trec.judgments import parse_rounds, read_qrels, residual
from eval.trec.runs import Run, read_run
from ses.argument_validation import checked
from ses.evaluation.inputs import names_of, ranking_of, to_qrels, to_run, to_topics
from ses.evaluation.result import Evaluation
from ses.evaluation.retrieval import protocol_of
from ses.indexes.open_index import OpenIndex


def score_files(
    paths: Sequence[Path], qrels: Path, measures: Sequence[str], *, rounds: str = "", drop_same_id: bool = False
) -> dict[str, Scores]:
    """Measure run files by the judgments of some rounds, such as `4.5-5`, or of all; one run at a time is in memory.

    The scores are by the file's name, or by its path where two have the same name. Errors are those of reading and of
    `eval.measures.metrics.evaluate`, with the name of the run.
    """
    for name in measures:
        parse_measure(name)
    judged = read_qrels(qrels)
    kept, seen = residual(judged, parse_rounds(rounds)) if rounds else (judged, None)
    scores: dict[str, Scores] = {}
    for path, label in zip(paths, _labels(paths, [path.name for path in paths]), strict=True):
        run = read_run(path)
        try:
            scores[label] = evaluate(run, kept, measures, drop_same_id=drop_same_id, seen=seen)
        except InputError as error:
            raise InputError(f"{label}: {error.sentence}", error.hint) from error
    return scores


def compare_files(
    paths: Sequence[Path],
    measures: Sequence[str],
    *,
    qrels: Path | None = None,
    data: Path | None = None,
    split: str = "test",
    **options: Any,
) -> tuple[Comparison, list[Path]]:
    """Compare run files, the first of which is the baseline of the others.

    The judgments are a file `qrels`; or a split of `data`, a folder in BEIR's form, whose texts are shown and whose ids
    are checked. The options are other arguments of `eval.statistics.compare.compare_runs`. Returns the comparison, and
    the files that the judgments came from.
    """
    require(len(paths) >= 2, "Give two run files or more to compare.")
    for measure in measures:
        parse_measure(measure)
    if data is None:
        require(qrels, "There are no judgments", "give them as <qrels>, or with their papers as <data>")
        files, judged, texts, ids = [Path(str(qrels))], read_qrels(Path(str(qrels))), None, None
    else:
        require(qrels is None, "The judgments are given twice", "give either <qrels> or <data>")
        folder = BeirFolder(data)
        files, judged, texts, ids = [*folder.files(split)], folder.qrels(split), folder.queries(), _ids(folder.corpus)
    labels = _labels(paths, [path.stem for path in paths])
    runs = {label: read_run(path) for label, path in zip(labels, paths, strict=True)}
    return compare_runs(runs, judged, measures, texts=texts, corpus_ids=ids, **options), files


def _labels(paths: Sequence[Path], names: Sequence[str]) -> list[str]:
    """Return the names of files, or their paths where names are the same."""
    require(len(set(paths)) == len(paths), "A run file is given twice; give each once.")
    return [in_a_line(name if names.count(name) == 1 else str(path)) for name, path in zip(names, paths, strict=True)]


def _ids(corpus: Path) -> Iterator[str]:
    """Yield the ids of a BEIR corpus, also of documents that can't be read as papers."""
    with open_binary(corpus) as stream:
        for record in read_lines(stream):
            if isinstance(record, JsonObject):
                yield str(record.members.get("_id"))


@checked
def measure(run: Any, qrels: Any, measures: Any = MEASURES, *, drop_same_id: bool = False) -> Evaluation:
    """Measure a run against judgments.

    Args:
        run: A TREC run file; by query id, the documents with their scores, or the ids in order; or a table with the
            columns `query_id` or `qid`, `doc_id` or `docno`, and `score`.
        qrels: A file of judgments in TREC's or BEIR's form; by query id, the gains of documents; or a table with the
            columns `query_id` or `qid`, `doc_id` or `docno`, and `relevance` or `label`.
        measures: Measures of ir_measures, such as `nDCG@10`, `RR@10`, `AP` or `P(rel=2)@5`.
        drop_same_id: Whether to leave out hits whose id is the query's, where queries are papers themselves.

    Returns:
        The measures with intervals. Every judged query counts, as 0 if the run has no results for it.

    Raises:
        InputError: If a measure is unknown, the run or the judgments can't be read, or no query of the run is judged.
        UnavailableError: If the library that computes a measure isn't installed.

    Example:
        >>> import ses
        >>> run, qrels = {"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 1}}
        >>> ses.measure(run, qrels, ["RR"]).mean("RR")
        0.5
    """
    names, found = names_of(measures), to_run(run)
    scores = evaluate(found, to_qrels(qrels), names, drop_same_id=drop_same_id)
    return Evaluation(Results("system", {found.tag: scores.outcome()}), {found.tag: found})


@checked
def experiment(
    systems: Mapping[str, Any],
    topics: Any,
    qrels: Any,
    measures: Any = MEASURES,
    *,
    batched: Sequence[str] = (),
    depth: int | None = None,
    drop_same_id: bool = False,
) -> Evaluation:
    """Compare retrieval systems on the same judged queries.

    Args:
        systems: Functions by name, each from the text of a query to ranked ids (or pairs of id and score, scores by
            id, a page of hits, or a table); an open index, which is searched by words and by meaning; a transformer of
            PyTerrier; or a run, as `measure` takes it.
        topics: A file of queries, texts by query id, or a table with the columns `query_id` or `qid`, and `query`.
        qrels: Judgments, as `measure` takes them.
        measures: Measures of ir_measures, such as `nDCG@10`.
        batched: Names of the systems that take the list of all queries, and return a ranking of each.
        depth: Hits of each query that an open index returns; if None, 100, or as many as a measure needs.
        drop_same_id: Whether to leave out hits whose id is the query's, where queries are papers themselves.

    Returns:
        The measures of all systems with intervals, and tests of their differences.

    Raises:
        InputError: If a measure is unknown, an input can't be read, or a system returns anything other than rankings.
        UnavailableError: If the library that computes a measure isn't installed.

    Example:
        >>> import ses
        >>> systems = {"first": lambda query: ["a", "b"], "last": lambda query: ["b", "a"]}
        >>> found = ses.experiment(systems, {"q": "virus", "r": "lung"}, {"q": {"a": 1}, "r": {"a": 1}}, ["RR"])
        >>> found.mean("RR", "first"), found.mean("RR", "last")
        (1.0, 0.5)
    """
    names = names_of(measures)
    require(systems, "There are no systems to compare", "give a dictionary from names to functions")
    if unknown := [name for name in batched if name not in systems]:
        raise InputError(f"There is no system {unknown[0]!r} to call with all queries", "correct its name in batched")
    judged = join(to_topics(topics), to_qrels(qrels))
    named: dict[str, Any] = {"modes": ("hybrid",), "measures": names, "depth": depth}
    make_protocol(**named)  # an error is known before the first system runs

    runs: dict[str, Run] = {}
    for name, system in systems.items():
        if isinstance(system, OpenIndex):
            load = functools.partial(system.models.of_leg, system.index)
            protocol = protocol_of(system.index, system.tuned, system.synonyms, **named)
            runs[name] = run_queries(judged.texts, system.index, load, protocol)["hybrid"]
        else:
            runs[name] = _run_of(name, system, judged, batched=name in batched)
    outcomes = {
        name: evaluate(run, judged.qrels, names, drop_same_id=drop_same_id).outcome() for name, run in runs.items()
    }
    left_out = {"queries_without_text": len(judged.without_text)}
    return Evaluation(Results("system", outcomes), runs, texts=judged.texts, left_out=left_out)


def _run_of(name: str, system: Any, judged: JudgedQueries, *, batched: bool) -> Run:
    """Return the run of a function, a transformer of PyTerrier, or a run as it is."""
    if isinstance(system, Run | str | Path | Mapping) or hasattr(system, "columns"):
        return to_run(system, name)
    if callable(transform := getattr(system, "transform", None)):
        with needing("PyTerrier's transformers need pandas", "pandas"):
            import pandas as pd
        return to_run(transform(pd.DataFrame({"qid": list(judged.texts), "query": list(judged.texts.values())})), name)
    if not callable(system):
        raise InputError(f"The system {name} can't be {type(system).__name__}; give a function from a query to ids.")
    return Run(
        name, dict(zip(judged.texts, map(ranking_of, _called(name, system, judged, batched=batched)), strict=True))
    )


def _called(name: str, system: Callable[[Any], Any], judged: JudgedQueries, *, batched: bool) -> Sequence[Any]:
    texts = list(judged.texts.values())
    if not batched:
        return [system(text) for text in texts]
    found = list(system(texts))
    require(len(found) == len(texts), f"The system {name} returned {len(found)} rankings of {len(texts)} queries.")
    return found
