"""An index as a data set of ir_datasets: its papers, and where there are any, judged queries."""

# No annotations as text here: PyTerrier reads those of the documents, to know which fields are texts.
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from corpora.errors import InputError, require
from corpora.identifiers import identifier_of, link_of
from corpora.installed import extra, needing
from corpora.paper import Paper
from eval.retrieval.beir import JudgedQueries
from products.indexed import in_blocks
from search_plugin.filters.parse import quoted
from ses.frameworks.source import SearchedIndex, text_of
from ses.indexes.open_index import OpenIndex

with needing("A data set of ir_datasets needs ir-datasets, which is not installed", extra("ir-datasets")):
    import ir_datasets
    from ir_datasets.formats import BaseDocs, BaseQrels, BaseQueries, GenericQuery, TrecQrel
    from ir_datasets.indices import Docstore

_LOOKED_UP = 20
"""Ids in one filter: a service takes URLs of a few thousand characters."""


class IndexedDocument(NamedTuple):
    """A paper as ir_datasets gives it."""

    doc_id: str
    title: str
    abstract: str
    authors: tuple[str, ...]
    year: int | None
    venue: str
    doi: str
    url: str

    def default_text(self) -> str:
        """Return title and abstract."""
        return text_of(Paper(self.doc_id, self.title, self.abstract))


def register(
    name: str,
    index: str | OpenIndex = "",
    engine: str | Path | None = None,
    *,
    data: str | Path = "",
    split: str = "test",
    topics: Any = None,
    qrels: Any = None,
) -> Any:
    """Register an index, so that `ir_datasets.load(name)` returns it in this process.

    Args:
        name: Name of the data set, such as `ses/scifact`.
        index: An open index, or the name of one; if empty, the default index.
        engine: Where the named index is, as `ses.open` takes it.
        data: A folder in BEIR's form that holds judged queries, or `irds:ID` of ir_datasets.
        split: Name of the folder's judgments.
        topics: Instead of `data`, queries as `ses.experiment` takes them.
        qrels: Their judgments, as `ses.measure` takes them.

    Returns:
        The `ir_datasets.Dataset`: documents, and with judged queries also queries and qrels.

    Raises:
        InputError: If the name is taken, or the queries can't be read.
    """
    require(
        name not in ir_datasets.registry,
        f"ir_datasets has a data set {name!r} already",
        "give another name, such as ses/mine",
    )
    dataset = dataset_of(index, engine, data=data, split=split, topics=topics, qrels=qrels)
    ir_datasets.registry.register(name, dataset)
    return ir_datasets.load(name)


def dataset_of(
    index: str | OpenIndex = "",
    engine: str | Path | None = None,
    *,
    data: str | Path = "",
    split: str = "test",
    topics: Any = None,
    qrels: Any = None,
) -> Any:
    """Return an index as a data set without a name; parameters, return value and errors as of `register`."""
    from ses.evaluation.retrieval import judged_of

    parts: list[Any] = [_Documents(SearchedIndex(index, engine))]
    if data or topics is not None or qrels is not None:
        judged, _ = judged_of(data, split, topics, qrels)
        parts += [_Queries(judged), _Judgments(judged)]
    return ir_datasets.Dataset(*parts)


def _document(paper: Paper) -> IndexedDocument:
    facts = (paper.id, paper.title, paper.abstract, paper.authors, paper.year, paper.venue)
    return IndexedDocument(*facts, identifier_of(paper, "doi"), link_of(paper))


class _Found(Iterator[IndexedDocument]):
    """Documents one after another; ir_datasets also takes slices from their beginning."""

    def __init__(self, papers: Iterable[Paper]) -> None:
        self._documents = map(_document, papers)

    def __next__(self) -> IndexedDocument:
        return next(self._documents)

    def __getitem__(self, place: int | slice) -> Any:
        numbers = place if isinstance(place, slice) else slice(place, place + 1)
        try:
            found = islice(self._documents, numbers.start, numbers.stop, numbers.step)
        except ValueError:
            raise InputError("Documents of an index can't be counted from the end", "count from the first") from None
        return found if isinstance(place, slice) else next(found)


class _LookedUp(Docstore):  # type: ignore[misc]
    def __init__(self, source: SearchedIndex) -> None:
        super().__init__(IndexedDocument)
        self._source = source

    def get_many_iter(self, doc_ids: Iterable[str]) -> Iterator[IndexedDocument]:
        for ids in in_blocks(doc_ids, _LOOKED_UP):
            named = f"id == ({', '.join(map(quoted, ids))})"
            yield from (_document(hit.paper) for hit in self._source.opened.iterate(filter=named))


class _Documents(BaseDocs):  # type: ignore[misc]
    def __init__(self, source: SearchedIndex) -> None:
        self._source = source

    def docs_iter(self) -> Iterator[IndexedDocument]:
        return _Found(self._source.opened)

    def docs_count(self) -> int:
        return len(self._source.opened)

    def docs_cls(self) -> type:
        return IndexedDocument

    def docs_store(self) -> _LookedUp:
        return _LookedUp(self._source)


class _Queries(BaseQueries):  # type: ignore[misc]
    def __init__(self, judged: JudgedQueries) -> None:
        self._judged = judged

    def queries_iter(self) -> Iterator[GenericQuery]:
        return iter([GenericQuery(query, text) for query, text in self._judged.texts.items()])


class _Judgments(BaseQrels):  # type: ignore[misc]
    def __init__(self, judged: JudgedQueries) -> None:
        self._judged = judged

    def qrels_iter(self) -> Iterator[TrecQrel]:
        for query, gains in self._judged.qrels.gains.items():
            yield from (TrecQrel(query, document, gain, "0") for document, gain in gains.items())

    def qrels_cls(self) -> type:
        kind: type = TrecQrel
        return kind

    def qrels_defs(self) -> dict[int, str]:
        return {}
