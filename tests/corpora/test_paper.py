"""What changes a paper's hash, and what does not."""

from __future__ import annotations

from dataclasses import fields, replace

import orjson
import pytest

from corpora.paper import Accepted, MadeOf, Paper, Rejected, is_empty, paper_from
from corpora.publication import Publication

WHOLE = Paper(
    *("33829574", "Uptake of water", "We know.", ("R J Bainton",), 2020, "Current biology", ("Review",), "eng"),
    *(("Humans",), ("pmid:33829574",), ("11",), "https://a.org"),
)
OTHER = {str: "other", int: 1999, tuple: ("other",), bool: True, dict: {"shelf": "a"}, type(None): Publication("12")}


@pytest.mark.parametrize("value", [None, False, "", ()])
def test_what_is_missing(value):
    assert is_empty(value)


@pytest.mark.parametrize("value", [0, 0.0, True, " ", ("",), ("x",), "0"])
def test_what_is_a_value(value):
    assert not is_empty(value)


def test_every_attribute_but_origins_and_fields_beside_changes_the_hash():
    changed = {
        field.name: replace(WHOLE, **{field.name: OTHER[type(getattr(WHOLE, field.name))]}) for field in fields(Paper)
    }
    hashes = {name: paper.content_hash() for name, paper in changed.items()}
    beside = {hashes.pop(name) for name in ("origins", "extra", "publication")}
    assert beside == {WHOLE.content_hash()}
    assert len({*hashes.values(), WHOLE.content_hash()}) == len(hashes) + 1 == len(fields(Paper)) - 2


def test_the_hash_of_a_paper_never_changes():
    # Otherwise every index would encode all its papers again.
    assert WHOLE.content_hash() == "6e7e711223a7d54a23ce6abbcf53694e"


def test_a_value_is_an_attribute_or_a_field_or_none():
    paper = replace(WHOLE, extra={"shelf": "A 1", "venue": "own"}, publication=Publication("12"))
    assert [paper.value(name) for name in ("title", "shelf", "venue", "year")] == [WHOLE.title, "A 1", "own", 2020]
    assert [paper.value(name) for name in ("retracted", "origins", "colour")] == [None] * 3
    assert paper.value("publication") == '{"volume":"12"}'
    assert WHOLE.value("publication") is None


def test_a_paper_comes_back_from_json():
    paper = replace(WHOLE, extra={"tags": ("a", "b"), "n": 3}, publication=Publication("12", issn=("1234-5679",)))
    for one in (paper, WHOLE, Paper("a", "T")):
        assert paper_from(orjson.loads(orjson.dumps(one))) == one
    assert paper_from({"id": "a", "title": "T", "publication": Publication("1").to_text()}).publication.volume == "1"


def test_what_an_account_needs_is_neither_shown_nor_compared():
    made_of = MadeOf(None, None)
    for one in (Accepted(1, WHOLE), Rejected(1, "It is none.", "a")):
        other = replace(one, made_of=made_of)
        assert (other, repr(other)) == (one, repr(one))
    assert repr(Rejected(1, "No.", "a", WHOLE)) == repr(Rejected(1, "No.", "a"))
