"""Names of values for readers of English; the other languages have theirs from the catalogue."""

from __future__ import annotations

from gettext import NullTranslations

import pytest

from ses.service.web.value_names import identifier_name, kind_name, language_name, notable_kind, value_name

ENGLISH = NullTranslations()

PLAIN = {"Journal Article": "Article", "article": "Article", "journal-article": "Article"}
RETRACTED = {"Retracted Publication": "Retracted"}
NOTABLE = {
    "Review": "Review",
    "Systematic Review": "Systematic review",
    "Meta-Analysis": "Meta-analysis",
    "Clinical Trial": "Clinical trial",
    "Randomized Controlled Trial": "Randomised trial",
    "Observational Study": "Observational study",
    "Case Reports": "Case report",
    "Letter": "Letter",
    "Editorial": "Editorial",
    "Comment": "Comment",
    "Preprint": "Preprint",
    "posted-content": "Preprint",
    "book": "Book",
    "book-chapter": "Book chapter",
    "proceedings-article": "Conference paper",
    "Published Erratum": "Erratum",
    "Guideline": "Guideline",
    "Practice Guideline": "Guideline",
    "Dataset": "Data set",
    "dissertation": "Thesis",
}


@pytest.mark.parametrize(("kind", "name"), [*PLAIN.items(), *RETRACTED.items(), *NOTABLE.items()])
def test_types_of_pubmed_crossref_and_openalex_have_names(kind, name):
    assert kind_name(kind, ENGLISH) == kind_name(f" {kind.upper()} ", ENGLISH) == name
    assert value_name("types", kind, "en", ENGLISH) == name
    # Most papers are articles, and a paper that is retracted has a label of its own.
    assert notable_kind([kind], ENGLISH) == (name if kind in NOTABLE else "")


def test_the_first_type_that_says_more_is_the_label():
    assert notable_kind(["Journal Article", "Historical Article", " review ", "Letter"], ENGLISH) == "Review"
    assert notable_kind(["Historical Article"], ENGLISH) == ""
    assert notable_kind([], ENGLISH) == ""
    assert kind_name("Historical Article", ENGLISH) == "Historical Article"


@pytest.mark.parametrize(
    ("code", "reader", "name"),
    [
        ("de", "en", "German"),
        (" DE ", "en", "German"),
        ("ger", "en", "German"),
        ("fr", "de", "Französisch"),
        ("en", "fr", "Anglais"),
        ("de", "pt-BR", "Alemão"),
        ("zz", "en", "zz"),
        ("", "en", ""),
    ],
)
def test_languages_are_named_for_the_reader(code, reader, name):
    assert language_name(code, reader) == name
    assert value_name("language", code, reader, ENGLISH) == name


def test_other_values_are_their_own_names():
    assert [value_name("open", value, "en", ENGLISH) for value in ("true", "false", "True", "x")] == [
        "Yes",
        "No",
        "True",
        "x",
    ]
    assert value_name("venue", "Review", "en", ENGLISH) == "Review"


def test_identifiers_are_written_as_their_databases_write_them():
    names = "DOI, PubMed, PubMed Central, arXiv, ISSN, ISBN, OpenAlex, Semantic Scholar, MAG, Scopus"
    kinds = ("doi", "PMID", "pmcid", "arxiv", "issn", "isbn", "openalex", "s2", "mag", "eid")
    assert ", ".join(map(identifier_name, kinds)) == names
    assert identifier_name("Lens") == "Lens"
