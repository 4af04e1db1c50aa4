"""Volumes, issues and pages as sources write them, and as citations and an index have them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.publication import Publication, parts_of_citation, publication_from, publication_of


@pytest.mark.parametrize(
    ("volume", "issue", "pages", "place", "ends"),
    [
        ("12", "3", "45-51", "12(3):45-51", ("45", "51")),
        ("12", "", "e7", "12:e7", ("e7", "")),
        ("12", "3", "", "12(3)", ("", "")),
        ("", "3", "4", "(3):4", ("4", "")),
        ("", "", "12-19, 24", "12-19, 24", ("12-19, 24", "")),
        ("", "", "", "", ("", "")),
    ],
)
def test_the_place_in_a_journal(volume, issue, pages, place, ends):
    paper = Publication(volume, issue, pages, "A Press", ("1234-5679",))
    assert (paper.place, paper.page_range) == (place, ends)


# Volume, issue, pages, first page, last page, number of the article, publisher.
@pytest.mark.parametrize(
    ("texts", "issn", "publication"),
    [
        (
            ("12", "3", "45-51", "1", "2", "e7", "P"),
            ["1234-5679"],
            Publication("12", "3", "45-51", "P", ("1234-5679",)),
        ),
        (("", "", "", "45", "51", "e7", ""), [], Publication(pages="45-51")),
        (("", "", "", "45-51", "51", "", ""), [], Publication(pages="45-51")),
        (("", "", "", "45", "45", "e7", ""), [], Publication(pages="45")),
        (("", "", "", "45", "", "e7", ""), [], Publication(pages="45")),
        (("", "", "", "", "51", "e7", ""), [], Publication(pages="51")),
        (("", "", "", "", "", "e7", ""), [], Publication(pages="e7")),
        (("", "", "pp. 45 -- 51", "", "", "", ""), [], Publication(pages="45-51")),
        (("", "", "Pages 45\u201351", "", "", "", ""), [], Publication(pages="45-51")),
        (("", "", "page 4", "", "", "", ""), [], Publication(pages="4")),
        (("", "", "p.4\u221211", "", "", "", ""), [], Publication(pages="4-11")),
        (("v" * 500, "v" * 501, "v" * 501, "", "", "e7", "v" * 501), [], Publication("v" * 500)),
        (("", "", "", "", "", "", ""), ["x1234-5679", "1234-56789"], None),
        (
            ("", "", "", "", "", "", ""),
            ["ISSN 1234-567x (print)", "12345678", "1234\u20105679 1234-567X"],
            Publication(issn=("1234-567X", "1234-5678", "1234-5679")),
        ),
    ],
)
def test_a_publication_is_made_of_what_a_source_has(texts, issn, publication):
    assert publication_of(texts, issn) == publication


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Curr Biol. 2020 Dec 7;30(23):4567-71. doi: 10.1/x.", ("30", "23", "4567-71")),
        ("J. 2020;12:e7, e9", ("12", "", "e7, e9")),
        ("J. 2020;12 Suppl 1:S1-9", ("12 Suppl 1", "", "S1-9")),
        ("J. 2020;(3):7", ("", "3", "7")),
        ("Vol. 12, no. 3 (2020), p. 45-51", ("12", "3", "45-51")),
        ("volume 12a issue 3/4 pages 45 \u2013 51.", ("12a", "3/4", "45 \u2013 51")),
        ("Bd. 12, Heft 3, S. 45-51", ("12", "3", "45-51")),
        ("Band 12, Nr. 3, Seiten 45-51", ("12", "3", "45-51")),
        ("t. 12, n. 3, pp. 45-51", ("12", "3", "45-51")),
        ("Tome 12, num 3, page 45-51", ("12", "3", "45-51")),
        ("Letters; Vol 12, Number 3 (2020); 45-51", ("12", "3", "45-51")),
        ("vol 12, iss. 3: e1-e9", ("12", "3", "e1-e9")),
        ("Letters on Bees, 2020", ("", "", "")),
    ],
)
def test_a_citation_has_its_parts(text, parts):
    found = parts_of_citation(text)
    assert tuple(found.get(name, "") for name in ("volume", "issue", "pages")) == parts
    assert all(found.values())


TEXTS = st.text(max_size=5)


@given(TEXTS, TEXTS, TEXTS, TEXTS, st.lists(TEXTS, max_size=2))
def test_an_index_gives_it_back(volume, issue, pages, publisher, issn):
    written = Publication(volume, issue, pages, publisher, tuple(issn))
    expected = None if written == Publication() else written
    assert publication_from(written.to_text()) == expected
    assert publication_from(written) == written


def test_what_is_no_publication_is_refused():
    assert publication_from(None) is publication_from("") is publication_from({}) is None
    assert publication_from({"volume": 3, "issn": ["1234-5679"]}) == Publication("3", issn=("1234-5679",))
    for other in ({"volume": "1", "colour": "red"}, ["volume"], "[1]"):
        with pytest.raises(ValueError, match="is no publication"):
            publication_from(other)
