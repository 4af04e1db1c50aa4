"""The papers of a collection, as its commands read them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from corpora.paper import Accepted, Deleted, Paper, Rejected
from eval.retrieval import irds
from eval.retrieval.beir import BeirFolder
from ses import papers as paper_module
from ses.evaluation.collection import beir_collection, in_memory, topics_collection
from ses.settings import Settings
from tests.tiny import write_jsonl

TOPICS = """<topics><topic number="1"><query>masks</query><question>Do masks help?</question></topic>
<topic number="2"><query>lungs</query><question>Are lungs hurt?</question></topic></topics>"""


def test_a_data_set_of_ir_datasets_is_kept_in_the_data_folder(tmp_path, monkeypatch):
    folder = tmp_path / "irds/made"
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl").write_text('{"_id": "a", "title": "A", "text": "x"}\n')
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "x"}\n')
    (folder / "qrels/judged.tsv").write_text("query-id\tcorpus-id\tscore\nq\ta\t1\n")
    asked = []
    monkeypatch.setattr(irds, "irds_folder", lambda name, place: asked.append((name, place)) or BeirFolder(folder))
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
