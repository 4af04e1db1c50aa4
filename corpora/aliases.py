"""What corpora call the attributes of a paper.

Names are compared without case, blanks, hyphens or underscores: `paperId`, `paper_id` and `Paper ID` are one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from corpora.errors import InputError

SINGLE: dict[str, tuple[str, ...]] = {
    "id": (
        *("id", "paperid", "docid", "corpusid", "corduid", "recordid", "sha", "pmid", "pubmedid", "openalexid"),
        *("arxivid", "doi", "magid"),
    ),
    "title": ("title", "articletitle", "papertitle", "primarytitle", "titles", "documenttitle", "displayname"),
    "abstract": ("abstract", "paperabstract", "abstracttext", "text", "notesabstract", "abstractnote"),
    "authors": (
        *("authorfullnames", "authors", "author", "authorlist", "authornames", "authorshipsauthordisplayname"),
        *("authorsrawname", "bookauthors", "groupauthors", "bookauthorfullnames", "editor", "editors", "bookeditors"),
    ),
    "year": (
        *("year", "publicationyear", "pubyear", "publishedyear", "publishtime", "publicationdate", "pubdate", "date"),
        *("published", "datepublished", "publishdate", "publicationdateonline", "earlyaccessdate"),
    ),
    "venue": (
        *("venue", "journal", "journalname", "journaltitle", "sourcetitle", "publicationtitle", "journalbook"),
        *("booktitle", "secondarytitle", "containertitle", "publicationvenue", "conference", "publication"),
        *("primarylocationsourcedisplayname", "proceedingstitle", "anthologytitle", "conferencetitle"),
        *("conferencename", "abbreviatedsourcetitle", "journalabbreviation"),
    ),
    "types": (
        *("types", "publicationtypes", "documenttype", "publicationtype", "typeofreference", "itemtype", "type"),
    ),
    "language": ("language", "lang", "languages", "languageoforiginaldocument", "articlelanguage"),
    "url": (
        *("url", "link", "s2url", "articleurl", "sourceurls", "externalurl", "primarylocationlandingpageurl"),
        *("dimensionsurl", "fulltextlink", "fulltexturl"),
    ),
    "retracted": ("retracted", "isretracted"),
    "volume": ("volume", "volumenumber", "bibliovolume"),
    "issue": ("issue", "issuenumber", "biblioissue", "number"),
    "pages": ("pages", "pagination", "pagerange", "medlinepgn"),
    "first_page": ("firstpage", "startpage", "pagestart", "beginningpage", "bibliofirstpage"),
    "last_page": ("lastpage", "endpage", "pageend", "endingpage", "bibliolastpage"),
    "article_number": ("articlenumber", "artno", "articleno"),
    "publisher": ("publisher", "publishername", "primarylocationsourcehostorganizationname"),
}
"""Attributes that take the first name with a value."""

OF_PUBLICATION = ("volume", "issue", "pages", "first_page", "last_page", "article_number", "publisher")
"""Those that `Paper.publication` is made of, beside `issn`."""

COLLECTED: dict[str, tuple[str, ...]] = {
    "fields": (
        *("fields", "fieldsofstudy", "s2fieldsofstudy", "labelstext", "mesh", "meshterms", "keywords", "categories"),
        *("concepts", "descriptor", "subjects", "topics", "area", "authorkeywords", "indexkeywords", "keywordsplus"),
        *("manualtags", "automatictags", "tags", "keywordsdisplayname", "topicsdisplayname", "emtreedrugindexterms"),
        *("emtreemedicalindexterms", "emtreedrugindextermsmajorfocus", "emtreemedicalindextermsmajorfocus"),
    ),
    "references": ("references", "outcitations", "referencedworks", "referencesinset"),
    "identifiers": ("identifiers",),
    "issn": (
        *("issn", "issns", "eissn", "issnl", "issnlinking", "primarylocationsourceissnl", "primarylocationsourceissn"),
    ),
}
"""Attributes that collect the values of all names."""

IDENTIFIERS: dict[str, tuple[str, ...]] = {
    "doi": ("doi", "idsdoi"),
    "pmid": ("pmid", "pubmedid", "pubmed", "medlinepmid", "idspmid"),
    "pmc": ("pmcid", "pmc", "pubmedcentral"),
    "arxiv": ("arxivid", "arxiv"),
    "s2": ("corpusid", "s2id"),
    "mag": ("magid", "mag", "microsoftacademicid"),
    "acl": ("aclid", "acl"),
    "dblp": ("dblpid", "dblp"),
    "openalex": ("openalexid", "openalex"),
    "who": ("whocovidenceid",),
    "cord_uid": ("corduid",),
    "wos": ("wos", "utuniquewosid", "uniquewosid", "ut"),
    "scopus": ("eid", "scopuseid"),
    "lens": ("lensid",),
    "dimensions": ("dimensionsid", "publicationid"),
    "embase": ("pui", "embaseaccessionid"),
    "cochrane": ("cochranereviewid", "cochraneid"),
    "key": ("key",),
}
"""Identifiers of the same paper in other databases. All are kept; the keys become the `kind` of `kind:value`."""

WORLDWIDE = (
    "doi",
    "pmid",
    "pmc",
    "arxiv",
    "openalex",
    "mag",
    "wos",
    "scopus",
    "lens",
    "dimensions",
    "embase",
    "cochrane",
)
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
