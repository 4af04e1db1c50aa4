"""The order of titles, numbers and dates."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import InputError
from search_plugin.contract.legs import LONGEST_KEY, NEWEST_FIRST, Sort, parse_sort, sorted_ids, title_key, unit_rows
from search_plugin.contract.schema import PAPER_FIELDS, Field

FIELDS = (*PAPER_FIELDS, Field("seen", "date"), Field("impact", "number", origin="forecast"), Field("shelf", "keyword"))


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("year", Sort("year")),
        (" -Year ", NEWEST_FIRST),
        ("title", Sort("title")),
        ("- title", Sort("title", descending=True)),
        ("-seen", Sort("seen", descending=True)),
        ("impact", Sort("impact")),
    ],
)
def test_orders_are_read(text, order):
    assert parse_sort(text, FIELDS) == order
    assert parse_sort(str(order), FIELDS) == order


@pytest.mark.parametrize("text", ["", "-", "--year", "shelf", "abstract", "colour", "journal", "id"])
def test_what_has_no_order_is_refused(text):
    with pytest.raises(InputError, match="choose one of title, year, seen, impact, with - before it"):
        parse_sort(text, FIELDS)


@pytest.mark.parametrize(
    ("title", "key"),
    [
        ("The Élan—Vital!", "the elan vital"),
        ("“β-Catenin” and Straße", "β catenin and strasse"),
        ("ﬁbrosis_of Ⅳ", "fibrosis of iv"),
        ("病毒 2", "病毒 2"),
        ("?!", ""),
        ("a" * 300, "a" * LONGEST_KEY),
    ],
)
def test_keys_of_titles(title, key):
    assert title_key(title) == key


@given(st.text())
def test_a_key_is_the_same_for_every_spelling_of_a_title(title):
    key = title_key(title)
    assert title_key(unicodedata.normalize("NFD", title)) == title_key(unicodedata.normalize("NFC", title)) == key
    assert title_key(f" ({title.swapcase().swapcase()}) ") in (key, title_key(title.swapcase().swapcase()))
    assert len(key) <= LONGEST_KEY
    assert key == key.strip()
    key.encode()


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from([1, 2.5, -3, 0])), st.booleans())
def test_values_are_sorted_ties_by_id_and_the_rest_last(values, descending):
    got = sorted_ids(values, "hgfedcba", Sort("year", descending))
    key = (lambda id_: (-values[id_], id_)) if descending else (lambda id_: (values[id_], id_))
    assert got == [*sorted(values, key=key), *(id_ for id_ in "abcdefgh" if id_ not in values)]


def test_dates_are_sorted_by_their_first_day():
    values = {"a": "2020", "b": "2019-12-31", "c": "2020-01-01", "d": "2020-01"}
    assert sorted_ids(values, "abcde", Sort("seen")) == ["b", "a", "c", "d", "e"]


def test_rows_have_length_one_in_their_own_precision_and_zeros_stay():
    rows = np.array([[3, 4], [0, 0], [1e-3, 0]], np.float32)
    found = unit_rows(rows)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [[0.6, 0.8], [0, 0], [1, 0]], rtol=1e-6)
    assert unit_rows(rows.astype(np.float64)).dtype == np.float64
