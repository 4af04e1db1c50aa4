"""Documents of others: within limits they are read as any parser reads them, beyond they are refused with a reason."""

from __future__ import annotations

import io
import json
import math
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.documents import DEEPEST, json_of, read_json, read_text, read_toml, read_within

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=20,
)


@given(VALUES, st.sampled_from(["", "\ufeff"]))
def test_any_value_is_read(value, mark):
    assert json_of(f"{mark}{json.dumps(value, ensure_ascii=False)}".encode()) == value


def nested(depth):
    return b"[" * depth + b"]" * depth


def test_depth_is_limited_exactly():
    assert json_of(nested(DEEPEST)) is not None
    with pytest.raises(ValueError, match="nested too deep"):
        json_of(nested(DEEPEST + 1))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"1e999", "1e999 is not finite"),
        (b"[-1e999]", "not finite"),
        (b'{"a": NaN}', "NaN is not finite"),
        (b"-Infinity", "not finite"),
        (b"9" * 400, "400 digits"),
        (b"9" * 5_000, "5,000 digits"),
        (nested(100_000), "nested too deep"),
        (b'{"a":' * 100_000, "nested too deep"),
        (b'{"a": 1', "Expecting"),
        ('{"a": 1}'.encode("utf-16"), "can't decode"),
        (b"\xff\xfe\x00\xd8", "can't decode"),
        (b"", "Expecting"),
    ],
)
def test_what_can_not_be_used_is_refused_with_a_reason(content, told):
    with pytest.raises(ValueError, match=told):
        json_of(content)


@given(st.integers(1, 308))
def test_every_number_can_be_a_double(digits):
    assert math.isfinite(float(json_of(b"9" * digits)))


@pytest.mark.parametrize("read", [read_json, read_text, read_toml])
def test_a_large_file_is_not_read_to_its_end(read, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b'"' + b"x" * (2 << 20) + b'"')
    with pytest.raises(ValueError, match="larger than 1 MiB"):
        read(path, 1 << 20)


def test_a_small_file_takes_little_memory_and_a_large_one_is_read_whole():
    tracemalloc.start()
    assert read_within(io.BufferedReader(io.BytesIO(b"x" * 9)), 4 << 30) == b"x" * 9
    assert tracemalloc.get_traced_memory()[1] < 16 << 20
    tracemalloc.stop()
    content = bytes(range(256)) * 10_000
    assert read_within(io.BufferedReader(io.BytesIO(content)), len(content)) == content


def test_no_more_is_read_than_decides():
    stream = io.BytesIO(b"x" * 100)
    with pytest.raises(ValueError, match="larger than"):
        read_within(stream, 10)
    assert stream.tell() == 11
    assert read_within(io.BytesIO(b"x" * 10), 10) == b"x" * 10


@pytest.mark.parametrize("content", [f"a = {'[' * 5_000}", "a = 1e", "\udcff"])
def test_toml_that_can_not_be_read_is_refused(content, tmp_path):
    path = tmp_path / "file.toml"
    path.write_text(content, errors="surrogateescape")
    with pytest.raises(ValueError, match=r"nested too deep|line 1|can't decode"):
        read_toml(path)


def test_toml_is_read(tmp_path):
    path = tmp_path / "file.toml"
    path.write_text("\ufeff[a]\nb = [1, 2.5]\n", encoding="utf-8")
    assert read_toml(path) == {"a": {"b": [1, 2.5]}}
