"""SciMult's data files: one JSON object per line, named after their set, such as `Geography_papers_test.json`.

An id that a paper's list names twice counts once: SciMult's scripts divide by two and find one, so that no ranking
could reach a recall of 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from corpora.cleaning import text_of
from corpora.errors import InputError, require
from corpora.opening import COMPRESSED_SUFFIXES, find_compressed
from eval.embedder import Text
from eval.files.text import bad_line, is_whole, json_objects, paper_text, require_line
from eval.trec.judgments import Qrels

RELATIONS = ("cite", "co-cite")
RERANKED = frozenset({"Search", "TRECCOVID_SciRepEval"})
"""Search sets whose queries rank their judged candidates only; in other sets queries rank the whole corpus."""
_PAPERS = "_papers_test.json"

Members = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Classification:
    """Papers and the labels to find for them.

    Attributes:
        papers: The papers.
        labels: Each label as `name [SEP] definition`.
        gold: The labels of each paper, by its id; `labels` may lack some.
        matched: For each paper, the labels whose names occur in its text; None if the set has no such file.
        single: Whether each paper has one label, as in the coarse sets.
    """

    papers: tuple[Text, ...]
    labels: tuple[Text, ...]
    gold: Mapping[str, frozenset[str]]
    matched: Mapping[str, frozenset[str]] | None
    single: bool


@dataclass(frozen=True, slots=True)
class CandidateSet:
    """Queries, and the papers to find for them.

    Attributes:
        queries: Those that have links or judgments: papers, patients or texts.
        candidates: The papers to rank.
        linked: Papers linked to a query, by relation and query: to be found among all candidates.
        judged: Papers with a grade, by query. Empty where there is `linked`.
        rerank: Whether a query's judged papers alone are ranked.
        ungraded: How many queries were left out because they have no judgments.
    """

    queries: tuple[Text, ...]
    candidates: tuple[Text, ...]
    linked: Mapping[str, Mapping[str, frozenset[str]]] = field(default_factory=dict)
    judged: Qrels = field(default_factory=lambda: Qrels({}))
    rerank: bool = True
    ungraded: int = 0


def find_sets(folder: Path) -> tuple[str, ...]:
    """Return the names of the sets in a folder, or raise `InputError` where it has none."""
    suffixes = [f"{kind}{packed}" for kind in (_PAPERS, "_patients_test.json") for packed in COMPRESSED_SUFFIXES]
    names = {file.name.removesuffix(suffix) for suffix in suffixes for file in folder.glob(f"*{suffix}")}
    require(names, f"{folder} holds no set of SciMult's: give a folder of files such as Geography{_PAPERS}.")
    return tuple(sorted(names))


def read_classification(folder: Path, name: str, *, names_only: bool = False) -> Classification:
    """Read `NAME_papers_test.json`, `NAME_label.json` and, if it exists, `NAME_matched.json` in a folder.

    A paper whose `label` is a number has that one label, counted from 0, as SciMult's script reads it. With
    `names_only`, labels are read without their definitions (appendix E.4, table A8). Raises `InputError` if a file is
    missing or malformed.
    """
    papers = _Lines(_file(folder, name, _PAPERS), "paper")
    labels = _Lines(_file(folder, name, "_label.json"), "label", _label_parts).texts
    if names_only:
        labels = tuple(replace(label, abstract=None) for label in labels)
    gold: dict[str, frozenset[str]] = {}
    kinds = set()
    for paper, number, members in papers:
        value = members.get("label")
        kinds.add(type(value))
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(labels):
            gold[paper] = frozenset({labels[value].id})
        elif isinstance(value, list) and value:
            gold[paper] = frozenset(map(text_of, value))
        else:
            raise bad_line(papers.path, number, f'"label" must be a list of labels or a number below {len(labels)}')
    require(len(kinds) == 1, f"{papers.path} mixes papers of one label with papers of several: divide it in two.")
    matched = None
    if optional := find_compressed(folder, f"{name}_matched.json"):
        found = [_ids(optional, number, members, "candidate") for number, members in json_objects(optional)]
        require(
            len(found) == len(gold),
            f"{optional} has {len(found):,} lines for {len(gold):,} papers: they must be the same papers.",
        )
        matched = dict(zip(gold, found, strict=True))
    return Classification(papers.texts, labels, gold, matched, single=kinds == {int})


def read_links(folder: Path, name: str) -> CandidateSet:
    """Read a set of links: papers with `cite` and `co-cite`, papers with `score`, or patients and their queries.

    Papers without links are candidates only. Raises `InputError` if a file is missing or malformed, or no paper has a
    link.
    """
    if patients := find_compressed(folder, f"{name}_patients_test.json"):
        candidates, queries = _Lines(patients, "patient"), _Lines(_file(folder, name, "_queries_test.json"), "query")
        linked = {"patient": queries.ids("patient", required=True)}
        return CandidateSet(queries.texts, candidates.texts, linked)
    papers = _Lines(_file(folder, name, _PAPERS), "paper")
    judged = papers.gains()
    linked = {relation: found for relation in RELATIONS if (found := papers.ids(relation))}
    wanted = judged.keys() | set().union(*linked.values())
    require(
        wanted and not (judged and linked),
        f'{papers.path} needs papers with "score", or with "{RELATIONS[0]}" or "{RELATIONS[1]}", not both.',
    )
    return CandidateSet(tuple(text for text in papers.texts if text.id in wanted), papers.texts, linked, Qrels(judged))


def read_searches(folder: Path, name: str) -> CandidateSet:
    """Read `NAME_papers_test.json` and `NAME_queries_test.json`, whose queries have papers' grades under `score`.

    A query without grades is left out, as trec_eval leaves it out of SciMult's figures. Raises `InputError` if a file
    is missing or malformed, or no query has a grade.
    """
    corpus = _Lines(_file(folder, name, _PAPERS), "paper")
    queries = _Lines(_file(folder, name, "_queries_test.json"), "query_id", _in_parts)
    gains = queries.gains()
    require(gains, f"{queries.path} has no query with judged papers (the key score); fetch it again.")
    wanted = tuple(text for text in queries.texts if text.id in gains)
    ungraded = len(queries.texts) - len(wanted)
    return CandidateSet(wanted, corpus.texts, {}, Qrels(gains), name in RERANKED, ungraded)


def _file(folder: Path, name: str, suffix: str) -> Path:
    found = find_compressed(folder, name + suffix)
    if found is None:
        raise InputError(f"There is no {name}{suffix} in {folder}; its sets are: {', '.join(find_sets(folder))}.")
    return found


class _Lines:
    """The objects of a file, each a text under its id, or under the line's number, because SciMult needs no ids."""

    def __init__(self, path: Path, key: str, parts: Callable[[Members], Members] = lambda members: members) -> None:
        self.path = path
        self._members: dict[str, tuple[int, Members]] = {}
        texts = []
        for number, members in json_objects(path):
            told = parts(members)
            text = paper_text(told, key)
            name = text.id or f"line {number}"
            require_line(name not in self._members, path, number, f"the id {name} came before; keep one line of it")
            # Texts aren't kept twice, because sets may have hundreds of thousands of papers.
            rest = {part: value for part, value in members.items() if part not in ("title", "abstract")}
            self._members[name] = number, rest
            whole = told.get("abstract", "") is None  # a label without definition, or a query without parts
            texts.append(replace(text, id=name, abstract=None if whole else text.abstract))
        self.texts = tuple(texts)

    def __iter__(self) -> Iterator[tuple[str, int, Members]]:
        return ((name, number, members) for name, (number, members) in self._members.items())

    def ids(self, key: str, *, required: bool = False) -> dict[str, frozenset[str]]:
        """Return the list of ids that a member holds, by the text's id; texts without any are left out."""
        found = {}
        for name, number, members in self:
            if ids := _ids(self.path, number, members, key):
                found[name] = ids
            elif required:
                raise bad_line(self.path, number, f'there are no ids under "{key}"')
        return found

    def gains(self) -> dict[str, dict[str, int]]:
        """Return the grades of papers, by the text's id; texts without any are left out."""
        found = {}
        for name, number, members in self:
            score = members.get("score") or {}
            require_line(
                isinstance(score, dict) and all(map(is_whole, score.values())),
                self.path,
                number,
                '"score" must be an object of ids and whole numbers',
            )
            if score:
                found[name] = {text_of(paper): int(gain) for paper, gain in score.items()}
        return found


def _ids(path: Path, number: int, members: Members, key: str) -> frozenset[str]:
    value = members.get(key) or []
    require_line(isinstance(value, list), path, number, f'"{key}" must be a list of ids')
    return frozenset(filter(None, map(text_of, value)))


def _label_parts(members: Members) -> Members:
    names = members.get("name")
    title = names[0] if isinstance(names, list) and names else names
    return {"label": members.get("label"), "title": title, "abstract": members.get("definition")}


def _in_parts(members: Members) -> Members:
    # Parts separated by [SEP] are joined again with the model's own separator.
    first, between, rest = str(members.get("query") or "").partition("[SEP]")
    return {"query_id": members.get("query_id"), "title": first, "abstract": rest if between else None}
