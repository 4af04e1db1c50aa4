import pytest

from corpora.errors import InputError
from encoders.models.formats import Format
from tests.training.own.library import SUBJECTS, open_library, papers
from training.own.papers import PAPERS, TEST, common_labels, read_records, write_papers


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("papers")
    twice = [
        {**one, "id": f"{one['id']}{version}", "identifiers": ["doi:10.1/x"]}
        for one in papers()
        for version in ("b", "c")
        if one["id"] == "p0001"
    ]
    first = [{**one, "identifiers": ["doi:10.1/x"]} if one["id"] == "p0001" else one for one in papers()]
    library = open_library(folder, given=[*first, *twice])
    library.add_fields("own", {"mine": "keyword"})
    return library["own"].index


def test_a_fifth_only_measures_and_no_paper_is_in_both(index, tmp_path):
    found = write_papers(index, "venue", None, tmp_path)
    train, test = read_records(tmp_path / PAPERS), read_records(tmp_path / TEST)
    assert (found.train, found.test, found.same) == (len(train), len(test), 2)
    assert found.train + found.test == 135
    assert 10 < found.test < 50
    assert not {one["title"] for one in train} & {one["title"] for one in test}
    assert {one["label"] for one in train} == set(SUBJECTS)
    assert [one["id"] for one in train] != sorted(one["id"] for one in train)
    held = {paper["id"]: paper for paper in papers()}
    for one in train:
        assert (one["abstract"], one["label"]) == (held[one["id"][:5]]["abstract"], held[one["id"][:5]]["venue"])


def test_papers_of_one_title_are_in_the_same_part(tmp_path):
    given = [
        {**one, "id": f"{year}-{one['id']}", "year": year, "authors": [f"Ada {year}"]}
        for one in papers(60)
        for year in (1960, 2020)
    ]
    found = write_papers(open_library(tmp_path, given=given)["own"].index, "venue", None, tmp_path)
    assert found.same == 0
    for part in (PAPERS, TEST):
        years = [{one["id"] for one in read_records(tmp_path / part) if one["id"].startswith(year)} for year in "12"]
        assert {id_[5:] for id_ in years[0]} == {id_[5:] for id_ in years[1]}


def test_the_parts_are_the_same_again(index, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write_papers(index, "journal", Format.CLF, tmp_path / name)
    for part in (PAPERS, TEST):
        assert (tmp_path / "one" / part).read_bytes() == (tmp_path / "two" / part).read_bytes()


@pytest.mark.parametrize(
    ("name", "task", "wanted"),
    [("venue", "label", Format.CLF), ("topics", "labels", Format.CLF), ("score", "number", Format.RGN)],
)
def test_a_field_says_what_is_learned(index, tmp_path, name, task, wanted):
    found = write_papers(index, name, None, tmp_path)
    assert (found.task, found.format) == (task, wanted)


@pytest.mark.parametrize(
    ("name", "wanted", "told"),
    [
        ("venue", Format.RGN, "is of the kind keyword, which trains clf vectors, not rgn"),
        ("score", Format.CLF, "is of the kind number, which trains rgn vectors, not clf"),
        ("day", None, "is of the kind date, and a format learns from keyword, keywords, number"),
        ("nothing", None, "There is no field 'nothing'"),
        ("mine", None, "Only 0 papers of the index own have a value in mine"),
    ],
)
def test_what_can_not_be_learned_is_told(index, tmp_path, name, wanted, told):
    with pytest.raises(InputError, match=told):
        write_papers(index, name, wanted, tmp_path)


def test_nothing_is_learned_from_a_model(tmp_path):
    from search_plugin.contract.schema import Field

    library = open_library(tmp_path)
    index = library["own"].index
    index.add_fields([Field("tagged", "keywords", origin="tag")])
    with pytest.raises(InputError, match="come from a model"):
        write_papers(index, "tagged", None, tmp_path)


@pytest.mark.slow
def test_rare_labels_alone_are_left_out_of_both_files(tmp_path):
    rare = [
        {
            **one,
            "id": f"r{one['id']}",
            "title": f"rare {one['title']}",
            "venue": f"rare {row % 7}",
            "topics": ["all", "no"],
        }
        for row, one in enumerate(papers(60, seed=4))
    ]
    index = open_library(tmp_path, given=[*papers(), *rare])["own"].index
    found = write_papers(index, "venue", None, tmp_path)
    train, test = (read_records(tmp_path / part) for part in (PAPERS, TEST))
    assert (found.train, found.test, found.rare) == (len(train), len(test), 60)
    assert {one["label"] for one in (*train, *test)} == set(SUBJECTS)
    assert write_papers(index, "topics", None, tmp_path).rare == 0


def test_papers_that_the_suites_test_on_only_measure(tmp_path):
    given = [{**one, "identifiers": ["pmid:400715"]} if row < 3 else one for row, one in enumerate(papers())]
    found = write_papers(open_library(tmp_path, given=given[1:])["own"].index, "venue", None, tmp_path)
    train, test = (read_records(tmp_path / part) for part in (PAPERS, TEST))
    measured = [one for one in test if one["identifiers"]]
    assert not [one for one in train if one["identifiers"]]
    assert found.evaluated + found.same + len(measured) == 2
    assert found.evaluated


def test_labels_of_enough_papers():
    values = ["a", "b", "a", ["b", "c", "c"], ("a",)]
    assert common_labels(values, 2) == ["a", "b"]
    with pytest.raises(InputError, match="1 labels have 3 papers or more"):
        common_labels(values, 3)
