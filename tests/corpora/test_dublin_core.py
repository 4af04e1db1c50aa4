from hypothesis import given
from hypothesis import strategies as st

from corpora.assembling import assemble
from corpora.dublin_core import ELEMENTS, elements_of, members_of
from corpora.oai import parse_xml
from tests.corpora.repository import dublin_core


def paper_of(**elements):
    return assemble(1, {**members_of(elements_of(parse_xml(dublin_core(**elements).encode()))), "id": "a"}, {}).paper


def test_what_repositories_write():
    paper = paper_of(
        title=["A <i>title</i>", "Ein Titel"],
        creator=["Sample, Ana", "Example, Bo"],
        description=["12 pages", "The abstract, which is longer."],
        date=["2021-05-01T10:00:00Z", "2019", "2021-05-02"],
        type="info:eu-repo/semantics/article",
        language="eng",
        subject=["Bees", "info:eu-repo/classification/ddc/590"],
        source=["1234-5678", "Letters on Bees; Vol. 3 (2019); 1-9"],
        identifier=["https://repository.example.org/1", "10.5555/ABC", "urn:issn:1234-5678", "ISBN 978-3-540-12345-0"],
        relation=["info:eu-repo/semantics/altIdentifier/pmid/123", "https://doi.org/10.5555/another"],
    )
    assert (paper.title, paper.abstract, paper.year) == ("A title", "The abstract, which is longer.", 2019)
    assert (paper.authors, paper.venue) == (("Sample, Ana", "Example, Bo"), "Letters on Bees")
    assert (paper.types, paper.language, paper.fields) == (("article",), "eng", ("Bees", "590"))
    assert paper.identifiers == ("doi:10.5555/abc", "issn:1234-5678", "isbn:9783540123450", "pmid:123")
    assert paper.url == "https://repository.example.org/1"


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
