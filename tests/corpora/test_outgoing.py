"""Text on its way out: no control characters, no reordering, no formulas; and nothing else is changed."""

from __future__ import annotations

import json
import unicodedata

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.outgoing import aligned, cell, in_a_line, json_text, paper_html, plain, text_of_cell, titled
from corpora.paper import Paper
from corpora.publication import Publication

REORDERING = [chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))]
CONTROLS = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))]


@pytest.mark.parametrize("sign", [*REORDERING, *(one for one in CONTROLS if one not in "\t\n\v\f\r\x85")], ids=ascii)
def test_what_controls_or_reorders_is_left_out(sign):
    assert plain(f"a{sign}b") == in_a_line(f"a{sign}b") == "ab"


@given(st.text(st.characters() | st.sampled_from([*REORDERING, *CONTROLS])))
def test_no_control_character_remains_and_no_other_one_goes(text):
    found = plain(text)
    kept = [
        one
        for one in text
        if unicodedata.category(one) not in ("Cc", "Cs") and one not in (*REORDERING, "\u2028", "\u2029")
    ]
    assert [one for one in found if one not in "\t\n"] == kept
    assert not set(in_a_line(text)) & {*CONTROLS, *REORDERING, "\u2028", "\u2029"}


@pytest.mark.parametrize(
    "text",
    [
        "\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian, with a non-joiner
        "\u0d28\u0d4d\u200d",  # Malayalam, with a joiner
        "\U0001f469\u200d\U0001f52c",  # an emoji of two
        "\u05d0\u200f!",  # Hebrew, with a mark of direction
        "50\u00a0mg caf\u00e9 \u75c5\u6bd2 a\u00adb",
    ],
    ids=ascii,
)
def test_what_scripts_need_stays(text):
    assert plain(text) == in_a_line(text) == cell(text) == text


def test_every_line_end_is_one():
    assert plain("a\r\nb\rc\x0bd\x0ce\x85f\u2028g\u2029h\n") == "a\nb\nc\nd\ne\nf\ng\nh\n"
    assert in_a_line("a\r\nb\tc") == "a b c"


@pytest.mark.parametrize(
    "text", ["=1+1", "'=1", "''=1", " -2", "@a", "+b", "\uff1dx", "\x07=1", "\u202e=1", "\u202a'=1"]
)
def test_no_cell_is_a_formula(text):
    assert str(cell(text)).startswith("'")
    assert text_of_cell(str(cell(text))) == plain(text)


@given(st.text(st.sampled_from("'=+-@ ab\u202e\x1b\t"), max_size=8))
def test_a_cell_gives_its_text_back(text):
    assert text_of_cell(str(cell(text))) == plain(text)
    assert not str(cell(text)).lstrip().startswith(("=", "+", "-", "@"))


def test_other_values_are_cells():
    assert [cell(one) for one in (None, True, 3, 2.5, ("a", "b"))] == ["", "true", 3, 2.5, "a; b"]


@given(st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from([*REORDERING, *CONTROLS])))
def test_json_keeps_every_value_and_controls_nothing(text):
    written = json_text(orjson.dumps({"a": text}))
    assert json.loads(written) == {"a": text}
    assert not set(written) & {*CONTROLS, *REORDERING}


def test_rows_are_in_columns_that_are_as_wide_as_their_longest_cell():
    rows = [["name", "n", "note"], ["a", "1,000"], ["longer", "2", "x"]]
    assert aligned(rows) == ["name    n      note", "a       1,000", "longer  2      x"]
    assert aligned(rows, 1) == ["name        n  note", "a       1,000", "longer      2     x"]
    assert aligned(rows, 0) == ["  name      n  note", "     a  1,000", "longer      2     x"]


def test_a_paper_is_shown_with_all_that_is_known_of_it():
    paper = Paper(
        "a<1>",
        "Is a<b?",
        "It's\x1b so.",
        ("Ada & Co", "Bo"),
        2020,
        identifiers=("doi:10.5555/a",),
        references=("x",) * 1_000,
        retracted=True,
        extra={"shelf": 0},
        publication=Publication("12", issn=("1234-5679",)),
    )
    rows = {
        "id": "a&lt;1&gt;",
        "authors": "Ada &amp; Co; Bo",
        "year": "2020",
        "identifiers": "doi:10.5555/a",
        "volume": "12",
        "issn": "1234-5679",
        "shelf": "0",
        "references": "1,000",
    }
    listed = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in rows.items())
    title = "<a href='https://doi.org/10.5555/a'>Is a&lt;b?</a>"
    shown = f"<p><b>[retracted]</b> <b>{title}</b></p><p>It&#x27;s so.</p><table>{listed}</table>"
    assert paper_html(paper) == paper._repr_html_() == shown
    plain_one = "<p><b>T</b></p><p></p><table><tr><th>id</th><td>a</td></tr></table>"
    assert paper_html(Paper("a", "T")) == plain_one
    assert titled("T", {"id": "a", "b": "", "c": None, "d": ()}) == plain_one.replace("<p></p>", "")
