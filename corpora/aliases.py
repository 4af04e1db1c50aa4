"""What corpora call the attributes of a paper.

Names are compared without case, blanks, hyphens or underscores: `paperId`, `paper_id` and `Paper ID` are one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from corpora.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

SINGLE: dict[str, tuple[str, ...]] = {
    "id": (
        *("id", "paperid", "docid", "corpusid", "corduid", "recordid", "sha", "pmid", "pubmedid", "openalexid"),
        *("arxivid", "doi", "magid"),
    ),
    "title": ("title", "articletitle", "papertitle", "primarytitle"),
    "abstract": ("abstract", "paperabstract", "abstracttext", "text", "notesabstract"),
    "authors": ("authors", "author", "authorlist"),
    "year": ("year", "publicationyear", "pubyear", "publishtime", "publicationdate", "pubdate", "date", "published"),
    "venue": (
        *("venue", "journal", "journalname", "journaltitle", "booktitle", "secondarytitle", "containertitle"),
        *("publicationvenue", "conference", "publication"),
    ),
    "types": ("types", "publicationtypes", "publicationtype", "documenttype", "typeofreference", "type"),
    "language": ("language", "lang", "languages"),
    "url": ("url", "link", "s2url"),
    "retracted": ("retracted", "isretracted"),
}
"""Attributes that take the first name with a value."""

COLLECTED: dict[str, tuple[str, ...]] = {
    "fields": (
        *("fields", "fieldsofstudy", "s2fieldsofstudy", "labelstext", "mesh", "meshterms", "keywords", "categories"),
        *("concepts", "descriptor", "subjects", "topics", "area"),
    ),
    "references": ("references", "outcitations", "referencedworks", "referencesinset"),
    "identifiers": ("identifiers",),
}
"""Attributes that collect the values of all names."""

IDENTIFIERS: dict[str, tuple[str, ...]] = {
    "doi": ("doi",),
    "pmid": ("pmid", "pubmedid", "pubmed"),
    "pmc": ("pmcid", "pmc", "pubmedcentral"),
    "arxiv": ("arxivid", "arxiv"),
    "s2": ("corpusid", "s2id"),
    "mag": ("magid", "mag"),
    "acl": ("aclid", "acl"),
    "dblp": ("dblpid", "dblp"),
    "openalex": ("openalexid", "openalex"),
    "who": ("whocovidenceid",),
    "cord_uid": ("corduid",),
    "wos": ("wos", "utuniquewosid", "uniquewosid", "ut"),
    "scopus": ("eid", "scopuseid"),
    "lens": ("lensid",),
    "dimensions": ("dimensionsid", "publicationid"),
    "key": ("key",),
}
"""Identifiers of the same paper in other databases. All are kept; the keys become the `kind` of `kind:value`."""

WORLDWIDE = ("doi", "pmid", "pmc", "arxiv", "openalex", "mag", "wos", "scopus", "lens", "dimensions")
"""Kinds of identifiers that name one paper only, in every database, in the order in which one becomes a paper's id."""

EXTERNAL = ("externalids", "ids")
"""Objects that hold such identifiers by kind, as Semantic Scholar and OpenAlex provide them."""

ATTRIBUTES = (*SINGLE, *COLLECTED, *IDENTIFIERS)
"""What `columns` may map."""


@lru_cache(maxsize=4096)
def normal_name(name: str) -> str:
    """Return the form in which names are compared."""
    return "".join(char for char in name.lower() if char.isalnum())


def names_of(attribute: str) -> tuple[str, ...]:
    """Return the normal names of an attribute."""
    return SINGLE.get(attribute) or COLLECTED.get(attribute) or IDENTIFIERS[attribute]


def check_columns(columns: Mapping[str, str]) -> None:
    """Raise `InputError` if columns are mapped to attributes that papers don't have; it names the available ones."""
    unknown = ", ".join(sorted(set(columns) - set(ATTRIBUTES)))
    if unknown:
        raise InputError(f"Papers have no attribute {unknown} to map a column to; map one of: {', '.join(ATTRIBUTES)}.")
