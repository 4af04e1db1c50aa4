"""Records of lines that begin with tags: RIS, PubMed's own text (.nbib), Web of Science's plain text, and Refer (`%0`).

Each form says what its tags look like and which one begins and ends a record. Line ends may be those of any system.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import BufferedReader

from corpora.opening import LONGEST_RECORD, NOT_UTF8, Line, bounded_lines
from corpora.paper import Rejected


@dataclass(frozen=True, slots=True)
class TaggedForm:
    """A form of records.

    Attributes:
        tag: What a line with a tag begins with; its first group is the tag.
        begin: The tag that begins a record.
        end: The tag that ends one; empty if the next one does.
        names: What tags mean, by rispy's names; other tags are named by themselves, in small letters.
        listed: Names whose further lines are values of their own, not parts of the first one.
        around: Tags outside of records.
    """

    tag: re.Pattern[bytes]
    begin: bytes
    end: bytes
    names: Mapping[str, str]
    listed: frozenset[str] = frozenset()
    around: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class TaggedRecord:
    """A record: the line on which it begins, its form, and its tags in their order, each with its lines."""

    line: int
    form: TaggedForm
    tags: Sequence[tuple[str, Sequence[str]]]

    def values(self) -> dict[str, list[str]]:
        """Return the values by the names of tags, in their order."""
        values: dict[str, list[str]] = {}
        for tag, lines in self.tags:
            name = self.form.names.get(tag, tag.lower())
            values.setdefault(name, []).extend(lines if name in self.form.listed else ["\n".join(lines)])
        return {name: [one for one in found if one] for name, found in values.items()}

    def names(self) -> Collection[str]:
        """Return the tags that have a value."""
        return list(dict.fromkeys(tag for tag, lines in self.tags if any(lines)))

    def without(self, names: Collection[str]) -> TaggedRecord:
        """Return the record without some tags."""
        return replace(self, tags=[(tag, lines) for tag, lines in self.tags if tag not in names])

    def text(self, name: str) -> str:
        """Return the values of a tag."""
        return "; ".join(" ".join(lines) for tag, lines in self.tags if tag == name)


def tag_names(pairs: str) -> dict[str, str]:
    """Return what tags mean, of a text such as `TI=title AB=abstract`."""
    return {tag: name for tag, _, name in (pair.partition("=") for pair in pairs.split())}


_NBIB = tag_names(
    "PMID=pmid PMC=pmc TI=title BTI=title TT=translated_title AB=abstract OAB=notes_abstract FAU=full_authors "
    "AU=authors CN=groups DP=year LA=language JT=secondary_title TA=alternate_title1 PT=types MH=keywords "
    "OT=keywords LID=doi AID=doi VI=volume IP=number PG=start_page IS=issn PB=publisher PL=place_published "
    "AD=author_address DEP=date"
)
_WOS = tag_names(
    "TI=title AB=abstract AF=full_authors AU=authors CA=groups PY=year SO=secondary_title J9=alternate_title1 "
    "JI=alternate_title2 DT=types LA=language DE=keywords ID=keywords DI=doi PM=pmid UT=wos VL=volume IS=number "
    "BP=start_page EP=end_page AR=article_number SN=issn EI=electronic_issn PU=publisher C1=author_address EA=date"
)
_REFER = tag_names(
    "0=types T=title A=authors E=secondary_authors D=year 8=date J=secondary_title B=secondary_title X=abstract "
    "K=keywords R=doi U=urls G=language M=accession_number F=id L=call_number I=publisher C=place_published "
    "V=volume N=number P=start_page @=issn Z=notes O=alternate_title3 ~=name_of_database W=database_provider "
    "2=custom2 +=author_address S=tertiary_title"
)
FORMS = {
    "nbib": TaggedForm(re.compile(rb"([A-Z][A-Z0-9 ]{3})-(?: |$)"), b"PMID", b"", _NBIB),
    "wos": TaggedForm(
        re.compile(rb"([A-Z][A-Z0-9])(?: |$)"),
        b"PT",
        b"ER",
        _WOS,
        frozenset(("authors", "full_authors")),
        (b"FN", b"VR", b"EF"),
    ),
    "refer": TaggedForm(re.compile(rb"%(\S)(?: |$)"), b"0", b"", _REFER, frozenset(("keywords", "authors"))),
}
"""The forms by their names in `corpora.sniffing`; that of RIS takes the names of rispy's tags."""


def ris_form(names: Mapping[str, str]) -> TaggedForm:
    """Return the form of RIS. A tag has two blanks before its hyphen; some programs write one."""
    return TaggedForm(
        re.compile(rb"([A-Z][A-Z0-9]) {1,2}-(?: |$)"), b"TY", b"ER", names, frozenset(("keywords", "notes"))
    )


@dataclass(slots=True)
class _Cut:
    """A record while it is read: where it begins, and its tags with the lines of each."""

    line: int
    tags: list[tuple[bytes, list[bytes]]] = field(default_factory=list)
    size: int = 0

    def add(self, line: bytes, tag: re.Match[bytes] | None) -> None:
        """Add a line with a tag, or a further line of the tag before."""
        if tag:
            self.tags.append((tag[1].strip(), [line[tag.end() :].strip()]))
        else:
            self.tags[-1][1].append(line.strip())
        self.size += len(line)


def read_tagged(stream: BufferedReader, form: TaggedForm) -> Iterator[TaggedRecord | Rejected]:
    """Yield each record, and a rejection for what is outside of records, too long, without an end or not UTF-8."""
    for found in _TagCutter(form).cut(stream):
        yield found if isinstance(found, Rejected) else _record(found, form)


class _TagCutter:
    """Cuts lines into records."""

    def __init__(self, form: TaggedForm) -> None:
        self._form = form
        self._record: _Cut | None = None
        self._reported = False  # a rejection is enough for all tags up to the next record

    def cut(self, stream: BufferedReader) -> Iterator[_Cut | Rejected]:
        for line in _lines(stream):
            if isinstance(line, Rejected):
                yield replace(line, line=self._record.line) if self._record else line
                self._record, self._reported = None, True
            else:
                yield from self._take(line)
        if self._record and self._form.end:
            end = self._form.end.decode()
            yield Rejected(self._record.line, f"The record is cut off where the file ends: it has no {end}.")
        elif self._record:
            yield self._record

    def _take(self, line: Line) -> Iterator[_Cut | Rejected]:
        tag = self._form.tag.match(line.raw)
        name = tag[1].strip() if tag else b""
        record = self._record
        if name == self._form.begin:
            if record:
                yield record
            record, self._reported = _Cut(line.number), False
        if record is None:
            yield from self._outside(line, name)
            return
        if name and name == self._form.end:
            yield record
            record = None
        else:
            record.add(line.raw, tag)
            if record.size > LONGEST_RECORD:
                yield Rejected(record.line, f"The record is longer than {LONGEST_RECORD >> 20} MiB.")
                record, self._reported = None, True
        self._record = record

    def _outside(self, line: Line, name: bytes) -> Iterator[Rejected]:
        if name and not self._reported and name not in self._form.around:
            begin = self._form.begin.decode()
            yield Rejected(line.number, f"The tag {name.decode()} is outside a record, which begins with {begin}.")
            self._reported = True


def _lines(stream: BufferedReader) -> Iterator[Line | Rejected]:
    """Yield the lines that aren't blank, with the blanks at their beginning; old Macs ended lines by CR alone."""
    before = 0
    for line in bounded_lines(stream, stripped=False):
        if isinstance(line, Rejected):
            yield replace(line, line=line.line + before)
            continue
        parts = line.raw.rstrip().split(b"\r")
        yield from (Line(line.number + before + at, part) for at, part in enumerate(parts) if part.strip())
        before += len(parts) - 1


def _record(cut: _Cut, form: TaggedForm) -> TaggedRecord | Rejected:
    try:
        tags = [(tag.decode(), [line.decode() for line in lines]) for tag, lines in cut.tags]
    except UnicodeDecodeError:
        return Rejected(cut.line, f"The record has {NOT_UTF8}.")
    return TaggedRecord(cut.line, form, tags)
