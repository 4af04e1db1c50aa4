import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.assembling import assemble
from corpora.dublin_core import ELEMENTS, elements_of, members_of
from corpora.oai import parse_xml
from corpora.paper import Paper
from corpora.publication import Publication
from tests.corpora.repository import dublin_core


def paper_of(**elements):
    return assemble(1, {**members_of(elements_of(parse_xml(dublin_core(**elements).encode()))), "id": "a"}, {}).paper


def test_what_repositories_write():
    assert paper_of(
        title=["A <i>title</i>", "Ein Titel"],
        creator=["Sample, Ana", "Example, Bo"],
        contributor="Other, Cy",
        description=["12 pages", "The <b>abstract</b>, which is longer."],
        date=["2021-05-01T10:00:00Z", "in press", "2019", "2021-05-02"],
        type=["info:eu-repo/semantics/article", "Text"],
        language=["eng", "ger"],
        subject=["Bees", "info:eu-repo/classification/ddc/590", "info:eu-repo/grantAgreement/EC/1"],
        publisher=["A Press", "B Press"],
        source=["1234-5678", "Letters on &lt;i&gt;Bees&lt;/i&gt;; Vol. 3, no. 2 (2019); 1-9", "Another; 4; 5"],
        identifier=[
            *("ftp://example.org/1", "https://repository.example.org/1", "http://example.org/2", "10.5555/ABC"),
            *("urn:issn:2345-678x", "ISBN 978-3-540-12345-0", "DOI:10.5555/abc", "W123", "openalex:W1"),
        ],
        relation=[
            *("info:eu-repo/semantics/altIdentifier/pmid/123", "https://doi.org/10.5555/another", "issn 3456-7890"),
            *("info:eu-repo/semantics/altIdentifier/urn/7", "info:eu-repo/semantics/altIdentifier/isbn/3540123450"),
        ],
    ) == Paper(
        "a",
        "A title",
        "The abstract, which is longer.",
        ("Sample, Ana", "Example, Bo"),
        2019,
        "Letters on Bees",
        ("article", "Text"),
        "eng",
        ("Bees", "590", "EC/1"),
        ("doi:10.5555/abc", "issn:2345-678X", "isbn:9783540123450", "pmid:123", "isbn:3540123450"),
        url="https://repository.example.org/1",
        publication=Publication("3", "2", "1-9", "A Press", ("1234-5678", "2345-678X", "3456-7890")),
    )


@pytest.mark.parametrize(
    ("elements", "expected"),
    [
        ({"source": ["http:x", "https:x", "urn:x", "info:x", "1234-567x", "Letters"]}, {"venue": "Letters"}),
        ({"date": ["31.12.1399", "12021", "20211", "1400", "2099", "1999/2000"]}, {"year": 1400}),
        ({"date": "2100"}, {"year": None}),
        (
            {"identifier": ["arXiv:2004.07180", "PMC123", "PMID: 7"]},
            {"identifiers": ("arxiv:2004.07180", "pmc:PMC123", "pmid:7")},
        ),
        ({"identifier": ["isbn:3-540-12345-x", "12345"]}, {"identifiers": ("isbn:354012345X",), "publication": None}),
    ],
)
def test_what_elements_give(elements, expected):
    paper = paper_of(title="T", **elements)
    assert {name: getattr(paper, name) for name in expected} == expected


def test_refined_elements_are_read_as_what_they_refine():
    names = {"abstract": "They hum.", "issued": "2020", "bibliographicCitation": "Vol. 3 (2020), p. 1-9"}
    names |= {"isPartOf": "Letters on Bees", "tableOfContents": "A long list of chapters, which is no abstract"}
    inside = "".join(f"<{name}>{text}</{name}>" for name, text in names.items())
    found = elements_of(parse_xml(f"<record>{inside}</record>".encode()))
    sources = [names["bibliographicCitation"], names["isPartOf"]]
    assert found == {"description": ["They hum."], "date": ["2020"], "source": sources}


TEXTS = st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=30), max_size=3)


@given(st.dictionaries(st.sampled_from(ELEMENTS), TEXTS))
def test_any_texts_make_a_record(elements):
    found = elements_of(parse_xml(dublin_core(**elements).encode()))
    assert found == {
        n: kept for n, texts in elements.items() if (kept := [" ".join(t.split()) for t in texts if t.split()])
    }
    members_of(found)
