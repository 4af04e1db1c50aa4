"""Columns and keys as databases and programs write them, each of which alone fills its attribute of a paper."""

from __future__ import annotations

import pytest

from corpora.aliases import COLLECTED, IDENTIFIERS, SINGLE, WORLDWIDE
from corpora.assembling import assemble
from corpora.paper import Accepted
from corpora.publication import Publication

COLUMNS = {
    "id": "id paperId docid corpusid CORD-UID record_id sha PMID pubmed_id openalex_id ArXiv-ID DOI magId",
    "title": "title|Article Title|paper title|primary_title|titles|Document Title|display_name",
    "abstract": "abstract|paperAbstract|AbstractText|text|notes_abstract|Abstract Note",
    "authors": "Author full names|authors|Author|Author List|author_names|authorships.author.display_name|"
    "Authors (Raw name)|Book Authors|Group Authors|Book Author Full Names|editor|Editors|Book Editors",
    "year": "year|Publication Year|pub_year|Published Year|publish_time|Publication Date|PubDate|Date|published|"
    "Date Published|publish date|Publication Date (online)|Early Access Date",
    "venue": "venue|Journal|journal_name|Journal Title|Source Title|Publication Title|Journal/Book|booktitle|"
    "secondary_title|container-title|publicationVenue|Conference|publication|primary_location.source.display_name|"
    "Proceedings Title|Anthology Title|Conference Title|Conference Name|Abbreviated Source Title|Journal Abbreviation",
    "types": "types|publicationTypes|Document Type|Publication Type|type_of_reference|Item Type|Type",
    "language": "language|lang|languages|Language of Original Document|Article Language",
    "url": "url|Link|s2Url|Article URL|Source URL(s)|External URL|primary_location.landing_page_url|Dimensions URL|"
    "Full Text Link|Fulltext URL",
    "retracted": "retracted|is_retracted",
    "volume": "Volume|volume number|biblio.volume",
    "issue": "Issue|issue_number|biblio.issue|Number",
    "pages": "pages|Pagination|Page Range|MedlinePgn",
    "first_page": "first_page|Start Page|Page start|Beginning Page|biblio.first_page",
    "last_page": "last_page|End Page|Page end|Ending Page|biblio.last_page",
    "article_number": "Article Number|Art. No.|article no",
    "publisher": "Publisher|publisher_name|primary_location.source.host_organization_name",
    "fields": "fields|fieldsOfStudy|s2FieldsOfStudy|labels_text|mesh|MeSH terms|Keywords|categories|concepts|"
    "Descriptor|subjects|topics|area|Author Keywords|Index Keywords|Keywords Plus|Manual Tags|Automatic Tags|tags|"
    "keywords.display_name|topics.display_name|Emtree drug index terms|Emtree medical index terms|"
    "Emtree drug index terms (major focus)|Emtree medical index terms (major focus)",
    "references": "references|outCitations|referenced_works|References-in-set",
    "identifiers": "identifiers",
    "issn": "ISSN|ISSNs|eISSN|ISSN-L|ISSN (linking)|primary_location.source.issn_l|primary_location.source.issn",
}
"""By attribute, names in the spelling of their sources."""

VALUES = {
    "title": ("Masks", "title", "Masks"),
    "abstract": ("They help.", "abstract", "They help."),
    "authors": (["Ada Byron"], "authors", ("Ada Byron",)),
    "year": ("2001", "year", 2001),
    "venue": ("Nature", "venue", "Nature"),
    "types": ("Review", "types", ("Review",)),
    "language": ("en", "language", "en"),
    "url": ("https://a.org/b", "url", "https://a.org/b"),
    "retracted": ("true", "retracted", True),
    "volume": ("12", "publication", Publication(volume="12")),
    "issue": ("3", "publication", Publication(issue="3")),
    "pages": ("4-9", "publication", Publication(pages="4-9")),
    "first_page": ("4", "publication", Publication(pages="4")),
    "last_page": ("9", "publication", Publication(pages="9")),
    "article_number": ("e7", "publication", Publication(pages="e7")),
    "publisher": ("Elsevier", "publication", Publication(publisher="Elsevier")),
    "fields": (["Biology"], "fields", ("Biology",)),
    "references": (["x"], "references", ("x",)),
    "identifiers": (["doi:10.1/z"], "identifiers", ("doi:10.1/z",)),
    "issn": ("1234-5679", "publication", Publication(issn=("1234-5679",))),
}
"""By attribute, a value, the attribute of `Paper` that it fills, and with what."""


def paper_of(record):
    read = assemble(1, record, {}, named_by=("none",))
    assert isinstance(read, Accepted), (record, read)
    return read.paper


def columns_of(attribute):
    listed = COLUMNS[attribute]
    return listed.split("|") if attribute != "id" else listed.split()


@pytest.mark.parametrize("attribute", VALUES)
def test_each_name_fills_its_attribute(attribute):
    value, filled, wanted = VALUES[attribute]
    for column in columns_of(attribute):
        title = {} if attribute == "title" else {"Title": "T"}
        assert getattr(paper_of({"id": "a", **title, column: value}), filled) == wanted, column


@pytest.mark.parametrize("attribute", VALUES)
def test_a_column_that_is_mapped_fills_its_attribute_in_place_of_others(attribute):
    value, filled, wanted = VALUES[attribute]
    title = {} if attribute == "title" else {"Title": "T"}
    record = {"id": "a", **title, attribute: None if attribute == "retracted" else "other", "mapped": value}
    read = assemble(1, record, {attribute: "mapped"}, named_by=("none",))
    assert getattr(read.paper, filled) == wanted


def test_each_name_of_an_id_is_one():
    values = {"DOI": "10.1/z", "ArXiv-ID": "2001.01234", "openalex_id": "W12"}
    for column in columns_of("id"):
        value = values.get(column, "123")
        assert value.lower() in paper_of({"Title": "T", column: value}).id.lower(), column


def test_no_name_is_without_its_column():
    held = {**SINGLE, **COLLECTED}
    assert {attribute: len(columns_of(attribute)) for attribute in COLUMNS} == {
        attribute: len(names) for attribute, names in held.items()
    }


def test_kinds_that_name_one_paper_everywhere_are_kinds_of_identifiers():
    assert set(WORLDWIDE) <= set(IDENTIFIERS)
