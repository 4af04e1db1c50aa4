import numpy as np
import pytest

from corpora.custom import LONGEST_KEYWORD
from corpora.errors import InputError
from products.tags.hierarchy import Concept, Hierarchy, make_hierarchy
from products.tags.labels import NO, UNKNOWN, YES, judged_yes, judgments_of_index, labelled_papers, read_judgments
from tests.search_plugin.engines.embedded.small import document, make

ANIMALS = make_hierarchy([Concept("Cat", ("Animal",), aliases=("feline",)), Concept("Dog", ("Animal",))])


def read(folder, text, name="labels.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_judgments(path)


def test_labels_of_a_person_are_read_with_yes_and_no(tmp_path):
    found = read(tmp_path, "id,label,value,title\na,Cat; Dog,yes,A\na,Stone,no,B\nb,Cat,,not judged yet\nc,Cat,1,C\n")
    assert found == {"a": {"Cat": True, "Dog": True, "Stone": False}, "c": {"Cat": True}}
    assert judged_yes(found["a"]) == ("Cat", "Dog")
    for told, words in ((True, "yes True 1 y +"), (False, "no FALSE 0 n -")):
        rows = "".join(f"{number},Cat,{word}\n" for number, word in enumerate(words.split()))
        assert read(tmp_path, f"id,label,value\n{rows}") == {str(number): {"Cat": told} for number in range(5)}
    assert read(tmp_path, "id\tlabel\na\tCat\n", "labels.tsv") == {"a": {"Cat": True}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "id,label,value\na,Cat,yes\nb,Dog,no\na,Cat,no\n",
            r"both yes and no of 1 papers and labels, such as a \(Cat\)",
        ),
        ("id,label,value\na,Cat,perhaps\n", "line 2: the value 'perhaps' is neither yes nor no"),
        ("id,tag\na,Cat\n", "needs the columns id and label"),
        ("id,label,value\na,Cat,\n", "holds no judged label"),
        ('id,label\na,"Cat\n', "line 2"),
    ],
)
def test_labels_that_cannot_be_read_are_refused(tmp_path, text, said):
    with pytest.raises(InputError, match=said):
        read(tmp_path, text)


def test_broader_labels_are_true_too_and_aliases_are_recognised():
    given = {"1": {"feline": True}, "2": {"CAT": True}, "3": {"Dog": True}, "4": {"Dog": True}, "9": {"Dog": True}}
    papers = labelled_papers(given, ["1", "2", "3", "4"], ANIMALS, 2)
    assert papers.labels == ("Animal", "Cat", "Dog")
    assert papers.unknown_ids == ("9",)
    np.testing.assert_array_equal(papers.truth, [[1, 1, 0], [1, 1, 0], [1, 0, 1], [1, 0, 1]])


def test_papers_without_a_judgment_of_a_denied_label_are_unknown():
    given = {"1": {"Cat": True}, "2": {"Cat": False}, "3": {"Dog": True}, "4": {"Cat": True, "Dog": True}}
    papers = labelled_papers(given, given, Hierarchy(), 2)
    np.testing.assert_array_equal(papers.truth, [[YES, NO], [NO, NO], [UNKNOWN, YES], [YES, YES]])


def test_rare_labels_are_counted_and_contradictions_with_the_hierarchy_refused():
    given = {"1": {"Cat": True, "Rare": True}, "2": {"Cat": True}}
    assert labelled_papers(given, given, Hierarchy(), 2).rare == {"Rare": 1}
    with pytest.raises(InputError, match="No label has 3 papers; the most frequent, 'Cat', has 2"):
        labelled_papers(given, given, Hierarchy(), 3)
    with pytest.raises(InputError, match="No label has 2 papers"):  # a label of one example teaches nothing
        labelled_papers({"1": {"Cat": True}}, ["1"], Hierarchy(), 1)
    with pytest.raises(InputError, match="has the label 'Cat' and not the broader 'Animal'"):
        labelled_papers({"1": {"Cat": True, "Animal": False}}, ["1"], ANIMALS, 2)
    with pytest.raises(InputError, match="holds none of the 2 labelled papers, such as '1'"):
        labelled_papers(given, ["x"], ANIMALS, 2)


def test_a_label_has_a_largest_length(tmp_path):
    longest = "x" * LONGEST_KEYWORD
    assert read(tmp_path, f"id,label\na,{longest}\n") == {"a": {longest: True}}
    with pytest.raises(InputError, match=f"line 2: a label has at most {LONGEST_KEYWORD:,} characters"):
        read(tmp_path, f"id,label\na,{longest}x\n")


def test_three_of_the_contradictions_are_named(tmp_path):
    rows = "".join(f"{id_},Cat,yes\n{id_},Cat,no\n" for id_ in "abcd")
    with pytest.raises(InputError, match=r"no of 4 papers and labels, such as a \(Cat\), b \(Cat\), c \(Cat\); keep"):
        read(tmp_path, f"id,label,value\n{rows}")


def test_labels_of_an_index_are_those_of_corpora(tmp_path):
    _, index = make(tmp_path)
    facts = {"a": {"shelf": "Cat"}, "b": {"tags": ("Cat", "Dog")}, "c": {"shelf": "Dog", "score": 2}}
    index.upsert([document(id_, extra=extra) for id_, extra in facts.items()])
    assert judgments_of_index(index, "shelf") == {"a": {"Cat": True}, "c": {"Dog": True}}
    assert set(judgments_of_index(index, "authors")) == {"a", "b", "c"}
    for field, said in (
        ("tags", "come from a model"),
        ("score", "is of the kind number"),
        ("fields", "has a value in"),
    ):
        with pytest.raises(InputError, match=said):
            judgments_of_index(index, field)
