"""The papers that the suites test on: the list is what the entries draw; ids and titles are told however written."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.files.text import json_objects
from eval.frozen import FROZEN, ids_of, read_frozen, title_key
from eval.suites.freeze import frozen_lines
from eval.suites.kinds import read_citations
from eval.suites.manifest import get_suite

ENTRIES = get_suite("offline")
HELD_OUT = ["Meijboom_2021", "Nelson_2002", "van_der_Valk_2021"]
"""The reviews that the suite's manifest names."""


@pytest.mark.long
def test_the_list_is_what_the_entries_test_on(data_dir):
    assert list(frozen_lines(data_dir, ENTRIES)) == FROZEN.read_text().splitlines()


def test_every_entry_on_data_that_also_trains_says_what_it_tests_on():
    assert all(entry.tested for entry in ENTRIES if entry.files[0].startswith("train/"))
    sources = {line.partition("\t")[0] for line in FROZEN.read_text().splitlines()}
    trained = {entry.files[0] for entry in ENTRIES if entry.tested}
    assert trained == {f"train/{source}.jsonl.xz" for source in sources}


def test_the_list_is_read_with_ids_and_titles():
    frozen = read_frozen()
    assert len(frozen.titles) > 10_000
    assert Counter(name.partition(":")[0] for name in frozen.ids).keys() == {"arxiv", "pmid", "doi", "openalex", "id"}
    assert "" not in frozen.titles


def test_citations_are_drawn_from_the_held_out_reviews_alone(data_dir):
    papers, qrels = read_citations(data_dir / "train" / "synergy.jsonl.xz", reviews=HELD_OUT)
    assert len(qrels.gains) == 500
    reviews = {row["id"]: row["dataset"] for _, row in json_objects(data_dir / "train" / "synergy.jsonl.xz")}
    assert {reviews[name] for name in papers} == set(HELD_OUT)


def test_the_held_out_reviews_are_the_first_draw_that_fits(data_dir):
    rows = {row["id"]: row for _, row in json_objects(data_dir / "train" / "synergy.jsonl.xz") if row.get("title")}
    citing, able = Counter(), Counter()
    for row in rows.values():
        cited = [rows[name] for name in row.get("references_in_set") or () if name in rows]
        citing[row["dataset"]] += bool(cited)
        able[row["dataset"]] += sum(other["dataset"] == row["dataset"] for other in cited) >= 5
    for seed in range(7):
        names, share = sorted(citing), 0.0
        random.Random(seed).shuffle(names)
        held = []
        while share < 0.3:
            held.append(names.pop(0))
            share = sum(citing[name] for name in held) / citing.total()
        fits = len(held) >= 3 and share <= 0.4 and sum(able[name] for name in held) >= 500
        assert fits == (seed == 6)
    assert sorted(held) == sorted(HELD_OUT)


@pytest.mark.parametrize(
    ("paper", "wanted"),
    [
        ({"id": "arXiv:2503.11731v2"}, {"arxiv:2503.11731"}),
        ({"id": "https://arxiv.org/abs/2503.11731"}, {"arxiv:2503.11731"}),
        ({"id": "PMID:399296", "doi": "https://doi.org/10.1000/ABC"}, {"pmid:399296", "doi:10.1000/abc"}),
        ({"id": "https://openalex.org/W21", "pmid": "https://pubmed.ncbi.nlm.nih.gov/10"}, {"openalex:w21", "pmid:10"}),
        ({"id": "10.1000/abc"}, {"doi:10.1000/abc"}),
        ({"corpus_id": 17, "doi": None}, {"id:17"}),
        ({"id": "acl:1963.earlymt-1-1", "pmid": 10.0}, {"id:acl:1963.earlymt-1-1", "pmid:10"}),
        ({"title": "none"}, set()),
        ({"id": "cvpr2016:None"}, set()),
        ({"id": "p", "doi": "2-n", "pmid": "none"}, {"id:p"}),
    ],
)
def test_ids_are_the_same_however_they_are_written(paper, wanted):
    assert set(ids_of(paper)) == wanted


def test_titles_are_compared_by_letters_and_digits():
    assert title_key("Deep-Learning: a  Review!") == title_key("deep learning a review")
    assert title_key("Part 1") != title_key("Part 2")
    assert title_key("Über \ufb01sh") == title_key("U\u0308BER FISH")
    assert title_key(" ... ") == title_key(None) == ""


@given(st.text(), st.lists(st.sampled_from(" .,-:;!?'\u00a0\u2014\t"), min_size=1, max_size=3))
def test_titles_differ_by_no_blank_point_or_case(title, between):
    noisy = "".join(between) + "".join(char + random.Random(1).choice(between) for char in title)
    # A mark that joins the letter before it may not be taken from it.
    if title.isascii():
        assert title_key(noisy) == title_key(title) == title_key(title.upper())
    assert title_key(title) == title_key(f"  {title}. ")


@given(st.text(), st.text())
def test_titles_of_other_letters_differ(first, second):
    letters = [[char for char in title.casefold() if char.isascii() and char.isalnum()] for title in (first, second)]
    if first.isascii() and second.isascii() and letters[0] != letters[1]:
        assert title_key(first) != title_key(second)
