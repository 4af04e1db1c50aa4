"""What one commit appends: every paper has its own record and vectors, and an update keeps those it had."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from search_plugin.contract.schema import Field
from tests.search_plugin.engines.embedded.small import document, make


def held(index):
    return index.documents(list(index.ids()), ["prx", "clf", "rgn"])


def same(first, second):
    vectors = all(np.array_equal(first.vectors[name], second.vectors[name]) for name in ("prx", "clf", "rgn"))
    return (first.paper, first.content_hash, vectors) == (second.paper, second.content_hash, True)


def test_papers_of_a_batch_and_of_the_next_have_their_own_places(tmp_path):
    _, index = make(tmp_path)
    written = {f"p{number}": document(f"p{number}", number) for number in range(9)}
    for batch in (slice(0, 4), slice(4, 9)):
        index.upsert(list(written.values())[batch])
    assert all(same(stored, written[id_]) for id_, stored in held(index).items())
    changed = [document("p2", 20), document("new", 21)]
    index.upsert(changed)
    written |= {one.paper.id: one for one in changed}
    assert held(index).keys() == written.keys()
    assert all(same(stored, written[id_]) for id_, stored in held(index).items())


def test_an_update_keeps_the_vectors_and_takes_no_space_for_them(tmp_path):
    _, index = make(tmp_path, 5)
    before = held(index)
    sizes = {path.name: path.stat().st_size for path in index.folder.glob("*.vectors")}
    index.update({"p3": {"shelf": "y"}, "p1": {"shelf": "z"}})
    after = held(index)
    for id_, one in before.items():
        assert all(np.array_equal(one.vectors[name], after[id_].vectors[name]) for name in one.vectors)
    assert after["p3"].paper.extra["shelf"] == "y"
    assert sizes == {path.name: path.stat().st_size for path in index.folder.glob("*.vectors")}


@pytest.mark.parametrize(("number", "why"), [(np.nan, "not numbers"), (np.inf, "not numbers"), (1e20, "too long")])
def test_vectors_that_can_not_be_compared_are_refused(tmp_path, number, why):
    _, index = make(tmp_path)
    odd = document("odd", 1)
    vectors = {**odd.vectors, "prx": np.full_like(odd.vectors["prx"], number)}
    (refused,) = index.upsert([document("good", 0), replace(odd, vectors=vectors)])
    assert refused.id == "odd"
    assert why in refused.reason
    assert list(index.ids()) == ["good"]


def test_added_fields_are_kept_for_whoever_opens_the_index(tmp_path):
    engine, index = make(tmp_path, 3)
    index.add_fields([Field("room", "keyword")])
    index.update({"p1": {"room": "top"}})
    index.finish()
    opened = engine.open("papers")
    assert opened.schema.fields == index.schema.fields
    assert opened.schema.fields[-1].name == "room"
    assert opened.documents(["p1"], [])["p1"].paper.extra["room"] == "top"
