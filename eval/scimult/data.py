"""SciMult's data files: one JSON object a line, named for their set, such as `Geography_papers_test.json`.

An id that a paper's list names twice counts once: SciMult's scripts would divide by both and find one, so that no
ranking could reach a recall of 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corpora.cleaning import text_of
from corpora.errors import InputError
from corpora.opening import COMPRESSED_SUFFIXES, find_compressed
from eval.embedder import Text
from eval.files.text import bad_line, json_objects
from eval.trec.judgments import Qrels

RELATIONS = ("cite", "co-cite")
RERANKED = frozenset({"Search", "TRECCOVID_SciRepEval"})
"""Sets of search whose queries rank the candidates they were judged with; the others' rank the whole corpus."""
_PAPERS = "_papers_test.json"


@dataclass(frozen=True, slots=True)
class Classification:
    """Papers and the labels to find for them.

    Attributes:
        papers: The papers.
        labels: Each label as `name [SEP] definition`.
        gold: The labels of each paper, by its id; some may be none of `labels`.
        matched: Of each paper, the labels whose names stand in its text; None where the set has no such file.
        single: Whether each paper has one label, as in the coarse sets.
    """

    papers: tuple[Text, ...]
    labels: tuple[Text, ...]
    gold: Mapping[str, frozenset[str]]
    matched: Mapping[str, frozenset[str]] | None
    single: bool


@dataclass(frozen=True, slots=True)
class Links:
    """Papers and which of them are linked to which.

    Attributes:
        queries: The papers that have links.
        candidates: The papers to rank.
        linked: By relation and query, the papers linked to it: to be found among all candidates.
        judged: By query, papers with a grade: to be ranked among themselves. Empty where there is `linked`.
    """

    queries: tuple[Text, ...]
    candidates: tuple[Text, ...]
    linked: Mapping[str, Mapping[str, frozenset[str]]] = field(default_factory=dict)
    judged: Qrels = field(default_factory=lambda: Qrels({}))


@dataclass(frozen=True, slots=True)
class Searches:
    """Queries and the papers to find for them.

    Attributes:
        queries: Those that have judgments.
        corpus: All papers.
        qrels: Grades of papers for each query.
        rerank: Whether a query's judged papers alone are ranked.
        ungraded: How many queries were left out because they have no judgments.
    """

    queries: tuple[Text, ...]
    corpus: tuple[Text, ...]
    qrels: Qrels
    rerank: bool
    ungraded: int = 0


def find_sets(folder: Path) -> tuple[str, ...]:
    """Return the names of the sets in a folder, or raise `InputError` where it has none."""
    suffixes = [f"{kind}{packed}" for kind in (_PAPERS, "_patients_test.json") for packed in COMPRESSED_SUFFIXES]
    names = {file.name.removesuffix(suffix) for suffix in suffixes for file in folder.glob(f"*{suffix}")}
    if not names:
        raise InputError(f"{folder} holds no set of SciMult's: give a folder of files such as Geography{_PAPERS}.")
    return tuple(sorted(names))


def read_classification(folder: Path, name: str) -> Classification:
    """Read `NAME_papers_test.json`, `NAME_label.json` and, where it is there, `NAME_matched.json`.

    Args:
        folder: Where they are.
        name: Of the set.

    Returns:
        The set. A paper whose `label` is a number has that one label, counted from 0, as SciMult's script reads it.

    Raises:
        InputError: If a file is missing or malformed.
    """
    path, labels = _file(folder, name, _PAPERS), _labels(_file(folder, name, "_label.json"))
    papers: dict[str, Text] = {}
    gold: dict[str, frozenset[str]] = {}
    kinds = set()
    for number, members in json_objects(path):
        text = _new(papers, path, number, members, "paper")
        value = members.get("label")
        kinds.add(type(value))
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(labels):
            gold[text.id] = frozenset({labels[value].id})
        elif isinstance(value, list) and value:
            gold[text.id] = frozenset(map(text_of, value))
        else:
            raise bad_line(path, number, f'"label" must be a list of labels or a number below {len(labels)}')
    if len(kinds) != 1:
        raise InputError(f"{path} mixes papers of one label with papers of several: divide it in two.")
    optional = find_compressed(folder, f"{name}_matched.json")
    matched = _matched(optional, tuple(papers)) if optional else None
    return Classification(tuple(papers.values()), labels, gold, matched, single=kinds == {int})


def read_links(folder: Path, name: str) -> Links:
    """Read a set of links: papers with `cite` and `co-cite`, papers with `score`, or patients and their queries.

    Args:
        folder: Where its files are.
        name: Of the set.

    Returns:
        The set; papers without links are candidates only.

    Raises:
        InputError: If a file is missing or malformed, or no paper has a link.
    """
    if patients := find_compressed(folder, f"{name}_patients_test.json"):
        return _patient_links(patients, _file(folder, name, "_queries_test.json"))
    path = _file(folder, name, _PAPERS)
    papers: dict[str, Text] = {}
    linked: dict[str, dict[str, frozenset[str]]] = {relation: {} for relation in RELATIONS}
    judged: dict[str, dict[str, int]] = {}
    for number, members in json_objects(path):
        text = _new(papers, path, number, members, "paper")
        if members.get("score"):
            judged[text.id] = _gains(path, number, members["score"])
        for relation in RELATIONS:
            if others := _ids(path, number, members, relation):
                linked[relation][text.id] = others
    linked = {relation: queries for relation, queries in linked.items() if queries}
    wanted = judged.keys() | set().union(*linked.values())
    if not wanted or (judged and linked):
        raise InputError(f'{path} needs papers with "score", or with "{RELATIONS[0]}" or "{RELATIONS[1]}", not both.')
    queries = tuple(text for text in papers.values() if text.id in wanted)
    return Links(queries, tuple(papers.values()), linked, Qrels(judged))


def read_searches(folder: Path, name: str) -> Searches:
    """Read `NAME_papers_test.json` and `NAME_queries_test.json`, whose queries have papers' grades under `score`.

    Args:
        folder: Where they are.
        name: Of the set.

    Returns:
        The set; a query without grades is left out, as trec_eval leaves it out of SciMult's figures.

    Raises:
        InputError: If a file is missing or malformed, or no query has a grade.
    """
    corpus: dict[str, Text] = {}
    queries: dict[str, Text] = {}
    gains: dict[str, dict[str, int]] = {}
    path = _file(folder, name, _PAPERS)
    for number, members in json_objects(path):
        _new(corpus, path, number, members, "paper")
    path = _file(folder, name, "_queries_test.json")
    for number, members in json_objects(path):
        # Parts with [SEP] between are put together again with the model's own separator.
        first, between, rest = str(members.get("query") or "").partition("[SEP]")
        parts = {"title": first, "abstract": rest if between else None}
        text = _new(queries, path, number, {"query_id": members.get("query_id")} | parts, "query_id")
        if judged := _gains(path, number, members.get("score")):
            gains[text.id] = judged
    if not gains:
        raise InputError(f"{path} has no query with grades of papers under score; fetch it again.")
    wanted = tuple(text for text in queries.values() if text.id in gains)
    ungraded = len(queries) - len(wanted)
    return Searches(wanted, tuple(corpus.values()), Qrels(gains), name in RERANKED, ungraded)


def _labels(path: Path) -> tuple[Text, ...]:
    labels: dict[str, Text] = {}
    for number, members in json_objects(path):
        names = members.get("name")
        title = names[0] if isinstance(names, list) and names else names
        parts = {"title": title, "abstract": members.get("definition")}
        _new(labels, path, number, {"label": members.get("label")} | parts, "label")
    return tuple(labels.values())


def _matched(path: Path, papers: tuple[str, ...]) -> dict[str, frozenset[str]]:
    found = [_ids(path, number, members, "candidate") for number, members in json_objects(path)]
    if len(found) != len(papers):
        raise InputError(f"{path} has {len(found):,} lines for {len(papers):,} papers: they must be the same papers.")
    return dict(zip(papers, found, strict=True))


def _patient_links(patients: Path, path: Path) -> Links:
    candidates: dict[str, Text] = {}
    for number, members in json_objects(patients):
        _new(candidates, patients, number, members, "patient")
    queries: dict[str, Text] = {}
    linked: dict[str, frozenset[str]] = {}
    for number, members in json_objects(path):
        text = _new(queries, path, number, members, "query")
        linked[text.id] = _ids(path, number, members, "patient")
        if not linked[text.id]:
            raise bad_line(path, number, 'there are no ids under "patient"')
    return Links(tuple(queries.values()), tuple(candidates.values()), {"patient": linked})


def _file(folder: Path, name: str, suffix: str) -> Path:
    found = find_compressed(folder, name + suffix)
    if found is None:
        raise InputError(f"There is no {name}{suffix} in {folder}; its sets are: {', '.join(find_sets(folder))}.")
    return found


def _new(texts: dict[str, Text], path: Path, number: int, members: Mapping[str, Any], key: str) -> Text:
    """Add a line's text under its id, or under the line's number where it has none, as SciMult needs no ids."""
    abstract = members.get("abstract", "")
    text = Text(
        text_of(members.get(key)) or f"line {number}",
        text_of(members.get("title")),
        None if abstract is None else text_of(abstract),
    )
    if text.id in texts:
        raise bad_line(path, number, f"the id {text.id} came before; keep one line of it")
    texts[text.id] = text
    return text


def _ids(path: Path, number: int, members: Mapping[str, Any], key: str) -> frozenset[str]:
    value = members.get(key) or []
    if not isinstance(value, list):
        raise bad_line(path, number, f'"{key}" must be a list of ids')
    return frozenset(filter(None, map(text_of, value)))


def _gains(path: Path, number: int, value: object) -> dict[str, int]:
    if not isinstance(value, dict | None) or not all(_whole(gain) for gain in (value or {}).values()):
        raise bad_line(path, number, '"score" must be an object of ids and whole numbers')
    return {text_of(name): int(gain) for name, gain in (value or {}).items()}


def _whole(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1
