"""Data sets of paper-reviewer matching: SciRepEval's layout and that of Chain-of-Factors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from corpora.errors import InputError, require
from corpora.opening import COMPRESSED_SUFFIXES, find_compressed
from eval.embedder import Text
from eval.files.text import NamedRow, bad_line, file_in, is_id, is_whole, json_objects, require_line
from eval.trec.judgments import Qrels, qrels_of

BEST = 3
"""The best grade of a reviewer; 2 is relevant in the soft judgments too."""


@dataclass(frozen=True, slots=True)
class ReviewerSet:
    """Submissions, reviewers, and judgments of how well they match.

    Attributes:
        profiles: Reviewer to the ids of their papers.
        hard: Judgments in which only the best grade is relevant.
        soft: Judgments in which the second best is relevant too.
        papers: Texts of submissions and of reviewers' papers; empty where the data set came without any.
        counts: Counts of what was left out.
        name: Name of a data set in CoF's layout, such as `KDD`; it decides the instructions.
        grades: The grades from 0 to 3 that `hard` and `soft` are made of, where they are known.
    """

    profiles: Mapping[str, tuple[str, ...]]
    hard: Qrels
    soft: Qrels
    papers: Mapping[str, Text] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    name: str = ""
    grades: Qrels | None = None

    def texts(self) -> list[Text]:
        """Return the texts to embed. They are empty if the data set has none, because vectors can be found by id."""
        of_reviewers = (paper for own in self.profiles.values() for paper in own)
        wanted = dict.fromkeys((*self.hard.gains, *self.soft.gains, *of_reviewers))
        if not self.papers:
            return [Text(name, "") for name in wanted]
        return [self.papers[name] for name in wanted if name in self.papers]


def read_reviewers(folder: Path) -> ReviewerSet:
    """Read a data set in either layout, or raise `InputError` where a file is missing or malformed.

    The folder holds `test_hard_qrel.jsonl`, `test_soft_qrel.jsonl`, `reviewer_metadata.jsonl` and, where vectors are to
    be made, `metadata.jsonl` (SciRepEval), or `NAME_papers_test.json`, `NAME_reviewers_test.json` and
    `NAME_queries_test_hard.json` and `_soft.json` (Chain-of-Factors). `NAME_queries_test_grades.json`, in the same form
    with grades from 0 to 3, may be there too.
    """
    hard = "_queries_test_hard.json"
    endings = [f"{hard}{packed}" for packed in COMPRESSED_SUFFIXES]
    named = sorted({path.name.partition(hard)[0] for ending in endings for path in folder.glob(f"*{ending}")})
    require(len(named) <= 1, f"{folder} holds several data sets ({', '.join(named)}); give each a folder.")
    if named:
        return _read_cof(folder, named[0])
    require(
        find_compressed(folder, "test_hard_qrel.jsonl"),
        f"{folder} is no data set of reviewers: it has neither SciRepEval's test_hard_qrel.jsonl nor CoF's "
        "NAME_queries_test_hard.json.",
    )
    return _read_scirepeval(folder)


def reviewer_set(
    hard: Iterable[NamedRow],
    soft: Iterable[NamedRow],
    reviewers: Iterable[NamedRow],
    papers: Mapping[str, Text],
    counts: Counter[str],
) -> ReviewerSet:
    """Return a data set in SciRepEval's layout; `InputError` if a row is malformed, or there are no judgments.

    `hard` and `soft` are rows of `query_id`, `cand_id` and `score`, each with what an error calls it; of a pair's
    several the first holds, as in SciRepEval's code. `reviewers` are rows of `r_id` and `papers`; of a reviewer's
    several the first holds. `counts` receives the number of repeated rows.
    """
    profiles = _profiles(reviewers, "r_id", counts)
    return ReviewerSet(profiles, qrels_of(hard, counts), qrels_of(soft, counts), papers, counts)


def _read_scirepeval(folder: Path) -> ReviewerSet:
    counts: Counter[str] = Counter()
    metadata = find_compressed(folder, "metadata.jsonl")
    papers = _papers(metadata, "doc_id", counts) if metadata else {}
    hard, soft = (_rows(file_in(folder, f"test_{kind}_qrel.jsonl"), "judgment") for kind in ("hard", "soft"))
    return reviewer_set(hard, soft, _reviewers(file_in(folder, "reviewer_metadata.jsonl"), "r_id"), papers, counts)


def _read_cof(folder: Path, name: str) -> ReviewerSet:
    counts: Counter[str] = Counter()
    graded = [_graded(file_in(folder, f"{name}_queries_test_{kind}.json")) for kind in ("hard", "soft")]
    # CoF's measures leave out submissions without judgments.
    hard, soft = (Qrels({query: judged for query, judged in gains.items() if judged}) for gains in graded)
    counts["submissions_without_judgments"] = len({query for gains in graded for query, of in gains.items() if not of})
    papers = _papers(file_in(folder, f"{name}_papers_test.json"), "paper", counts)
    profiles = _profiles(_reviewers(file_in(folder, f"{name}_reviewers_test.json"), "reviewer"), "reviewer", counts)
    grades = find_compressed(folder, f"{name}_queries_test_grades.json")
    return ReviewerSet(profiles, hard, soft, papers, counts, name, _grades(grades, hard, soft) if grades else None)


def _rows(path: Path, noun: str) -> Iterator[NamedRow]:
    return ((f"{path}, line {number}: the {noun}", row) for number, row in json_objects(path))


def _reviewers(path: Path, key: str) -> Iterator[NamedRow]:
    """Yield the rows of reviewers; each has one in a file."""
    seen: set[str] = set()
    for place, row in _rows(path, "reviewer"):
        reviewer = str(row.get(key))
        require(reviewer not in seen, f"{place} {reviewer} came before; keep one line of it.")
        seen.add(reviewer)
        yield place, row


def _graded(path: Path) -> dict[str, dict[str, int]]:
    """Read submissions with the grades of their reviewers."""
    gains: dict[str, dict[str, int]] = {}
    for number, row in json_objects(path):
        query, scores = row.get("query_id"), row.get("score")
        if not is_id(query) or str(query) in gains or not isinstance(scores, dict):
            raise bad_line(path, number, 'a "query_id" comes once, with "score", an object of reviewers and grades')
        require_line(all(map(is_whole, scores.values())), path, number, "a grade is a whole number")
        gains[str(query)] = {reviewer: int(score) for reviewer, score in scores.items()}
    require(any(gains.values()), f"{path} holds no judgments: fetch it again.")
    return gains


def _grades(path: Path, hard: Qrels, soft: Qrels) -> Qrels:
    """Read grades, or raise `InputError` where they aren't those of the other two sets of judgments."""
    grades = {query: judged for query, judged in _graded(path).items() if judged}
    require(
        all(0 <= grade <= BEST for judged in grades.values() for grade in judged.values()),
        f"{path}: a grade is a whole number from 0 to {BEST}.",
    )
    for least, judgments in ((2, soft), (BEST, hard)):
        made = {query: {one: grade >= least for one, grade in judged.items()} for query, judged in grades.items()}
        known = {query: {one: gain > 0 for one, gain in judged.items()} for query, judged in judgments.gains.items()}
        require(made == known, f"{path} has other grades than the files _hard and _soft: give those of the same data.")
    return Qrels(grades)


def _profiles(rows: Iterable[NamedRow], key: str, counts: Counter[str]) -> dict[str, tuple[str, ...]]:
    profiles: dict[str, tuple[str, ...]] = {}
    for place, row in rows:
        reviewer, papers = row.get(key), row.get("papers")
        if not is_id(reviewer) or not isinstance(papers, list) or not all(map(is_id, papers)):
            raise InputError(f"{place} needs {key}, and papers as a list of ids.")
        counts["reviewers_repeated"] += str(reviewer) in profiles
        profiles.setdefault(str(reviewer), tuple(map(str, papers)))
    return profiles


def _papers(path: Path, key: str, counts: Counter[str]) -> dict[str, Text]:
    """Read the papers that have a text; the last copy of a repeated paper counts."""
    papers: dict[str, Text] = {}
    for number, row in json_objects(path):
        require_line(is_id(row.get(key)), path, number, f'"{key}" must hold an identifier')
        name, title, abstract = str(row[key]), row.get("title") or "", row.get("abstract") or ""
        require_line(isinstance(title, str) and isinstance(abstract, str), path, number, "title and abstract are texts")
        if title.strip() or abstract.strip():
            counts["papers_repeated"] += name in papers
            papers[name] = Text(name, title, abstract)
    return papers
