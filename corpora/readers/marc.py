"""MARC 21 (loc.gov/marc/bibliographic), the form of library catalogues: ISO 2709, MARCXML and MARC in JSON, by pymarc.

Records are cut out first, so that a broken one can't affect the others. A record without the mark of UTF-8 is in
MARC-8, unless its bytes are UTF-8 all the same: many catalogues forget the mark.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import Any

from corpora.accounting import accounted
from corpora.assembling import assemble
from corpora.custom import CustomField
from corpora.errors import InputError, require
from corpora.identifiers import identifiers_of, read_identifier
from corpora.installed import extra, needing
from corpora.markup import parallel_title
from corpora.opening import LONGEST_RECORD, PLAIN, Opening, check_encoding, open_binary, open_bytes
from corpora.paper import Deleted, Record, Rejected
from corpora.publication import parts_of_citation
from corpora.readers.jsonl import read_objects
from corpora.reading import read_each
from corpora.sniffing import guess_kind, refuse_other, remedy_for_folder
from corpora.xml_records import read_records

NAMESPACE = "http://www.loc.gov/MARC21/slim"

TYPES = {
    "aa": "article",
    "ab": "article",
    "ai": "integrating resource",
    "am": "book",
    "as": "journal",
    "t": "manuscript",
    "c": "notated music",
    "d": "notated music",
    "e": "map",
    "f": "map",
    "g": "video",
    "i": "audio",
    "j": "audio",
    "k": "picture",
    "m": "computer file",
    "o": "kit",
    "p": "mixed materials",
    "r": "object",
}
"""Types by the leader's places 6 and 7, or by place 6 alone."""

CUSTOM = {
    "publisher": ("264b", "260b"),
    "place": ("264a", "260a"),
    "edition": ("250a",),
    "extent": ("300a",),
    "series": ("490a", "830a"),
    "isbn": ("020a",),
    "issn": ("022a",),
    "note": ("500a",),
    "shelf": ("852h", "050a"),
    "classification": ("082a", "084a"),
}
"""Values that custom fields can take by name, beside any subfield, such as `852h`, and control field, such as `003`."""

_SUFFIXES = ("mrc", "marc", "xml", "json", "jsonl")
_END = b"\x1d"
_CHUNK = 1 << 16
_PLACE = re.compile(r"(\d{3})(?:\$?([a-z0-9]))?")
_XML_RECORD = re.compile(rb"<(?:([A-Za-z][\w.-]*):)?record\b")
_YEAR = re.compile(r"(?<!\d)(1[4-9]\d\d|20\d\d)(?!\d)")
_ISBD = re.compile(r"[\s/:;,=]+$")
_PEOPLE = ("100", "110", "111", "700", "710", "711")
_SUBJECTS = ("600", "610", "611", "630", "648", "650", "651", "653", "655")
_ISBN = re.compile(r"[\d-]{9,17}[\dXx]?")


def read(
    path: Path,
    columns: Mapping[str, str],  # noqa: ARG001  # every reader is given it
    custom: Sequence[CustomField] = (),
    opening: Opening = PLAIN,
) -> Iterator[Record]:
    """Read MARC lazily, from a file or a folder of them in the order of their names; see `Reader`.

    A paper's id is the record's control number (001). In ISO 2709, a rejected record's line is its number. Custom
    fields are those of `CUSTOM`, subfields such as `852h`, and control fields such as `003`. An encoding is that of ISO
    2709 without the mark of UTF-8. Raises `UnavailableError` if pymarc isn't installed.
    """
    _need()
    check_places(custom)
    files = [path]
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.is_file() and _suffix(file) in _SUFFIXES)
        require(files, f"{path} holds no .mrc, .xml or .json file", remedy_for_folder(path))
    yield from read_each(path, files, lambda file: _read_file(file, custom, opening.encoding))


def _need() -> Any:
    with needing("Reading MARC needs pymarc", extra("marc")):
        import pymarc
    return pymarc


def _suffix(file: Path) -> str:
    name = file.name.lower()
    for packed in (".gz", ".zst", ".xz"):
        name = name.removesuffix(packed)
    return name.rpartition(".")[2]


def check_places(custom: Sequence[CustomField]) -> None:
    """Raise `InputError` if a custom field is neither of `CUSTOM` nor a place of MARC."""
    for field in custom:
        require(
            field.source in CUSTOM or _PLACE.fullmatch(field.source),
            f"MARC has no {field.source} for the field {field.name}",
            f"name a subfield such as <columns={field.name}=852h>, or one of {', '.join(CUSTOM)}",
        )


def _read_file(path: Path, custom: Sequence[CustomField], encoding: str) -> Iterator[Record]:
    with open_bytes(path) as stream:
        head = stream.peek()
        kind = guess_kind(head)
        if kind == "marc" and not head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
            if encoding:
                check_encoding(encoding)
            yield from _read_iso(stream, custom, encoding)
            return
    with open_binary(path, encoding) as stream:
        head = stream.peek()
        refuse_other(path, head, "MARC", ("marc", "jsonl", "xml"))
        yield from _read_json(stream, custom) if kind == "jsonl" else _read_xml(path, stream, head, custom)


def _read_iso(stream: BufferedReader, custom: Sequence[CustomField], encoding: str) -> Iterator[Record]:
    for number, raw in enumerate(_cut(stream), start=1):
        if isinstance(raw, str):
            yield Rejected(number, raw)
            continue
        try:
            record = _decode(raw, encoding)
        # pymarc raises errors of many kinds for what it can't read, also such as AttributeError.
        except Exception as error:  # noqa: BLE001 - the record is rejected with its reason
            yield Rejected(number, f"The record isn't MARC ({_reason(error)}).")
            continue
        yield accounted(record, partial(_paper, number, custom), Subfields(record))


def _cut(stream: BufferedReader) -> Iterator[bytes | str]:
    """Yield each record up to its terminator, or why it is none; the length that a record states can be wrong."""
    rest, skipping = b"", False
    while True:
        try:
            chunk = stream.read1(_CHUNK)
        except InputError as damage:
            yield f"Nothing after this record can be read: {damage}"
            return
        *whole, rest = (rest + chunk).split(_END)
        for raw in whole:
            if skipping:
                skipping = False
            elif raw.strip():
                yield raw.lstrip(b"\xef\xbb\xbf\r\n\t \x00\x1a") + _END
        if not chunk:
            break
        if len(rest) > LONGEST_RECORD:
            if not skipping:
                yield f"The record is longer than {LONGEST_RECORD >> 20} MiB."
            rest, skipping = b"", True
    if rest.strip(b"\r\n\t \x00\x1a") and not skipping:
        yield "The record is cut off where the file ends."


def _decode(raw: bytes, encoding: str) -> Any:
    pymarc = _need()
    unmarked = raw[9:10] != b"a"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of codes of subfields that aren't ASCII, which no field here has
        return pymarc.Record(
            raw,
            to_unicode=True,
            force_utf8=unmarked and not encoding and _is_utf8(raw),
            hide_utf8_warnings=True,
            file_encoding=encoding or "iso8859-1",
        )


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return not raw.isascii()


def _reason(error: Exception) -> str:
    # What Python says of these means nothing to a reader.
    if isinstance(error, AttributeError | LookupError | TypeError) or type(error) is ValueError:
        return "a part is missing, or a number is none"
    return " ".join((str(error) or type(error).__name__).split())[:80]


def _read_xml(path: Path, stream: BufferedReader, head: bytes, custom: Sequence[CustomField]) -> Iterator[Record]:
    found = _XML_RECORD.search(head)
    if found is None:
        raise InputError(f"{path} should be MARC, but it holds no record", "name another file")
    prefix = found[1].decode() if found[1] else ""
    # The namespaces are declared around the records, where they are cut out.
    named = f' xmlns:{prefix}="{NAMESPACE}"' if prefix else ""
    around = f'<collection{named} xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'.encode(), b"</collection>"
    for record in read_records(stream, (f"{prefix}:record" if prefix else "record",)):
        if isinstance(record, Rejected):
            yield record
            continue
        try:
            (marc,) = records_of_xml(io.BytesIO(record.body.join(around)))
        except Exception as error:  # noqa: BLE001 - pymarc raises errors of many kinds; the record is rejected
            yield Rejected(record.line, f"The record isn't MARCXML ({_reason(error)}).")
            continue
        yield accounted(marc, partial(_paper, record.line, custom), Subfields(marc))


def records_of_xml(stream: io.BytesIO) -> list[Any]:
    """Return the records of MARCXML without a document type; errors of many kinds if it is something else."""
    _need()
    from pymarc.marcxml import parse_xml_to_array

    records: list[Any] = parse_xml_to_array(stream)
    return records


def _read_json(stream: BufferedReader, custom: Sequence[CustomField]) -> Iterator[Record]:
    _need()
    from pymarc.marcjson import JSONHandler

    for item in read_objects(stream):
        if isinstance(item, Rejected):
            yield item
            continue
        try:
            (record,) = JSONHandler().elements([item.members])
        except Exception as error:  # noqa: BLE001 - pymarc raises errors of many kinds; the record is rejected
            yield Rejected(item.line, f"The record isn't MARC in JSON ({_reason(error)}).")
            continue
        yield accounted(record, partial(_paper, item.line, custom), Subfields(record))


def record_of(line: int, record: Any, custom: Sequence[CustomField]) -> Record:
    """Return the paper of a record of pymarc, or that it is deleted, or why it is none."""
    members = members_of(record)
    if str(record.leader)[5:6] == "d" and members["id"]:
        return Deleted(line, str(members["id"]))
    return assemble(line, members, {}, custom, values_of(record, custom))


def _paper(line: int, custom: Sequence[CustomField], record: Any) -> Record:
    return record_of(line, record, custom)


@dataclass(frozen=True, slots=True)
class Subfields:
    """The parts of a record of pymarc for an account: control fields, and subfields such as `245a`."""

    record: Any

    def names(self) -> Collection[str]:
        """Return the places that have a value."""
        return list(dict.fromkeys(name for name, text in self._places() if text))

    def without(self, names: Collection[str]) -> Any:
        """Return a copy without some places."""
        record = deepcopy(self.record)
        for field in [*record.fields]:
            if not field.control_field:
                field.subfields = [one for one in field.subfields if f"{field.tag}{one.code}" not in names]
            elif field.tag in names:
                record.remove_field(field)
        return record

    def text(self, name: str) -> str:
        """Return the values at a place."""
        return "; ".join(text for place, text in self._places() if place == name)

    def _places(self) -> Iterator[tuple[str, str]]:
        for field in self.record.fields:
            if field.control_field:
                yield field.tag, field.data or ""
            else:
                yield from ((f"{field.tag}{one.code}", one.value or "") for one in field.subfields)


def values_of(record: Any, custom: Sequence[CustomField]) -> dict[str, object]:
    """Return the values of custom fields by their place: `CUSTOM`, a subfield, or a control field."""
    return {
        field.source: [text for place in CUSTOM.get(field.source, (field.source,)) for text in _at(record, place)]
        for field in custom
        if field.source in CUSTOM or _PLACE.fullmatch(field.source)
    }


def members_of(record: Any) -> dict[str, object]:
    """Return the values of a record for `assemble`."""
    leader = str(record.leader)
    fixed = next(iter(_at(record, "008")), "")
    kind = leader[6:8]
    language = next(iter(_at(record, "041a")), "")[:3] or fixed[35:38].strip("|^ ")
    people = [field for tag in _PEOPLE for field in record.get_fields(tag) if not field.get_subfields("t")]
    links = _at(record, "856u")
    return {
        "id": next(iter(_at(record, "001")), "").strip(),
        "title": parallel_title(*_titles(record)),
        "abstract": " ".join(text for field in record.get_fields("520") if (text := _joined(field, "ab"))),
        "authors": list(dict.fromkeys(name for field in people if (name := _joined(field, "abq").rstrip(",")))),
        "year": _year(record, fixed),
        "venue": next((_clean(text) for text in _at(record, "773t")), ""),
        "types": TYPES.get(kind) or TYPES.get(kind[:1], ""),
        "language": "" if language in ("und", "zxx", "mul") else language,
        "fields": [_subject(field) for tag in _SUBJECTS for field in record.get_fields(tag)],
        "identifiers": list(dict.fromkeys(_identifiers(record, links))),
        "url": [link for link in links if link.startswith(("https://", "http://"))],
        **parts_of_citation(next(iter(_at(record, "773g")), "")),
        "publisher": next((_clean(text) for place in ("264b", "260b", "773d") for text in _at(record, place)), ""),
        "issn": [*_at(record, "773x"), *_at(record, "022a")],
    }


def _titles(record: Any) -> tuple[str, str]:
    """Return the title, and that in its own script, which stands in the 880 that is linked with 245."""
    linked = [field for field in record.get_fields("880") if "".join(field.get_subfields("6")).startswith("245")]
    first, own = (
        next((title for field in among if (title := _joined(field, "abnp"))), "")
        for among in (record.get_fields("245"), linked)
    )
    return first, own


def _at(record: Any, place: str) -> list[str]:
    """Return the texts at `852h` (a subfield), or `003` (a control field, or all of a field's subfields)."""
    found = _PLACE.fullmatch(place)
    if found is None:
        return []
    tag, code = found.groups()
    texts: list[str] = []
    for field in record.get_fields(tag):
        if field.control_field:
            texts.append(field.data or "")
        else:
            texts += field.get_subfields(code) if code else [" ".join(sub.value for sub in field.subfields)]
    return [text for text in texts if isinstance(text, str) and text.strip()]


def _joined(field: Any, codes: str) -> str:
    parts = (sub.value.strip() for sub in field.subfields if sub.code in codes and isinstance(sub.value, str))
    return _clean(" ".join(filter(None, parts)))


def _clean(text: str) -> str:
    """Return a text without the punctuation of ISBD that leads to what follows it (`Bees : a history /`)."""
    return _ISBD.sub("", re.sub(r"\s+([:;,/=])\s", lambda mark: f"{mark[1]} " if mark[1] in ":;," else mark[0], text))


def _subject(field: Any) -> str:
    """Return `Bees -- Behavior -- Germany`, as catalogues show a heading with its subdivisions."""
    parts = (sub.value.strip(" .") for sub in field.subfields if sub.code in "abvxyz" and isinstance(sub.value, str))
    return " -- ".join(filter(None, parts))


def _year(record: Any, fixed: str) -> int | None:
    # A field 264 with the second indicator 1 is the publication; others are of a copyright or a printing.
    published = [field for field in record.get_fields("264", "260") if field.indicator2 in ("1", " ", "")]
    fields: Iterable[Any] = (*published, *record.get_fields("264", "260"))
    stated = (year for field in fields for text in field.get_subfields("c") for year in _YEAR.findall(text))
    return next((int(year) for year in (*stated, *_YEAR.findall(fixed[7:11]))), None)


def _identifiers(record: Any, links: Sequence[str]) -> Iterator[str]:
    for field in record.get_fields("024"):
        kinds = [kind.strip().lower() for kind in field.get_subfields("2")]
        for value in field.get_subfields("a"):
            if "doi" in kinds:
                yield from identifiers_of("doi", value)
    for link in links:
        if (found := read_identifier(link)) and found[0] != "openalex":
            yield f"{found[0]}:{found[1]}"
    for text in _at(record, "020a"):
        if found_isbn := _ISBN.match(text.strip()):
            yield f"isbn:{found_isbn[0].replace('-', '').upper()}"
    for text in _at(record, "022a"):
        yield f"issn:{text.strip().upper()}"
