"""The papers of a collection, as its commands read them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from corpora.errors import InputError
from corpora.paper import Accepted, Deleted, Paper, Rejected
from encoders.registry import find_model
from eval.retrieval import beir
from eval.retrieval.beir import BeirFolder, JudgedQueries
from eval.retrieval.protocol import make_protocol
from eval.trec.judgments import Qrels
from search_plugin.contract.engine import EVALUATION
from ses import papers as paper_module
from ses.evaluation.collection import beir_collection, in_memory, index_collection, topics_collection
from ses.evaluation.retrieval import evaluate_collection, make_runs_folder
from ses.models import loaded_model
from ses.settings import Settings
from tests.beir_folders import write_beir
from tests.tiny import make_model, write_jsonl

TOPICS = """<topics><topic number="1"><query>masks</query><question>Do masks help?</question></topic>
<topic number="2"><query>lungs</query><question>Are lungs hurt?</question></topic></topics>"""


def test_a_data_set_of_ir_datasets_is_kept_in_the_data_folder(tmp_path, monkeypatch):
    folder = write_beir(tmp_path / "irds/made", [Paper("a", "A", "x")], {"q": "x"}, judged={"q": {"a": 1}})
    asked = []
    monkeypatch.setattr(beir, "irds_folder", lambda name, place: asked.append((name, place)) or BeirFolder(folder))
    collection = beir_collection("irds:made", "dev", Settings(data_dir=tmp_path))
    assert asked == [("made", tmp_path / "irds")]
    assert collection.facts == {"data": "irds:made", "split": "judged"}


def test_topics_are_read_by_the_fields_asked_for_and_papers_found_where_they_are_kept(tmp_path, monkeypatch):
    (tmp_path / "topics.xml").write_text(TOPICS)
    (tmp_path / "qrels").write_text("1 0 a 1\n")
    write_jsonl(tmp_path / "papers.jsonl", [Paper("a", "A")])
    found = []
    monkeypatch.setattr(
        paper_module, "located", lambda reader, place: found.append((reader.name, place)) or tmp_path / "papers.jsonl"
    )

    def collect(**options):
        topics, qrels = tmp_path / "topics.xml", tmp_path / "qrels"
        return topics_collection(topics, qrels, "jsonl", Settings(data_dir=tmp_path), **options)

    collection = collect()
    assert found == [("jsonl", tmp_path)]
    assert (collection.name, collection.unjudged) == ("jsonl-papers.jsonl", 1)
    assert collection.judged.texts == {"1": "Do masks help?"}
    assert collect(fields=["query"], paths=[Path(tmp_path / "other.jsonl")]).judged.texts == {"1": "masks"}
    assert len(found) == 1


def small_beir(folder):
    judged = {"q": {"a": 1}, "r": {"a": 1}}
    return str(write_beir(folder, [Paper("a", "virus", "lung")], {"q": "x", "r": "lung"}, test=judged))


def test_the_folder_of_runs_is_made_with_those_above_it_if_its_files_can_hold_all_ids(tmp_path):
    judged = beir_collection(small_beir(tmp_path / "beir"), "test", Settings(data_dir=tmp_path)).judged
    for _ in range(2):
        make_runs_folder(tmp_path / "one" / "two", judged)
    assert (tmp_path / "one" / "two").is_dir()
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"can't be made \(.*\); give another as run"):
        make_runs_folder(tmp_path / "file" / "runs", judged)
    for texts, gains in (({"q 1": "x"}, {"q": {"a": 1}}), ({"q": "x"}, {"q": {"a b": 1}})):
        with pytest.raises(InputError, match="holds a blank"):
            make_runs_folder(tmp_path / "three", JudgedQueries(texts, Qrels(gains), ()))
    assert not (tmp_path / "three").exists()


def test_the_model_is_loaded_once_for_indexing_queries_and_exact_search(tmp_path, monkeypatch):
    loaded = []
    make = loaded_model.make_encoder
    monkeypatch.setattr(loaded_model, "make_encoder", lambda *given: loaded.append(1) or make(*given))
    model = str(make_model(tmp_path / "model"))
    settings = Settings(data_dir=tmp_path / "data", cache_dir=tmp_path / "cache", model=model)
    collection = beir_collection(small_beir(tmp_path / "beir"), "test", settings)
    indexed = index_collection(collection, settings)
    found = evaluate_collection(collection, make_protocol(modes=("vector",)), settings, indexed, exact=True)
    assert (found.systems, len(loaded)) == (("vector", "exact"), 1)


@pytest.mark.parametrize(
    ("folder", "plain"),
    [("Sci Fact_2", "sci-fact-2"), ("Ä--ä", "data"), ("-é9-", "9"), ("x" * 60, "x" * 40), ("NFCorpus", "nfcorpus")],
)
def test_the_index_of_a_collection_is_named_after_it_and_its_model(tmp_path, folder, plain):
    model = make_model(tmp_path / "model")
    settings = Settings(data_dir=tmp_path / "data", cache_dir=tmp_path / "cache", model=str(model))
    made = index_collection(beir_collection(small_beir(tmp_path / folder), "test", settings), settings)
    fingerprint = find_model(str(model)).card.fingerprint[:8]
    assert made.index.name == f"{EVALUATION}{plain}-{fingerprint}"
    assert (list(made.index.ids()), made.counts) == (["a"], {"documents_rejected": 0, "documents_duplicated": 0})


def test_papers_in_memory_are_the_last_of_their_ids_that_are_not_deleted():
    papers = [Paper("a", "A"), Paper("b", "B"), Paper("a", "again"), Paper("c", "C")]
    records = [
        *(Accepted(n, paper) for n, paper in enumerate(papers)),
        Deleted(5, "b"),
        Rejected(6, "No."),
        Deleted(7, "z"),
    ]
    texts, counts = in_memory(SimpleNamespace(records=lambda: iter(records)))
    assert [(text.id, text.title) for text in texts] == [("a", "again"), ("c", "C")]
    assert counts == {"documents_rejected": 1, "documents_duplicated": 2}


def test_papers_of_several_places_are_one_collection(tmp_path):
    (tmp_path / "topics.xml").write_text(TOPICS)
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 b 1\n")
    places = [write_jsonl(tmp_path / f"{name}.jsonl", [Paper(name, name)]) for name in "ab"]
    (tmp_path / "b.jsonl").write_text((tmp_path / "b.jsonl").read_text() + '{"id": "no title"}\n')
    model = str(make_model(tmp_path / "model"))
    settings = Settings(data_dir=tmp_path / "data", cache_dir=tmp_path / "cache", model=model)
    made = topics_collection(tmp_path / "topics.xml", tmp_path / "qrels", "jsonl", settings, paths=places)
    assert made.files == (*places, tmp_path / "topics.xml", tmp_path / "qrels")
    assert (made.name, made.unjudged, made.facts["rounds"]) == ("jsonl-a.jsonl", 0, "all")
    stages = []
    progress = SimpleNamespace(stage=lambda *given: stages.append(given), advance=lambda *_, **__: None)
    indexed = index_collection(made, settings, progress)
    assert ("indexing", 2) in stages
    assert sorted(indexed.index.ids()) == ["a", "b"]
    assert indexed.counts == {"documents_rejected": 1, "documents_duplicated": 0}
