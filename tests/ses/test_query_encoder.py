"""Queries encoded by a table in place of the index's model."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ses
from encoders.encoder import load_encoder
from encoders.models.formats import Format
from encoders.query_tables import table_for
from encoders.registry import find_model
from tests.commands import ses as command
from tests.tiny import make_model, papers

MINILM = "all-MiniLM-L6-v2"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


def opened_at(home, **settings):
    return ses.open(home / "indexes", data_dir=home / "data", cache_dir=home / "cache", **settings)


@pytest.fixture(scope="module")
def library(home):
    with opened_at(home) as opened:
        opened.index("papers", papers(12))
        opened.index("short", papers(12), dimension=8)
        yield opened


@pytest.fixture(scope="module")
def table(library, tmp_path_factory):
    found = table_for(find_model(MINILM).card.fingerprint)
    assert found is not None
    return load_encoder(found, cache_dir=tmp_path_factory.mktemp("cache"))


@pytest.mark.slow
def test_the_table_of_the_default_model_is_near_to_it(library, table, tmp_path):
    queries = ["masks against a virus", "effect of vitamin D on bone density", "graph neural networks for molecules"]
    model = load_encoder(MINILM, cache_dir=tmp_path)
    made, wanted = (one.encode(queries, Format.QRY) for one in (table, model))
    np.testing.assert_allclose(np.linalg.norm(made, axis=1), 1, atol=1e-5)
    assert ((made * wanted).sum(axis=1) > 0.7).all()
    assert (made @ wanted.T).argmax(axis=1).tolist() == [0, 1, 2]


@pytest.mark.slow
def test_the_shipped_table_is_small_and_names_its_licence():
    found = table_for(find_model(MINILM).card.fingerprint)
    assert found is not None
    folder = Path(found.card.name)
    files = list(folder.iterdir())
    assert sum(file.stat().st_size for file in files) < 4_000_000
    assert {file.name for file in files} == {"README.md", "model.safetensors", "ses_card.json", "vocab.txt"}
    assert found.card.licence == "Apache-2.0"
    assert "Licence" in (folder / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("mode", ["vector", "hybrid"])
def test_a_search_ranks_by_the_vector_of_the_table(library, table, mode):
    index, query = library["papers"], "the spread of a virus"
    found = index.search(query, mode=mode, query_encoder="table", neighbours=0, verbatim=True, literal=True)
    assert found.hits
    (vector,) = table.encode([query], Format.QRY)
    for hit in found:
        if "prx" in hit.legs:
            own = index.index.vectors([hit.paper.id], "prx")[hit.paper.id]
            assert hit.legs["prx"].raw == pytest.approx(float(own @ vector), abs=2e-3)


def test_the_vector_of_a_table_counts_less_than_the_words(library, home):
    """By default 2 to 3, also of shorter vectors; weights that a user gives are taken as they are."""

    def scores(index="papers", **options):
        return [(hit.id, hit.score) for hit in library[index].search("the spread of a virus", size=12, **options)]

    for index in ("papers", "short"):
        weighted = scores(index, query_encoder="table", weights={"lexical": 1.5})
        assert scores(index, query_encoder="table") == [(name, pytest.approx(score)) for name, score in weighted]
    assert scores(query_encoder="table") != scores(query_encoder="table", weights={"lexical": 1})
    assert scores() == scores(weights={"lexical": 1})
    with opened_at(home, query_encoder="table") as other:
        page = other["papers"].search("the spread of a virus", size=12)
    assert [(hit.id, hit.score) for hit in page] == scores(query_encoder="table")


def test_shorter_vectors_take_the_table_too(library):
    assert len(library["short"].search("virus", mode="vector", query_encoder="table")) == 10


@pytest.mark.slow
def test_papers_like_a_text_are_found_by_the_model_all_the_same(library, home):
    index = library["papers"]
    with opened_at(home, query_encoder="table") as by_table:
        same = [one.similar_text("Masks\nand viruses", size=5) for one in (by_table["papers"], index)]
        assert [hit.id for hit in same[0]] == [hit.id for hit in same[1]]
        by_setting, by_option = (
            opened["papers"].search("virus", mode="vector", **given)
            for opened, given in ((by_table, {}), (library, {"query_encoder": "table"}))
        )
        assert [(hit.id, hit.score) for hit in by_setting] == [(hit.id, hit.score) for hit in by_option]
        by_model = by_table["papers"].search("virus", mode="vector", query_encoder="model")
        assert [hit.score for hit in by_model] == [hit.score for hit in index.search("virus", mode="vector")]


def test_an_evaluation_takes_the_table(library):
    query, index = "respiratory masks in a pandemic", library["papers"]
    page = index.search(query, query_encoder="table", size=20)
    judged = {"topics": {"q": query}, "qrels": {"q": {page.hits[0].id: 1}}}
    by_table, by_model = (
        index.evaluate(**judged, modes=["hybrid"], query_encoder=one).runs["hybrid"].rankings["q"]
        for one in ("table", "model")
    )
    assert [id_ for id_, _ in by_table[: len(page.hits)]] == [hit.id for hit in page.hits]
    assert by_table != by_model


def test_an_index_of_another_model_says_that_there_is_no_table(tmp_path):
    model = str(make_model(tmp_path / "tiny"))
    with ses.open(tmp_path / "indexes", model=model, data_dir=tmp_path, cache_dir=tmp_path) as opened:
        opened.index("tiny", papers(3))
        with pytest.raises(ses.InputError, match="There is no table of queries for the model"):
            opened["tiny"].search("virus", query_encoder="table")
        assert opened["tiny"].search("", query_encoder="table").hits


@pytest.mark.slow
def test_another_index_refuses_the_vectors_of_the_table(library, tmp_path):
    found = table_for(find_model(MINILM).card.fingerprint)
    assert found is not None
    tiny = str(make_model(tmp_path / "tiny"))
    with ses.open(tmp_path / "indexes", model=tiny, data_dir=tmp_path, cache_dir=tmp_path) as opened:
        opened.index("tiny", papers(3))
    by_table = ses.open(tmp_path / "indexes", model=str(found.folder), data_dir=tmp_path, cache_dir=tmp_path)
    with by_table as opened, pytest.raises(ses.InputError, match=r"was made by the model .*, not by"):
        opened["tiny"].search("virus")


@pytest.mark.slow
@pytest.mark.usefixtures("library")
def test_neither_a_runtime_nor_the_model_is_loaded(home):
    """In a process of its own: to load onnxruntime, or to read and check the model's files, takes as long as the rest.

    The names of models are found by `encoders.registry`.
    """
    program = (
        "import ses, sys; "
        f"opened = ses.open('embedded:{home / 'indexes'}', data_dir={str(home / 'data')!r}, "
        f"cache_dir={str(home / 'cache')!r}, query_encoder='table'); "
        "print(len(opened['papers'].search('virus', mode='vector'))); "
        "print([name for name in ('onnxruntime', 'torch', 'onnx', 'encoders.registry') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["10", "[]"]


@pytest.mark.slow
def test_the_command_takes_it(library, home, tmp_path):
    asked = ("search", "virus", "--query-encoder", "table", "--index", "papers", "--json")
    done = command(tmp_path, *asked, "--engine", f"embedded:{home / 'indexes'}")
    assert done.returncode == 0, done.stderr
    shown = [hit["paper"]["id"] for hit in json.loads(done.stdout)["hits"]]
    found = library["papers"].search("virus", query_encoder="table", collapse="work")
    assert shown == [hit.id for hit in found]
