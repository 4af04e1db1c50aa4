"""JSON as literals of a language, and as bodies with parameters."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_plugin.engines.cluster.dialect import Enclosed
from search_plugin.engines.cluster.frontends.artifacts import Ownership, marked_index
from search_plugin.engines.cluster.frontends.http import Parameter, as_plain, as_text, replaced
from search_plugin.engines.cluster.frontends.literals import WIDTH, Notation, escaped

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=40), inner, max_size=5),
    max_leaves=20,
)
LONG = ["a" * 60, "b" * 60]


@given(VALUES, st.sampled_from(["", "    "]))
def test_a_literal_of_json_is_the_value(value, indent):
    written = Notation().write(value, indent)
    assert json.loads(written) == value
    assert json.loads(Notation().write(value, None)) == value
    assert "\n" not in Notation().write(value, None)
    assert all(line.startswith(indent) for line in written.splitlines()[1:])


@pytest.mark.parametrize("fill", [0, 1])
def test_a_list_has_one_line_up_to_the_width(fill):
    value = ["a" * (WIDTH - len('"", "b"') + fill), "b"]
    assert Notation().write(value).count("\n") == (3 if fill else 0)
    assert Notation().write(value, "  ").count("\n") == 3


def test_each_part_has_a_line_where_one_is_too_short_for_all_and_numbers_have_one():
    notation = Notation(last_comma=",", around=("(", ")"), pair=" => ", empty="()")
    wide = {"k": LONG, "none": {}}
    assert notation.write(wide, "  ") == (
        f'(\n    "k" => [\n      "{LONG[0]}",\n      "{LONG[1]}",\n    ],\n    "none" => (),\n  )'
    )
    numbers = [0.5] * WIDTH
    assert "\n" not in notation.write(numbers)
    assert Notation().write({"n": numbers}).count("\n") == 2


def test_constants_and_parameters_are_those_of_the_language():
    notation = Notation(parameter=lambda one: f"${one.name}", constants=("nil", "yes", "no"))
    assert notation.write([None, True, False, Parameter("words", "text"), 1]) == "[nil, yes, no, $words, 1]"
    assert Notation().write(Parameter("vector")) == "vector"


@given(st.text(), st.sampled_from(['"\\', '"\\$', '"\\#']))
def test_nothing_in_a_text_ends_it_or_stays_unseen(text, special):
    quoted = escaped(special)(text)
    inside = quoted[1:-1]
    assert quoted[0] == quoted[-1] == '"'
    assert not any(ord(one) < 0x20 or 0x7F <= ord(one) < 0xA0 or one in "\u2028\u2029\u202e\u2066" for one in quoted)
    place, read = 0, ""
    while place < len(inside):
        if inside[place] != "\\":
            assert inside[place] not in special
            read, place = read + inside[place], place + 1
        elif inside[place + 1] == "u":
            end = inside.index("}", place)
            read, place = read + chr(int(inside[place + 3 : end], 16)), end + 1
        else:
            assert inside[place + 1] in special
            read, place = read + inside[place + 1], place + 2
    assert read == text


def test_a_parameter_stands_unquoted_in_a_body():
    body = {"query": {"match": {"title": Parameter("words", "text")}}, "v": Parameter("vector"), "words": "words"}
    written = as_text(body, lambda one: f"<{one.name} {one.kind}>", indented=False)
    assert written == '{"query":{"match":{"title":<words text>}},"v":<vector json>,"words":"words"}'
    assert as_text([1], str).count("\n") == 2
    with pytest.raises(TypeError):
        as_text({"a": object()}, str)


def test_a_plain_body_has_lists_for_arrays_and_text_for_enclosed_queries():
    array, words = np.array([0.5, 1], np.float32), Parameter("words")
    body = {"v": array, "q": Enclosed({"term": {"a": array}}), "w": words}
    inside = base64.b64encode(b'{"term":{"a":[0.5,1.0]}}').decode()
    assert as_plain(body) == {"v": [0.5, 1.0], "q": inside, "w": words}
    assert as_text(body, lambda one: one.name, indented=False) == f'{{"v":[0.5,1.0],"q":"{inside}","w":words}}'


def test_values_are_replaced_from_the_inside_to_the_outside():
    seen = []

    def change(value):
        seen.append(value)
        return value * 2 if isinstance(value, int) else value

    assert replaced({"a": (1, [2]), "b": 3}, change) == {"a": [2, [4]], "b": 6}
    assert seen == [1, 2, [4], [2, [4]], 3, {"a": [2, [4]], "b": 6}]


@pytest.mark.parametrize("index", ["papers", "a-b_c", "9"])
def test_the_index_of_a_mark_is_read_again(index):
    assert marked_index(f"before {Ownership(index, 'm (f)')} after") == index
    assert marked_index(str(Ownership(index, "m", 27))) == index
    assert marked_index(f"made by ses for the index {index}") == ""
    assert marked_index("") == ""
