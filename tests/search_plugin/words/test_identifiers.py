"""Identifiers as people type them."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.identifiers import identifiers_of
from corpora.paper import Paper
from search_plugin.words.identifiers import MOST, Identifier, identifier_of, read_identifiers


def read(text):
    found, rest = read_identifiers(text)
    return [f"{one.kind}:{one.value}{'' if one.certain else '?'}" for one in found], rest


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("10.3390/v13010047", ["doi:10.3390/v13010047"]),
        ("doi:10.3390/V13010047.", ["doi:10.3390/v13010047"]),
        ("DOI: 10.3390/v13010047", ["doi:10.3390/v13010047"]),
        ("https://doi.org/10.3390/v13010047", ["doi:10.3390/v13010047"]),
        ("http://dx.doi.org/10.3390/v13%28a%29?x=1#y", ["doi:10.3390/v13(a)"]),
        ("(10.1016/0022-2836(70)90057-4).", ["doi:10.1016/0022-2836(70)90057-4"]),
        ("10.1000/a,10.1000/b; 10.1000/c", ["doi:10.1000/a", "doi:10.1000/b", "doi:10.1000/c"]),
        ("PMID: 34567890", ["pmid:34567890"]),
        ("pmid 0123", ["pmid:123"]),
        ("https://pubmed.ncbi.nlm.nih.gov/34567890/", ["pmid:34567890"]),
        ("ncbi.nlm.nih.gov/pubmed/345", ["pmid:345"]),
        ("pmc8212345", ["pmc:PMC8212345"]),
        ("PMCID: PMC8212345", ["pmc:PMC8212345"]),
        ("https://www.ncbi.nlm.nih.gov/pmc/articles/PMC7654321/", ["pmc:PMC7654321"]),
        ("arXiv:2004.10706v2", ["arxiv:2004.10706"]),
        ("https://arxiv.org/pdf/2004.10706.pdf", ["arxiv:2004.10706"]),
        ("hep-th/9901001v1", ["arxiv:hep-th/9901001"]),
        ("math.GT/0309136", ["arxiv:math.GT/0309136"]),
        ("openalex:W123", ["openalex:W123"]),
        ("cord_uid:ug7v899j", ["cord_uid:ug7v899j"]),
        ("10.1000/a PMID: 7", ["doi:10.1000/a", "pmid:7"]),
    ],
)
def test_an_identifier_is_the_whole_query(text, found):
    assert read(text) == (found, "")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("34567890", ["id:34567890?", "key:34567890?", "pmid:34567890?"]),
        ("4983", ["id:4983?", "key:4983?"]),
        ("2004.10706", ["id:2004.10706?", "key:2004.10706?", "arxiv:2004.10706?"]),
        ("ug7v899j", ["id:ug7v899j?", "key:ug7v899j?"]),
        ("masks", ["id:masks?", "key:masks?"]),
        ("4983, 963", ["id:4983?", "key:4983?", "id:963?", "key:963?"]),
        ("10.1000/a 4983", ["doi:10.1000/a", "id:4983?", "key:4983?"]),
        ("vitamin B12", []),
        ("long covid", []),
        ("mortality of 12345678 patients", []),
        ("phase 1/2 trial of 3.5/10 mg", []),
    ],
)
def test_what_may_be_an_id_is_one_only_if_the_query_is_nothing_else(text, found):
    assert read(text)[0] == found


def test_the_rest_of_a_query_is_its_topic():
    text = "Toth EA et al. J Virol. 2020. doi:10.1128/JVI.01 PMID: 3456"
    assert read(text) == (["doi:10.1128/jvi.01", "pmid:3456"], "Toth EA et al. J Virol. 2020")


def test_each_identifier_names_the_paper_in_whatever_form_its_corpus_writes():
    paper = Paper("x", "t", identifiers=("doi:10.1000/abc", "PMID:12", "arxiv:2004.10706v3", "pmc:PMC777"))
    for text in ("10.1000/ABC", "pmid:12", "arXiv:2004.10706", "PMC777", "x"):
        assert read_identifiers(text)[0][0].names(paper), text
    for text in ("10.1000/abcd", "pmid:123", "arXiv:2004.1070", "PMC7777", "y"):
        assert not any(one.names(paper) for one in read_identifiers(text)[0]), text
    for version in range(1, 10):
        assert identifier_of("arxiv", "2004.10706").names(Paper("x", "t", identifiers=(f"arxiv:2004.10706v{version}",)))
    for stored in ("doi:10.1000/xYz", "DOI:10.1000/XYZ", "doi:10.1000/xyz"):
        assert Identifier("doi", "10.1000/xYz").names(Paper("x", "t", identifiers=(stored,))), stored
    assert identifier_of("pmid", "https://pubmed.ncbi.nlm.nih.gov/12").names(paper)
    assert identifier_of("pmid", "012").names(paper)


def test_a_paper_of_arxiv_is_named_by_its_doi_too():
    by_number, by_doi = (
        Paper("x", "t", identifiers=("arxiv:2004.10706v2",)),
        Paper("x", "t", identifiers=("doi:10.48550/arxiv.2004.10706",)),
    )
    for text in ("arXiv:2004.10706", "https://doi.org/10.48550/arXiv.2004.10706"):
        assert all(read_identifiers(text)[0][0].names(paper) for paper in (by_number, by_doi)), text
    assert read_identifiers("https://openalex.org/W12")[0][0].names(Paper("https://openalex.org/W12", "t"))


def test_a_long_list_is_read_up_to_a_limit():
    assert len(read_identifiers(" ".join(f"10.1000/{number}" for number in range(MOST + 9)))[0]) == MOST


@pytest.mark.parametrize("begin", ["10.1000/a{}", "doi{}x", "x arxiv{}x", "pmid{}x", "pmc{}x", "{}"])
@pytest.mark.parametrize("part", [")", ")]>}", "(", " ", "(a", ",", ".", "-"])
def test_the_time_grows_with_the_length_of_the_text(begin, part):
    def seconds(length):
        before = process_time()
        read_identifiers(begin.format(part * (length // len(part))))
        return process_time() - before

    # 16 times the text: 16 times the work, or 256 times where it is quadratic.
    assert min(seconds(16_000) for _ in range(3)) < 64 * max(min(seconds(1_000) for _ in range(3)), 1e-4)


@given(st.text(st.sampled_from("a()[]<>{}.,"), max_size=12))
def test_a_doi_ends_before_the_brackets_that_it_does_not_open(end):
    [doi] = [one.value for one in read_identifiers(f"10.1000/x{end}")[0] if one.certain]
    rest = f"10.1000/x{end}".removeprefix(doi)
    assert set(rest) <= set(".,)]>}")
    assert doi[-1] not in ".,"
    assert not any(
        doi[-1] == close and doi.count(close) > doi.count(start) for start, close in ("()", "[]", "<>", "{}")
    )


@given(st.text(max_size=80))
def test_any_text_can_be_read(text):
    found, rest = read_identifiers(text)
    assert all(one.value or one.kind for one in found)
    assert isinstance(rest, str)


suffixes = st.text(st.sampled_from("abcxyz0189-._()/"), min_size=1, max_size=20).filter(
    lambda text: text[-1].isalnum() and text.count("(") == text.count(")")
)


@given(number=st.integers(1000, 99999), suffix=suffixes, form=st.sampled_from(["{}", "doi:{}", "https://doi.org/{}"]))
def test_a_doi_is_read_as_the_readers_of_corpora_write_it(number, suffix, form):
    doi = f"10.{number}/{suffix}"
    [stored] = identifiers_of("doi", doi)
    [one] = [one for one in read_identifiers(form.format(doi))[0] if one.certain]
    assert stored in one.identifiers


@given(st.integers(1, 99_999_999), st.sampled_from(["PMID: {}", "pmid{}", "https://pubmed.ncbi.nlm.nih.gov/{}/"]))
def test_a_pmid_is_read_as_the_readers_of_corpora_write_it(number, form):
    [stored] = identifiers_of("pmid", str(number))
    assert stored in read_identifiers(form.format(number))[0][0].identifiers
