"""SciMult: classification without training (section 5.1), links (5.2) and search (5.3), and its data files.

A file has one JSON object per line and is named after its set, such as `Geography_papers_test.json`. An id that a
paper's list names twice counts once: SciMult's scripts divide by two and find one, so that no ranking could reach a
recall of 1. Labels are ranked by the similarity of their descriptions to a paper; papers among all papers or given
candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from corpora.cleaning import text_of
from corpora.errors import InputError, require
from corpora.opening import COMPRESSED_SUFFIXES, find_compressed
from encoders.models.formats import Format, Similarity
from eval.embedder import Embedder, Text, Vectors
from eval.files.text import bad_line, is_whole, json_objects, paper_text, require_line
from eval.measures.classes import macro_f1
from eval.measures.similarity import SIMILARITIES, require_same_dimension
from eval.outcome import Outcome, outcome_of
from eval.reranking import ranked_outcome, rerank
from eval.retrieval.exact import exact_rankings
from eval.statistics.interval import Values, bootstrap_statistic, mean_interval
from eval.trec.judgments import Qrels
from eval.trec.runs import Run
from search_plugin.contract.legs import Scored

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
            record = parts(members)
            text = paper_text(record, key)
            name = text.id or f"line {number}"
            require_line(name not in self._members, path, number, f"the id {name} came before; keep one line of it")
            # Texts aren't kept twice, because sets may have hundreds of thousands of papers.
            rest = {part: value for part, value in members.items() if part not in ("title", "abstract")}
            self._members[name] = number, rest
            whole = record.get("abstract", "") is None  # a label without definition, or a query without parts
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


MATCHED = "with label matching"
CUTOFFS = (20, 50, 100)
"""Cut-offs of recall."""

LINK_MEASURES = ("nDCG@5", "nDCG@10", "nDCG")
SEARCH_MEASURES = ("nDCG@10",)
DEPTH = 10


def evaluate_classification(
    data: Classification, embed: Embedder, *, similarity: Similarity = "dot", embed_labels: Embedder | None = None
) -> dict[str, Outcome]:
    """Rank all labels for every paper.

    A paper without a vector finds nothing and a label without one is never found; both are counted. `embed` makes CLF
    vectors of papers and labels, or of papers alone if `embed_labels` is given, since ids of papers and labels may be
    the same.

    For papers of several labels, returns recall at 20, 50 and 100 by the ranking alone (section 5.1.1) under an empty
    name and, if the set has matches, with labels first whose names stand in the paper. For papers of one label, returns
    micro and macro F1 of the label ranked first (section 5.1.2). Raises `InputError` if no paper or no label has a
    vector.
    """
    papers = embed(data.papers, Format.CLF)
    labels = (embed_labels or embed)(data.labels, Format.CLF)
    known = {label.id for label in data.labels}
    counts = {
        "papers": len(data.papers),
        "papers_missing": len(data.papers) - len(papers.rows),
        "labels": len(known),
        "labels_missing": len(known) - len(labels.rows),
        "gold_labels_unknown": sum(len(gold - known) for gold in data.gold.values()),
    }
    require(papers.rows and labels.rows, "No paper, or no label, has a vector: the embeddings belong to others.")
    require_same_dimension(papers.matrix, labels.matrix, ("papers", "labels"))
    rankings = {
        paper: [hit.id for hit in hits]
        for paper, hits in exact_rankings(
            labels, papers, similarity, 1 if data.single else CUTOFFS[-1], descending=True
        )
    }
    if data.single:
        return {"": _f1(data, rankings, counts)}
    ways = {"": rankings}
    if data.matched is not None:
        ways[MATCHED] = {
            paper: _put_first(data.matched[paper], ranking, paper, papers, labels, similarity)
            for paper, ranking in rankings.items()
        }
    return {way: outcome_of(recalls(ranked, data.gold), counts) for way, ranked in ways.items()}


def evaluate_links(data: CandidateSet, embed: Embedder, *, similarity: Similarity = "dot") -> dict[str, Outcome]:
    """Rank papers for the papers that have links.

    If all papers are ranked and a query is one of them, it is ranked too, as in SciMult's script: it is closest to
    itself and takes a rank. A query without a vector counts as having found nothing; a candidate without one is never
    found. `embed` makes PRX vectors of both.

    Returns recall at 20, 50 and 100 by relation, or nDCG if papers have their own judged candidates. Raises
    `InputError` if no query or no candidate has a vector, and `UnavailableError` if the library for nDCG is needed and
    isn't installed.
    """
    candidates = embed(data.candidates, Format.PRX)
    together = set(data.queries) <= set(data.candidates)
    queries = candidates if together else embed(data.queries, Format.PRX)
    if not data.linked:
        made = rerank("ses-links", data.judged, queries, candidates, SIMILARITIES[similarity])
        return {"": ranked_outcome(made.run, data.judged, LINK_MEASURES, made.counts)}
    rankings = {
        query: [hit.id for hit in hits]
        for query, hits in _nearest(data, queries, candidates, similarity, CUTOFFS[-1]).items()
    }
    known = {text.id for text in data.candidates}
    outcomes = {}
    for relation, linked in data.linked.items():
        counts = {
            "queries": len(linked),
            "queries_missing": sum(query not in queries.rows for query in linked),
            "candidates": len(data.candidates),
            "candidates_missing": len(data.candidates) - len(candidates.rows),
            "links_to_unknown_papers": sum(len(others - known) for others in linked.values()),
        }
        outcomes[relation] = outcome_of(recalls(rankings, linked), counts)
    return outcomes


def evaluate_searches(data: CandidateSet, embed: Embedder, *, similarity: Similarity = "dot") -> Outcome:
    """Rank papers, by PRX vectors, for queries, by QRY vectors, and measure nDCG@10.

    Where a query has candidates that it was judged with, it is nDCG of these. A query without a vector counts as having
    found nothing; a paper without one is never found. Raises `InputError` if no query or no paper has a vector, and
    `UnavailableError` if pytrec_eval isn't installed.
    """
    queries, corpus = embed(data.queries, Format.QRY), embed(data.candidates, Format.PRX)
    if data.rerank:
        run = rerank("ses-search", data.judged, queries, corpus, SIMILARITIES[similarity]).run
    else:
        found = _nearest(data, queries, corpus, similarity, DEPTH)
        run = Run("ses-search", {query: [(hit.id, hit.score) for hit in hits] for query, hits in found.items()})
    counts = {
        "queries_missing": len(data.judged.gains.keys() - run.rankings.keys()),
        "queries_without_grades": data.ungraded,
        "papers": len(data.candidates),
        "papers_missing": len(data.candidates) - len(corpus.rows),
        "judged_papers_missing": sum(
            name not in corpus.rows for judged in data.judged.gains.values() for name in judged
        ),
    }
    return ranked_outcome(run, data.judged, SEARCH_MEASURES, counts)


def recalls(rankings: Mapping[str, Sequence[str]], relevant: Mapping[str, frozenset[str]]) -> Values:
    """Return by cut-off and query the share of relevant items among the first ranks; 0 without a ranking."""
    return {
        f"R@{cutoff}": {
            query: len(wanted.intersection(rankings.get(query, ())[:cutoff])) / len(wanted)
            for query, wanted in relevant.items()
        }
        for cutoff in CUTOFFS
    }


def _put_first(
    mentioned: frozenset[str],
    ranking: Sequence[str],
    paper: str,
    papers: Vectors,
    labels: Vectors,
    similarity: Similarity,
) -> list[str]:
    """Return the first labels, with mentioned labels before all others, each part in the order of its scores."""
    ahead = sorted(labels.rows.keys() & mentioned, reverse=True)
    scores = SIMILARITIES[similarity](papers.of([paper]), labels.of(ahead))[0]
    first = [ahead[at] for at in np.argsort(-scores, kind="stable")]
    # The ranking is long enough: for each unmentioned label that it lacks, it has a mentioned one.
    return [*first, *(label for label in ranking if label not in mentioned)][: CUTOFFS[-1]]


def _f1(data: Classification, rankings: Mapping[str, Sequence[str]], counts: Mapping[str, int]) -> Outcome:
    number = {label.id: row for row, label in enumerate(data.labels)}
    truth = {paper: number[label] for paper, (label,) in data.gold.items()}
    given = [number[rankings[paper][0]] if paper in rankings else -1 for paper in truth]
    right = {paper: float(found == label) for (paper, label), found in zip(truth.items(), given, strict=True)}
    arrays = np.array(list(truth.values())), np.array(given)
    # If each paper has one label and gets one, micro F1 is the share of correct papers.
    cells = {"F1 micro": mean_interval(list(right.values())), "F1 macro": bootstrap_statistic(macro_f1, *arrays)}
    return Outcome(cells, {"F1 micro": right}, counts)


def _nearest(
    data: CandidateSet, queries: Vectors, candidates: Vectors, similarity: Similarity, depth: int
) -> dict[str, list[Scored]]:
    query_rows = {text.id: queries.rows[text.id] for text in data.queries if text.id in queries.rows}
    require(
        query_rows and candidates.rows,
        "No query, or no candidate, has a vector: the embeddings belong to other papers.",
    )
    return dict(exact_rankings(candidates, Vectors(query_rows, queries.matrix), similarity, depth, descending=True))
