"""The papers' own words beside the vectors for tags and forecasts, on every engine."""

import numpy as np
import pytest

import ses
from corpora.errors import InputError, StoppedError
from encoders.encoder import Encoder
from encoders.models.formats import Format
from encoders.registry import find_model
from indexer import projecting
from search_plugin.contract.schema import IndexSchema, OwnField, from_stored, paper_vector, to_stored
from search_plugin.engines.embedded.engine import EmbeddedEngine
from search_plugin.words.space import WordSpace
from tests.commands import ses as command
from tests.encoders.checkpoints import make_sentence_transformers
from tests.engines.conftest import emptied, library_of
from tests.tiny import make_model, papers, write_jsonl

COUNT, WIDTH, WORDS = 60, 64, 15
ALL = ["prx,clf,rgn"]
WEIGHTS = {"clf": 0.5, "rgn": 1.0}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    make_sentence_transformers(folder / "model", seed=4, layers=1)
    make_sentence_transformers(folder / "other", seed=5, layers=1)
    make_model(folder / "far")
    make_model(folder / "own", seed=1, codes=True, width=32)
    return folder


def held(library, task_format, name="papers"):
    index = library[name].index
    rows = index.vectors(sorted(index.ids()), task_format)
    return np.stack([rows[id_] for id_ in sorted(rows)])


def unit(rows):
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def latent(fitted_on, some, numbers=WORDS):
    """The words of papers as scikit-learn weighs them and numpy's singular vectors place them."""
    text = pytest.importorskip("sklearn.feature_extraction.text")
    weights = text.TfidfVectorizer(sublinear_tf=True, min_df=3, analyzer=str.split)
    fitted = weights.fit_transform(f"{one.title} {one.abstract}" for one in fitted_on).toarray()
    right = np.linalg.svd(fitted, full_matrices=False)[2]
    return unit(weights.transform(f"{one.title} {one.abstract}" for one in some).toarray() @ right[:numbers].T)


def assert_worded(library, models, fitted_on, some, name="papers", model="model"):
    """Check the vectors of an index against the model's own vectors and words that other libraries place."""
    loaded = ses.load_model(str(models / model), precision="fp32", cache_dir=models / "cache")
    whole = loaded.encode([loaded.card.text(one.title, one.abstract) for one in some], "prx")
    words = latent(fitted_on, some)
    for task_format, weight in WEIGHTS.items():
        found = held(library, task_format, name)
        wanted = unit(np.hstack([unit(whole), weight * words]))
        assert found.shape == (len(some), WIDTH + WORDS)
        # Directions may have the other sign, and are kept with eight bits.
        assert found @ found.T == pytest.approx(wanted @ wanted.T, abs=0.02)


def shown_schema(library, name="papers"):
    return library[name].index.schema


@pytest.mark.slow
def test_an_index_has_three_vectors_of_a_paper_and_grows(engine, models, tmp_path):
    library, some = library_of(engine, models, tmp_path), papers(COUNT + 20)
    library.index("papers", some[:COUNT], formats=ALL)
    assert_worded(library, models, some[:COUNT], some[:COUNT])
    schema = shown_schema(library)
    assert [field.format for field in schema.vectors] == ["prx"]
    assert [(field.format, field.dimension) for field in schema.worded] == [("clf", 79), ("rgn", 79)]
    # More papers have the same words, also by another process, and whether formats are named or not.
    later = library_of(engine, models, tmp_path)
    assert later.index("papers", some).new == 20
    assert later.index("papers", some, formats=ALL).unchanged == COUNT + 20
    assert shown_schema(later) == schema
    assert_worded(later, models, some[:COUNT], some)
    assert later.describe("papers").vectors == {"prx": 80, "clf": 80, "rgn": 80}
    page = later["papers"].search("virus lung cell", size=3)
    assert page.found.keys() == {"lexical", "prx"}
    (state,) = engine.diagnose("papers").indexes
    assert (state.fingerprint, state.troubles) == (find_model(str(models / "model")).card.fingerprint, ())
    later.copy("papers", "copied")
    assert shown_schema(later, "copied").worded == schema.worded
    assert np.array_equal(held(later, "clf", "copied"), held(later, "clf"))


@pytest.mark.slow
def test_a_build_keeps_words_until_formats_are_asked_for(engine, models, tmp_path, monkeypatch):
    library, some = library_of(engine, models, tmp_path, cache_dir=tmp_path / "cache"), papers(COUNT)
    library.index("papers", some, formats=ALL)
    schema = shown_schema(library)
    monkeypatch.setattr(Encoder, "_run", lambda _, prompts, *__: iter(()) if not prompts else pytest.fail("encoded"))
    library.index("papers", some[:50], fresh=True)
    library.rebuild("papers")
    assert shown_schema(library).words == schema.words
    library.rebuild("papers", formats=ALL)  # fitted again, on fewer papers
    assert [part.numbers for part in shown_schema(library).words[0].parts] == [12, 12]
    library.rebuild("papers", formats=["rgn"])
    assert [field.format for field in shown_schema(library).worded] == ["rgn"]
    library.rebuild("papers", language="german")
    assert shown_schema(library).words[0].language == "german"
    library.rebuild("papers", formats=["prx"])
    assert shown_schema(library).words == ()
    assert "words" not in to_stored(shown_schema(library))


def test_words_stand_beside_whole_vectors_where_those_that_are_searched_are_shorter(engine, models, tmp_path):
    library, some = library_of(engine, models, tmp_path), papers(COUNT)
    library.index("papers", some, formats=ALL, dimension=16, passages="sentences")
    assert held(library, "prx").shape == (COUNT, 16)
    assert_worded(library, models, some, some)
    fingerprints = {field.fingerprint for field in shown_schema(library).worded}
    library.rebuild("papers", dimension=WIDTH)
    assert_worded(library, models, some, some)
    assert {field.fingerprint for field in shown_schema(library).worded} == fingerprints


@pytest.mark.slow
def test_taggers_and_forecasters_read_them(tmp_path, models):
    (engine,) = emptied("embedded", tmp_path)
    library, some = library_of(engine, models, tmp_path), papers(120)
    kinds = [
        {"id": one.id, "title": one.title, "abstract": one.abstract, "year": 2000, "cited": at, "kind": "ab"[at % 2]}
        for at, one in enumerate(some)
    ]
    asked = {"fields": {"kind": "keyword", "cited": "number"}}
    library.index("papers", kinds, formats=ALL, **asked)
    tagger, notes = library.tags.train("kinds", "papers", "kind", fewest=5)
    forecaster, more = library.forecasts.train("impact", "papers", "cited")
    made = {field.format: field.fingerprint for field in shown_schema(library).worded}
    assert (tagger.source.format, tagger.source.fingerprint) == (Format.CLF, made["clf"])
    assert (forecaster.source.format, forecaster.source.fingerprint) == (Format.RGN, made["rgn"])
    assert (notes, more) == ((), ())
    assert library.tags.apply("kinds", "papers").papers == 120
    assert library.forecasts.apply("impact", "papers").papers == 120
    for options in ({}, {"fresh": True}):
        library.index("papers", kinds, tags="kinds", **asked, **options)
    for options in ({"formats": ALL}, {"formats": ["prx"]}):
        with pytest.raises(InputError, match="The tagger kinds was trained on vectors of the model"):
            library.index("papers", kinds, tags="kinds", fresh=True, **asked, **options)
    library.index("more", [*kinds, {"id": "z", "title": "water"}], formats=ALL, **asked)
    with pytest.raises(InputError, match="kinds was trained on vectors of the model"):
        library.tags.apply("kinds", "more")


@pytest.mark.slow
def test_a_tagger_of_vectors_without_words_has_them_stored_without(tmp_path, models):
    (engine,) = emptied("embedded", tmp_path)
    library = library_of(engine, models, tmp_path, model=str(models / "own"))
    library.index("codes", papers(COUNT), formats=ALL)  # a model that has vectors for each format needs no words
    assert shown_schema(library, "codes").words == ()
    library.tags.train("kinds", "codes", "fields", fewest=5)
    library.index("again", papers(COUNT), tags="kinds")
    assert [field.format for field in shown_schema(library, "again").vectors] == ["prx", "clf"]


@pytest.mark.slow
def test_who_gets_no_words_is_told(tmp_path, models, caplog):
    (engine,) = emptied("embedded", tmp_path)
    library, some = library_of(engine, models, tmp_path), papers(COUNT)
    library.index("few", some[:39], formats=ALL)
    assert caplog.messages == [
        "Words beside the vectors for clf and rgn need 40 papers, and there are 39, so those are not stored; build the "
        "index again when it has more."
    ]
    assert library.describe("few").vectors == {"prx": 39}
    caplog.clear()
    library.index("plain", some)
    assert not caplog.messages
    lacks = "has no clf and rgn vectors of its own, so only its prx vectors are stored"
    library.index("plain", some, formats=ALL)  # an index that is there
    assert caplog.messages == [
        "The index gets vectors for clf and rgn, with its papers' words beside the prx vectors, when it is built again "
        "with the formats prx,clf,rgn; until then, only its prx vectors are stored."
    ]
    caplog.clear()
    library_of(engine, models, tmp_path, model=str(models / "far")).index("far", some, formats=ALL)
    assert lacks in caplog.text


def test_a_format_with_a_model_of_its_own_has_no_words(tmp_path, models):
    (engine,) = emptied("embedded", tmp_path)
    library, own = library_of(engine, models, tmp_path), str(models / "own")
    library.index("papers", papers(COUNT), formats=ALL, own={"clf": own})
    schema = shown_schema(library)
    assert [(field.format, field.model) for field in schema.own] == [("clf", own)]
    assert [field.format for field in schema.worded] == ["rgn"]
    assert library.describe("papers").vectors == {"prx": COUNT, "clf": COUNT, "rgn": COUNT}
    library.rebuild("papers", own={"clf": "none"}, formats=ALL)
    assert [field.format for field in shown_schema(library).worded] == ["clf", "rgn"]


@pytest.mark.slow
def test_another_model_has_the_same_words_beside_its_own_vectors(tmp_path, models):
    (engine,) = emptied("embedded", tmp_path)
    library, some = library_of(engine, models, tmp_path), papers(COUNT)
    library.index("papers", some, formats=ALL)
    before = shown_schema(library)
    other = library_of(engine, models, tmp_path, model=str(models / "other"))
    other.rebuild("papers")
    assert shown_schema(other).words == before.words
    assert {one.fingerprint for one in before.worded}.isdisjoint(one.fingerprint for one in shown_schema(other).worded)
    assert_worded(other, models, some, some, model="other")


@pytest.mark.slow
def test_words_are_fitted_on_papers_drawn_from_all(tmp_path, models, monkeypatch):
    (engine,) = emptied("embedded", tmp_path)
    library, some = library_of(engine, models, tmp_path), papers(COUNT)
    monkeypatch.setattr(projecting, "SAMPLE", 44)
    for name in ("one", "two"):
        library.index(name, some, formats=ALL)
    assert shown_schema(library, "one").words == shown_schema(library, "two").words
    assert shown_schema(library, "one").words[0].numbers == 11
    assert held(library, "clf", "one").shape == (COUNT, WIDTH + 11)


@pytest.mark.slow
def test_shards_and_workers_give_the_same(tmp_path, models):
    (engine,) = emptied("embedded", tmp_path)
    path = write_jsonl(tmp_path / "some.jsonl", papers(COUNT))
    given = {"SES_MODEL": str(models / "model"), "SES_PRECISION": "fp32"}
    asked = ("--corpus", "jsonl", "--path", path)
    done = command(tmp_path, "encode", *asked, "--shards", tmp_path / "shards", **given)
    assert done.returncode == 0, done.stderr
    library = library_of(engine, models, tmp_path)
    for name, shards in (("plain", None), ("shards", tmp_path / "shards")):
        library.index(name, path, corpus="jsonl", formats=ALL, shards=shards)
    for task_format in ("clf", "rgn"):
        assert held(library, task_format, "plain") == pytest.approx(held(library, task_format, "shards"), abs=1e-5)


def test_a_run_that_is_stopped_or_killed_goes_on(tmp_path, models, monkeypatch):
    (engine,) = emptied("embedded", tmp_path)
    path = write_jsonl(tmp_path / "some.jsonl", papers(COUNT))
    library = library_of(engine, models, tmp_path, embedding_cache=False)

    class Stopping:
        def stage(self, name, total):
            if name == "fitting words":
                raise KeyboardInterrupt

        def advance(self, *_, **__):
            pass

    asked = {"corpus": "jsonl", "formats": ALL}
    with pytest.raises(StoppedError, match="nothing was written to the index papers yet"):
        library.index("papers", path, progress=Stopping(), **asked)
    with monkeypatch.context() as patched:
        patched.setattr(EmbeddedEngine, "publish", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            library.index("papers", path, **asked)
    report = library.index("papers", path, **asked)
    assert (report.generation, report.new, report.unchanged) == (1, 0, COUNT)


def test_the_schema_is_stored_with_them_and_as_before_without():
    words = WordSpace.fitted([f"{one.title} {one.abstract}" for one in papers(COUNT)], "english", [Format.RGN])
    plain = IndexSchema("tiny", "4567", (paper_vector("prx", 8, "cosine"),))
    schema = IndexSchema("tiny", "4567", plain.vectors, words=(words,))
    assert from_stored(to_stored(schema)) == schema
    assert "words" not in to_stored(plain)
    mark = words.fingerprint_after("4567")
    assert schema.worded == (OwnField("vector_rgn", "rgn", 8 + WORDS, "cosine", model="tiny", fingerprint=mark),)
    assert schema.vector("rgn") == schema.maker("rgn") == schema.worded[0]
    assert (schema.maker("prx"), schema.legs) == (schema, ("prx",))
    stored = to_stored(schema)
    stored["words"][0]["scales"] = ""
    with pytest.raises(ValueError, match="words of an index are damaged"):
        from_stored(stored)


def test_as_a_user_types_it(tmp_path, models):
    path = write_jsonl(tmp_path / "some.jsonl", papers(COUNT))
    asked = ("index", "--corpus", "jsonl", "--path", path, "--index", "papers", "--formats", "prx,clf,rgn")
    done = command(tmp_path, *asked, SES_MODEL=str(models / "model"))
    assert done.returncode == 0, done.stderr
    shown = command(tmp_path, "indexes", "show", "papers").stdout
    assert "  vectors: 60 for prx, 64 numbers each\n" in shown
    assert "  vectors: 60 for rgn, 79 numbers each, with the papers' words (" in shown
    facts = command(tmp_path, "indexes", "show", "papers", "--json").stdout
    assert '"directions"' not in facts
    assert '"terms"' not in facts
