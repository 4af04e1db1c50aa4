"""Papers close to a paper, drawn."""

from __future__ import annotations

from collections import Counter

from training.data.records import Related, draw_any, names_in


def test_names_of_a_level_each_once():
    paper = {"topics": [["a", 0, 1.0], ["b", 1, 1.0], ["b", 2, 1.0], ["c"], "d"], "venue": "Chest"}
    assert names_in(paper, "topics") == ["a", "b", "c", "d"]
    assert names_in(paper, "topics", 1) == ["b", "c", "d"]
    assert names_in(paper, "topics", 3) == ["c", "d"]
    assert names_in(paper, "venue") == ["Chest"]
    assert names_in(paper, "none") == []


def test_groups_and_the_papers_of_a_group_have_equal_chances():
    groups = [["x", "y"], ["x"], ["x"], ["y"], ["z"], [], ["p1"]]
    papers = [{"id": f"p{row}", "names": names} for row, names in enumerate(groups)]
    related = Related(papers, "names")
    found = Counter(related.draw(0, f"seed {number}", lambda _: True) for number in range(2000))
    # Of x a third is the paper itself, of y a half: 2/6 of x and 1/4 of y are left, and the draw is repeated.
    share = 2 * (1 / 2) * (1 / 3) + (1 / 2) * (1 / 2)
    assert found.keys() == {1, 2, 3}
    for row, chance in ((1, 1 / 6), (2, 1 / 6), (3, 1 / 4)):
        assert abs(found[row] / 2000 - chance / share) < 0.05
    assert related.draw(0, "seed", lambda row: row == 3) == 3
    assert related.draw(6, "seed", lambda _: True) == 1  # named by its id
    assert {related.draw(row, "seed", lambda _: True) for row in (4, 5)} == {None}
    assert related.draw(0, "seed", lambda _: False) is None


def test_any_paper_is_drawn_with_equal_chances():
    found = Counter(draw_any(5, f"seed {number}", lambda row: row != 2) for number in range(2000))
    assert found.keys() == {0, 1, 3, 4}
    assert all(400 < count < 600 for count in found.values())
    assert draw_any(5, "seed", lambda _: False) is None
