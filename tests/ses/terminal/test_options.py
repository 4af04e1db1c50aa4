"""Values of options as they are typed."""

import pytest

from corpora.errors import InputError
from ses.terminal.options import parse_pairs


def test_columns_are_read_by_attribute():
    assert parse_pairs(["title=Titel", " year = Jahr=1 "], "columns", "ATTRIBUTE=COLUMN") == {
        "title": "Titel",
        "year": "Jahr=1",
    }


@pytest.mark.parametrize("texts", [["title"], ["=x"], ["title="]])
def test_another_form_is_told(texts):
    with pytest.raises(InputError, match="can't be read; write it as columns=ATTRIBUTE=COLUMN"):
        parse_pairs(texts, "columns", "ATTRIBUTE=COLUMN")


def test_two_columns_of_one_attribute_are_told():
    with pytest.raises(InputError, match="year is given twice, as pub_year and as acquired; leave one of them out"):
        parse_pairs(["year=pub_year", "year = acquired"], "columns", "ATTRIBUTE=COLUMN")
