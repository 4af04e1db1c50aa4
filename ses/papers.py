"""Papers to index, from a corpus or a Python program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

from corpora.accounting import accounted
from corpora.aliases import check_columns as check_attributes
from corpora.assembling import assemble
from corpora.custom import CustomField
from corpora.errors import InputError
from corpora.obtaining import Harvest, Obtained, Order, check_no_address
from corpora.opening import Opening, check_encoding
from corpora.paper import Accepted, Paper, Record, Rejected
from corpora.plain import record_of
from corpora.reading import LONGEST_ORIGIN, check_origin, first_accepted, origin_of, source_of
from corpora.registry import CORPORA, Corpus, get_corpus
from search_plugin.contract.connection import Connection


class DataClass(Protocol):
    """A dataclass, by what type checkers know of one."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


class NamedTuple(Protocol):
    """A named tuple, or a row of SQLAlchemy."""

    def _asdict(self) -> Mapping[str, Any]: ...


class PandasFrame(Protocol):
    """A table of pandas."""

    def to_dict(self, orient: Literal["records"]) -> Iterable[Any]:
        """Return its rows."""


class PolarsFrame(Protocol):
    """A table of polars."""

    def iter_rows(self, *, named: Literal[True]) -> Iterable[Any]:
        """Return its rows."""


class ArrowTable(Protocol):
    """A table of pyarrow."""

    def to_pylist(self) -> Iterable[Any]:
        """Return its rows."""


Papers = Iterable[Paper | Mapping[str, Any] | DataClass | NamedTuple] | PandasFrame | PolarsFrame | ArrowTable
"""Papers of a program: one by one, or the rows of a table."""


@dataclass(frozen=True, slots=True)
class PaperSource:
    """What is indexed.

    Attributes:
        records: Function that reads all records from the beginning.
        mark: Text that changes when the content does; an interrupted build resumes only with the same.
        origin: Name of the source within the index.
        obtained: What a server gave for it; None if nothing was asked for.
    """

    records: Callable[[], Iterator[Record]]
    mark: str
    origin: str
    obtained: Obtained | None = None

    @property
    def whole(self) -> bool:
        """Whether the records are all that the source holds, not only what has changed."""
        return self.obtained is None or self.obtained.whole


def of_corpus(
    name: str,
    path: str | Path | None,
    data_dir: Path,
    *,
    columns: Mapping[str, str],
    fields: Sequence[CustomField] = (),
    limit: int | None = None,
    origin: str | None = None,
    encoding: str = "",
    connection: Connection | None = None,
    order: Order | None = None,
) -> PaperSource:
    """Return the papers of a corpus.

    Args:
        name: Name of the corpus.
        path: File or folder of the corpus, or the URL of an index, a library or a server to harvest; if None, it is
            found or fetched where it can be.
        data_dir: The data folder.
        columns: Columns or keys by attribute of a paper.
        fields: Custom fields to read as well.
        limit: Largest number of papers to read.
        origin: Name within the index; the corpus's own if None.
        encoding: Encoding of text files; UTF-8 if empty.
        connection: Credentials for a corpus that is an index in a cluster.
        order: What to obtain, for a corpus whose files come from a server; all of the path if None.

    Returns:
        The source. Files of a server are here; the corpus is opened when it is first read.

    Raises:
        InputError: If there is no such corpus, it takes no columns, is not harvested, or the origin can't be a name.
        UnavailableError: If it can't be fetched.
    """
    corpus = get_corpus(name)
    check_columns(corpus, columns)
    order = order or Order(str(path), data_dir)
    if order.harvest:
        check_harvest(corpus, order.harvest)
    place = located(corpus, data_dir) if path is None else Path(path)
    opening = Opening(check_encoding(encoding) if encoding else "")
    if corpus.is_index:
        from search_plugin.engines.cluster.scan import scan_url, split_index_url

        split_index_url(str(path))
        opening = replace(opening, documents=partial(scan_url, str(path), connection or Connection()))
    else:
        place = place.resolve()
        if not corpus.obtain:
            check_no_address(corpus.name, order)
    obtained = corpus.obtain(order) if corpus.obtain else None
    if order.harvest and order.harvest.given() and not obtained:
        raise InputError(f"{order.place} is read as it is, without a server", _leave_out(order.harvest.given()))
    given = origin if origin is not None else obtained.name[:LONGEST_ORIGIN] if obtained else ""
    read = obtained.path if obtained else place
    return PaperSource(
        lambda: first_accepted(corpus.read(read, columns, fields, opening), limit),
        source_of(corpus.name, Path(obtained.identity) if obtained else place, limit),
        check_origin(given) if given or origin is not None else origin_of(corpus, place),
        obtained,
    )


def of_program(
    papers: Papers,
    index: str,
    fields: Sequence[CustomField] = (),
    *,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    origin: str | None = None,
) -> PaperSource:
    """Return the papers of a program; they are cleaned and checked like those of any corpus.

    Args:
        papers: Papers, or records with the usual names. They are read twice, so an iterator is kept as a list.
        index: Name of the index, and of the origin if that is None.
        fields: Custom fields: keys of the records, or names in `Paper.extra`.
        columns: Keys by attribute of a paper.
        limit: Largest number of papers to read.
        origin: Name within the index.

    Returns:
        The source.

    Raises:
        InputError: If something is neither a paper nor a record, or the origin can't be a name.
    """
    import hashlib

    check_attributes(columns or {})
    records = partial(_records, _rows_of(papers), fields, columns or {}, limit)
    digest = hashlib.blake2b(digest_size=8)
    for record in records():
        digest.update(repr((record.paper, record.paper.extra) if isinstance(record, Accepted) else record).encode())
    return PaperSource(records, f"python {digest.hexdigest()}", index if origin is None else check_origin(origin))


def _rows_of(papers: Any) -> Callable[[], Iterable[object]]:
    """Return what reads papers from the first on, as often as it is called."""
    if hasattr(papers, "iter_rows"):  # polars
        return partial(papers.iter_rows, named=True)
    if hasattr(papers, "to_pylist"):  # pyarrow
        return papers.to_pylist  # type: ignore[no-any-return]
    if hasattr(papers, "to_dict") and hasattr(papers, "columns"):  # pandas, whose index is a column if it has a name
        table = papers.reset_index() if any(papers.index.names) else papers
        return partial(iter, table.to_dict("records"))
    if record_of(papers) is not None or not isinstance(papers, Iterable):
        raise InputError(
            f"Papers can't be of the type {type(papers).__name__}",
            "give a file or folder, a list of papers, or a table of pandas, polars or pyarrow",
        )
    return partial(iter, list(papers) if isinstance(papers, Iterator) else papers)


def _records(
    rows: Callable[[], Iterable[object]], fields: Sequence[CustomField], columns: Mapping[str, str], limit: int | None
) -> Iterator[Record]:
    numbered = enumerate(rows(), start=1)
    return first_accepted((_record(number, paper, fields, columns) for number, paper in numbered), limit)


def _record(number: int, paper: object, fields: Sequence[CustomField], columns: Mapping[str, str]) -> Record:
    record = record_of(paper)
    if record is None:
        raise InputError(
            f"Paper {number} is of the type {type(paper).__name__}; give papers as ses.Paper(id, title, ...), or as "
            "dictionaries with id and title."
        )
    if not isinstance(paper, Paper):
        return accounted(record, partial(assemble, number, columns=columns, custom=fields))
    extra = record_of({} if paper.extra is None else paper.extra)
    if extra is None:
        return Rejected(number, "The key extra should be a dictionary of values by field.")
    if unknown := extra.keys() - {field.name for field in fields}:
        raise InputError(
            f"Paper {number} has a value of {min(unknown)}, which is no custom field", "declare it in <fields>"
        )
    return accounted(record, partial(assemble, number, columns={}, custom=fields, beside=extra))


def check_columns(corpus: Corpus, columns: Mapping[str, str]) -> None:
    """Raise `InputError` if columns are given for a corpus with a fixed layout."""
    if columns and not corpus.takes_columns:
        takers = ", ".join(name for name, other in CORPORA.items() if other.takes_columns)
        raise InputError(f"The layout of {corpus.name} is fixed", f"<columns> works with {takers}")


def check_harvest(corpus: Corpus, harvest: Harvest) -> None:
    """Raise `InputError` if a corpus does not heed what is chosen."""
    if other := [name for name in harvest.given() if name not in corpus.choices]:
        how = "harvested by sets, dates and forms" if corpus.choices else "harvested"
        raise InputError(f"The corpus {corpus.name} is not {how}", _leave_out(other))


def _leave_out(names: Sequence[str]) -> str:
    return f"leave {', '.join(f'<{name}>' for name in names)} out"


def located(corpus: Corpus, data_dir: Path) -> Path:
    """Return the file or folder of a corpus without a path from the user; fetch it if necessary.

    Raises `InputError` if a path is required, and `UnavailableError` if the corpus can't be fetched.
    """
    if corpus.locate is None:
        raise InputError(f"The corpus {corpus.name} has no default file", "say which file to read, with <path>")
    return corpus.locate(data_dir / "corpora")
