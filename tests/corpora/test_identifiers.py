"""Identifiers as people and files write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.identifiers import (
    find_identifiers,
    identifiers_in,
    identifiers_of,
    link_of,
    normal,
    one_each,
    other_names,
    read_identifier,
)
from corpora.paper import Paper


@pytest.mark.parametrize(
    ("kind", "value", "identifiers"),
    [
        ("doi", "https://doi.org/10.1000/ABC", ["doi:10.1000/abc"]),
        ("doi", "DOI: 10.1/x; http://dx.doi.org/10.1/y", ["doi:10.1/x", "doi:10.1/y"]),
        ("pmid", "https://pubmed.ncbi.nlm.nih.gov/10601965/", ["pmid:10601965"]),
        ("pmid", 11472636.0, ["pmid:11472636"]),
        ("pmid", "11472636.0; PMID:2", ["pmid:11472636", "pmid:2"]),
        ("pmc", "35282; PMC59543", ["pmc:PMC35282", "pmc:PMC59543"]),
        ("arxiv", ["arXiv:cs/0112017", "https://arxiv.org/abs/2101.00001"], ["arxiv:cs/0112017", "arxiv:2101.00001"]),
        ("doi", "https://www.doi.org/10.1000%2FABC?x", ["doi:10.1000/abc"]),
        ("doi", "info:doi/10.1000/a, 10.1000/b;10.1000/c", ["doi:10.1000/a", "doi:10.1000/b", "doi:10.1000/c"]),
        (
            "doi",
            "10.1002/1097-0142(1977)39:1<227::AID>3.0.CO;2-N",
            ["doi:10.1002/1097-0142(1977)39:1<227::aid>3.0.co;2-n"],
        ),
        ("arxiv", "https://www.arxiv.org/pdf/2101.00001v3.pdf", ["arxiv:2101.00001v3"]),
        ("openalex", "https://openalex.org/W1", ["openalex:W1"]),
        ("pmid", "https://proxy.example/x/7; pmid: 8", ["pmid:7", "pmid:8"]),
        ("pmc", "https://proxy.example/x/PMC7", ["pmc:PMC7"]),
        ("wos", "WOS:1", ["wos:1"]),
        ("scopus", "EID: x", ["scopus:x"]),
        ("mag", "", []),
    ],
)
def test_identifiers_of(kind, value, identifiers):
    assert list(identifiers_of(kind, value)) == identifiers


DOI_FORMS = (
    *("{}", "{}.", "doi:{}", "doi: {}", "DOI {}", "doi.org/{}", "dx.doi.org/{}", "https://doi.org/{}"),
    *("http://dx.doi.org/{}", "https://www.doi.org/{}", "https://doi.org/doi:{}", "info:doi/{}", "urn:doi:{}"),
)
ARXIV_FORMS = (
    *("arXiv:{}", "arxiv {}", "https://arxiv.org/abs/{}", "arxiv.org/pdf/{}.pdf", "http://www.arxiv.org/pdf/{}v12.pdf"),
    *("https://export.arxiv.org/abs/{}v1", "oai:arXiv.org:{}", "info:arxiv/{}", "https://arxiv.org/html/{}v2"),
)
PMID_FORMS = (
    *("PMID: {}", "pmid{}", "https://pubmed.ncbi.nlm.nih.gov/{}/", "pubmed.ncbi.nlm.nih.gov/{}?dopt=Abstract"),
    *("https://www.ncbi.nlm.nih.gov/pubmed/{}", "info:pmid/{}", "https://europepmc.org/article/MED/{}", "PMID: {}."),
)


@pytest.mark.parametrize(
    ("kind", "value", "forms"),
    [
        ("doi", "10.1000/abc(1)", DOI_FORMS),
        ("doi", "10.1002/1097<227::aid>3.0.co;2-n", DOI_FORMS),
        ("arxiv", "2101.00001", ARXIV_FORMS),
        ("arxiv", "hep-th/9901001", (*ARXIV_FORMS, "{}", "{}v3")),
        ("pmid", "123", PMID_FORMS),
        ("pmc", "PMC123", ("{}", "PMCID: {}", "https://www.ncbi.nlm.nih.gov/pmc/articles/{}/", "pmc 123")),
        ("openalex", "W12", ("https://openalex.org/{}", "https://api.openalex.org/works/w12", "openalex:{}")),
    ],
)
def test_an_identifier_is_the_same_in_every_form(kind, value, forms):
    for form in forms:
        text = form.format(value)
        assert read_identifier(text) == (kind, value), text
        [found] = find_identifiers(f"see ({text} and")
        assert (found.kind, found.value) == (kind, value), text


@pytest.mark.parametrize("text", ["7", "2101.00001", "W12", "conf:7", "doi:2-n", "10.1/x", "PMID: 7 8", "arxiv:x", ""])
def test_other_texts_are_no_identifiers(text):
    assert read_identifier(text) is None


def test_bare_numbers_are_read_where_their_kind_is_expected():
    assert read_identifier("007", "pmid") == ("pmid", "7")
    assert read_identifier("2101.00001v2", "arxiv") == ("arxiv", "2101.00001")
    assert read_identifier("35282", "pmc") == ("pmc", "PMC35282")
    assert read_identifier("w12", "openalex") == ("openalex", "W12")
    assert read_identifier("2-n", "doi") is None


def test_other_kinds_are_found_by_their_name():
    assert [(one.kind, one.value) for one in find_identifiers("see MAG:77, (who:#3252 and colour:red")] == [
        ("mag", "77"),
        ("who", "#3252"),
    ]


def test_what_is_percent_encoded_is_read_only_where_it_can_be():
    assert read_identifier("https://doi.org/10.1000%2FA%28b%29") == ("doi", "10.1000/a(b)")
    assert read_identifier("doi:10.1000%2Fa%3Cb") == ("doi", "10.1000/a<b")
    assert read_identifier("10.1000/a%28") == ("doi", "10.1000/a%28")


def test_a_paper_of_arxiv_has_a_doi():
    assert list(other_names("doi", "10.48550/arxiv.2101.00001v2")) == [("arxiv", "2101.00001")]
    assert list(other_names("arxiv", "math.GT/0309136")) == [("doi", "10.48550/arxiv.math.gt/0309136")]
    assert list(other_names("pmid", "1")) == list(other_names("doi", "10.1000/a")) == []


@pytest.mark.parametrize("end", [")" * 9, ").", "].)", ">,", "'\";"])
def test_a_doi_ends_before_what_is_not_its_own(end):
    assert normal("doi", f"10.1000/A(b){end}") == "10.1000/a(b)"


@pytest.mark.parametrize(
    ("identifiers", "url", "link"),
    [
        (["pmid:7", "doi:10.1000/a b<c>#?"], "https://a.org", "https://doi.org/10.1000/a%20b%3Cc%3E%23%3F"),
        (["pmid:7"], "https://a.org/ü?q=1#x", "https://a.org/%C3%BC?q=1#x"),
        (["pmid:7"], "http://a.org", "http://a.org"),
        (["pmc:PMC9", "pmid:7", "arxiv:2101.00001"], "javascript:alert(1)", "https://arxiv.org/abs/2101.00001"),
        (["pmc:PMC9", "pmid:7"], "", "https://pubmed.ncbi.nlm.nih.gov/7/"),
        (["pmc:PMC9"], "", "https://pmc.ncbi.nlm.nih.gov/articles/PMC9/"),
        (["mag:9"], "", ""),
    ],
)
def test_a_paper_has_a_link(identifiers, url, link):
    assert link_of(Paper("a", "T", identifiers=tuple(identifiers), url=url)) == link


@pytest.mark.parametrize(
    ("texts", "known", "found"),
    [
        (["https://doi.org/10.1000/A", "PMID: 7; doi:10.1000/a"], {}, ["doi:10.1000/a", "pmid:7"]),
        (
            ["https://x.example/doi/abs/10.1000/p?x=1", "https://x.example/a/b/c/doi/d/e/f/10.1000/p"],
            {},
            ["doi:10.1000/p"],
        ),
        (
            ["doi:10.1000/a\r\n PMC900 ; WOS:0001", "2-s2.0-9", "arXiv:2101.00001"],
            {"doi": "x"},
            ["pmc:PMC900", "wos:0001", "scopus:2-s2.0-9", "arxiv:2101.00001"],
        ),
        (["doi:10.1000/a; doi:10.1000/b", "https://openalex.org/W1"], {}, []),
        (["see doi:10.1000/a", "7"], {"pmid": ""}, []),
    ],
)
def test_remarks_that_are_identifiers(texts, known, found):
    assert list(identifiers_in(texts, known)) == found


@pytest.mark.parametrize("none", ["", "-", "n/a", "NA", "None", "null", "nan", "0", "00"])
def test_what_stands_for_none_is_no_identifier(none):
    assert [name for kind in ("pmid", "doi", "mag", "s2") for name in identifiers_of(kind, none)] == []
    assert list(identifiers_of("key", "0")) == ["key:0"]


def test_several_identifiers_are_set_apart():
    assert (
        one_each("10.1000/a;10.1000/b,doi:10.1000/c|https://d, e") == "10.1000/a 10.1000/b doi:10.1000/c https://d, e"
    )


@given(st.text(max_size=60))
def test_any_text_can_be_read(text):
    assert all(text[slice(*one.span)].strip() for one in find_identifiers(text))
    for kind in ("", "doi", "pmid", "arxiv", "mag"):
        list(identifiers_of(kind or "who", text))
        read = read_identifier(text, kind)
        assert read is None or read_identifier(read[1], read[0]) in (read, None)
