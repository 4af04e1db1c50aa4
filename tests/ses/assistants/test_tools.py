"""Cursors lead through all results that can be read, and end there."""

import pytest

import ses
from corpora.errors import InputError
from ses.assistants.tools import assistant_of
from tests.tiny import make_model, papers

HELD, RANKED, FOUND = 120, 100, 116
"""Papers of the index, those that are near to one, and those that hold a word or are near."""


@pytest.fixture(scope="module")
def assistant(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tools")
    library = ses.open(
        folder / "indexes", model=str(make_model(folder / "model")), data_dir=folder, cache_dir=folder / "cache"
    )
    library.index("papers", papers(HELD))
    return assistant_of(library)


@pytest.mark.parametrize("size", [7, 50])
@pytest.mark.parametrize(
    ("tool", "asked", "total"),
    [("search", "virus lung", FOUND), ("search", "  ", HELD), ("similar", "p00001", RANKED), ("support", "virus", 30)],
)
def test_cursors_lead_to_the_last_result(assistant, tool, asked, total, size):
    ids, cursor = [], ""
    while True:
        answer = getattr(assistant, tool)(asked, size=min(size, 30) if tool == "support" else size, cursor=cursor)
        assert answer["total"] == total
        ids += [one["id"] for one in answer["results"]]
        cursor = answer.get("next_cursor", "")
        if not cursor:
            break
    assert len(ids) == len(set(ids)) == total


@pytest.mark.parametrize(("tool", "asked", "cursor"), [("search", "virus", "9999"), ("search", "", "10000")])
def test_a_cursor_behind_the_end_is_told(assistant, tool, asked, cursor):
    with pytest.raises(InputError, match="behind the last result; give the one of the answer before"):
        getattr(assistant, tool)(asked, cursor=cursor)
