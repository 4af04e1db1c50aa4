"""The scores of every paper by every leg, for the queries of judged data sets, as plain arrays.

Fusions are tried on them by `benchmarks.fusing`. They are made once and kept in a folder, with the vectors and indexes
that they are made from.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from pathlib import Path

import numpy as np

from benchmarks.common import data_dir
from benchmarks.weak import indexed_folder
from corpora.errors import NotFoundError
from corpora.registry import get_corpus
from encoders.models.formats import Format
from encoders.sparse import load_sparse_encoder, pruned, rounded
from encoders.text_encoder import TextEncoder
from eval.files.text import write_json_lines, write_lines
from eval.retrieval.beir import BeirFolder
from search_plugin.contract.engine import Index
from search_plugin.contract.plan import LEXICAL, Spelling
from search_plugin.contract.schema import SEARCHED
from search_plugin.engines.registry import connect
from search_plugin.ranking.planning import make_plan
from search_plugin.request import MAX_QUERY, MAX_WINDOW, SearchRequest
from search_plugin.words.sentences import sentences
from search_plugin.words.terms import TOKEN, term_of

SENTENCES = "sentences"
"""Name of the leg of the best sentence."""

PAIRS = "pairs"
"""What pairs of words add to the lexical scores."""

SPARSE = "sparse"
"""Name of the leg of a learned sparse model."""

MOST_QUERIES = 1_000
MOST_TOKENS = 256

Made = tuple[Iterable[Mapping[str, str]], Mapping[str, str], Mapping[str, Mapping[str, int]]]
"""Papers, queries by id, and grades by query and paper."""


@dataclass(frozen=True, slots=True)
class LegScores:
    """Judged queries, and what each leg gives every paper of the data set.

    Attributes:
        name: Name of the data set and its split.
        gains: The judged gain of each paper, float32 (queries, papers); papers are in the order of their ids.
        ideal: The DCG at 10 of the best ranking of all that was judged, float64 (queries,).
        legs: Scores, float32 (queries, papers); a paper without a word of the query has NaN in the lexical leg.
        vectors: The papers' unit vectors, float32 (papers, dimension).
    """

    name: str
    gains: np.ndarray
    ideal: np.ndarray
    legs: Mapping[str, np.ndarray]
    vectors: np.ndarray


def leg_scores(
    name: str, split: str, encoder: TextEncoder, folder: Path, *, by_sentence: bool = False, sparse: str = ""
) -> LegScores:
    """Return the scores of a data set, from the folder if they are there; `sparse` is the folder of a sparse model."""
    source = data_set(name, folder)
    vectors, ids, index = document_vectors(source, encoder, folder)
    kept = folder / "scores" / f"{name}-{split}.npz"
    kept.parent.mkdir(exist_ok=True)
    judged = BeirFolder(source).judged(split)
    texts = dict(islice(judged.texts.items(), MOST_QUERIES))
    if kept.exists():
        with np.load(kept) as arrays:
            lexical, pairs, asked = arrays["lexical"], arrays["pairs"], arrays["asked"]
    else:
        lexical, pairs, asked = searched(texts, index, ids, encoder)
        np.savez(kept, lexical=lexical, pairs=pairs, asked=asked)
    legs = {LEXICAL: lexical, PAIRS: pairs, SEARCHED: asked @ vectors.T}
    if by_sentence:
        rows, owners = sentence_vectors(source, ids, encoder, folder)
        # Sentences stand in the order of their papers, each of which has one at least.
        starts = np.flatnonzero(np.diff(owners, prepend=-1))
        legs[SENTENCES] = np.stack([np.maximum.reduceat(rows @ query, starts) for query in asked])
    if sparse:
        legs[SPARSE] = sparse_scores(source, ids, list(texts.values()), sparse, folder)
    place = {id_: number for number, id_ in enumerate(ids)}
    gains = np.zeros(lexical.shape, np.float32)
    ideal = np.zeros(len(texts))
    for number, query in enumerate(texts):
        grades = judged.qrels.gains[query]
        best = sorted((max(grade, 0) for grade in grades.values()), reverse=True)[:10]
        ideal[number] = sum(grade / np.log2(rank + 2) for rank, grade in enumerate(best))
        for id_, grade in grades.items():
            if id_ in place:
                gains[number, place[id_]] = max(grade, 0)
    return LegScores(f"{name} {split}", gains, ideal, legs, vectors)


def searched(
    texts: Mapping[str, str], index: Index, ids: list[str], encoder: TextEncoder
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the lexical scores of all papers, what pairs of words add, (queries, papers), and the queries' vectors.

    A pair is two words that follow each other in the query. It scores a phrase with the weight of one word.
    """
    place = {id_: number for number, id_ in enumerate(ids)}
    lexical = np.full((len(texts), len(ids)), np.nan, np.float32)
    together = np.zeros_like(lexical)
    asked = []
    for number, text in enumerate(texts.values()):
        request = SearchRequest(text[:MAX_QUERY], window=MAX_WINDOW)
        plan = make_plan(index, request, encoder)
        asked.append(plan.vectors[0].vector)
        words = make_plan(index, SearchRequest(text[:MAX_QUERY], "lexical", window=MAX_WINDOW), None)
        for hit in index.search(words)[LEXICAL]:
            lexical[number, place[hit.id]] = hit.score
        for hit in index.search(replace(words, added=tuple(pairs_of(text, index.schema.language))))[LEXICAL]:
            together[number, place[hit.id]] = hit.score - lexical[number, place[hit.id]]
    return lexical, np.maximum(together, 0), unit(np.stack(asked))


def pairs_of(text: str, language: str) -> Iterator[Spelling]:
    """Yield each two words of a text that follow each other, neither of which is a stop word."""
    words = [token[0] for token in TOKEN.finditer(text)]
    for one, other in pairwise(words):
        if term_of(one, language) and term_of(other, language):
            yield Spelling(f"{one} {other}")


def document_vectors(source: Path, encoder: TextEncoder, folder: Path) -> tuple[np.ndarray, list[str], Index]:
    """Return the papers' unit vectors, their ids in order, and their index."""
    try:
        index = connect(f"embedded:{folder}/indexes").open(source.name)
    except NotFoundError:
        index = indexed_folder(source, encoder, folder)
    ids = sorted(index.ids())
    held = index.vectors(ids, SEARCHED)
    return unit(np.stack([held[id_] for id_ in ids])), ids, index


def sentence_vectors(source: Path, ids: list[str], encoder: TextEncoder, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the unit vectors of all sentences, each with its paper's title in front, and the papers' numbers."""
    kept = folder / "scores" / f"{source.name}-sentences.npz"
    if not kept.exists():
        papers = {one.paper.id: one.paper for one in get_corpus("beir").read(source, {}) if hasattr(one, "paper")}
        texts, owners = [], []
        for number, id_ in enumerate(ids):
            title, abstract = papers[id_].title, papers[id_].abstract or ""
            parts = [encoder.card.text(title, abstract[start:end]) for start, end in sentences(abstract)] or [title]
            texts += parts
            owners += [number] * len(parts)
        rows = np.concatenate(
            [encoder.encode(texts[at : at + 512], Format.PRX) for at in range(0, len(texts), 512)]
        ).astype(np.float16)
        np.savez(kept, rows=rows, owners=np.array(owners))
    with np.load(kept) as arrays:
        return unit(arrays["rows"].astype(np.float32)), arrays["owners"]


def sparse_scores(source: Path, ids: list[str], queries: list[str], model: str, folder: Path) -> np.ndarray:
    """Return the products of queries and papers, float32 (queries, papers), of the tokens that indexes keep."""
    from scipy.sparse import csr_matrix

    encoder = load_sparse_encoder(model, cache_dir=folder / "graphs", precision="fp32")

    def matrix(vectors: list[np.ndarray]) -> csr_matrix:
        rows, starts = np.concatenate(vectors), np.cumsum([0, *map(len, vectors)])
        return csr_matrix((rows[:, 1], rows[:, 0].astype(int), starts), shape=(len(vectors), encoder.card.dimension))

    kept = folder / "scores" / f"{source.name}-sparse-{encoder.card.fingerprint}.npz"
    if not kept.exists():
        papers = {one.paper.id: one.paper for one in get_corpus("beir").read(source, {}) if hasattr(one, "paper")}
        made = encoder.encode([encoder.card.text(papers[id_].title, papers[id_].abstract or "") for id_ in ids])
        np.savez(kept, rows=np.concatenate(made), counts=[len(one) for one in made])
    with np.load(kept) as arrays:
        made = np.split(arrays["rows"], np.cumsum(arrays["counts"])[:-1])
    stored = matrix([rounded(pruned(one, MOST_TOKENS)) for one in made])
    scores: np.ndarray = (matrix(encoder.encode(queries, Format.QRY)) @ stored.T).toarray()
    return scores


def unit(rows: np.ndarray) -> np.ndarray:
    scaled: np.ndarray = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return scaled


def data_set(name: str, folder: Path) -> Path:
    """Return the folder of a data set in BEIR's form; those that are made here have one split, `made`."""
    if name not in MADE:
        return data_dir() / "eval" / name
    source = folder / "sets" / name
    if not source.exists():
        papers, queries, grades = MADE[name]()
        (source / "qrels").mkdir(parents=True)
        write_json_lines(source / "corpus.jsonl", papers)
        write_json_lines(source / "queries.jsonl", ({"_id": id_, "text": text} for id_, text in queries.items()))
        lines = [f"{query}\t{id_}\t{grade}" for query, row in grades.items() for id_, grade in row.items()]
        write_lines(source / "qrels" / "made.tsv", ["query-id\tcorpus-id\tscore", *lines])
    return source


def covid() -> Made:
    """TREC-COVID's 50 topics, as keywords and as questions, on the 1,809 of its papers that are here."""
    from defusedxml.ElementTree import parse

    folder = data_dir() / "eval" / "trec-covid"
    with (folder / "corpus.jsonl").open(encoding="utf-8") as file:
        papers = [json.loads(line) for line in file]
    held = {paper["_id"] for paper in papers}
    judged: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        topic, id_, grade = line.split("\t")
        if id_ in held:
            judged.setdefault(topic, {})[id_] = int(grade)
    queries, grades = {}, {}
    for topic in parse(folder / "topics.covid-round5.xml").getroot().iter("topic"):
        number = topic.get("number")
        for kind in ("query", "question"):
            if any(grade > 0 for grade in judged.get(number, {}).values()):
                queries[f"{number}-{kind}"] = topic.findtext(kind)
                grades[f"{number}-{kind}"] = judged[number]
    return papers, queries, grades


MADE = {"covid": covid}
"""Data sets that are made of others' files, for more queries to choose by."""
