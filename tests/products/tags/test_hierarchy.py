from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import InputError
from products.tags.hierarchy import Concept, Hierarchy, make_hierarchy

NAMES = "abcdefgh"


@st.composite
def hierarchies(draw):
    """A hierarchy in which a letter is below earlier ones only."""
    links = {
        name: tuple(draw(st.sets(st.sampled_from(NAMES[:place])))) if place else () for place, name in enumerate(NAMES)
    }
    return Hierarchy({name: Concept(name, broader) for name, broader in links.items()}), links


def above(links, name):
    return {found for broader in links[name] for found in {broader, *above(links, broader)}}


@given(hierarchies())
def test_ancestors_are_all_labels_above(made):
    hierarchy, links = made
    for name in NAMES:
        assert sorted(hierarchy.ancestors(name)) == sorted(above(links, name))


@given(hierarchies(), st.permutations(NAMES))
def test_pairs_go_from_the_narrowest_up(made, order):
    hierarchy, links = made
    pairs = [(order[narrow], order[broad]) for narrow, broad in hierarchy.pairs(order)]
    assert sorted(pairs) == sorted((name, found) for name in NAMES for found in above(links, name))
    narrows = [narrow for narrow, _ in pairs]
    for narrow, broad in pairs:
        if broad in narrows:
            assert narrows.index(broad) > narrows.index(narrow)


@pytest.mark.slow
@given(hierarchies(), st.sampled_from(NAMES))
def test_a_cycle_is_shown(made, name):
    _, links = made
    below = [other for other in NAMES if name in above(links, other)] or [name]
    links = {**links, name: (*links[name], below[-1])}
    with pytest.raises(InputError, match="has a cycle") as caught:
        make_hierarchy(Concept(label, broader) for label, broader in links.items())
    shown = str(caught.value).partition("cycle, ")[2].partition(";")[0].split(" < ")
    assert shown[0] == shown[-1]
    assert all(upper in links[lower] for lower, upper in pairwise(shown))


def test_a_deep_hierarchy_is_no_problem():
    deep = make_hierarchy(Concept(str(level), (str(level + 1),)) for level in range(3_000))
    assert len(deep.ancestors("0")) == 3_000
    assert "3000" in deep.concepts  # named as broader alone


def test_labels_of_one_name_are_refused():
    with pytest.raises(InputError, match="Two concepts have the label 'Virus'"):
        make_hierarchy([Concept("Virus"), Concept("Virus", ("Organism",))])


def test_a_label_wins_over_an_alias_of_another():
    known = make_hierarchy([Concept("Cold", aliases=("Flu",)), Concept("Flu"), Concept("Fever", aliases=("B1",))])
    assert known.names() == {"cold": "Cold", "flu": "Flu", "fever": "Fever", "b1": "Fever"}
