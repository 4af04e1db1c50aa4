"""References and citing papers, as far as an index holds them, on the embedded engine."""

import pytest

import ses
from corpora.errors import NotFoundError
from corpora.paper import Paper
from tests.tiny import make_model

OLD = Paper("old", "Lungs", year=2019, identifiers=("doi:10.1000/old",))
NEW = Paper("new", "Masks", year=2021, references=("doi:10.1000/old", "gone", "old", "gone"))
NEWER = Paper("newer", "Virus", year=2022, references=("old", "new"))


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    folder = tmp_path_factory.mktemp("citations")
    model = make_model(folder / "model")
    library = ses.open(folder / "indexes", model=str(model), data_dir=folder / "data", cache_dir=folder / "cache")
    library.index("mine", [OLD, NEW, NEWER])
    return library["mine"]


def test_references_keep_their_order_and_their_names(opened):
    found = opened.references("new")
    assert [(one.identifier, one.paper and one.paper.id) for one in found] == [
        ("doi:10.1000/old", "old"),
        ("gone", None),
        ("old", "old"),
    ]
    assert opened.references(OLD) == []


def test_papers_that_cite_are_found_by_id_and_identifier(opened):
    assert [hit.id for hit in opened.cited_by("10.1000/old")] == ["newer", "new"]
    assert [hit.id for hit in opened.cited_by("old", filter="year<2022")] == ["new"]
    assert [hit.id for hit in opened.cited_by("old", filter=["year<2023", "year>2021"])] == ["newer"]
    page = opened.cited_by("old", size=1, offset=1)
    assert ([hit.id for hit in page], page.candidates) == (["new"], 2)
    assert not opened.cited_by("newer").hits
    with pytest.raises(NotFoundError):
        opened.cited_by("gone")
