"""Dataclasses from values of JSON, as pydantic reads them in its strict mode."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from corpora.documents import typed


@dataclass(frozen=True)
class Part:
    name: str
    kind: Literal["a", "b"] = "a"


@dataclass(frozen=True)
class Whole:
    number: int
    share: float
    flag: bool
    parts: tuple[Part, ...] = ()


PARTS = st.fixed_dictionaries(
    {"name": st.text(max_size=3) | st.integers()},
    optional={"kind": st.sampled_from(["a", "b", "c", 1]), "x": st.none()},
)
VALUES = st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-1, 1) | st.text(max_size=2)
WHOLES = st.fixed_dictionaries(
    {"number": st.integers(-9, 9) | VALUES, "share": st.floats(-1, 1) | VALUES, "flag": st.booleans() | VALUES},
    optional={"parts": st.lists(PARTS, max_size=2) | VALUES, "more": VALUES},
)


GOOD = {"number": 1, "share": 0.5, "flag": True, "parts": [{"name": "x", "kind": "b"}]}


@given(WHOLES | VALUES)
def test_it_takes_what_pydantic_takes(content):
    check(content)


@pytest.mark.parametrize(
    "other",
    [
        {},
        {"number": True},
        {"number": 1.0},
        {"number": "1"},
        {"share": 1},
        {"share": True},
        {"flag": 1},
        {"parts": []},
        {"parts": None},
        {"parts": [{"name": "x"}]},
        {"parts": [{"name": "x", "kind": "c"}]},
        {"parts": [{"name": "x", "kind": ["a"]}]},
        {"parts": [{"name": "x", "more": 1}]},
        {"parts": ["x"]},
        {"more": 1},
    ],
)
def test_it_takes_one_other_value_where_pydantic_does(other):
    check(GOOD | other)


def check(content):
    try:
        expected = TypeAdapter(Whole).validate_json(json.dumps(content), strict=True, extra="forbid")
    except ValidationError:
        with pytest.raises(ValueError, match=r".+"):
            typed(Whole, content)
    else:
        found = typed(Whole, content)
        assert found == expected
        assert json.dumps(asdict(found)) == json.dumps(asdict(expected))


def test_what_is_wrong_is_named():
    with pytest.raises(ValueError, match="Whole lacks or does not know flag, more"):
        typed(Whole, {"number": 1, "share": 1.0, "more": 1})
    with pytest.raises(ValueError, match="'1' is not int"):
        typed(Whole, {"number": "1", "share": 1.0, "flag": True})
