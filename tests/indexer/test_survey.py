"""The notes of the first pass: what is new, changed and gone, and the values of fields that are no content."""

from __future__ import annotations

from dataclasses import replace

import pytest

from corpora.paper import Accepted, Deleted, Paper, Rejected
from corpora.progress import Silent
from indexer.survey import Survey, open_survey, size_of
from search_plugin.contract.schema import PUBLICATION
from tests.tiny import papers


@pytest.fixture
def survey(tmp_path):
    with open_survey(tmp_path, "mine", ["stage", "topics", PUBLICATION.name]) as opened:
        yield opened
    assert list(tmp_path.iterdir()) == []


class Noting(Silent):
    def __init__(self):
        self.steps = []

    def advance(self, papers, rejected=0, **_):
        self.steps.append((papers, rejected))


def read(survey: Survey, *records):
    """Read records; papers stand for themselves. Return the rejected ones and the steps of the progress."""
    numbered = [Accepted(n, one) if isinstance(one, Paper) else one for n, one in enumerate(records, start=1)]
    rejected, progress = [], Noting()
    survey.read(numbered, rejected.append, progress)
    return rejected, progress.steps


def test_records_are_counted_by_the_thousand(survey):
    torn = [Rejected(1, "No.", "x"), Rejected(2, "No.")]
    rejected, steps = read(survey, *torn, *papers(999), Deleted(1_002, "p00000"))
    assert rejected == torn
    assert steps == [(998, 2), (2, 0)]
    assert survey.counts() == {"new": 998, "updated": 0, "unchanged": 0, "deleted": 1, "duplicates": 1}


def test_sizes_are_characters_up_to_where_models_cut(survey):
    assert [
        size_of(Paper("a", "x" * title, "y" * abstract)) for title, abstract in ((3, 4), (2_000, 499), (9, 2_492))
    ] == [7, 2_499, 2_500]
    assert survey.size() == 0
    read(survey, Paper("a", "Masks", "x" * 9_000), Paper("b", "Lungs"), Paper("c", "Eyes"))
    assert survey.size() == 2_500 + 5 + 4
    known = {"b": Paper("b", "Lungs").content_hash(), "c": "other"}
    survey.compare(lambda ids: known, lambda ids, names: {id_: {"origins": ("mine",)} for id_ in known})
    assert survey.size() == 2_500 + 4, "of new and updated papers"


def test_papers_are_compared_by_content_origins_and_values(survey):
    def with_values(id_, **extra):
        return Paper(id_, f"Title {id_}", extra=extra)

    # By id: the index's origins and values, and whether the content is the same.
    held = {
        "same": ({"origins": ("mine",), "stage": "draft", "topics": ("a", "b")}, True),
        "others": ({"origins": ("other",)}, True),
        "valued": ({"origins": ("mine",), "stage": "draft"}, True),
        "emptied": ({"origins": ("mine",), "topics": ("a",)}, True),
        "changed": ({"origins": ("other",), "stage": "draft"}, False),
    }
    written = {
        "same": with_values("same", stage="draft", topics=("a", "b")),
        "others": with_values("others"),
        "valued": with_values("valued", stage="final"),
        "emptied": with_values("emptied"),
        "changed": with_values("changed", stage="final"),
        "new": with_values("new", stage="draft"),
    }
    read(survey, *written.values())
    asked = []

    def values(ids, names):
        asked.append((sorted(ids), names))
        return {id_: held[id_][0] for id_ in ids}

    hashes = {id_: written[id_].content_hash() if same else "old" for id_, (_, same) in held.items()}
    survey.compare(lambda ids: {id_: hashes[id_] for id_ in ids if id_ in hashes}, values)
    assert asked == [(sorted(held), ["origins", "stage", "topics", PUBLICATION.name])]
    assert survey.counts() == {"new": 1, "updated": 1, "unchanged": 4, "duplicates": 0}
    assert survey.filled == {"stage": 4, "topics": 1}
    assert survey.revalued == 2, "of papers whose content is unchanged"
    assert list(survey.work()) == [(4, ("mine", "other")), (5, ("mine",))]
    (batch,) = survey.updates()
    assert batch == {
        "others": {"origins": ["mine", "other"]},
        "valued": {"origins": ["mine"], "stage": "final"},
        "emptied": {"origins": ["mine"], "topics": None},
    }


def test_papers_that_have_origins_keep_them(tmp_path):
    with open_survey(tmp_path, None) as survey:
        read(survey, replace(papers(1)[0], origins=("a", "b")))
        assert list(survey.work()) == [(0, ("a", "b"))]


def test_more_papers_are_compared_than_fit_in_a_page(survey):
    written = [Paper("A", "Masks"), *papers(2_000)]  # a capital letter is before all small ones
    read(survey, *written)
    pages = []
    survey.compare(lambda ids: pages.append(ids) or {}, lambda ids, names: {})
    assert [len(page) for page in pages] == [1_000, 1_000, 1]
    assert sorted(id_ for page in pages for id_ in page) == sorted(paper.id for paper in written)


def test_the_last_record_of_an_id_counts(survey):
    one, two, three = papers(3)
    records = [one, Deleted(2, one.id), Deleted(3, two.id), two, Deleted(5, "never"), Deleted(6, three.id)]
    read(survey, *records, Rejected(7, "No.", three.id), replace(two, title="again"))
    assert survey.counts() == {"new": 1, "updated": 0, "unchanged": 0, "deleted": 2, "duplicates": 4}
    assert [sorted(ids) for ids in survey.deleted()] == [["never", one.id]]
    assert list(survey.hashes()) == [(2, replace(two, title="again").content_hash())]
    assert survey.of_hash(replace(two, title="again").content_hash()) == (two.id, 8)
    assert list(survey.gone([one.id, two.id, three.id, "absent"])) == [["absent"]]
    assert list(survey.gone([two.id])) == []


def test_what_is_gone_comes_by_the_thousand(survey):
    kept = papers(2_500)[::2]
    read(survey, *kept)
    batches = list(survey.gone(paper.id for paper in papers(2_500)))
    assert [len(batch) for batch in batches] == [500, 500, 250]
    assert {id_ for batch in batches for id_ in batch} == {paper.id for paper in papers(2_500)[1::2]}


def test_refused_papers_count_no_more(survey):
    read(survey, *papers(3))
    assert survey.refuse("p00001") == 2
    assert survey.counts() == {"new": 2, "updated": 0, "unchanged": 0, "refused": 1, "duplicates": 0}
    assert [ordinal for ordinal, _ in survey.work()] == [0, 2]
