"""Indexes with shorter vectors, on every engine: what they hold, who finds it, and what is refused."""

import json
from dataclasses import replace

import numpy as np
import pytest

import ses
from corpora.errors import InputError, StoppedError
from encoders.encoder import Encoder
from encoders.models.formats import Format
from encoders.registry import find_model
from indexer import projecting
from search_plugin.contract.schema import IndexSchema, from_stored, paper_vector, to_stored
from search_plugin.engines.embedded.engine import EmbeddedEngine
from search_plugin.words.sentences import sentence_texts
from tests.commands import fails
from tests.commands import ses as command
from tests.encoders.checkpoints import make_sentence_transformers
from tests.engines.conftest import emptied, library_of
from tests.serving import service_over
from tests.tiny import make_model, papers, write_jsonl

COUNT, SHORT = 60, 16
QUERY = "virus lung cell"
NEAR = {"abs": 5e-3}
"""The rotation is kept with eleven bits, and a cluster's scores have fewer digits."""


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    make_sentence_transformers(folder / "model", seed=4, layers=1)
    make_sentence_transformers(folder / "other", seed=5, layers=1)
    make_model(folder / "far")
    routes = {
        "asking": {"prx": "../model", "qry": "../other"},
        "wrong": {"prx": "../other", "qry": "../model"},
        "several": {"prx": "../model", "qry": "../model", "clf": "../other"},
    }
    for name, members in routes.items():
        (folder / name).mkdir()
        (folder / name / "ses_card.json").write_text(json.dumps({"architecture": "routes", "members": members}))
    return folder


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def whole(models, texts, task_format="prx", model="model"):
    """The vectors of a model, before any projection."""
    loaded = ses.load_model(str(models / model), precision="fp32", cache_dir=models / "cache")
    return loaded.encode(texts, task_format)


def of_papers(models, some):
    loaded = ses.load_model(str(models / "model"), precision="fp32", cache_dir=models / "cache")
    return whole(models, [loaded.card.text(paper.title, paper.abstract) for paper in some])


def turn_of(vectors, short=SHORT):
    """The first right singular vectors, float32 (numbers, short)."""
    return np.linalg.svd(vectors, full_matrices=False)[2][:short].T


def held(index, name="prx"):
    ids = sorted(index.index.ids())
    found = index.index.vectors(ids, name)
    return np.stack([found[id_] for id_ in ids])


@pytest.mark.slow
def test_an_index_with_shorter_vectors_is_searched_and_grows(engine, models, tmp_path):
    library, some = library_of(engine, models, tmp_path), papers(COUNT + 20)
    assert library.index("papers", some[:COUNT], dimension=SHORT).new == COUNT
    index = library["papers"]
    first = of_papers(models, some[:COUNT])
    turn = turn_of(first)
    wanted = unit(first @ turn)
    assert held(index).shape == (COUNT, SHORT)
    # The directions may have the other sign.
    assert held(index) @ held(index).T == pytest.approx(wanted @ wanted.T, **NEAR)
    asked = unit(whole(models, [QUERY], "qry") @ turn)[0]

    def check(opened, count):
        near = unit(of_papers(models, some[:count]) @ turn) @ asked
        page = opened.search(QUERY, mode="vector", size=count, window=count, literal=True)
        scores = {hit.id: hit.legs["prx"].raw for hit in page}
        assert scores == pytest.approx({paper.id: near[at] for at, paper in enumerate(some[:count])}, **NEAR)
        assert page.found.keys() == {"prx"}
        assert opened.search(QUERY, size=3).found.keys() == {"lexical", "prx"}

    check(index, COUNT)
    like = index.similar(some[3].id, size=COUNT, window=COUNT)
    near = dict(zip([paper.id for paper in some], wanted @ wanted[3], strict=False))
    del near[some[3].id]
    assert {hit.id: hit.legs["prx"].raw for hit in like} == pytest.approx(near, **NEAR)
    # More papers are projected as those before, also by another process.
    later = library_of(engine, models, tmp_path)
    assert later.index("papers", some).new == 20
    assert later["papers"].index.schema == index.index.schema
    check(later["papers"], COUNT + 20)
    check(library["papers"], COUNT + 20)
    assert library.index("papers", some, dimension=SHORT).unchanged == COUNT + 20
    (state,) = engine.diagnose("papers").indexes
    assert (state.fingerprint, state.troubles) == (find_model(str(models / "model")).card.fingerprint, ())
    library.copy("papers", "copied")
    check(library["copied"], COUNT + 20)


@pytest.mark.slow
def test_another_dimension_encodes_nothing_again(engine, models, tmp_path, monkeypatch):
    library, some = library_of(engine, models, tmp_path, cache_dir=tmp_path / "cache"), papers(COUNT)
    library.index("papers", some, dimension=SHORT)
    monkeypatch.setattr(Encoder, "_run", lambda _, prompts, *__: iter(()) if not prompts else pytest.fail("encoded"))
    library.rebuild("papers", dimension=8)
    assert held(library["papers"]).shape == (COUNT, 8)
    schema = library["papers"].index.schema
    library.rebuild("papers")  # as before
    library.index("papers", some, fresh=True)
    assert library["papers"].index.schema == schema
    library.index("papers", some[:40], fresh=True, dimension=8)  # fitted again, on fewer papers
    assert held(library["papers"]).shape == (40, 8)
    assert library["papers"].index.schema.projection != schema.projection
    assert library["papers"].index.schema.fingerprint != schema.fingerprint
    library.rebuild("papers", dimension=64)
    assert library["papers"].index.schema.projection == ()
    assert np.allclose(held(library["papers"]), of_papers(models, sorted(some[:40], key=lambda one: one.id)), atol=1e-5)


def test_sentences_are_as_short_and_other_formats_stay_whole(engine, models, tmp_path):
    library, some = library_of(engine, models, tmp_path), papers(COUNT)
    own = {"clf": str(models / "model")}
    library.index("papers", some, dimension=SHORT, passages="sentences", own=own)
    turn, card = turn_of(of_papers(models, some)), ses.load_model(str(models / "model")).card
    rows = library["papers"].index.vectors([paper.id for paper in some], "sentences")
    for paper in some[:5]:
        wanted = unit(whole(models, sentence_texts(paper.title, paper.abstract, card)) @ turn)
        assert rows[paper.id] @ rows[paper.id].T == pytest.approx(wanted @ wanted.T, abs=0.03)  # 8 bits
    assert held(library["papers"], "clf").shape == (COUNT, 64)
    page = library["papers"].search(QUERY, size=3)
    assert page.found.keys() == {"lexical", "prx", "sentences"}
    assert page[0].sentence


@pytest.mark.slow
def test_taggers_know_whose_vectors_they_read(tmp_path, models):
    (engine,) = emptied("embedded", tmp_path)
    library, some, more = library_of(engine, models, tmp_path), papers(COUNT), papers(COUNT + 5)
    library.index("papers", some, dimension=SHORT)
    tagger, _ = library.tags.train("short", "papers", "fields", fewest=5)
    assert tagger.source.fingerprint == library["papers"].index.schema.fingerprint
    assert library.index("papers", more, tags="short").new == 5
    library.index("papers", more, fresh=True, tags="short")
    for dimension in (8, SHORT, 64):  # fitted anew, or none
        with pytest.raises(InputError, match="The tagger short was trained on vectors of the model"):
            library.index("papers", more, fresh=True, tags="short", dimension=dimension)
    library.index("whole", some)
    with pytest.raises(InputError, match="short was trained on vectors of the model"):
        library.tags.apply("short", "whole")


def test_a_model_of_routes_asks_an_index_of_its_member(engine, models, tmp_path):
    some = papers(COUNT)
    library_of(engine, models, tmp_path).index("papers", some, dimension=SHORT)
    library = library_of(engine, models, tmp_path, model=str(models / "asking"))
    page = library["papers"].search(QUERY, mode="vector", size=COUNT, window=COUNT, literal=True)
    first = of_papers(models, some)
    turn = turn_of(first)
    near = unit(first @ turn) @ unit(whole(models, [QUERY], "qry", "other") @ turn)[0]
    scores = {paper.id: near[at] for at, paper in enumerate(some)}
    assert {hit.id: hit.legs["prx"].raw for hit in page} == pytest.approx(scores, **NEAR)
    for wrong in ("wrong", "other"):
        library = library_of(engine, models, tmp_path, model=str(models / wrong))
        with pytest.raises(InputError, match=rf"was made by the model .*model \(.*, not by .*{wrong}"):
            library["papers"].search(QUERY)


@pytest.mark.slow
def test_what_is_refused(tmp_path, models):
    (engine,) = emptied("embedded", tmp_path)
    library, some = library_of(engine, models, tmp_path), papers(COUNT)
    with pytest.raises(InputError, match="dimension can't be 0; give a whole number of at least 1"):
        library.index("papers", some, dimension=0)
    for wrong in (65, 100):
        with pytest.raises(InputError, match=f"Vectors of 64 numbers can't be projected to {wrong}"):
            library.index("papers", some, dimension=wrong)
    several = library_of(engine, models, tmp_path, model=str(models / "several"))
    with pytest.raises(InputError, match=r"not those for clf; leave these formats out, or have them whole by own"):
        several.index("papers", some, dimension=SHORT, formats=["prx,clf"])
    with pytest.raises(InputError, match="needs as many papers, and there are 9; give more"):
        library.index("papers", papers(9), dimension=SHORT)
    with pytest.raises(InputError, match="compared by l2"):
        library_of(engine, models, tmp_path, model=str(models / "far")).index("papers", some, dimension=SHORT)
    assert library.indexes() == []
    library.index("papers", some)
    with pytest.raises(InputError, match="was made with dimension 64; leave dimension out, or index again with fresh"):
        library.index("papers", some, dimension=SHORT)
    assert library.index("papers", some, dimension=64).unchanged == COUNT
    library.rebuild("papers", dimension=SHORT)
    with pytest.raises(InputError, match="was made with dimension 16"):
        library.index("papers", some, dimension=64)
    with pytest.raises(InputError, match="was made by the model"):
        library_of(engine, models, tmp_path, model=str(models / "other")).index("papers", some)
    with pytest.raises(InputError, match="are projected, and queries can be trained for whole ones only"):
        library.formats.train_queries("papers", {"q": QUERY}, {"q": {some[0].id: 1}}, tmp_path / "run")
    # Another model has a projection of its own, and as many numbers as before.
    before = library["papers"].index.schema.projection
    other = library_of(engine, models, tmp_path, model=str(models / "other"))
    other.rebuild("papers")
    (after,) = other["papers"].index.schema.projection
    assert (after.dimension, after.numbers) == (SHORT, 64)
    assert (after.fingerprint, after.directions) != (before[0].fingerprint, before[0].directions)
    with pytest.raises(InputError, match="compared by l2"):
        library_of(engine, models, tmp_path, model=str(models / "far")).rebuild("papers")


def test_a_projection_is_fitted_on_papers_drawn_from_all_and_always_the_same(tmp_path, models, monkeypatch):
    (engine,) = emptied("embedded", tmp_path)
    library, some = library_of(engine, models, tmp_path), papers(COUNT)
    monkeypatch.setattr(projecting, "SAMPLE", 20)
    seen = []
    drawn = projecting._drawn
    monkeypatch.setattr(projecting, "_drawn", lambda job: seen.append(drawn(job)) or seen[-1])
    for name in ("one", "two"):
        library.index(name, some, dimension=SHORT)
    first, second = ([paper.id for paper in part] for part in seen)
    assert first == second
    assert len(set(first)) == 20
    assert any(paper.id in first for paper in some[40:])
    schemas = [library[name].index.schema for name in ("one", "two")]
    assert schemas[0].projection == schemas[1].projection
    turn = turn_of(of_papers(models, seen[0]))
    wanted = unit(of_papers(models, some) @ turn)
    assert held(library["one"]) @ held(library["one"]).T == pytest.approx(wanted @ wanted.T, **NEAR)


def test_a_stopped_run_says_what_is_kept(tmp_path, models):
    (engine,) = emptied("embedded", tmp_path)

    class Stopping:
        def stage(self, name, total):
            if name == "fitting shorter vectors":
                assert total == COUNT
                raise KeyboardInterrupt

        def advance(self, *_, **__):
            pass

    with pytest.raises(StoppedError, match="nothing was written to the index papers yet"):
        library_of(engine, models, tmp_path).index("papers", papers(COUNT), dimension=SHORT, progress=Stopping())


def test_a_run_that_was_killed_finds_its_unfinished_index_again(tmp_path, models, monkeypatch):
    (engine,) = emptied("embedded", tmp_path)
    path = write_jsonl(tmp_path / "some.jsonl", papers(COUNT))
    library = library_of(engine, models, tmp_path, embedding_cache=False)
    with monkeypatch.context() as patched:
        patched.setattr(EmbeddedEngine, "publish", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            library.index("papers", path, corpus="jsonl", dimension=SHORT)
    report = library.index("papers", path, corpus="jsonl", dimension=SHORT)
    assert (report.generation, report.new, report.unchanged) == (1, 0, COUNT)


@pytest.mark.serve
def test_a_service_gives_vectors_as_the_index_holds_them(tmp_path, models):
    from fastapi.testclient import TestClient

    (engine,) = emptied("embedded", tmp_path)
    library = library_of(engine, models, tmp_path)
    library.index("papers", papers(COUNT), dimension=SHORT)
    with TestClient(service_over(library)) as client:
        answer = client.post("/v1/embeddings", json={"input": QUERY, "model": "papers:qry"})
    (made,) = answer.json()["data"]
    encoder = library["papers"]._encoder()
    assert made["embedding"] == pytest.approx(list(encoder.encode([QUERY], Format.QRY)[0]), abs=1e-5)
    assert len(made["embedding"]) == SHORT


def test_shards_hold_whole_vectors_and_serve_every_dimension(tmp_path, models):
    (engine,) = emptied("embedded", tmp_path)
    path = write_jsonl(tmp_path / "some.jsonl", papers(COUNT))
    given = {"SES_MODEL": str(models / "model"), "SES_PRECISION": "fp32"}
    asked = ("--corpus", "jsonl", "--path", path)
    done = command(tmp_path, "encode", *asked, "--shards", tmp_path / "shards", **given)
    assert done.returncode == 0, done.stderr
    library = library_of(engine, models, tmp_path)
    for name, shards in (("plain", None), ("shards", tmp_path / "shards")):
        library.index(name, path, corpus="jsonl", dimension=SHORT, shards=shards)
    assert held(library["plain"]) == pytest.approx(held(library["shards"]), abs=1e-5)


def test_the_schema_is_stored_with_it_and_as_before_without(models):
    made = projecting.VectorProjection.fitted(np.eye(8, dtype=np.float32), 3, "0123")
    plain = IndexSchema("tiny", "4567", (paper_vector("prx", 3, "cosine"),))
    schema = replace(plain, projection=(made,))
    assert from_stored(json.loads(json.dumps(to_stored(schema)))) == schema
    assert "projection" not in to_stored(plain)
    assert (plain.model_fingerprint, schema.model_fingerprint) == ("4567", "0123")
    assert made.directions not in repr(schema)
    stored = to_stored(schema)
    stored["projection"][0]["directions"] = "AAAA"
    with pytest.raises(ValueError, match="A projection is damaged"):
        from_stored(stored)


@pytest.mark.slow
def test_as_a_user_types_it(tmp_path, models):
    path = write_jsonl(tmp_path / "some.jsonl", papers(COUNT))
    given = {"SES_MODEL": str(models / "model")}
    asked = ("index", "--corpus", "jsonl", "--path", path, "--index", "papers")
    fails(
        command(tmp_path, *asked, "--dimension", 65, **given), 2, "choose a --dimension from 1 to 63, or 64 for whole"
    )
    done = command(tmp_path, *asked, "--dimension", SHORT, **given)
    assert done.returncode == 0, done.stderr
    shown = command(tmp_path, "indexes", "show", "papers").stdout
    assert "  vectors: 60 for prx, 16 numbers each, projected from 64\n" in shown
    (kept,) = json.loads(command(tmp_path, "indexes", "show", "papers", "--json").stdout)["schema"]["projection"]
    assert (kept["numbers"], kept["dimension"], "directions" in kept) == (64, 16, False)
    checked = command(tmp_path, "doctor", **given)
    assert "No problems found." in checked.stdout, checked.stdout
    assert command(tmp_path, "search", QUERY, "--index", "papers", "--mode", "vector").returncode == 0
    again = command(tmp_path, "index", "--index", "papers", "--fresh", "--dimension", 64)
    assert again.returncode == 0, again.stderr
    assert "projected" not in command(tmp_path, "indexes", "show", "papers").stdout
