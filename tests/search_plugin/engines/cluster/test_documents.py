"""Papers as documents: whole, unchanged, and refused where they can't be told to a cluster."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from corpora.errors import InputError, UnavailableError
from corpora.paper import Paper
from search_plugin.contract.engine import Document
from search_plugin.contract.legs import title_key
from search_plugin.contract.schema import Field, IndexSchema, paper_vector
from search_plugin.engines.cluster.documents import batches, deletions, document_id, id_of, paper_of, updates

SCHEMA = IndexSchema("m", "f", (paper_vector("prx", 4, "l2"),)).with_fields(
    [Field("shelf", "keyword"), Field("labels", "keywords", origin="tag"), Field("impact", "number", origin="forecast")]
)
ROOMY = 1 << 20

texts = st.text(st.characters(exclude_categories=["Cs"]))  # NUL and all planes, no halves of characters
lists = st.lists(texts).map(tuple)
papers = st.builds(
    Paper,
    id=texts.filter(bool),
    title=texts,
    abstract=texts,
    authors=lists,
    year=st.none() | st.integers(-(2**31), 2**31 - 1),
    venue=texts,
    types=lists,
    language=texts,
    fields=lists,
    identifiers=lists,
    references=lists,
    url=texts,
    retracted=st.booleans(),
    origins=lists,
    extra=st.fixed_dictionaries(
        {},
        optional={
            "shelf": texts.filter(bool),
            "labels": lists.filter(bool),
            "impact": st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: not number.is_integer()),
        },
    ),
)
vectors = arrays.arrays(np.float32, 4, elements=st.floats(width=32, allow_nan=False, allow_infinity=False))


def document(paper, vector=(0, 0, 0, 1)):
    return Document(paper, "hash", {"prx": np.asarray(vector, np.float32)})


def rendered(documents, limit=ROOMY):
    refused = []
    return list(batches(documents, SCHEMA, limit, refused)), refused


@given(paper=papers, vector=vectors)
def test_a_paper_comes_back_as_it_was(paper, vector):
    ((ids, (action, source)),), refused = rendered([document(paper, vector)])
    # By another parser than the one that wrote it, and as lines: one each.
    held = json.loads(source)
    assert refused == []
    assert b"\n" not in action + source
    assert ids == (paper.id,)
    assert json.loads(action) == {"index": {"_id": document_id(paper.id)}}
    assert paper_of(held, SCHEMA) == paper
    assert np.asarray(held["vector_prx"], np.float32).tobytes() == vector.tobytes()
    assert "" not in held.values()
    assert [] not in held.values()
    assert None not in held.values()
    assert held.get("retracted", True) is True
    assert held["content_hash"] == "hash"
    assert held.get("title_order", "") == title_key(paper.title)


def test_empty_strings_stay_in_lists_only():
    ((_, (_, source)),), _ = rendered([document(Paper("1", "t", authors=("", "a"), venue=""))])
    assert json.loads(source)["authors"] == ["", "a"]
    assert "venue" not in json.loads(source)


@pytest.mark.parametrize(
    "paper",
    [
        Paper("1", "half \ud800"),
        Paper("\udfff", "t"),
        Paper("\ud800" * 600, "t"),
        Paper("1", "t", authors=("\udc00",)),
        Paper("1", "t", year=2**70),
    ],
)
def test_what_json_cannot_hold_is_refused_and_the_rest_written(paper):
    good = Paper("good", "t")
    made, refused = rendered([document(paper), document(good)])
    assert [batch.ids for batch in made] == [("good",)]
    assert [(refusal.id, refusal.reason[:27]) for refusal in refused] == [(paper.id, "It can't be written as JSON")]


def test_ids_too_long_for_a_cluster_are_hashed():
    assert document_id("a" * 512) == "a" * 512
    assert document_id("é" * 256) == "é" * 256
    long = {document_id(text) for text in ("a" * 513, "a" * 514, "é" * 257)}
    assert len(long) == 3
    assert {len(id_) for id_ in long} == {64}
    assert orjson.loads(deletions(["a" * 513]).lines[0])["delete"]["_id"] == document_id("a" * 513)


def test_deletions_and_updates_have_the_form_of_the_bulk_api():
    given = updates({"a": {"year": 2020, "venue": None}, "b": {}})
    assert [orjson.loads(line) for line in given.lines] == [
        {"update": {"_id": "a"}},
        {"doc": {"year": 2020, "venue": None}},
        {"update": {"_id": "b"}},
        {"doc": {}},
    ]
    gone = deletions(["b", "a"])
    assert [orjson.loads(line) for line in gone.lines] == [{"delete": {"_id": "b"}}, {"delete": {"_id": "a"}}]
    assert (given.ids, gone.ids) == (("a", "b"), ("b", "a"))


def test_batches_are_cut_by_bytes_and_keep_the_order():
    documents = [document(Paper(f"p{number}", "t" * number)) for number in range(50)]
    made, _ = rendered(documents, limit=1000)
    assert [id_ for batch in made for id_ in batch.ids] == [given.paper.id for given in documents]
    sizes = [[len(line) for line in batch.lines[1::2]] for batch in made]
    assert len(made) > 2
    assert all(sum(size) >= 1000 > sum(size[:-1]) for size in sizes[:-1])
    assert rendered([]) == ([], [])


def test_a_vector_of_another_length_is_an_error():
    with pytest.raises(InputError, match="gives vectors of 3 numbers and the index holds 4; index again with fresh"):
        rendered([document(Paper("1", "t"), (1, 2, 3))])


@pytest.mark.parametrize(
    "source",
    [
        {},
        {"title": "t"},
        {"id": 3},
        {"id": "x", "authors": "one"},
        {"id": "x", "year": "2001"},
        {"id": "x", "retracted": "no"},
        {"id": "x", "url": []},
    ],
)
def test_documents_of_others_are_told(source):
    with pytest.raises(UnavailableError, match=r"a document.* that ses did not write, or not whole; delete it, or"):
        paper_of(source, SCHEMA)
    with pytest.raises(UnavailableError, match="a document abc that ses did not write"):
        id_of({"_id": "abc"})
    assert paper_of({"id": "x", "more": 1}, SCHEMA) == replace(Paper("x", ""))
