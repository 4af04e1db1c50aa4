"""Accounts for what a reader read: which column, tag, key or element became which field of the papers, and which none.

No list says which names a reader knows. Records are read again without some of their names, and what changes in the
paper is what the names were read as. So a name that a reader forgets is reported as not read. Records and names are
counted exactly. What names are read as is tried on the first records, on those with rare names, and then on a few.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, TypeVar, cast

from corpora.cleaning import clean_text, flag_of, text_of, texts_of
from corpora.identifiers import find_identifiers
from corpora.paper import Accepted, Deleted, MadeOf, Paper, Record, RecordParts, Rejected

T = TypeVar("T")

LACKABLE = ("title", "abstract", "year", "authors", "venue", "doi")
"""What an account counts the papers without."""

MOST_NAMES = 2_000
"""Most names of an account; a file with more has names that are values."""

LONGEST_EXAMPLE = 60
"""Most characters of an example."""

_TRIED_ALONE = 2
_RARE = 8
_FIRST = 64
_THEN_EVERY = 256
_MOST_LACKING = 0.2
_LEAST_ALIKE = 0.8
_FIELDS = tuple(field.name for field in fields(Paper) if field.name != "origins")
_CUSTOM = "extra."

_PROBES = ("a 10.5555/1", "2001", True)
"""Values of a name without one, of which each field of a paper takes something."""

_YEAR = r"(?:19\d\d|20\d\d|2100)"
_DATE = re.compile(
    rf"{_YEAR}(?:[-/.]\d{{1,2}}){{0,2}}(?:[T ]\d.*)?|(?:\d{{1,2}}[-/. ]){{1,2}}{_YEAR}"
    rf"|{_YEAR} [A-Za-z]{{3,9}}(?: \d{{1,2}})?|(?:\d{{1,2}} )?[A-Za-z]{{3,9}}\.?,? (?:\d{{1,2}},? )?{_YEAR}"
)
_OTHER_DATE = re.compile(r"access|add|complet|creat|download|entr|modif|retriev|revis|updat", re.IGNORECASE)
"""Names of dates that are those of a record, not of the paper."""
_LOOKS = {"title": "short texts", "abstract": "long texts", "year": "years", "doi": "DOIs"}


@dataclass(frozen=True, slots=True)
class RecordMembers:
    """The parts of a record that holds values by name, such as a row or an object of JSON."""

    values: Mapping[str, Any]

    def names(self) -> Collection[str]:
        """Return the names that have a value; 0 is one."""
        return [name for name, value in self.values.items() if value or (value == 0 and value is not False)]

    def without(self, names: Collection[str]) -> dict[str, Any]:
        """Return the values without those of some names."""
        return {name: value for name, value in self.values.items() if name not in names}

    def text(self, name: str) -> str:
        """Return a value as text; that of a list is the text of its parts."""
        value = self.values[name]
        shown = "; ".join(texts_of(value)) if isinstance(value, list) else text_of(value)
        return shown or json.dumps(value, ensure_ascii=False, default=str)


def accounted(given: T, convert: Callable[[T], Record], parts: RecordParts[T] | None = None) -> Record:
    """Return the record that a reader makes of what it is given, with what an account of it needs.

    The parts of a mapping are its members.
    """
    record = convert(given)
    if isinstance(record, Deleted):
        return record
    if parts is None:
        members: Any = given
        parts = cast("RecordParts[T]", RecordMembers(members))
    made_of: MadeOf[Any] = MadeOf(parts, convert)
    if isinstance(record, Accepted):  # much faster than `replace`
        return Accepted(record.line, record.paper, made_of)
    return replace(record, made_of=made_of)


@dataclass(frozen=True, slots=True)
class ColumnAccount:
    """What became of a column, tag, key or element.

    Attributes:
        name: Its name in the source.
        read_as: Fields of papers that have its values: attributes, and kinds of identifiers such as `doi`.
        kept_as: Custom fields that have its values.
        records: Number of records that have a value there.
        example: One of the values, cut short.
    """

    name: str
    read_as: tuple[str, ...]
    kept_as: tuple[str, ...]
    records: int
    example: str

    @property
    def became(self) -> Literal["read", "kept", "not read"]:
        """Whether it is read as attributes of papers, is kept as custom fields only, or not read."""
        return "read" if self.read_as else "kept" if self.kept_as else "not read"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {"name": self.name, "became": self.became, **asdict(self)}


@dataclass(frozen=True, slots=True)
class Overlooked:
    """A column that is not read, and seems to hold what many papers lack.

    Attributes:
        attribute: The attribute or the kind of identifier that it seems to be.
        column: Its name in the source.
        sentence: What papers lack, and what the column has.
    """

    attribute: str
    column: str
    sentence: str


@dataclass(frozen=True, slots=True)
class CorpusAccount:
    """What became of all that a corpus holds.

    Attributes:
        records: Number of records that were read, those that were rejected for what they lack among them.
        columns: Each name in them, in the order of its first record.
        lacking: Number of records without a title, an abstract and so on.
        overlooked: Columns that seem to hold what many papers lack.
        more_names: Whether there are more names than an account lists.
    """

    records: int
    columns: tuple[ColumnAccount, ...]
    lacking: Mapping[str, int]
    overlooked: tuple[Overlooked, ...] = ()
    more_names: bool = False

    @property
    def unread(self) -> tuple[ColumnAccount, ...]:
        """The columns with values of which papers have nothing, those of most records first."""
        unread = (one for one in self.columns if one.became == "not read" and one.records)
        return tuple(sorted(unread, key=lambda one: -one.records))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {**asdict(self), "columns": [one.to_dict() for one in self.columns]}


class Account:
    """Counts what the records of a corpus are made of, while they pass."""

    def __init__(self) -> None:
        self._records = 0
        self._counts: Counter[str] = Counter()
        self._lacking = dict.fromkeys(LACKABLE, 0)
        self._examples: dict[str, str] = {}
        self._became: dict[str, dict[str, None]] = {}
        self._tried: Counter[str] = Counter()
        self._often: set[str] = set()
        self._looks: dict[str, Counter[str]] = {}
        self._more = False

    def watch(self, records: Iterable[Record]) -> Iterator[Record]:
        """Yield records as they are, without what only an account needs, and count them."""
        for record in records:
            if isinstance(record, Deleted) or record.made_of is None:
                yield record
                continue
            if record.paper:
                self._add(record.made_of, record.paper)
            if isinstance(record, Accepted):
                yield Accepted(record.line, record.paper)
            else:
                yield Rejected(record.line, record.reason, record.id)

    def result(self) -> CorpusAccount | None:
        """Return the account of the records so far; None if no reader said what it made them of."""
        if not self._records:
            return None
        columns = tuple(self._column(name) for name in self._became)
        return CorpusAccount(
            self._records, columns, dict(self._lacking), tuple(self._overlooked(columns)), more_names=self._more
        )

    def _add(self, made_of: MadeOf[Any], paper: Paper) -> None:
        names = made_of.parts.names()
        self._records += 1
        self._counts.update(names)
        if not (paper.title and paper.abstract and paper.year and paper.authors and paper.venue and _has_doi(paper)):
            for name in LACKABLE:
                self._lacking[name] += not (_has_doi(paper) if name == "doi" else getattr(paper, name))
        if self._records <= _FIRST or self._records % _THEN_EVERY == 0 or not self._often.issuperset(names):
            self._try(made_of, paper, self._listed(names))
            if isinstance(made_of.parts, RecordMembers):
                self._list_empty(made_of, names)

    def _listed(self, names: Collection[str]) -> list[str]:
        """Return those names that the account lists; new ones are listed if there is room."""
        for name in names:
            if name not in self._became:
                if len(self._became) < MOST_NAMES:
                    self._became[name] = {}
                else:
                    self._more = True
                    del self._counts[name]
        return [name for name in names if name in self._became]

    def _list_empty(self, made_of: MadeOf[Any], names: Collection[str]) -> None:
        """List the names that have no value, and find out what one would be read as."""
        empty = [name for name in made_of.parts.without(names) if name not in self._became]
        for name in self._listed(empty):
            self._examples[name] = ""
            nothing = _trial(made_of, names)
            for value in _PROBES:
                self._learn(name, nothing, _trial(made_of, names, {name: value}))

    def _try(self, made_of: MadeOf[Any], paper: Paper, names: Sequence[str]) -> None:
        """Find out what names are read as: each alone at first, later all together that seem to be read as nothing.

        A name is read if the paper changes without it. It is read too if a paper of that name alone differs from one of
        no name: then it stands in where others have no value.
        """
        for name in names:
            if not self._examples.get(name):
                self._examples[name] = _short(made_of.parts.text(name))
        fresh = [name for name in names if self._tried[name] < _TRIED_ALONE]
        together = [name for name in names if not self._became[name] and name not in fresh]
        if together and _differences(paper, _trial(made_of, together)):
            fresh += together
        for name in fresh:
            self._learn(name, paper, _trial(made_of, (name,)))
        if unread := [name for name in names if not self._became[name]]:
            self._try_alone(made_of, names, unread)
        for name in unread:
            if not any(not one.startswith(_CUSTOM) for one in self._became[name]):
                self._looks.setdefault(name, Counter()).update(["values", *_looks_like(name, made_of.parts.text(name))])
        for name in names:
            self._tried[name] += 1
            if self._tried[name] == _RARE:
                self._often.add(name)

    def _try_alone(self, made_of: MadeOf[Any], names: Sequence[str], unread: Sequence[str]) -> None:
        nothing = _trial(made_of, names)
        if _differences(nothing, _trial(made_of, [name for name in names if name not in unread])):
            for name in unread:
                self._learn(name, nothing, _trial(made_of, [one for one in names if one != name]))
        if not isinstance(made_of.parts, RecordMembers):
            return
        for name in unread:
            # "no" is read as a mark that a paper does not have.
            if not self._became[name] and flag_of(made_of.parts.values[name]) is False:
                self._learn(name, nothing, _trial(made_of, names, {name: True}))

    def _learn(self, name: str, before: Paper | None, after: Paper | None) -> None:
        self._became[name].update(dict.fromkeys(_differences(before, after)))

    def _column(self, name: str) -> ColumnAccount:
        became = self._became[name]
        return ColumnAccount(
            name,
            tuple(field for field in became if not field.startswith(_CUSTOM)),
            tuple(field.removeprefix(_CUSTOM) for field in became if field.startswith(_CUSTOM)),
            self._counts[name],
            self._examples[name],
        )

    def _overlooked(self, columns: Collection[ColumnAccount]) -> Iterator[Overlooked]:
        for attribute, values in _LOOKS.items():
            if (lacking := self._lacking[attribute]) <= _MOST_LACKING * self._records:
                continue
            named = "DOI" if attribute == "doi" else attribute
            for column in columns:
                looks = self._looks.get(column.name)
                if not column.read_as and looks and looks[attribute] >= _LEAST_ALIKE * looks["values"]:
                    yield Overlooked(
                        attribute,
                        column.name,
                        f"{lacking:,} of {self._records:,} records have no {named}, and {_short(column.name)} has "
                        f"{values}, such as {column.example}",
                    )
                    break


def _trial(made_of: MadeOf[Any], without: Collection[str], instead: Mapping[str, object] | None = None) -> Paper | None:
    """Return the paper without some names, and with other values of some; None if nothing can be said of it."""
    try:
        given = made_of.parts.without(without)
        record = made_of.convert({**given, **instead} if instead else given)
    except Exception:  # noqa: BLE001 - a reader may fail at what no file holds, and a trial must not end the run
        return None
    return None if isinstance(record, Deleted) else record.paper


def _differences(before: Paper | None, after: Paper | None) -> list[str]:
    """Return the fields in which two papers differ: attributes, kinds of identifiers, and `extra.NAME`."""
    if before is None or after is None:
        return []
    different: list[str] = []
    for name in _FIELDS:
        one, other = getattr(before, name), getattr(after, name)
        if one == other:
            continue
        if name == "identifiers":
            different += dict.fromkeys(text.partition(":")[0] for text in sorted({*one} ^ {*other}))
        elif name == "extra":
            different += (_CUSTOM + key for key in {**one, **other} if one.get(key) != other.get(key))
        else:
            different.append(name)
    if different[:1] == ["id"] and len(different) > 1:
        # An id that is made of others says nothing of its own, nor does a key that is no id any more.
        made = all(paper.id.startswith("hash-") for paper in (before, after))
        different = [name for name in different if name != "key" and not (made and name == "id")] or ["id"]
    return different


def _has_doi(paper: Paper) -> bool:
    return any(name.startswith("doi:") for name in paper.identifiers)


def _short(text: str) -> str:
    text = clean_text(text[: 20 * LONGEST_EXAMPLE])
    return text if len(text) <= LONGEST_EXAMPLE else f"{text[: LONGEST_EXAMPLE - 1]}…"


def _looks_like(name: str, text: str) -> Iterator[str]:
    """Yield what a value may be that papers lack."""
    text = clean_text(text)
    words = text.count(" ") + 1
    if _DATE.fullmatch(text) and not _OTHER_DATE.search(name):
        yield "year"
    if len(text) < 200 and words < 5 and any(found.kind == "doi" for found in find_identifiers(text)):
        yield "doi"
    if len(text) >= 300 and words >= 40:
        yield "abstract"
    if 15 <= len(text) <= 300 and words >= 3 and ";" not in text:
        yield "title"
