"""The pool: all candidate papers, the queries, and the judges that score each paper for each query."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from corpora.errors import InputError
from corpora.lazy import np
from encoders.models.formats import Format
from encoders.text_encoder import TextEncoder
from eval.embedder import Text, by_encoder
from eval.measures.similarity import SIMILARITIES
from eval.suites.kinds import OkapiBm25
from training.data.builders.base import MODEL, BuilderOptions, BuilderSource, Made, PaperRecord, identity_of
from training.data.queries import PaperFields, folded, query_of, shown

BM25, BASE = "bm25", "base"
"""Names of judges; the recipe's base compares vectors."""

_QUERIES_AT_ONCE = 64

_Add = Callable[[PaperFields, PaperFields, PaperRecord], int]
"""Adds a text, its form as an answer, and the whole record; returns its row."""


@dataclass(frozen=True, slots=True)
class PoolQuery:
    """A query of the pool.

    Attributes:
        key: Identity of the paper that it was made of, or of the query itself.
        kind: Kind of the query, as an `AnsweredQuery` has it.
        content: Plain text or a paper.
        answers: Rows of the papers that answer it.
        held_out: Whether it is only validated on.
    """

    key: str
    kind: str
    content: str | PaperFields
    answers: tuple[int, ...]
    held_out: bool = False


@dataclass(frozen=True, slots=True)
class Pool:
    """Papers and queries.

    Attributes:
        papers: Each paper once, complete.
        answers: The same papers; where a query was made from a paper, the query's text is removed.
        queries: Each text once.
        identities: Identities of the papers.
        held_out: Rows of the papers on which nothing is trained.
    """

    papers: list[PaperFields] = field(default_factory=list)
    answers: list[PaperFields] = field(default_factory=list)
    queries: list[PoolQuery] = field(default_factory=list)
    identities: list[str] = field(default_factory=list)
    held_out: list[int] = field(default_factory=list)

    def barred(self, query: PoolQuery) -> list[int]:
        """Return the rows of papers that are no candidates for a query: those held out, if it trains."""
        return [] if query.held_out else self.held_out

    def made(self, query: PoolQuery, scores: Mapping[int, float]) -> Made:
        """Return the record of a query and of candidates with their scores, by row."""
        candidates = [{**self.shown(query, row), "score": score} for row, score in scores.items()]
        papers = (query.key, *(self.identities[row] for row in scores))
        return Made(papers, {"query": query.content, "candidates": candidates})

    def shown(self, query: PoolQuery, row: int) -> dict[str, Any]:
        """Return a paper as a candidate for a query."""
        return dict(self.answers[row]) if row in query.answers else shown(query.kind, self.papers[row])


def read_pool(source: BuilderSource, options: BuilderOptions) -> Pool:
    """Read papers, and make queries of them; return both in the order of the files.

    The source holds papers, each of which gives at most one query; or judged queries in the form of tasks of the types
    `ir` and `triplet`, whose candidates are added to the papers. The options are `training.data.queries.OPTIONS`.
    """
    pool, rows, seen = Pool(), dict[int, int](), set[int]()

    def add(text: PaperFields, answer: PaperFields, paper: PaperRecord) -> int:
        key = hash(folded(str(text.get("title") or "") or _words_of(text)))
        if key not in rows:
            rows[key] = len(pool.papers)
            pool.papers.append(text)
            pool.answers.append(answer)
            pool.identities.append(identity_of(paper))
            if source.holds_out(pool.identities[-1]):
                pool.held_out.append(rows[key])
        return rows[key]

    for record in source.papers():
        found = (_judged_query if "query" in record else _query_from)(record, source, options, add)
        if found is None:
            source.left_out["no query can be made of it"] += 1
        elif (words := hash(folded(_words_of(found.content)))) in seen:
            source.left_out["its query is another's too"] += 1
        elif answers := tuple(row for row in found.answers if row not in pool.barred(found)):
            seen.add(words)
            pool.queries.append(replace(found, answers=answers))
        else:
            source.left_out["its answers are held out"] += 1
    return pool


def _judged_query(record: PaperRecord, source: BuilderSource, options: BuilderOptions, add: _Add) -> PoolQuery | None:  # noqa: ARG001
    """Return the query of a judged record; its candidates become papers of the pool."""
    right, wrong = ([(one, text) for one in side if (text := source.text_of(one))] for side in _judged(record))
    answers = tuple(add(text, text, one) for one, text in right)
    for one, text in wrong:
        add(text, text, one)
    content = record["query"] if isinstance(record["query"], str) else source.text_of(record["query"])
    key = identity_of(record["query"])
    return PoolQuery(key, "", content, answers, source.holds_out(key)) if answers and content else None


def _query_from(record: PaperRecord, source: BuilderSource, options: BuilderOptions, add: _Add) -> PoolQuery | None:
    """Return a query made of a paper, which becomes a paper of the pool."""
    if not (text := source.text_of(record)):
        return None
    query = query_of(record, text, options, source.seed)
    row, key = add(text, query.answer if query else text, record), identity_of(record)
    return PoolQuery(key, query.kind, query.content, (row,), source.holds_out(key)) if query else None


def _judged(record: PaperRecord) -> tuple[list[PaperRecord], list[PaperRecord]]:
    """Return the papers that answer a judged query, and those that do not."""
    given = record.get("candidates")
    candidates: list[PaperRecord] = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    right, wrong = ([one for one in candidates if bool(one.get("score")) is answers] for answers in (True, False))
    for key, found in (("pos", right), ("neg", wrong)):
        if isinstance(paper := record.get(key), dict):
            found.append(paper)
    return right, wrong


def _words_of(text: str | PaperFields) -> str:
    return text if isinstance(text, str) else " ".join(str(part) for part in text.values())


@dataclass(frozen=True, slots=True)
class Judge:
    """Scores every paper of a pool for a query.

    Attributes:
        name: `bm25`, or the name of the model.
        scores: Function of queries that returns float (queries, papers), larger for better.
        vectors: Vectors of the papers, float32 (papers, dimension); None for a judge by words.
    """

    name: str
    scores: Callable[[Sequence[str | PaperFields]], np.ndarray]
    vectors: np.ndarray | None = None


def judges_of(named: str, source: BuilderSource, pool: Pool) -> list[Judge]:
    """Return the judges that an option names, separated by spaces: `bm25`, `base`, or `model:` and a model's name."""

    def judge(name: str) -> Judge:
        if name == BM25:
            return by_words(pool)
        return by_vectors(source.model() if name == BASE else source.model(name.removeprefix(MODEL)), pool)

    names = list(dict.fromkeys(named.split()))
    if not names or any(name not in (BM25, BASE) and not name.startswith(MODEL) for name in names):
        raise InputError(f"There are no judges {named!r}; name one or more of {BM25}, {BASE} and {MODEL}NAME.")
    return [judge(name) for name in names]


def by_words(pool: Pool) -> Judge:
    """Return BM25 over the papers, each as it answers its own query."""
    words = OkapiBm25([_words_of(text) for text in pool.answers])
    return Judge(BM25, lambda queries: np.stack([words.scores(_words_of(query)) for query in queries]))


def by_vectors(encoder: TextEncoder, pool: Pool) -> Judge:
    """Return a model's similarity to the papers, each as it answers its own query."""
    embed, similarity = by_encoder(encoder), SIMILARITIES[encoder.card.similarity]

    def encoded(texts: Sequence[str | PaperFields], task_format: Format) -> np.ndarray:
        return embed([_parts_of(text) for text in texts], task_format).matrix

    vectors = encoded(pool.answers, Format.PRX)

    def scores(queries: Sequence[str | PaperFields]) -> np.ndarray:
        plain = Format.QRY if isinstance(queries[0], str) else Format.PRX
        return similarity(encoded(queries, plain), vectors)

    return Judge(encoder.card.name, scores, vectors)


def _parts_of(text: str | PaperFields) -> Text:
    if isinstance(text, str):
        return Text("", text)
    rest = " ".join(str(value) for name, value in text.items() if name != "title")
    return Text("", str(text.get("title") or ""), rest)


def judged(pool: Pool, judges: Sequence[Judge]) -> Iterator[tuple[PoolQuery, list[np.ndarray]]]:
    """Yield every query with each judge's scores of all papers, float (papers,); minus infinity for no candidate."""
    # Texts and papers apart, since models encode them for different formats.
    for plain in (True, False):
        queries = (query for query in pool.queries if isinstance(query.content, str) is plain)
        while block := list(islice(queries, _QUERIES_AT_ONCE)):
            scores = [judge.scores([query.content for query in block]) for judge in judges]
            for number, query in enumerate(block):
                barred = np.isin(np.arange(len(pool.papers)), pool.barred(query))
                yield query, [np.where(barred, -np.inf, of_judge[number]) for of_judge in scores]


def best(scores: np.ndarray, count: int) -> list[int]:
    """Return the rows of the largest scores (papers,), best first, ties by row; minus infinity is no candidate."""
    least = np.partition(scores, -count)[-count] if count < len(scores) else -np.inf
    rows = np.flatnonzero((scores >= least) & (scores > -np.inf))
    found: list[int] = rows[np.argsort(-scores[rows], kind="stable")][:count].tolist()
    return found
