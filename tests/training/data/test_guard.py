"""The guard: papers of evaluation sets are refused by id and by title, whatever file they come in."""

from __future__ import annotations

import json
import tarfile
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import InputError
from eval.suites.frozen import FROZEN, Frozen, title_key
from tests.training.data.papers import paper
from tests.training.recipes import write
from training.data.guard import Guard, make_guard, read_papers
from training.data.titles import titles_of

FROZEN_HERE = Frozen(
    frozenset({"pmid:7", "arxiv:2101.00001", "id:conf:7", "id:cvpr2016:none"}),
    frozenset({title_key("A tested paper")}),
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
    ],
)
def test_refused_and_not(record, reason):
    assert GUARD.reason(record) == reason


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
    with tarfile.open(tmp_path / "set.tar.xz", "w:xz") as archive:
        archive.add(folder, "set")
    wanted = {"In lines", "In a table", "Deep inside"}
    assert set(titles_of(folder)) == set(titles_of(tmp_path / "set.tar.xz")) == wanted
    assert titles_of(folder / "data" / "corpus.jsonl") == ["In lines"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"empty holds no title to guard"):
        titles_of(tmp_path / "empty")


def test_titles_that_a_user_names_are_refused_and_their_ids_are_not(tmp_path):
    guard = make_guard([evaluation_data(tmp_path / "set")], FROZEN_HERE)
    assert guard.reason({"id": "1", "title": "In lines!"}) == "title of an evaluation set"
    assert guard.reason({"id": "1", "title": "Else"}) == ""
    assert guard.reason({"id": "PMID:7", "title": "Else"}) == "id of an evaluation set"


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
