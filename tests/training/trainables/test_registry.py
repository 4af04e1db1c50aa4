"""What each trainable offers: its options with their defaults, what it starts from, and whether a format may stay."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from training.trainables.registry import TRAINABLES

PAGE = (Path(__file__).parents[3] / "docs" / "training.md").read_text()
TAG = "Tag a scientific paper with relevant scientific topic classes."
FIND = "Retrieve a scientific paper that is relevant to the query."
"""SciMult's table 1, and UniPR's instruction."""

WORDS = {"clf": TAG, "rgn": "Estimate a number that describes a scientific paper.", "prx": FIND, "qry": FIND}


def test_what_each_starts_from_and_may_leave_as_it_is():
    assert {name: one.bases for name, one in TRAINABLES.items() if one.bases != ("plain",)} == {"fusion": ("adapters",)}
    assert {name for name, one in TRAINABLES.items() if one.plain} == {"adapters", "lora"}


def test_the_instructions():
    assert TRAINABLES["instructions"].options == WORDS
    assert TRAINABLES["prefix"].options == {"texts": 0, **WORDS}


@pytest.mark.parametrize("name", sorted(TRAINABLES.keys() - {"instructions", "prefix"}))
def test_the_page_names_every_option_with_its_default(name):
    row = re.search(rf"^\| `{name}` \|.*$", PAGE, re.MULTILINE)[0]
    told = dict(reversed(re.findall(r"`(\w+) = ([^`]+)`", row)))  # the first value of each
    options = TRAINABLES[name].options
    assert {key: told.get(key, "").strip('"') for key in options} == {key: str(one) for key, one in options.items()}
