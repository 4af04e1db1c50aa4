"""What somebody who brings a model of adapters, such as SPECTER2, gets without further thought."""

from __future__ import annotations

import huggingface_hub
import numpy as np
import pytest

import ses as api
from tests.commands import fails, ses
from tests.encoders.layouts.adapted import PUBLISHED, brought, write_card
from tests.tiny import make_model, papers, write_jsonl

PLAIN = ("--corpus", "jsonl", "--path")


def labelled(count=120):
    """Papers with a label and a number."""
    for row, paper in enumerate(papers(count)):
        yield {
            "id": paper.id,
            "title": paper.title,
            "abstract": paper.abstract,
            "year": 2000,
            "venue": "Nature",
            "kind": ("a", "b")[row % 2],
            "cited": row,
        }


def open_with(model, folder):
    return api.open(model=str(model), data_dir=folder / "data", cache_dir=folder / "cache", precision="fp32")


def indexed(model, folder, **options):
    library = open_with(model, folder)
    library.index("mine", list(labelled()), fields={"kind": "keyword", "cited": "number"}, **options)
    return library


def formats_of(library):
    return [vector.format for vector in library["mine"].index.schema.vectors]


@pytest.fixture(scope="module")
def specter2(tmp_path_factory):
    return brought(tmp_path_factory.mktemp("models") / "specter2", layers=2)


def test_papers_are_encoded_as_prx_and_queries_as_qry(specter2, tmp_path):
    library = indexed(specter2, tmp_path)
    model = api.load_model(str(specter2), cache_dir=tmp_path / "cache", precision="fp32")
    given = {paper.id: paper for paper in papers(120)}
    held = library["mine"].index.vectors(list(given), "prx")
    texts = {id_: model.card.text(paper.title, paper.abstract) for id_, paper in given.items()}
    for wanted, made in zip(model.encode(list(texts.values()), "prx"), map(held.get, texts), strict=True):
        np.testing.assert_allclose(made, wanted, atol=1e-3)
    page = library["mine"].search("virus lung", mode="vector", size=50)
    nearest = {
        name: sorted(texts, key=lambda id_: float(np.linalg.norm(held[id_] - query)))
        for name in ("qry", "prx")
        for query in model.encode(["virus lung"], name)
    }
    assert [hit.id for hit in page] == nearest["qry"][:50]
    assert nearest["qry"] != nearest["prx"]


@pytest.mark.slow
def test_a_sentence_says_what_is_not_stored_and_how_to_store_it(specter2, tmp_path, caplog):
    library = indexed(specter2, tmp_path)
    assert formats_of(library) == ["prx"]
    assert caplog.messages == [
        f"The model {specter2} has clf and rgn vectors too, which are not stored, so tags and forecasts will use its "
        "prx vectors; to store them, index with the formats prx,clf,rgn."
    ]
    caplog.clear()
    library.index("mine", list(labelled(3)))  # an update, in which nothing is decided
    library.rebuild("mine")  # by the same model
    library.index("asked", papers(3), formats=["prx"])
    library.index("own", papers(3), own={one: str(specter2) for one in ("clf", "rgn")})
    assert not caplog.messages
    tagger, notes = library.tags.train("kind", "mine", "kind")
    lacks = (
        "vectors, so its prx vectors are used, though its model makes them; to have them, build the index again with"
    )
    assert (tagger.source.format, notes) == ("prx", (f"The index mine holds no clf {lacks} the formats prx,clf.",))
    forecaster, notes = library.forecasts.train("impact", "mine", "cited")
    assert (forecaster.source.format, notes) == ("prx", (f"The index mine holds no rgn {lacks} the formats prx,rgn.",))
    library.rebuild("mine", formats=["prx,clf,rgn"])
    assert formats_of(library) == ["prx", "clf", "rgn"]
    (tagger, tagged), (forecaster, forecast) = (
        library.tags.train("kind", "mine", "kind"),
        library.forecasts.train("impact", "mine", "cited"),
    )
    assert (tagger.source.format, tagged, forecaster.source.format, forecast) == ("clf", (), "rgn", ())
    assert not caplog.messages


@pytest.mark.slow
def test_a_model_with_one_vector_for_all_formats_needs_no_sentence(tmp_path, caplog):
    library = indexed(make_model(tmp_path / "plain"), tmp_path)
    assert library.tags.train("kind", "mine", "kind")[1] == ()
    assert library.forecasts.train("impact", "mine", "cited")[1] == ()
    assert not caplog.messages


@pytest.mark.slow
def test_an_index_whose_model_is_gone_needs_no_sentence(specter2, tmp_path):
    model = brought(tmp_path / "gone", layers=1)
    library = indexed(model, tmp_path)
    model.rename(tmp_path / "away")
    assert library.tags.train("kind", "mine", "kind")[1] == ()


@pytest.mark.slow
def test_an_index_of_shorter_vectors_is_told_of_own_models(specter2, tmp_path):
    plain = make_model(tmp_path / "plain")
    (plain / "ses_card.json").write_text('{"prompts": {"clf": "virus "}, "similarity": "cosine"}')
    library = indexed(plain, tmp_path, dimension=16)
    _, (note,) = library.tags.train("kind", "mine", "kind")
    assert note.endswith(f"build the index again with the own model clf={plain}.")
    library.rebuild("mine", own={"clf": str(plain)})
    assert library.tags.train("kind", "mine", "kind")[1] == ()


@pytest.mark.slow
def test_a_fresh_build_keeps_the_formats_of_before_or_says_that_it_can_not(specter2, tmp_path, caplog):
    library = indexed(specter2, tmp_path, formats=["prx,clf"])
    library.index("mine", list(labelled(5)), fresh=True)
    assert formats_of(library) == ["prx", "clf"]
    library.index("mine", list(labelled(5)), formats=["prx", "rgn"], fresh=True)
    assert formats_of(library) == ["prx", "rgn"]
    without = brought(tmp_path / "two", {one: PUBLISHED[one] for one in ("prx", "qry")}, layers=2)
    other = open_with(without, tmp_path)
    lacks = f"version before has rgn vectors, and the model {without} has none; give formats=prx to have no such"
    for again in (lambda: other.rebuild("mine"), lambda: other.index("mine", papers(5), fresh=True)):
        with pytest.raises(api.InputError, match=lacks):
            again()
    other.rebuild("mine", formats=["prx"])
    assert formats_of(other) == ["prx"]
    assert not caplog.messages
    library.index("mine", labelled(5), formats=["clf"], fresh=True)
    plain = open_with(make_model(tmp_path / "plain"), tmp_path)
    plain.rebuild("mine", formats=["prx"])
    caplog.clear()
    library.rebuild("mine")
    assert "so tags and forecasts will use its prx vectors" in caplog.text


@pytest.mark.slow
def test_tags_of_a_fresh_build_add_the_vectors_that_they_read(specter2, tmp_path):
    library = indexed(specter2, tmp_path, formats=["prx,clf"])
    library.tags.train("kinds", "mine", "kind")
    library.index("mine", list(labelled()), formats=["prx,rgn"], fields={"kind": "keyword"}, fresh=True, tags="kinds")
    assert formats_of(library) == ["prx", "rgn", "clf"]
    library.index("mine", list(labelled()), fields={"kind": "keyword"}, fresh=True, tags="kinds")
    assert formats_of(library) == ["prx", "rgn", "clf"]


def test_a_model_that_can_not_encode_queries_is_told_before_any_paper_is_encoded(specter2, tmp_path):
    same = str(specter2 / "specter2")
    model = write_card(tmp_path / "m", base=str(specter2), adapters={"prx": same})
    library = open_with(model, tmp_path)
    told = f"The model {model} has no qry vectors, so no search of the index could be encoded; name what encodes"
    with pytest.raises(api.InputError, match=told):
        library.index("mine", papers(3))
    assert library.indexes() == []
    path = write_jsonl(tmp_path / "papers.jsonl", papers(3))
    shard = ("encode", "--corpus", "jsonl", "--path", path, "--shards", tmp_path / "shards", "--model", model)
    fails(ses(tmp_path, *shard), 2, "has no qry vectors, so no search of the index could be encoded")
    assert not list((tmp_path / "cache").rglob("*.*"))
    write_card(model, base=str(specter2), adapters={"prx": same, "qry": same})
    library = open_with(model, tmp_path)
    library.index("mine", papers(3))
    assert len(library["mine"].search("virus", mode="vector")) == 3


def test_the_network_of_published_adapters_is_told_from_the_whole(tmp_path, monkeypatch, caplog):
    network = make_model(tmp_path / "base", layers=1)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda _, **__: str(network))
    monkeypatch.setattr("encoders.models.hub.lock_file", lambda: tmp_path / "lock.json")
    open_with("allenai/specter2_base", tmp_path).index("mine", papers(3))
    assert caplog.messages == [
        "The model allenai/specter2_base is a network without its adapters; the model specter2 has them, one for each "
        "format."
    ]


def test_one_command_adds_formats_to_an_index(specter2, tmp_path):
    path = write_jsonl(tmp_path / "papers.jsonl", papers(20))
    first = ("index", "--index", "mine", "--model", specter2, "--precision", "fp32")
    done = ses(tmp_path, *first, *PLAIN, path)
    assert done.returncode == 0, done.stderr
    assert "vectors too, which are not stored" in done.stderr
    lacking = ses(tmp_path, *first, *PLAIN, path, "--formats", "prx,clf")
    fails(lacking, 2, "holds no clf vectors, only: prx; index again with --fresh and --formats prx,clf")
    fails(
        ses(tmp_path, *first, "--formats", "prx,clf"), 2, "or build the index mine again from its own papers, with --"
    )
    fails(ses(tmp_path, *first, "--fresh", "--formats", "prx,abc"), 2, "The formats 'prx,abc' can't be read")
    done = ses(tmp_path, *first, "--fresh", "--formats", "prx,clf")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("not stored") == 0
    assert formats_of(open_with(specter2, tmp_path)) == ["prx", "clf"]
