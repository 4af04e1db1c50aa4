"""Names of groups of papers: phrases of titles that tell one group from the others."""

import numpy as np
import pytest

from products.topics import phrases
from products.topics.phrases import labels_of, phrases_of


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


def test_what_pubmed_adds_to_a_translated_title_is_no_part_of_it():
    assert named(["[Renal failure (author's transl)]", "Author rights"] * 2) == [("author rights", "renal failure")]


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
        (("a", "b c", "d"), "a / b c / d"),
        (("a",), "a"),
        ((), "no terms"),
    ],
)
def test_a_label_has_three_phrases_or_four_words(told, label):
    assert labels_of([told]) == [label]


def test_no_label_has_a_phrase_that_another_one_has():
    assert labels_of([("robots", "arm", "hand"), ("robot", "leg", "foot"), ("slam", "hand", "map")]) == [
        "robots / arm",
        "leg / foot",
        "slam / hand / map",
    ]


def test_of_a_phrase_and_a_longer_one_the_group_that_comes_first_has_its_own():
    longer, shorter = ("human pose estimation", "video"), ("pose estimation", "face")
    assert labels_of([longer, shorter]) == ["human pose estimation / video", "face"]
    assert labels_of([shorter, longer]) == ["pose estimation / face", "video"]


def test_a_word_that_is_part_of_a_longer_phrase_of_another_group_comes_last():
    assert labels_of([("learning", "policy", "torque"), ("deep-learning", "image")]) == [
        "policy / torque",
        "deep-learning / image",
    ]
    assert labels_of([("learning", "policy"), ("graph", "link", "node", "deep learning")]) == [
        "policy / learning",
        "graph / link / node",
    ]
    assert labels_of([("deep learning", "learning rate")]) == ["deep learning / learning rate"]


def test_all_groups_take_their_first_phrase_before_one_takes_its_second():
    assert labels_of([("a", "b", "c"), ("b", "d"), ("c", "e")]) == ["a", "b / d", "c / e"]


def test_groups_without_a_phrase_of_their_own_have_their_best_and_a_number():
    assert labels_of([("a b", "c"), ("c", "a b"), ("a b", "c"), ()]) == ["a b", "c", "a b (2)", "no terms"]
    assert labels_of([("a",), ("a",), ("a",), (), ()]) == ["a", "a (2)", "a (3)", "no terms", "no terms (2)"]
