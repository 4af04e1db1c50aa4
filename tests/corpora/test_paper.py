"""What changes a paper's hash, and what does not."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from corpora.paper import Paper, is_empty
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
