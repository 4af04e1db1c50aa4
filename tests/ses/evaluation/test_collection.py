"""The papers of a collection, as its commands read them."""

from __future__ import annotations

from types import SimpleNamespace

from corpora.paper import Accepted, Deleted, Paper, Rejected
from ses.evaluation.collection import in_memory


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
