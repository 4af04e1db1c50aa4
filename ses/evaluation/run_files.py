"""TREC run files measured and compared, with the labels that tell them apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from corpora.errors import InputError, require
from eval.measures.metrics import Scores, evaluate, parse_measure
from eval.statistics.compare import Comparison, compare_runs
from eval.trec.judgments import read_qrels
from eval.trec.runs import read_run


def score_files(
    paths: Sequence[Path], qrels: Path, measures: Sequence[str], *, rounds: str = "", drop_same_id: bool = False
) -> dict[str, Scores]:
    """Measure run files by the judgments of some rounds, such as `4.5-5`, or of all; one run at a time is in memory.

    The scores are by the file's name, or by its path where two have the same name. Errors are those of reading and of
    `eval.measures.metrics.evaluate`, with the name of the run.
    """
    from eval.trec.judgments import parse_rounds, residual

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

    Args:
        paths: The run files.
        measures: Names of measures.
        qrels: File of the judgments.
        data: Instead, a folder in BEIR's form, whose texts are shown and whose ids are checked.
        split: Name of the folder's judgments.
        **options: Other arguments of `eval.statistics.compare.compare_runs`.

    Returns:
        The comparison, and the files that the judgments came from.
    """
    from eval.retrieval.beir import BeirFolder

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
    from corpora.outgoing import in_a_line

    require(len(set(paths)) == len(paths), "A run file is given twice; give each once.")
    return [in_a_line(name if names.count(name) == 1 else str(path)) for name, path in zip(names, paths, strict=True)]


def _ids(corpus: Path) -> Iterator[str]:
    """Yield the ids of a BEIR corpus, also of documents that can't be read as papers."""
    from corpora.json_objects import JsonObject, read_lines
    from corpora.opening import open_binary

    with open_binary(corpus) as stream:
        for record in read_lines(stream):
            if isinstance(record, JsonObject):
                yield str(record.members.get("_id"))
