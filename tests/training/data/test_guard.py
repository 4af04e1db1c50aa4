"""The guard: papers of evaluation sets are refused by id and by title, whatever file they come in."""

from __future__ import annotations

import json
import tarfile
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import InputError
from eval.frozen import FROZEN, Frozen, title_key
from tests.training.data.papers import paper
from tests.training.recipes import write
from training.data.guard import Guard, make_guard, read_papers, titles_of

FROZEN_HERE = Frozen(
    frozenset({"pmid:7", "arxiv:2101.00001", "doi:10.1000/a(b)", "id:conf:7", "id:cvpr2016:none"}),
    frozenset({title_key("A tested paper"), title_key("Müller &amp; Łukasz: H<sub>2</sub>O in <i>E. coli</i>")}),
)
GUARD = Guard(FROZEN_HERE.ids, FROZEN_HERE.titles)


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"id": "PMID:7"}, "id of an evaluation set"),
        ({"id": "x", "pmid": "https://pubmed.ncbi.nlm.nih.gov/7"}, "id of an evaluation set"),
        ({"id": "arXiv:2101.00001v3"}, "id of an evaluation set"),
        ({"id": "conf:7"}, "id of an evaluation set"),
        ({"id": "7"}, ""),
        ({"id": "cvpr2016:None"}, ""),
        ({"title": "a TESTED-paper."}, "title of an evaluation set"),
        ({"title": "Another tested paper"}, ""),
        ({"title": None}, ""),
        ({"query": {"title": "x"}, "pos": {"title": "A tested paper"}}, "title of an evaluation set"),
        ({"query": "x", "candidates": [{"title": "y"}, {"id": "PMID:7"}]}, "id of an evaluation set"),
        ({"query": "A tested paper", "candidates": []}, "title of an evaluation set"),
        ({"id": "y", "authors": ["A tested paper"]}, ""),
        ({"id": "http://pubmed.ncbi.nlm.nih.gov/7/?term=x"}, "id of an evaluation set"),
        ({"id": "https://www.ncbi.nlm.nih.gov/pubmed/7"}, "id of an evaluation set"),
        ({"externalIds": {"PubMed": 7}}, "id of an evaluation set"),
        ({"externalIds": {"ArXiv": "2101.00001", "DOI": None}}, "id of an evaluation set"),
        ({"identifiers": ["mag:1", "PMID:7"]}, "id of an evaluation set"),
        ({"id": "2101.00001v2"}, "id of an evaluation set"),
        ({"id": "https://www.arxiv.org/pdf/2101.00001v1.pdf"}, "id of an evaluation set"),
        ({"DOI": "10.48550/arXiv.2101.00001"}, "id of an evaluation set"),
        ({"doi": "https://doi.org/10.48550/ARXIV.2101.00001v2"}, "id of an evaluation set"),
        ({"query": {"id": "x", "DOI": "10.1000/A(b)"}}, "id of an evaluation set"),
        ({"doi": "10.1000/a(b)c"}, ""),
        ({"title": "Muller and Lukasz: H2O in E. coli"}, "title of an evaluation set"),
        ({"title": "MÜLLER & ŁUKASZ &#8211; H\u2082O in &lt;i&gt;E. coli&lt;/i&gt;."}, "title of an evaluation set"),
        ({"title": "Müller or Łukasz: H2O in E. coli"}, ""),
    ],
)
def test_refused_and_not(record, reason):
    assert GUARD.reason(record) == reason


@pytest.mark.parametrize("key", ["id", "doi", "DOI"])
@pytest.mark.parametrize(
    "form",
    [
        *("{}", "{}.", "doi:{}", "DOI {}", "doi.org/{}", "https://doi.org/{}", "http://dx.doi.org/{}"),
        *("https://www.doi.org/{}?x=1", "info:doi/{}", "urn:doi:{}"),
    ],
)
@pytest.mark.parametrize("doi", ["10.1000/A(b)", "10.1000%2Fa(B)"])
def test_a_doi_is_refused_in_any_form_and_under_any_key(key, form, doi):
    assert GUARD.reason({key: form.format(doi)}) == "id of an evaluation set"


def test_what_is_refused_and_what_comes_twice_is_counted(tmp_path):
    records = [
        paper(1),
        paper(2, title="A tested paper"),
        paper(3, pmid=7),
        paper(4, doi="10.1000/A"),
        paper(5, doi="https://doi.org/10.1000/a"),
        paper(6, title="PAPER 1"),
        *({"title": ""}, {"title": ""}),
    ]
    first, second = write(tmp_path / "a.jsonl", records), write(tmp_path / "b.jsonl", [paper(1), paper(9)])
    counts = Counter(stale=1)
    found = [one.get("id") for one in read_papers([first, second], GUARD, counts)]
    assert found == ["p1", "p4", None, None, "p9"]
    assert counts == {
        "read": 10,
        "refused: id of an evaluation set": 1,
        "refused: title of an evaluation set": 1,
        "duplicate: id": 2,
        "duplicate: title": 1,
    }


def test_counts_are_of_whole_passes(tmp_path):
    path, counts = write(tmp_path / "a.jsonl", [paper(1), paper(2)]), Counter()
    list(read_papers([path], GUARD, counts))
    next(read_papers([path], GUARD, counts))
    assert counts == {"read": 2}


def test_papers_in_one_object_have_their_keys_as_ids(tmp_path):
    (tmp_path / "metadata.json").write_text(json.dumps({"a": {"title": "A"}, "b": {"title": "B"}}))
    found = list(read_papers([tmp_path / "metadata.json"], GUARD, Counter()))
    assert found == [{"id": "a", "title": "A"}, {"id": "b", "title": "B"}]
    line = {"query": {"title": "A"}, "pos": {"title": "B"}}
    assert list(read_papers([write(tmp_path / "one.jsonl", [line])], GUARD, Counter())) == [line]


def evaluation_data(folder):
    (folder / "data").mkdir(parents=True)
    write(folder / "data" / "corpus.jsonl", [{"_id": "1", "title": "In lines", "text": "x"}])
    (folder / "data" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n1\t1\t1\n")
    (folder / "data" / "review.csv").write_text("record_id,title,abstract\n1,In a table,x\n")
    (folder / "data" / "profile.json").write_text(json.dumps({"papers": [{"paper": {"title": "Deep inside"}}]}))
    (folder / "data" / "README").write_text("no data")
    return folder


def test_titles_of_folders_archives_and_files(tmp_path):
    folder = evaluation_data(tmp_path / "set")
    for name in ("set.tar.xz", "set.tgz"):
        with tarfile.open(tmp_path / name, f"w:{name[-2:]}") as archive:
            archive.add(folder, "set")
    wanted = {"In lines", "In a table", "Deep inside"}
    assert set(titles_of(folder)) == set(titles_of(tmp_path / "set.tar.xz")) == wanted
    (tmp_path / "several").mkdir()
    (tmp_path / "set.tgz").rename(tmp_path / "several" / "set.tgz")
    assert set(titles_of(tmp_path / "several")) == wanted
    assert titles_of(folder / "data" / "corpus.jsonl") == ["In lines"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"empty holds no title to guard"):
        titles_of(tmp_path / "empty")


def test_archives_that_would_be_passed_over_are_told(tmp_path):
    (tmp_path / "set").mkdir()
    write(tmp_path / "set" / "papers.jsonl", [{"title": "One"}])
    (tmp_path / "set" / "more.zip").write_bytes(b"PK")
    with pytest.raises(InputError, match=r"more.zip is an archive whose titles can't be guarded: unpack it"):
        titles_of(tmp_path / "set")
    (tmp_path / "set" / "more.zip").unlink()
    inner = tmp_path / "set"
    for number in range(4):
        with tarfile.open(tmp_path / f"{number}.tar", "w") as archive:
            archive.add(inner, inner.name)
        inner = tmp_path / f"{number}.tar"
        if number == 2:
            assert titles_of(inner) == ["One"]
    with pytest.raises(InputError, match=r"0.tar is in more than 3 archives within each other"):
        titles_of(inner)


def test_titles_that_a_user_names_are_refused_and_their_ids_are_not(tmp_path):
    guard = make_guard([evaluation_data(tmp_path / "set")], FROZEN_HERE)
    assert guard.reason({"id": "1", "title": "In lines!"}) == "title of an evaluation set"
    assert guard.reason({"id": "1", "title": "Else"}) == ""
    # A title without letters is none: it would refuse all papers that have no title.
    (tmp_path / "dots.jsonl").write_text('{"title": "..."}\n{"title": "A title"}\n')
    assert make_guard([tmp_path / "dots.jsonl"], FROZEN_HERE).reason({"title": "?!"}) == ""
    assert guard.reason({"id": "PMID:7", "title": "Else"}) == "id of an evaluation set"


@pytest.mark.slow
def test_without_a_word_of_the_user_the_suites_papers_are_refused():
    guard = make_guard([])
    lines = [line.split("\t") for line in FROZEN.read_text().splitlines()[::97]]
    assert all(guard.reason({"id": name}) for _, name, _ in lines)
    assert not guard.reason({"id": "conf:none", "title": "None of them"})


@given(st.text("aB 1-", max_size=9), st.text("aB 1-", max_size=9))
def test_titles_of_the_same_letters_and_digits_are_refused_and_no_others(frozen, title):
    guard = Guard(frozenset(), frozenset({title_key(frozen)} - {""}))
    letters = [[char for char in one.lower() if char.isalnum()] for one in (frozen, title)]
    assert bool(guard.reason({"title": title})) == (letters[0] == letters[1] != [])


def test_titles_in_columns_of_tables_under_either_name(tmp_path):
    for name, header in (("a.csv", "id,Primary_Title"), ("b.csv", "TITLE,id"), ("c.tsv", "title\tid")):
        between = "\t" if name.endswith("tsv") else ","
        cells = between.join("One" if "itle" in one.lower() else "1" for one in header.split(between))
        (tmp_path / name).write_text(f"{header}\n{cells}\n")
        assert titles_of(tmp_path / name) == ["One"]
    (tmp_path / "d.csv").write_text("id,titles\n1,One\n")
    with pytest.raises(InputError, match="holds no title to guard"):
        titles_of(tmp_path / "d.csv")
    (tmp_path / "list.json").write_text(json.dumps([[{"title": ""}, {"x": [{"title": "Two"}]}], {"title": 3}]))
    (tmp_path / "one.json").write_text(json.dumps([{"a": [[{"title": "Two"}]], "title": "One"}]))
    assert titles_of(tmp_path / "one.json") == ["One", "Two"]
