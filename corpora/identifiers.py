"""Identifiers of papers as people and files write them (in addresses, with prefixes, or bare), and links made of them.

DOIs: ISO 26324 (a prefix `10.` and a registrant, a slash, any characters; case does not count). arXiv: its identifier
scheme, from April 2007 on `yymm.number`, before that `archive/yymmnnn`; arXiv registers `10.48550/arXiv.` and the
identifier as a DOI. All functions take time in proportion to the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol
from urllib.parse import quote, unquote

from corpora.aliases import IDENTIFIERS
from corpora.cleaning import texts_of

_HTTP = r"(?:https?://)?(?:www\.)?"
_END = r"/?(?:\?\S*|#\S*)?(?=[.)\]]*(?:$|[\s,;]))"
_DOI_AT = rf"{_HTTP}(?:dx\.)?doi\.org/(?:doi:)?|info:doi/|urn:doi:"
_PUBMED = r"pubmed\.ncbi\.nlm\.nih\.gov/|ncbi\.nlm\.nih\.gov/(?:m/)?pubmed/|europepmc\.org/(?:article|abstract)/med/"
_PMID_AT = rf"{_HTTP}(?:{_PUBMED})|info:pmid/"
_PMC_AT = rf"{_HTTP}(?:(?:pmc\.)?ncbi\.nlm\.nih\.gov/(?:pmc/)?|europepmc\.org/)articles?/(?:pmc/)?"
_ARXIV_AT = rf"{_HTTP}(?:export\.)?arxiv\.org/(?:abs|pdf|html|format|ps)/|info:arxiv/|oai:arxiv\.org:"
_OPENALEX_AT = rf"{_HTTP}(?:api\.)?openalex\.org/(?:works/)?|openalex:"
_SIGN = r"\s*(?:[:=]\s*)?"

_DOI = r"10\.\d{4,9}(?:\.\d+)*(?:/|%2F)"
_NEW_ARXIV, _OLD_ARXIV = r"\d{4}\.\d{4,5}(?:v\d+)?", r"[a-z-]+(?:\.[a-z]{2})?/\d{7}(?:v\d+)?"

_FORMS = (
    rf"(?:{_DOI_AT})(?P<doi_at>{_DOI}[^\s?#]+)(?:[?#]\S*)?",
    rf"(?:doi{_SIGN})?(?P<doi>{_DOI}\S+)",
    rf"(?:{_PMID_AT}|pmid{_SIGN})(?P<pmid>\d{{1,8}}){_END}",
    rf"{_PMC_AT}(?P<pmc_at>PMC\d{{3,9}}){_END}",
    rf"pmc(?:id)?{_SIGN}(?P<pmc>(?:PMC)?\d{{3,9}})(?:\.\d+)?{_END}",
    rf"(?:{_ARXIV_AT}|arxiv{_SIGN})(?P<arxiv>{_NEW_ARXIV})(?:\.pdf)?{_END}",
    rf"(?:{_ARXIV_AT}|arxiv{_SIGN})?(?P<arxiv_old>{_OLD_ARXIV})(?:\.pdf)?{_END}",
    rf"(?:{_OPENALEX_AT})(?P<openalex>W\d+){_END}",
    rf"WOS:(?P<wos>[A-Z0-9]{{4,20}}){_END}",
    rf"(?P<scopus>2-s2\.0-\d+){_END}",
)
"""Each has a group around the identifier; the group's name up to `_` is the kind."""

_KNOWN = "|".join(_FORMS)
_NAMED = rf"(?P<named>(?:{'|'.join(sorted(IDENTIFIERS))}):[^\s,;]+)"
_IN_TEXT = re.compile(rf"(?<![^\s,;([])(?:{_KNOWN}|{_NAMED})", re.IGNORECASE)
_WHOLE = re.compile(_KNOWN, re.IGNORECASE)
_PREFIXES = {
    "doi": re.compile(rf"{_DOI_AT}|doi{_SIGN}", re.IGNORECASE),
    "pmid": re.compile(rf"https?://\S*/(?=\d)|pmid{_SIGN}", re.IGNORECASE),
    "pmc": re.compile(rf"https?://\S*/(?=(?:PMC)?\d)|pmcid{_SIGN}", re.IGNORECASE),
    "arxiv": re.compile(rf"{_ARXIV_AT}|arxiv{_SIGN}", re.IGNORECASE),
    "openalex": re.compile(r"https?://\S*/", re.IGNORECASE),
    "wos": re.compile(r"WOS:", re.IGNORECASE),
    "scopus": re.compile(rf"eid{_SIGN}", re.IGNORECASE),
}
FORMAL = tuple(_PREFIXES)
"""The kinds of identifiers that are known by their form."""

_BARE = {
    "pmid": re.compile(r"\d{1,8}"),
    "pmc": re.compile(r"(?:PMC)?\d{1,9}", re.IGNORECASE),
    "arxiv": re.compile(r"\d\d(?:0[1-9]|1[0-2])\.\d{4,5}(?:v\d+)?"),
    "openalex": re.compile(r"W\d+", re.IGNORECASE),
}
"""The forms without prefix; other texts may be of these forms too."""

_NONE = ("", "-", "n/a", "na", "none", "null", "nan")
_SEVERAL = re.compile(r"[,;|](?=\s*(?:doi:|https?://|10\.\d{4,9}/))", re.IGNORECASE)
_LINKED = ("doi", "pmid", "pmc", "arxiv", "wos", "scopus")
_REMARKS = re.compile(r"\s*(?:[\r\n]+|;\s)\s*")
_PUBLISHED_AT = re.compile(rf"https?://[^/\s]+/(?:\w+/){{0,3}}doi/(?:\w+/){{0,3}}({_DOI}[^\s?#]+)")
"""A paper's address at a publisher, such as `https://x.example/doi/abs/10.1000/182`."""

_WHOLE_FLOAT = re.compile(r"(\d+)\.0")
_BRACKETS = {")": "(", "]": "[", ">": "<", "}": "{"}
_ARXIV_DOI = "10.48550/arxiv."


class FoundIdentifier(NamedTuple):
    """An identifier in a text: its kind, its normal form, and where it begins and ends, with prefix or address."""

    kind: str
    value: str
    span: tuple[int, int]


def one_each(text: str) -> str:
    """Return a text in which a blank separates several identifiers, as `10.1000/a;10.1000/b` does not."""
    return _SEVERAL.sub(" ", text)


def find_identifiers(text: str) -> Iterator[FoundIdentifier]:
    """Yield the identifiers in running text, `openalex:W1` and the like among them, in their order."""
    for match in _IN_TEXT.finditer(text):
        kind, value = _read(match)
        yield FoundIdentifier(kind, normal(kind, value), match.span())


def read_identifier(text: str, kind: str = "") -> tuple[str, str] | None:
    """Return kind and normal form of a text that is one identifier and nothing else, or None.

    It may have a prefix, an address and a stop at its end. A bare number is read only if its `kind` is given.
    """
    found = _whole(text, kind)
    return found and (found[0], normal(*found))


def identifiers_of(kind: str, value: object) -> Iterator[str]:
    """Yield every identifier of a kind, such as `doi` or `pmid`, in a value of a corpus, as `kind:value`.

    They are without address or prefix; DOIs in lower case, PMC numbers with their letters, arXiv's with their version.
    What is not of the form of its kind is kept, except for what stands for none, such as 0.
    """
    for text in _divided(kind, value):
        found = _whole(text, kind)
        name = found[1] if found and found[0] == kind else _bare(text, kind)
        name = name.lower() if kind == "doi" else normal(kind, name) if kind == "pmc" else name
        if (name if kind == "key" else name.lower().lstrip("0")) not in _NONE:
            yield f"{kind}:{name}"


def identifiers_in(texts: Iterable[str], known: Mapping[str, object]) -> Iterator[str]:
    """Yield the identifiers that links and remarks are, as `kind:value`, of kinds that have no value in `known`.

    A remark may have several parts, in lines or with semicolons between. If two parts name different papers, none does.
    """
    found: dict[str, set[str]] = {}
    for part in (part for text in texts for part in _REMARKS.split(text)):
        published = _PUBLISHED_AT.match(part.strip())
        kind, value = read_identifier(published[1] if published else part) or ("", "")
        if kind in _LINKED and not known.get(kind):
            found.setdefault(kind, set()).add(value)
    yield from (f"{kind}:{value}" for kind, values in found.items() if len(values) == 1 for value in values)


def normal(kind: str, value: str) -> str:
    """Return an identifier, written without prefix or address, in the form in which two of them can be compared."""
    if kind == "doi":
        return _trimmed(value).lower()
    if kind == "pmid":
        return value.lstrip("0") or value
    if kind == "pmc":
        return f"PMC{value.upper().removeprefix('PMC')}"
    if kind == "openalex":
        return value.upper()
    if kind == "arxiv":
        archive, slash, number = re.sub(r"v\d+$", "", value).partition("/")
        return f"{archive if '.' in archive else archive.lower()}{slash}{number}"
    return value


def other_names(kind: str, value: str) -> Iterator[tuple[str, str]]:
    """Yield the identifiers of other kinds that follow from one in its normal form: arXiv's papers have two names."""
    if kind == "arxiv":
        yield "doi", f"{_ARXIV_DOI}{value.lower()}"
    elif kind == "doi" and value.startswith(_ARXIV_DOI):
        yield "arxiv", normal("arxiv", value.removeprefix(_ARXIV_DOI))


def _divided(kind: str, value: object) -> Iterator[str]:
    if kind == "doi" and isinstance(value, str):
        # DOIs of Wiley have a semicolon inside, which separates the identifiers of other values.
        parts = one_each(value).split()
        if all(map(_WHOLE.fullmatch, parts)):
            yield from parts
            return
    yield from texts_of(value)


def _whole(text: str, kind: str) -> tuple[str, str] | None:
    text = text.strip().rstrip(".,;")
    if match := _WHOLE.fullmatch(text):
        return _read(match)
    bare = _bare(text, kind)
    return (kind, bare) if kind in _BARE and _BARE[kind].fullmatch(bare) else None


def _bare(text: str, kind: str) -> str:
    """Return a text without the prefix or address of a kind."""
    name = _PREFIXES[kind].sub("", text, count=1) if kind in _PREFIXES and _PREFIXES[kind].match(text) else text
    whole = _WHOLE_FLOAT.fullmatch(name)
    return whole[1] if whole else name.rstrip("/")


def _read(match: re.Match[str]) -> tuple[str, str]:
    name = str(match.lastgroup)
    value = match[name]
    if name == "named":
        kind, _, value = value.partition(":")
        return kind.lower(), value
    kind = name.partition("_")[0]
    if kind != "doi":
        return kind, value
    encoded = name == "doi_at" or "%2f" in value.partition("/")[0].lower()
    return kind, _trimmed(unquote(value) if encoded else value)


def _trimmed(doi: str) -> str:
    """Return a DOI without the punctuation of the sentence around it, and without brackets that it does not open."""
    surplus = {close: doi.count(close) - doi.count(start) for close, start in _BRACKETS.items()}
    end = len(doi)
    while end and (doi[end - 1] in ".,;:'\"" or surplus.get(doi[end - 1], 0) > 0):
        if doi[end - 1] in surplus:
            surplus[doi[end - 1]] -= 1
        end -= 1
    return doi[:end]


_RESOLVERS = {
    "arxiv": "https://arxiv.org/abs/{}",
    "pmid": "https://pubmed.ncbi.nlm.nih.gov/{}/",
    "pmc": "https://pmc.ncbi.nlm.nih.gov/articles/{}/",
}
"""Addresses by kind of identifier, in the order in which they are tried."""

_UNQUOTED = "/:;()@!$&'*+,=~"


class Identified(Protocol):
    """What a link is made of; a `Paper` is one."""

    @property
    def identifiers(self) -> tuple[str, ...]:
        """Names of the paper as `kind:value`."""

    @property
    def url(self) -> str:
        """Its own address."""


def identifier_of(paper: Identified, kind: str) -> str:
    """Return a paper's first identifier of a kind, without the kind; empty where there is none."""
    return next((one.removeprefix(f"{kind}:") for one in paper.identifiers if one.startswith(f"{kind}:")), "")


def link_of(paper: Identified) -> str:
    """Return a link to a paper: by its DOI, its own address, or another identifier; empty where there is none."""
    if doi := identifier_of(paper, "doi"):
        return f"https://doi.org/{quote(doi, safe=_UNQUOTED)}"
    # A corpus may hold addresses of any scheme, also such as run a script.
    if paper.url.startswith(("https://", "http://")):
        return quote(paper.url, safe=f"{_UNQUOTED}?#[]%")
    found = ((address, identifier_of(paper, kind)) for kind, address in _RESOLVERS.items())
    return next((address.format(quote(value, safe=_UNQUOTED)) for address, value in found if value), "")
