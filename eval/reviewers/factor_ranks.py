"""The factors of reviewer matching one by one: the mean rank of one relevant candidate (UniPR, section 4.4, table 7).

Each factor has its own task: titles find their abstracts (semantic), papers their fields (topic), and papers what they
cite (citation), each among 99 other candidates in the paper. The paper does not say how equal scores are ranked: here
they share the mean of their ranks, so that a constant has the expected rank of chance, 50.5 of 100.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from corpora.cleaning import text_of
from corpora.errors import require
from corpora.opening import find_compressed
from eval.embedder import Text, Vectors
from eval.files.text import json_objects, paper_text, require_line
from eval.outcome import Outcome
from eval.statistics.interval import mean_interval

MEAN_RANK = "mean rank"


@dataclass(frozen=True, slots=True)
class FactorTask:
    """Queries with one relevant candidate each.

    Attributes:
        texts: Texts of queries and candidates by id.
        candidates: The ids of each query's candidates, by its number from 1; the relevant one is the first.
        queries: The id of each query, by its number.
    """

    texts: Mapping[str, Text]
    candidates: Mapping[str, tuple[str, ...]]
    queries: Mapping[str, str]


def read_factor_tasks(folder: Path, factors: Sequence[str]) -> dict[str, FactorTask]:
    """Read `semantic.jsonl`, `topic.jsonl` and `citation.jsonl`: those that a folder has, by factor.

    A line holds `query` and `candidates`: papers with `title` and `abstract`, or texts. One candidate has the `score`
    1, the others have 0. A text's id is its `paper`, or the text itself. Raises `InputError` if there is no such file,
    a line is malformed, or an id has two texts.
    """
    found = {factor: path for factor in factors if (path := find_compressed(folder, f"{factor}.jsonl"))}
    require(found, f"{folder} holds none of {', '.join(f'{factor}.jsonl' for factor in factors)}: name another folder.")
    return {factor: _read(path) for factor, path in found.items()}


def evaluate_factor_ranks(task: FactorTask, embed: Callable[[Sequence[Text]], Vectors]) -> Outcome:
    """Rank each query's candidates by the dot product, and return the mean rank of the relevant one.

    A query without a vector is left out, and a relevant candidate without one is the last; both are counted. Other
    candidates without a vector are not ranked. Raises `InputError` if no query has a vector.
    """
    vectors = embed(list(task.texts.values()))
    ranks: dict[str, float] = {}
    lost = unranked = 0
    for number, query in task.queries.items():
        relevant, *others = task.candidates[number]
        if query not in vectors.rows:
            continue
        known = vectors.known(others)
        unranked += len(others) - len(known)
        if relevant not in vectors.rows:
            lost += 1
            ranks[number] = float(len(others) + 1)
            continue
        rows = vectors.of([relevant, *known]).astype(np.float64)
        score, *rest = rows @ vectors.of([query])[0].astype(np.float64)
        better, equal = (int(np.count_nonzero(compared)) for compared in (rest > score, rest == score))
        ranks[number] = 1 + better + equal / 2
    require(ranks, "No query has a vector: the vectors belong to other papers.")
    longest = max(map(len, task.candidates.values()))
    counts = {
        "queries": len(ranks),
        "queries_missing": len(task.queries) - len(ranks),
        "relevant_missing": lost,
        "candidates_missing": unranked,
    }
    interval = mean_interval(tuple(ranks.values()), scale=(1.0, float(longest)))
    return Outcome({MEAN_RANK: interval}, {MEAN_RANK: ranks}, counts)


def _read(path: Path) -> FactorTask:
    texts: dict[str, Text] = {}
    candidates: dict[str, tuple[str, ...]] = {}
    queries: dict[str, str] = {}
    for number, members in json_objects(path):
        given: Any = members.get("candidates")
        sound = isinstance(given, list) and all(isinstance(one, dict) for one in given)
        require_line(sound and "query" in members, path, number, "a line holds a query and a list of candidates")
        relevant = [one for one in given if one.get("score") == 1]
        require_line(len(relevant) == 1, path, number, "one candidate has the score 1, and the others have 0")
        ordered = [*relevant, *(one for one in given if one is not relevant[0])]
        read = [_text(one) for one in (members["query"], *ordered)]
        for text in read:
            require_line(text.id, path, number, "a query or a candidate has no text")
            same = texts.setdefault(text.id, text) == text
            require_line(same, path, number, f"the id {text.id} has two texts; give each text an id of its own")
        query, *others = (text.id for text in read)
        require_line(len(set(others)) == len(others), path, number, "a candidate comes twice")
        candidates[str(number)], queries[str(number)] = tuple(others), query
    return FactorTask(texts, candidates, queries)


def _text(given: Any) -> Text:
    if not isinstance(given, dict):
        return Text(text_of(given), text_of(given))
    read = paper_text(given, "paper")
    whole = " ".join(filter(None, (read.title, read.abstract)))
    return Text(read.id or whole, read.title or "", read.abstract or None)
