"""An open index as Python programs use it: like a mapping, in a `with` block, in a notebook, and in another process."""

import multiprocessing
import pickle
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import ses
from corpora.paper import Paper
from tests.serving import served
from tests.tiny import make_model, papers

SECRET = "hush-hush"  # noqa: S105


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("opened")
    model = str(make_model(folder / "model"))
    opened = ses.open(folder / "indexes", model=model, data_dir=folder / "data", cache_dir=folder / "cache")
    held = [*papers(20), Paper("<b>", "Masks", extra={"shelf": "<i>"}, identifiers=("doi:10.1000/1",), retracted=True)]
    opened.index("papers", held, fields={"shelf": "keyword"})
    return opened


@pytest.fixture(scope="module", params=["here", pytest.param("over HTTP", marks=pytest.mark.serve)])
def searched(request, library):
    """The same library, in this process or over HTTP: for tests that only search and read."""
    if request.param == "here":
        yield library
        return
    with served(library) as address, ses.open(address, engine_patience=0) as remote:
        yield remote


def test_an_index_is_a_mapping_from_ids_to_papers(searched):
    library, index = searched, searched["papers"]
    assert index["p00003"] == index.show("p00003")
    assert index["10.1000/1"].id == "<b>"
    assert "10.1000/1" in index
    assert {paper.id for paper in index} == {f"p{i:05d}" for i in range(20)} | {"<b>"}
    for key in (KeyError, ses.NotFoundError):
        with pytest.raises(key, match="holds no paper 'zz'"):
            index["zz"]
        with pytest.raises(key, match="There is no index 'zz'"):
            library["zz"]
    assert "zz" not in index


def test_a_paper_or_a_hit_stands_for_itself(searched):
    index = searched["papers"]
    hit = index.search("virus", size=1)[0]
    expected = [one.id for one in index.similar(hit.id, size=5)]
    assert [one.id for one in index.similar(hit, size=5)] == expected
    assert [one.id for one in index.similar(hit.paper, size=5)] == expected
    assert hit in index
    assert hit.paper in index
    # The same id may be of another paper, where it comes from another index.
    stranger, unknown = Paper(hit.id, "Something else"), Paper("zz", "Masks")
    assert stranger not in index
    with pytest.raises(
        ses.NotFoundError, match=f"papers has another paper with the id '{hit.id}'; find papers like its"
    ):
        index.similar(stranger)
    with pytest.raises(ses.NotFoundError, match="papers has no paper 'zz'"):
        index.similar(unknown)


def test_a_library_is_closed_at_the_end_of_its_block(library):
    with ses.open(library._engine.url, model=library._settings.model, cache_dir=library._settings.cache_dir) as opened:
        index = opened["papers"]
        assert index.search("virus").hits
    for use in (opened.indexes, lambda: opened["papers"], lambda: "papers" in opened, lambda: index.search("virus")):
        with pytest.raises(ses.InputError, match="This library is closed; open it again"):
            use()
    assert index.search("virus", mode="lexical").hits
    assert repr(opened).endswith("This library is closed; open it again.>")


def test_html_of_an_index_and_a_paper_escapes_everything(library):
    index = library["papers"]
    html = index._repr_html_()
    assert "<b>papers</b>" in html
    assert "<tr><th>papers</th><td>21</td></tr>" in html
    assert "<tr><th>own fields</th><td>shelf (keyword)</td></tr>" in html
    html = index["<b>"]._repr_html_()
    assert "<p><b>[retracted]</b> <b><a href='https://doi.org/10.1000/1'>Masks</a></b></p>" in html
    assert "<tr><th>id</th><td>&lt;b&gt;</td></tr>" in html
    assert "<tr><th>shelf</th><td>&lt;i&gt;</td></tr>" in html
    attack = Paper("a", "<script>", abstract="<script>", venue="<script>", authors=("<script>",), url="javascript:a")
    assert "<script" not in attack._repr_html_()
    assert "href" not in attack._repr_html_()


def search(index):
    return [hit.id for hit in index.search("virus lung", size=3)]


@pytest.mark.slow
def test_another_process_opens_a_pickled_index_by_itself(searched):
    index = searched["papers"]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(search, [index]) == [search(index)]
    again = deepcopy(index)  # by the same state as a pickle
    assert "index" not in vars(again)  # opened when it is first used
    assert again["p00003"] == index["p00003"]
    assert deepcopy(again).name == "papers"


def found(index):
    return index.search("virus")


@pytest.mark.slow
def test_a_page_passes_from_one_process_to_another(searched):
    index = searched["papers"]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        (page,) = pool.map(found, [index])
    assert page.hits == found(index).hits


def test_a_pickle_holds_no_secrets(library, tmp_path, monkeypatch):
    opened = ses.open(tmp_path / "indexes", data_dir=tmp_path, engine_username="ada", engine_password=SECRET)
    assert SECRET.encode() not in pickle.dumps(opened)
    again = deepcopy(opened)  # by the same state as a pickle
    with pytest.raises(
        ses.UnavailableError, match="setting engine_password, and a pickle holds no secrets; set SES_ENG"
    ):
        again.indexes()
    again = deepcopy(again)  # the same a second time
    monkeypatch.setenv("SES_ENGINE_USERNAME", "ada")
    monkeypatch.setenv("SES_ENGINE_PASSWORD", SECRET)
    assert again.indexes() == []
    assert again._settings == opened._settings


def test_a_page_as_a_table(library):
    index = library["papers"]
    page = index.search("masks virus", size=4, filter="not id=p00001")
    frame = page.to_dataframe()
    assert list(frame["id"]) == [hit.id for hit in page]
    assert list(frame["score"]) == [hit.score for hit in page]
    assert str(frame["year"].dtype) == "Int64"
    assert set(frame["extra.shelf"].dropna()) <= {"<i>"}
    again = library.index("again", frame, fields={"shelf": "keyword"}, columns={"shelf": "extra.shelf"})
    assert (again.new, again.rejected) == (4, 0)
    assert library["again"]["<b>"].extra == {"shelf": "<i>"}
    for paper in library["again"]:
        # What is only a link there is the paper's own address here.
        assert replace(paper, url="").content_hash() == index[paper.id].content_hash()
    empty = index.search("masks", filter="id=zz").to_dataframe()
    assert (len(empty), list(empty.columns)[:5]) == (0, ["rank", "score", "weak", "id", "title"])


def test_a_page_is_a_sequence_of_hits_that_can_be_kept(library):
    page = library["papers"].search("virus", size=4)
    assert page[1:3] == page.hits[1:3]
    assert len({*page, *page}) == 4
    model = ses.load_model(library._settings.model, cache_dir=library._settings.cache_dir)
    assert (model.encode_papers(page) == model.encode_papers([hit.paper for hit in page])).all()
    with pytest.raises(
        ses.InputError, match=r"A loaded model can't be pickled; load it in the other process by ses\.load"
    ):
        pickle.dumps(model)


def test_values_of_python_are_written_into_fields(library):
    library.index("noted", papers(2))
    library.add_fields("noted", {"read": "date", "stars": "number", "good": "boolean", "tags": "keywords"})
    values = {"read": pd.Timestamp("2022-01-05"), "stars": np.int64(3), "good": np.True_, "tags": np.array(["a", "b"])}
    assert library.update("noted", {"p00000": values}) == []
    assert library["noted"]["p00000"].extra == {"read": "2022-01-05", "stars": 3, "good": True, "tags": ("a", "b")}
    assert library.update("noted", {"p00000": {"read": pd.NaT, "stars": np.nan}}) == []
    assert library["noted"]["p00000"].extra == {"good": True, "tags": ("a", "b")}
    with pytest.raises(ses.InputError, match=r"can't have .* in the field stars, which is of the kind number"):
        library.update("noted", {"p00000": {"stars": object()}})


def test_feeds_by_name(library):
    feed = library.feeds.create("air", index="papers", liked="p00003")
    assert (library.feeds["air"], list(library.feeds)) == (feed, ["air"])


def test_all_hits_of_a_search_are_iterated(searched):
    index = searched["papers"]
    found = list(index.iterate("virus lung", mode="lexical", window=3, size=3))
    best = index.search("virus lung", mode="lexical", size=30)
    assert [hit.id for hit in found[:3]] == [hit.id for hit in best[:3]]
    assert {hit.id for hit in found} == {hit.id for hit in best}
    assert [hit.rank for hit in found] == list(range(1, len(found) + 1))
    assert [hit.id for hit in index.iterate(sort="title")] == [hit.id for hit in index.search(sort="title", size=30)]
    with pytest.raises(ses.InputError, match="leave offset out"):
        next(index.iterate("virus", offset=3))
