"""Recall by hand."""

from eval.scimult import recalls


def test_recall_is_the_share_found_and_0_without_a_ranking():
    rankings = {"a": ["x", *map(str, range(30)), "y"], "b": ["x"]}
    found = recalls(rankings, {"a": frozenset("xy"), "b": frozenset("xyz"), "c": frozenset("x")})
    assert found["R@20"] == {"a": 1 / 2, "b": 1 / 3, "c": 0.0}
    assert found["R@50"]["a"] == 1.0
