"""Values of Python, each beside the one that a JSON file would hold for it."""

import datetime as dt
import enum
import math
import sqlite3
from collections import OrderedDict, deque, namedtuple
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.assembling import assemble
from corpora.custom import CustomField
from corpora.plain import DEEPEST, plain, record_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


class Kind(enum.Enum):
    REVIEW = "Review"


class Text(enum.StrEnum):
    REVIEW = "Review"


class Number(enum.IntEnum):
    TWO = 2


@dataclass
class Author:
    name: str


Named = namedtuple("Named", "id title")

SAME = [
    (np.int64(2020), 2020),
    (np.uint8(7), 7),
    (np.float32(1.5), 1.5),
    (np.bool_(True), True),
    (np.str_("a"), "a"),
    (np.array(5), 5),
    (np.array(["a", "b"]), ["a", "b"]),
    (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
    (np.array(["2020-03-16"], "M8[ns]"), ["2020-03-16"]),
    (np.array([None, 1.5, "a"], object), [None, 1.5, "a"]),
    (np.datetime64("2020-03"), "2020-03"),
    (np.datetime64("2020-03-16T10:30:00"), "2020-03-16T10:30:00"),
    (dt.date(2020, 3, 16), "2020-03-16"),
    (dt.datetime(2020, 3, 16), "2020-03-16"),
    (dt.datetime(2020, 3, 16, 9, 5, tzinfo=dt.UTC), "2020-03-16T09:05:00+00:00"),
    (pd.Timestamp("2020-03-16"), "2020-03-16"),
    (pd.Series(["a", None], dtype="string"), ["a", None]),
    (pd.Categorical(["a"]), ["a"]),
    (pa.scalar(3), 3),
    (pa.array([1, None]), [1, None]),
    *((missing, None) for missing in (math.nan, np.float32("nan"), Decimal("NaN"), np.datetime64("NaT"), np.ma.masked)),
    *((missing, None) for missing in (pd.NA, pd.NaT)),
    (Kind.REVIEW, "Review"),
    (Text.REVIEW, "Review"),
    (Number.TWO, 2),
    (Decimal(12345678901234567890), 12345678901234567890),
    (Decimal("1.5"), 1.5),
    (Decimal("1e999999999"), math.inf),
    (Path("a/b"), "a/b"),
    (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (("a", ("b",)), ["a", ["b"]]),
    ({"b", "a"}, ["a", "b"]),
    (deque([1]), [1]),
    ({"a": 1}.keys(), ["a"]),
    (MappingProxyType({"a": np.int64(1)}), {"a": 1}),
    (Named("a", 1), {"id": "a", "title": 1}),
    ([Author("Ada Byron")], [{"name": "Ada Byron"}]),
]


@pytest.mark.parametrize(("value", "expected"), SAME, ids=lambda value: type(value).__name__)
def test_a_value_with_a_plain_meaning(value, expected):
    found = plain(value)
    assert found == expected
    assert type(found) is type(expected)


@given(JSON)
def test_a_value_of_json_stays_as_it_is(value):
    assert plain(value) == value


def endless():
    value = []
    value.append(value)
    return value


ODD = [b"a", np.bytes_(b"a"), bytearray(b"a"), 1j, np.complex64(1), object(), print, int, (one for one in "a"), 10**400]
ODD += [dt.timedelta(1), np.timedelta64(1, "D"), dt.time(1), endless(), Named, Author]


@pytest.mark.parametrize("value", ODD, ids=lambda value: type(value).__name__)
def test_any_other_value_rejects_the_record_that_it_is_read_from(value):
    with pytest.raises(ValueError, match=r"^a (value of the type|value that is nested|number of more than 308)"):
        plain(value)
    record = {"id": "a", "title": "A virus", "unused": object()}
    assert assemble(1, record_of(record), {}).paper.title == "A virus"  # what is not read rejects nothing
    for key in ("authors", "abstract", "year", "doi", "fields", "retracted"):
        rejected = assemble(1, record_of({**record, key: value}), {})
        assert (rejected.id, rejected.reason.startswith(f"The key {key} holds a ")) == ("a", True)
    rejected = assemble(1, record_of({**record, "shelf": value}), {}, [CustomField("shelf", "keyword")])
    assert rejected.reason.startswith("The field shelf should be text of at most 8,000 characters, not a ")


def test_depth():
    value = "a"
    for _ in range(DEEPEST):
        value = [value]
    assert plain(value)
    with pytest.raises(ValueError, match="nested too deeply"):
        plain([[value]])


def test_what_is_a_record():
    row = {"id": "a", "title": 1}
    for record in (row, OrderedDict(row), MappingProxyType(row), Named("a", 1), pd.Series(row)):
        assert record_of(record) == row
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    assert record_of(connection.execute("SELECT 'a' AS id, 1 AS title").fetchone()) == row
    connection.close()
    assert record_of(Author("a")) == {"name": "a"}
    assert all(record_of(other) is None for other in (None, 1, "a", ["a"], Author, np.array([1]), object()))


@pytest.mark.parametrize("value", [True, False, np.True_])
def test_a_boolean_is_no_value_of_another_kind(value):
    rejected = assemble(1, record_of({"id": "a", "title": "t", "x": value}), {}, [CustomField("x", "number")])
    assert rejected.reason == f"The field x should be a number, not {str(bool(value)).lower()}."
