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
OPTIONS = {
    "all": {"dimension": 0},
    "last": {"layers": 2, "dimension": 0},
    "adapters": {"layers": 0, "reduction": 16, "identity": 0},
    "fusion": {},
    "lora": {"layers": 0, "rank": 8},
    "pals": {"width": 0, "low_rank": 0, "identity": 0, "frozen": 0},
    "codes": {"frozen": 0},
    "shared-codes": {},
    "experts": {"kind": "attention", "layers": "mod2", "shared": 1, "clf": 2, "rgn": 1, "prx": 0, "qry": 0},
    "instructions": WORDS,
    "prefix": {"texts": 0, **WORDS},
    "reranker": {"max_tokens": 256},
}


def test_options_and_their_defaults():
    assert {name: dict(one.options) for name, one in TRAINABLES.items()} == OPTIONS
    assert {name: one.bases for name, one in TRAINABLES.items() if one.bases != ("plain",)} == {"fusion": ("adapters",)}
    assert {name for name, one in TRAINABLES.items() if one.plain} == {"adapters", "lora"}


@pytest.mark.parametrize("name", OPTIONS)
def test_the_page_names_the_defaults(name):
    row = re.search(rf"^\| `{name}` \|.*$", PAGE, re.MULTILINE)[0]
    for key, value in re.findall(r"`(\w+) = ([^`]+)`", row):
        assert str(OPTIONS[name][key]) == value.strip('"')
