"""The corpora that can be indexed by name: a new reader is one file and one line here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from corpora.errors import NotFoundError
from corpora.installed import deferred
from corpora.opening import PLAIN, Opening

if TYPE_CHECKING:
    from corpora.custom import CustomField
    from corpora.obtaining import Obtain
    from corpora.paper import Record


class Reader(Protocol):
    """Reads a path lazily."""

    def __call__(
        self, path: Path, columns: Mapping[str, str], custom: Sequence[CustomField] = (), opening: Opening = PLAIN
    ) -> Iterator[Record]:
        """Return the records of a file, plain or compressed, or of a folder, read lazily.

        `columns` gives the column or key of a paper's attribute; it is empty for a fixed layout. `custom` are fields to
        read as well. `opening` is the encoding of a text file, or the documents of an index. `InputError` is raised if
        the path is something else, `UnavailableError` if a package is missing.
        """


Locator = Callable[[Path], Path]
"""Takes the data folder and finds the corpus's file if the user gives no path; downloads it if it is published."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus by name.

    Attributes:
        name: Name for users.
        read: Reader; errors in the path or the columns are raised when the first record is asked for.
        locate: Function that finds it without a path, or None if a path is required.
        takes_columns: Whether the reader uses a mapping of columns.
        is_form: Whether it is a format of many corpora, so that only files distinguish them.
        is_index: Whether its path is the URL of an index, `http://HOST:PORT/NAME`.
        obtain: Function that gets its files from a server first, or None if there is none.
        choices: Attributes of `Harvest` that it heeds.
    """

    name: str
    read: Reader
    locate: Locator | None = None
    takes_columns: bool = False
    is_form: bool = False
    is_index: bool = False
    obtain: Obtain | None = None
    choices: tuple[str, ...] = ()


def _of(module: str, function: str) -> Any:
    """Return a function of a module, that of a reader if it has no package, which is imported when it is used."""
    return deferred(module if "." in module else f"corpora.readers.{module}", function)


_HARVEST = ("set", "from_date", "until", "metadata_prefix", "again")

_ALL = (
    Corpus("cord19", _of("cord19", "read"), _of("cord19", "locate")),
    Corpus("pubmed", _of("pubmed", "read")),
    Corpus("pubmed-sample", _of("pubmed", "read"), _of("pubmed", "locate")),
    Corpus("beir", _of("beir", "read"), is_form=True),
    Corpus("jsonl", _of("jsonl", "read"), takes_columns=True, is_form=True),
    Corpus("csv", _of("delimited", "read"), takes_columns=True, is_form=True),
    Corpus("xlsx", _of("xlsx", "read"), takes_columns=True, is_form=True),
    Corpus("openalex", _of("openalex", "read"), is_form=True),
    Corpus("arxiv", _of("arxiv", "read")),
    Corpus("s2", _of("s2", "read"), is_form=True),
    Corpus("ris", _of("ris", "read"), is_form=True),
    Corpus("bibtex", _of("bibtex", "read"), is_form=True),
    Corpus(
        "zotero",
        _of("zotero", "read"),
        is_form=True,
        obtain=_of("corpora.zotero_library", "obtain"),
        choices=("again",),
    ),
    Corpus("marc", _of("marc", "read"), is_form=True),
    Corpus(
        "crossref",
        _of("crossref", "read"),
        is_form=True,
        obtain=_of("corpora.crossref_works", "obtain"),
        choices=("again",),
    ),
    Corpus("oai", _of("oai", "read"), is_form=True, obtain=_of("corpora.harvesting", "obtain"), choices=_HARVEST),
    Corpus("index", _of("index", "read"), takes_columns=True, is_form=True, is_index=True),
)

CORPORA: dict[str, Corpus] = {corpus.name: corpus for corpus in _ALL}
"""Every corpus by its name."""


def get_corpus(name: str) -> Corpus:
    """Return the corpus of a name, in any case, or raise `NotFoundError` that lists the available ones."""
    corpus = CORPORA.get(name.strip().lower())
    if corpus is None:
        raise NotFoundError(f"There is no corpus {name!r}", f"choose one of: {', '.join(CORPORA)}")
    return corpus
