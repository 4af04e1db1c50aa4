"""Search histories whose lines are joined by their numbers."""

from __future__ import annotations

import pytest

from corpora.errors import InputError
from search_plugin.filters.parse import as_query
from search_plugin.request import make_request
from search_plugin.understanding.pasted.lines import with_lines

OVID = (
    "1\texp Asthma/\t123,456\n2\tasthma*.tw.\t7,000\n3\tor/1-2\t8000\n\n4\texp Child/\n5\t3 and 4\n"
    '6\tlimit 5 to (english language and yr="2010 -Current" and humans)'
)
COCHRANE = "#1 MeSH descriptor: [Asthma] explode all trees\n#2 (asthma*):ti,ab\n#3 (#1 OR #2) NOT cat"


@pytest.mark.parametrize(
    ("typed", "joined"),
    [
        ("1. exp Asthma/\n2. tea.tw.\n3. 1 or 2", "(exp Asthma/) OR (tea.tw.)"),
        ("S1 tea\nS2 rain\nS3 fog\nS4 (S1 or S2) not S3", "((tea) OR (rain)) NOT (fog)"),
        ("2: tea\n5: rain\n7: fog\n9: or/2,5-5,7", "(tea) OR (rain) OR (fog)"),
        ("1) tea\n2) 1 and rain\n3) 1 or 2", "(tea) OR (1 and rain)"),
        ("#1 tea 3\n#2 #1 AND 3 cups", "(tea 3) AND 3 cups"),
        ('1. tea\n2. limit 1 to yr="2015"', "(tea) AND PY=(2015)"),
        ("1. tea\n2. limit 1 to (german language or humans)", "(tea) AND LA=german AND LIMIT-TO(humans)"),
        (COCHRANE, "((MeSH descriptor: [Asthma] explode all trees) OR ((asthma*):ti,ab)) NOT cat"),
    ],
)
def test_numbers_stand_for_their_lines(typed, joined):
    assert with_lines(typed) == joined


@pytest.mark.parametrize(
    "typed",
    [
        "tea",
        "1 and 2",
        "1. tea\n2. rain",
        "A title\nof 2 lines\n3 and 4",
        "2 tea\n1 rain\n3 1 or 2",
        "1 tea\n1 rain\n2 1 or 1",
        "1. tea\nrain\n2. 1 or 1",
    ],
)
def test_other_texts_stay(typed):
    assert with_lines(typed) == typed


def test_a_history_is_a_query():
    request = make_request(OVID)
    assert as_query(request.filter) == "(Asthma OR asthma*) AND Child AND year:>=2010 AND language:english"
    assert any('The field limit-to has no counterpart here, so "humans"' in note for note in request.notes)
    assert make_request("1. tea\n2. rain\n3. 1 and 2").query == "(tea) AND (rain)"


def test_what_can_not_be_joined_is_said():
    with pytest.raises(InputError, match="no line 4 before the one that names it; paste all its lines"):
        with_lines("1. tea\n2. 1 or 4")
    with pytest.raises(InputError, match="no line 2 before"):
        with_lines("1. tea\n2. 1 or 2")
    doubling = "\n".join(["1. tea", *(f"{number}. {number - 1} or {number - 1}" for number in range(2, 40))])
    with pytest.raises(InputError, match="lines of the search history are too long; join fewer"):
        with_lines(doubling)
