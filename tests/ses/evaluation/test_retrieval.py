"""What an evaluation tells of its data, index, model and options, and how tuned settings take part."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from encoders.registry import find_model
from eval.retrieval.protocol import make_protocol
from search_plugin.contract.schema import Bm25
from search_plugin.engines import registry
from search_plugin.fusion.search_settings import SearchSettings
from ses.evaluation.collection import beir_collection, index_collection
from ses.evaluation.retrieval import TIMES, evaluate_collection, evaluate_index, judged_of, protocol_of, seconds_of
from ses.models import loaded_model
from ses.settings import Settings
from tests.beir_folders import write_beir
from tests.tiny import make_model


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Three papers of which one comes twice, a line that is none, and two queries; one judged paper is not there."""
    folder = tmp_path_factory.mktemp("home")
    rows = [{"_id": id_, "title": f"virus {id_}", "text": "lung cell"} for id_ in "abca"] + [{"_id": "d"}]
    judged = {"q": {"b": 1}, "r": {"gone": 1}, "s": {"a": 1}}
    write_beir(folder / "beir", rows, {"q": "virus b", "r": "lung " * 2_500}, test=judged)
    model = str(make_model(folder / "model"))
    settings = Settings(data_dir=folder / "data", cache_dir=folder / "cache", model=model)
    collection = beir_collection(str(folder / "beir"), "test", settings)
    return folder, settings, replace(collection, unjudged=4), index_collection(collection, settings)


LEFT_OUT = {
    "documents_rejected": 1,
    "documents_duplicated": 1,
    "judged_documents_absent": 1,
    "topics_without_judgments": 4,
    "queries_without_text": 1,
    "queries_shortened": 1,
}


def report_of(evaluation, folder):
    evaluation.write_report(folder / "r.json", seconds=dict.fromkeys(evaluation.systems, 0.5))
    return json.loads((folder / "r.json").read_text())


def test_an_evaluation_says_what_it_was_made_of(home, tmp_path):
    folder, settings, collection, indexed = home
    options = {"literal": True, "weights": None, "title_boost": 0.5}
    protocol = make_protocol(modes=("lexical", "vector"), options=options)
    found = evaluate_collection(collection, protocol, settings, indexed, exact=True)
    assert found.systems == ("lexical", "vector", "exact")
    assert found.left_out == LEFT_OUT
    card = find_model(settings.model).card
    told = {"literal": "yes", "title_boost": "0.5"}
    asked = {"data": str(folder / "beir"), "split": "test"}
    assert found.facts == {**asked, **told, "index": indexed.index.name, "model": card.name}
    assert found.texts == collection.judged.texts
    assert found.results.heading == "mode"
    report = report_of(found, tmp_path)
    made = report["provenance"]
    assert set(made["data"]) == {str(path) for path in collection.files}
    assert made["models"] == {card.name: card.fingerprint}
    assert (made["engine"].partition(" ")[0], made["runtime"]) == ("tantivy", indexed.load().runtime)
    left = {what: str(count) for what, count in LEFT_OUT.items()}
    assert made["settings"] == {**asked, **told, "fusion": "minmax", "times": TIMES, **left}
    assert report["seconds"] == {"lexical": 0.5, "vector": 0.5, "exact": 0.5}


def test_vectors_are_ranked_in_memory_without_an_index(home, tmp_path):
    _, settings, collection, _ = home
    found = evaluate_collection(collection, make_protocol(), settings, exact=True)
    assert (found.systems, found.left_out, found.facts["index"]) == (("exact",), LEFT_OUT, None)
    made = report_of(found, tmp_path)["provenance"]
    assert not made["engine"]
    assert made["runtime"]


def test_searches_by_words_load_no_model(home, monkeypatch):
    _, settings, collection, indexed = home
    monkeypatch.setattr(loaded_model, "make_encoder", lambda *_: pytest.fail("words need no model"))
    found = evaluate_collection(collection, make_protocol(modes=("lexical",)), settings, indexed)
    assert found.left_out == LEFT_OUT
    times = seconds_of(collection, make_protocol(modes=("lexical",)), settings, indexed.index)
    assert list(times) == ["lexical"]
    assert times["lexical"] > 0


def test_an_index_of_ones_own_is_told_too(home, tmp_path):
    folder, settings, collection, indexed = home
    judged, files = judged_of(folder / "beir", "test", None, None)
    assert (judged, files) == (collection.judged, collection.files)
    found = evaluate_index(indexed.index, indexed.models, judged, make_protocol(modes=("hybrid",)), files)
    card = find_model(settings.model).card
    assert found.facts == {"index": indexed.index.name, "model": card.name}
    assert found.left_out == {"judged_documents_absent": 1, "queries_without_text": 1, "queries_shortened": 1}
    made = report_of(found, tmp_path)["provenance"]
    assert (made["settings"], made["models"]) == ({"index": indexed.index.name}, {card.name: card.fingerprint})
    assert set(made["data"]) == {str(path) for path in files}
    given, none = judged_of("", "test", {"q": "virus"}, {"q": {"a": 1}})
    assert (given.texts, given.qrels.gains, none) == ({"q": "virus"}, {"q": {"a": 1}}, ())


def test_tuned_settings_name_the_fusion_unless_others_are_named(home):
    index = home[3].index
    tuned = SearchSettings("rrf", {"lexical": 0.2, "prx": 0.8}, 20, title_boost=1.0, bm25=Bm25(2.0, 0.1))
    synonyms = object()
    plain = protocol_of(index, None, synonyms, {"literal": True}, modes=("hybrid",))
    assert plain == make_protocol(options={"synonyms": synonyms, "literal": True}, modes=("hybrid",))
    made = protocol_of(index, tuned, synonyms)
    # A search can't change the constants of BM25.
    assert (made.tuned, made.fusions) == (replace(tuned, bm25=index.schema.bm25), (tuned.name,))
    assert protocol_of(index, tuned, synonyms, fusions=("zscore",)).fusions == ("zscore",)


def test_an_engine_is_asked_with_the_connection_of_the_settings(home, monkeypatch):
    _, settings, collection, _ = home
    asked, connect = [], registry.connect
    monkeypatch.setattr(registry, "connect", lambda *given: asked.append(given) or connect(*given))
    own = replace(settings, engine_timeout=7.0)
    indexed = index_collection(collection, own)
    evaluate_collection(collection, make_protocol(modes=("lexical",)), own, indexed).provenance()
    assert asked == [(own.engine_url, own.connection)] * len(asked)
    assert len(asked) >= 2
