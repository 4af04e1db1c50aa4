"""Data sets of paper-reviewer matching: SciRepEval's layout and that of Chain-of-Factors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError
from corpora.opening import COMPRESSED_SUFFIXES, find_compressed
from eval.embedder import Text
from eval.files.text import bad_line, file_in, json_of, numbered_lines
from eval.trec.judgments import Qrels

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class ReviewerSet:
    """Submissions, reviewers, and who suits what.

    Attributes:
        profiles: Reviewer to the ids of their papers.
        hard: Judgments that take only the best of the grades as relevant.
        soft: Judgments that take the second best too.
        papers: Texts of submissions and of reviewers' papers; empty where the data set came without any.
        counts: What reading left out.
        name: Of a data set in CoF's layout, such as `KDD`; its instructions are chosen by it.
    """

    profiles: Mapping[str, tuple[str, ...]]
    hard: Qrels
    soft: Qrels
    papers: Mapping[str, Text] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    name: str = ""

    def texts(self) -> list[Text]:
        """Return what is to be embedded; texts are empty where the data set has none, for vectors found by id."""
        of_reviewers = (paper for own in self.profiles.values() for paper in own)
        wanted = dict.fromkeys((*self.hard.gains, *self.soft.gains, *of_reviewers))
        if not self.papers:
            return [Text(name, "") for name in wanted]
        return [self.papers[name] for name in wanted if name in self.papers]


def read_reviewers(folder: Path) -> ReviewerSet:
    """Read a data set in either layout.

    Args:
        folder: Holds `test_hard_qrel.jsonl`, `test_soft_qrel.jsonl`, `reviewer_metadata.jsonl` and, where vectors are
            to be made, `metadata.jsonl` (SciRepEval), or `NAME_papers_test.json`, `NAME_reviewers_test.json` and
            `NAME_queries_test_hard.json` and `_soft.json` (Chain-of-Factors).

    Returns:
        What it holds.

    Raises:
        InputError: If a file is missing or malformed.
    """
    hard = "_queries_test_hard.json"
    endings = [f"{hard}{packed}" for packed in COMPRESSED_SUFFIXES]
    named = sorted({path.name.partition(hard)[0] for ending in endings for path in folder.glob(f"*{ending}")})
    if len(named) > 1:
        raise InputError(f"{folder} holds several data sets ({', '.join(named)}); give each a folder.")
    if named:
        return _read_cof(folder, named[0])
    if not find_compressed(folder, "test_hard_qrel.jsonl"):
        raise InputError(
            f"{folder} is no data set of reviewers: it has neither SciRepEval's test_hard_qrel.jsonl nor CoF's "
            "NAME_queries_test_hard.json."
        )
    return _read_scirepeval(folder)


def _read_scirepeval(folder: Path) -> ReviewerSet:
    (hard, again), (soft, again_soft) = (
        _pairs(file_in(folder, f"test_{kind}_qrel.jsonl")) for kind in ("hard", "soft")
    )
    metadata = find_compressed(folder, "metadata.jsonl")
    papers, repeated = _papers(metadata, "doc_id") if metadata else ({}, 0)
    return ReviewerSet(
        _profiles(file_in(folder, "reviewer_metadata.jsonl"), "r_id"),
        hard,
        soft,
        papers,
        {"repeated_judgments": again + again_soft, "repeated_papers": repeated},
    )


def _read_cof(folder: Path, name: str) -> ReviewerSet:
    (hard, empty), (soft, empty_soft) = (
        _graded(file_in(folder, f"{name}_queries_test_{kind}.json")) for kind in ("hard", "soft")
    )
    papers, repeated = _papers(file_in(folder, f"{name}_papers_test.json"), "paper")
    return ReviewerSet(
        _profiles(file_in(folder, f"{name}_reviewers_test.json"), "reviewer"),
        hard,
        soft,
        papers,
        {"submissions_without_judgments": len(empty | empty_soft), "repeated_papers": repeated},
        name,
    )


def _pairs(path: Path) -> tuple[Qrels, int]:
    """Read rows of query_id, cand_id and score, and count the pairs that come again.

    Of such a pair the first row holds, as in SciRepEval's code.
    """
    gains: dict[str, dict[str, int]] = {}
    repeated = 0
    for number, row in _objects(path):
        query, reviewer = (_id(row.get(key), path, number, key) for key in ("query_id", "cand_id"))
        judged = gains.setdefault(query, {})
        if reviewer in judged:
            repeated += 1
        else:
            judged[reviewer] = _gain(row.get("score"), path, number)
    if not gains:
        raise InputError(f"{path} holds no judgments: fetch it again.")
    return Qrels(gains), repeated


def _graded(path: Path) -> tuple[Qrels, set[str]]:
    """Read submissions with the grades of their reviewers; return those that have none apart, as CoF's measures do."""
    gains: dict[str, dict[str, int]] = {}
    for number, row in _objects(path):
        query = _id(row.get("query_id"), path, number, "query_id")
        scores = row.get("score")
        if not isinstance(scores, dict) or query in gains:
            raise bad_line(path, number, 'a query comes once, with "score", an object of reviewers and their grades')
        gains[query] = {reviewer: _gain(score, path, number) for reviewer, score in scores.items()}
    if not any(gains.values()):
        raise InputError(f"{path} holds no judgments: fetch it again.")
    judged = {query: of_reviewers for query, of_reviewers in gains.items() if of_reviewers}
    return Qrels(judged), gains.keys() - judged.keys()


def _profiles(path: Path, key: str) -> dict[str, tuple[str, ...]]:
    profiles: dict[str, tuple[str, ...]] = {}
    for number, row in _objects(path):
        reviewer, papers = _id(row.get(key), path, number, key), row.get("papers")
        if not isinstance(papers, list) or reviewer in profiles:
            raise bad_line(path, number, 'a reviewer comes once, with "papers", a list of ids')
        profiles[reviewer] = tuple(_id(paper, path, number, "papers") for paper in papers)
    return profiles


def _papers(path: Path, key: str) -> tuple[dict[str, Text], int]:
    """Read the papers that have a text, and count those that come again, of which the last holds."""
    papers: dict[str, Text] = {}
    repeated = 0
    for number, row in _objects(path):
        name = _id(row.get(key), path, number, key)
        title, abstract = (row.get(part) or "" for part in ("title", "abstract"))
        if not isinstance(title, str) or not isinstance(abstract, str):
            raise bad_line(path, number, "title and abstract are texts")
        if title.strip() or abstract.strip():
            repeated += name in papers
            papers[name] = Text(name, title, abstract)
    return papers, repeated


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in numbered_lines(path):
        row = json_of(line, path, number)
        if not isinstance(row, dict):
            raise bad_line(path, number, "this is no JSON object")
        yield number, row


def _id(value: object, path: Path, number: int, key: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise bad_line(path, number, f'"{key}" must hold an identifier')
    return str(value)


def _gain(value: object, path: Path, number: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or not float(value).is_integer():
        raise bad_line(path, number, "a grade is a whole number")
    return int(value)
