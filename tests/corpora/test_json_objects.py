import io
import json
import re
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.json_objects import JsonObject, read_items, read_lines, read_lists
from corpora.paper import Rejected

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.lists(st.dictionaries(st.text(), VALUES, max_size=4), max_size=6)


class Dribble(io.BytesIO):
    """A stream that gives a few bytes at a time, so that every item is cut everywhere."""

    def __init__(self, data, step):
        super().__init__(data)
        self.step = step

    def read(self, size=-1, /):
        return super().read(self.step)


@pytest.mark.slow
@given(OBJECTS, st.integers(1, 7), st.sampled_from([None, 1]))
def test_an_array_in_any_pieces_is_what_json_reads(objects, step, indent):
    data = json.dumps(objects, indent=indent).encode()
    assert [item.members for item in read_items(Dribble(data, step), "array")] == objects


@given(OBJECTS)
def test_lines_are_what_json_reads(objects):
    data = "\n\n".join(json.dumps(item, ensure_ascii=False) for item in objects).encode()
    assert list(read_lines(io.BufferedReader(io.BytesIO(data)))) == [
        JsonObject(2 * n + 1, item) for n, item in enumerate(objects)
    ]


def test_lines_of_items_and_keys_of_a_mapping():
    data = b'\xef\xbb\xbf\n{"p1": {"title": "a"},\n\n "p2": {"id": "own"}, "p3": 4}\n'
    assert list(read_items(io.BytesIO(data), "mapping")) == [
        JsonObject(2, {"id": "p1", "title": "a"}),
        JsonObject(4, {"id": "own"}),
        Rejected(4, "The record isn't a JSON object."),
    ]


@pytest.mark.parametrize(
    ("data", "line", "says"),
    [
        (b'[{"a": 1},\n{"b": 2', 2, "damaged"),
        (b'[{"a": 1},\n{"b": tru}]', 2, "damaged"),
        (b'[{"a": 1}\n', 1, "'the end'|the end"),
        (b'[{"a": 1}]\n[]', 2, "'\\['"),
        (b'[{"a": 1},\n' + b"[" * 100_000, 2, "too deep"),
        (b'[{"a": 1},\n{"b": "' + b"x" * (17 << 20), 2, "longer than 16 MiB"),
    ],
)
def test_damage_rejects_the_rest_once(data, line, says):
    first, last = read_items(io.BytesIO(data), "array")
    assert first == JsonObject(1, {"a": 1})
    assert isinstance(last, Rejected)
    assert last.line == line
    assert re.search(says, last.reason)


@pytest.mark.parametrize(
    ("data", "line"),
    [(b'{"a": 1 x', 1), (b'{"a": 1}', 1), (b'{"a": 1,\n"items":\n[{"b": 2},\n{"c"', 4), (b'{"m": {"items": 3}}', 1)],
)
def test_damage_to_a_list_within_an_object_rejects_the_rest(data, line):
    *items, last = read_lists(io.BytesIO(data), ("m", "items"))
    assert [item.members for item in items] == [{"b": 2}] * (b"[" in data)
    assert (type(last), last.line) == (Rejected, line)


def test_bytes_that_are_not_utf8_reject_one_record():
    array = list(read_items(io.BytesIO(b'[{"a": "\xff"}, {"b": 1}]'), "array"))
    lines = list(read_lines(io.BufferedReader(io.BytesIO(b'{"a": "\xff"}\n{"b": 1}\n'))))
    for first, second in (array, lines):
        assert "aren't UTF-8" in first.reason
        assert second.members == {"b": 1}


def test_a_line_that_is_no_object_is_rejected_alone():
    long = b'"' + b"x" * (17 << 20) + b'"'
    numbers = b'{"n": ' + b"9" * 5000 + b"}"
    data = b"\n".join([b"{", b"[1]", long, numbers, b"[" * 100_000, b'{"year": NaN}'])
    *bad, good = read_lines(io.BufferedReader(io.BytesIO(data)))
    assert [item.line for item in bad] == [1, 2, 3, 4, 5]
    assert ["JSON (" in bad[0].reason, "object" in bad[1].reason, "16 MiB" in bad[2].reason] == [True] * 3
    assert good.line == 6


@pytest.mark.slow
def test_memory_does_not_grow_with_the_array():
    item = json.dumps({"id": "1", "title": "t" * 1000}).encode()
    data = io.BytesIO(b"[" + b",\n".join([item] * 5_000) + b"]")
    tracemalloc.start()
    count = sum(1 for _ in read_items(data, "array"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 5_000
    assert peak < 2_000_000


def test_a_number_cut_in_two_is_one_item():
    number, item = read_items(Dribble(b'[1234567, {"a": 1}]', 2), "array")
    assert isinstance(number, Rejected)
    assert item == JsonObject(1, {"a": 1})
