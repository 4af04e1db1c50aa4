"""SciDocs (Cohan et al. 2020, section 5.2) as its own harness measures it, on a copy of its folder `data`.

The harness' linear SVM is sklearn-contrib-lightning's, which has no intercept; without an intercept, scikit-learn's
makes the same predictions if both converge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from corpora.errors import InputError, require
from corpora.json_objects import read_items
from corpora.opening import open_binary
from corpora.paper import Rejected
from corpora.tables import read_rows
from encoders.models.formats import Format
from eval.embedder import Embedder, Text, Vectors
from eval.files.text import file_in, paper_text, require_line
from eval.measures.classes import macro_f1
from eval.measures.similarity import minus_distance
from eval.outcome import Outcome
from eval.probes.linear import REGRESSOR_GRID, classify
from eval.reranking import only_found, ranked_outcome, rerank
from eval.scidocs_clicks import BY_COSINE, rank_by_cosine, rank_by_network
from eval.scidocs_clicks import TASK as CLICKS
from eval.statistics.interval import bootstrap_statistic
from eval.trec.judgments import Qrels, read_qrels

CLASSIFICATION = ("mag", "mesh")
RANKING = ("coview", "coread", "cite", "cocite")
RECOMMENDATION = {CLICKS: rank_by_network, BY_COSINE: rank_by_cosine}
TASKS = (*CLASSIFICATION, *RANKING, *RECOMMENDATION)
SPLITS = ("val", "test")
MEASURES = ("MAP", "nDCG")


@dataclass(frozen=True, slots=True)
class SciDocs:
    """A folder that holds SciDocs' data."""

    path: Path

    def __post_init__(self) -> None:
        require(
            self.tasks, f"{self.path} holds no SciDocs data: give the folder that holds mag, mesh, coview and so on."
        )

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks whose folder exists."""
        folders = {BY_COSINE: CLICKS}
        return tuple(task for task in TASKS if (self.path / folders.get(task, task)).is_dir())

    def papers(self, metadata: str) -> dict[str, Text]:
        """Return the papers of a metadata file by id, or raise `InputError` where it is damaged."""
        path = file_in(self.path, f"paper_metadata_{metadata}.json")
        papers: dict[str, Text] = {}
        with open_binary(path) as stream:
            for item in read_items(stream, "mapping"):
                if isinstance(item, Rejected):
                    raise InputError(f"{path}, line {item.line}: {item.reason} Fetch the file again.")
                text = paper_text(item.members, "paper_id", "id")
                papers[text.id] = text
        return papers

    def labels(self, task: str, split: str) -> tuple[tuple[str, str], ...]:
        """Return the rows of a split, a paper's id and its class, or raise `InputError` where the table is none.

        A paper with several rows counts several times, as in the harness.
        """
        path = file_in(self.path, f"{task}/{split}.csv")
        found = [
            (line, tuple(cells.values())) for line, cells in read_rows(path, "SciDocs' table of papers and classes")
        ]
        require(found, f"{path} holds no papers: fetch it again.")
        for line, cells in found:
            require_line(len(cells) == 2 and all(cells), path, line, "a row is a paper's id and its class; correct it")
        return tuple((name, label) for _, (name, label) in found)

    def qrels(self, task: str, split: str) -> Qrels:
        """Return the judgments of a split, or raise `InputError` where they are malformed."""
        return read_qrels(file_in(self.path, f"{task}/{split}.qrel"))


def evaluate_scidocs(
    folder: SciDocs, embed: Embedder, *, tasks: Sequence[str] = (), split: str = "test"
) -> dict[str, Outcome]:
    """Run tasks of SciDocs; all that the folder has if none are named.

    `embed` makes CLF vectors for the two classifications and PRX vectors for all others. The split is `test`, or `val`
    for choosing a model. Returns by task F1 averaged over classes, MAP and nDCG, or nDCG and P@1 of clicks, adjusted by
    propensities; from 0 to 1, where SciDocs prints 0 to 100. Recommendations are ranked by the network that the harness
    trains (`recomm`), and by the vectors alone (`recomm-cosine`). Raises `InputError` if a task or split isn't there, a
    file is damaged, or no paper of a task has a vector, and `UnavailableError` if the extra eval isn't installed, or
    for `recomm` torch.
    """
    if absent := [task for task in tasks if task not in folder.tasks]:
        raise InputError(f"{folder.path} has no task {absent[0]!r}; it has: {', '.join(folder.tasks)}.")
    require(split in SPLITS, f"SciDocs has no split {split!r}; choose one of: {', '.join(SPLITS)}.")
    papers = cache(folder.papers)
    outcomes = {}
    for task in tasks or folder.tasks:
        if rank := RECOMMENDATION.get(task):
            outcomes[task] = rank(folder.path, split, papers("recomm"), embed)
            continue
        run, metadata = (_classification, "mag_mesh") if task in CLASSIFICATION else (_ranking, "view_cite_read")
        outcomes[task] = run(folder, task, split, papers(metadata), embed)
    return outcomes


def _classification(folder: SciDocs, task: str, split: str, papers: Mapping[str, Text], embed: Embedder) -> Outcome:
    train, test = folder.labels(task, "train"), folder.labels(task, split)
    vectors = embed([papers[name] for name in dict(train + test) if name in papers], Format.CLF)
    labels = {label for _, label in train + test}
    # By number where they are numbers, as the harness reads them: a vector of zeros is of the first class.
    order = sorted(labels, key=int if all(map(str.isdecimal, labels)) else str)
    x_train, x_test = (_or_zero([name for name, _ in part], vectors) for part in (train, test))
    y_train, y_test = (np.array([order.index(label) for _, label in part]) for part in (train, test))
    predicted = classify(x_train, y_train, x_test, grid=REGRESSOR_GRID, intercept=False)
    missing = [sum(name not in vectors.rows for name, _ in part) for part in (train, test)]
    return Outcome(
        {"F1 macro": bootstrap_statistic(macro_f1, y_test, predicted.labels)},
        counts={
            "papers": len(test),
            "papers_as_zeros": missing[1],
            "training_papers": len(train),
            "training_papers_as_zeros": missing[0],
            "not_converged": predicted.not_converged,
        },
    )


def _or_zero(names: Sequence[str], vectors: Vectors) -> np.ndarray:
    """Return vectors with zeros for papers that have none, which is SciDocs' rule where it classifies."""
    found = [row for row, name in enumerate(names) if name in vectors.rows]
    require(found, "No paper of the task has a vector: the embeddings belong to other papers.")
    matrix = np.zeros((len(names), vectors.matrix.shape[1]), np.float32)
    matrix[found] = vectors.of([names[row] for row in found])
    return matrix


def _ranking(folder: SciDocs, task: str, split: str, papers: Mapping[str, Text], embed: Embedder) -> Outcome:
    qrels = folder.qrels(task, split)
    wanted = dict.fromkeys(name for query, judged in qrels.gains.items() for name in (query, *judged))
    vectors = embed([papers[name] for name in wanted if name in papers], Format.PRX)
    # To five decimals, as the harness writes distances into its run, because this makes ties.
    made = rerank(
        f"ses-{task}",
        qrels,
        vectors,
        vectors,
        lambda query, candidates: minus_distance(candidates.astype(float), query).round(5),
    )
    # The harness drops a candidate that has no vector, and a query that has no vector or no candidates left; means are
    # over the other queries.
    run, kept = only_found(made.run, qrels)
    counts = {
        "queries_left_out": len(qrels.gains) - len(kept.gains),
        "candidates_left_out": made.counts["candidates_missing"],
    }
    return ranked_outcome(run, kept, MEASURES, counts)
