"""Which tokens gave a paper its sparse score."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from search_plugin.contract.plan import Plan, VectorClause
from search_plugin.contract.schema import IndexSchema, paper_vector, sparse_field
from search_plugin.ranking.tokens import token_parts

SCHEMA = IndexSchema("tiny", "f", (paper_vector("prx", 2, "cosine"),), sparse=(sparse_field(50, "splade", "4567"),))
QUERY = np.array([[3, 2.0], [7, 0.5], [9, 1.0], [20, 4.0]], np.float32)
PAPERS = {
    "a": np.array([[3, 0.25], [7, 3.0], [8, 9.0], [9, 1.0]], np.float32),
    "b": np.array([[8, 1.0]], np.float32),
    "c": np.array([[3, 1.0]], np.float32),
}


class Encoder:
    """Names each token after its number, and notes which were asked for."""

    card = SimpleNamespace(name="splade", fingerprint="4567", papers_by="")

    def __init__(self):
        self.asked = []

    def tokens(self, ids):
        self.asked += ids
        return [f"token {one}" for one in ids]


class Held:
    name, schema = "papers", SCHEMA

    @staticmethod
    def vectors(ids, leg):
        assert leg == "sparse"
        return {id_: PAPERS[id_] for id_ in ids if id_ in PAPERS}


def plan(*clauses):
    return Plan("masks", clauses, None, 9)


ASKED = plan(VectorClause("prx", np.zeros(2, np.float32)), VectorClause("sparse", QUERY))


def test_the_parts_are_products_of_the_weights_of_tokens_of_both_the_largest_first():
    encoder = Encoder()
    parts = token_parts(Held(), ASKED, ["a", "b", "c", "gone"], encoder)
    assert parts == {
        "a": (("token 7", 0.5, 3.0), ("token 9", 1.0, 1.0), ("token 3", 2.0, 0.25)),
        "b": (),
        "c": (("token 3", 2.0, 1.0),),
    }
    assert [part.value for part in parts["a"]] == pytest.approx([1.5, 1.0, 0.5])
    assert encoder.asked == [3, 7, 9]


def test_at_most_as_many_as_asked_for_are_told_and_ten_if_nothing_is_said(monkeypatch):
    assert [part.token for part in token_parts(Held(), ASKED, ["a"], Encoder(), 2)["a"]] == ["token 7", "token 9"]
    many = np.stack([np.arange(12), np.arange(12) + 1.0], axis=1).astype(np.float32)
    monkeypatch.setitem(PAPERS, "many", many)
    found = token_parts(Held(), plan(VectorClause("sparse", many)), ["many"], Encoder())["many"]
    assert [part.token for part in found] == [f"token {at}" for at in range(11, 1, -1)]


@pytest.mark.parametrize(("asked", "ids"), [(plan(), ["a"]), (ASKED, [])])
def test_without_a_sparse_leg_or_papers_nothing_is_read(asked, ids):
    assert token_parts(None, asked, ids, None) == {}
