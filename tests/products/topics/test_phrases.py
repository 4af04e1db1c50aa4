"""Names of groups of papers: phrases of titles that tell one group from the others."""

import numpy as np
import pytest

from products.topics import phrases
from products.topics.phrases import label_of, phrases_of


def named(*groups, stop_words=()):
    titles = [title for group in groups for title in group]
    of = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    return phrases_of(titles, of, len(groups), stop_words)


def test_a_phrase_is_better_than_its_words_and_takes_their_place():
    one, other = named(
        ["Single-cell RNA sequencing", "RNA sequencing of the heart", "RNA sequencing in mice", "A heart"],
        ["Graph neural networks", "Graph neural networks for molecules", "Graph neural networks, again", "Molecules"],
        stop_words={"of", "the", "in", "for", "a"},
    )
    assert one[0] == "rna sequencing"
    assert other[0] == "graph neural networks"
    assert not {"rna", "sequencing", "graph", "neural", "networks", "graph neural", "neural networks"} & {*one, *other}
    assert (one[1:], other[1:]) == (("heart",), ("molecules",))


def test_a_phrase_names_the_group_that_has_it_most_often_alone():
    shared = ["Cell growth"] * 3
    one, other = named([*shared, "Lung cancer", "Lung cancer"], [*shared[:2], "Black holes", "Black holes", "Stars"])
    assert one == ("lung cancer", "cell growth")
    assert other == ("black holes",)


def test_the_weight_follows_the_formula():
    # Of the titles of group 0, "heart" stands alone in 5 and "blood test" in 2; of those of group 1, "heart" in 2.
    # .5 * 5 * (1 - 2/6 / (5/9)) = 1 and 1.5 * 2 * 1 = 3, but .5 * 5 * 1 = 2.5 without the other group.
    group = ["Heart"] * 5 + ["Blood test"] * 2
    assert named(group, ["Heart", "Heart", "Star", "Star"])[0] == ("blood test", "heart")
    assert named([*group, *["Heart"] * 2], ["Star"] * 4)[0] == ("heart", "blood test")
    # .5 * 7 > 1.5 * 2, and .5 * 5 < 1.5 * 2: a word that stands alone far more often is better.
    assert named(group, ["Star"] * 4)[0] == ("blood test", "heart")


def test_a_word_counts_where_it_stands_alone():
    # "heart" is in 7 titles and alone in 5: .5 * 5 < 1.5 * 2 < .5 * 7.
    assert named(["Heart"] * 5 + ["Heart valve"] * 2) == [("heart valve",)]


def test_punctuation_numbers_and_stop_words_end_a_phrase_and_a_possessive_does_not():
    (found,) = named(["Alzheimer\u2019s disease: new drugs", "Alzheimer's disease in 2019 drugs"], stop_words={"in"})
    assert found == ("alzheimer disease", "drugs")


def test_a_title_that_is_repeated_in_another_language_counts_once():
    assert named(["[Renal failure]. = Insuficiencia renal de un caso."] * 2, ["Stars"]) == [
        ("renal failure",),
        ("stars",),
    ]


def test_a_question_leaves_only_its_subject():
    titles = ["Does MAFLD really matter?", "Does MAFLD really differ?", "Can bees do more?", "Can bees have more?"]
    assert [best[0] for best in phrases_of(titles, np.array([0, 0, 1, 1]), 2)] == ["mafld", "bees"]


def test_singular_and_plural_are_one():
    (found,) = named(["Heart valve", "Heart valve", "Heart valve", "Heart valves", "Heart valves"])
    assert found == ("heart valve",)


def test_groups_that_nothing_tells_apart_have_the_phrase_of_most_titles():
    assert named(["virus lung"] * 3, ["virus lung"] * 3) == [("virus lung",)] * 2
    assert named(["of the"], [""], stop_words={"of", "the"}) == [(), ()]
    assert phrases_of([], np.zeros(0, np.int64), 0) == []


def test_a_single_title_is_enough_where_there_are_no_more():
    assert named(["Black holes"]) == [("black holes",)]
    assert named(["Black holes", "Dark matter", "Dark matter"]) == [("dark matter",)]


def test_a_group_has_at_most_eight_phrases():
    ((found),) = named(
        [", ".join(["virus", "lung", "cell", "gene", "star", "ocean", "soil", "plant", "galaxy", "water"])]
    )
    assert len(found) == 8


def test_titles_are_drawn_evenly_where_there_are_many(monkeypatch):
    monkeypatch.setattr(phrases, "MOST_TITLES", 10)
    assert named(["Black holes", "Dark matter"] * 10) == [("black holes",)]


@pytest.mark.parametrize(
    ("told", "label"),
    [
        (("a", "b", "c", "d"), "a / b / c"),
        (("a b", "c d", "e"), "a b / c d"),
        (("a b c", "d", "e"), "a b c / d"),
        (("a",), "a"),
        ((), "no terms"),
    ],
)
def test_a_label_has_three_phrases_or_four_words(told, label):
    assert label_of(told, set()) == label


def test_no_two_labels_are_the_same():
    used: set[str] = set()
    made = [label_of(("a b", "c d", "e"), used) for _ in range(4)]
    assert made == ["a b / c d", "a b / c d / e", "a b / c d (2)", "a b / c d (3)"]


def test_a_label_has_three_words_and_more_or_a_number_if_it_is_taken():
    used = set()
    given = [tuple("abcde"), tuple("abcde"), tuple("abcde"), tuple("abcde"), tuple("abcde"), ("a",), ("a",), (), (), ()]
    assert [label_of(terms, used) for terms in given] == [
        "a / b / c", "a / b / c / d", "a / b / c / d / e", "a / b / c (2)", "a / b / c (3)", "a", "a (2)",
        "no terms", "no terms (2)", "no terms (3)",
    ]  # fmt: skip
