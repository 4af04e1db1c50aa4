"""Attaching an index of others, following its changes and detaching it, each request whole, without a server."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from corpora.errors import InputError, NotFoundError, UnavailableError
from search_plugin.contract.schema import IndexSchema, paper_vector
from search_plugin.engines.cluster.attached.attachment import NAMESPACE
from search_plugin.engines.cluster.attached.engine import (
    AttachingEngine,
    Wanted,
    check_readable,
    own_properties,
    why_beside,
)
from search_plugin.engines.cluster.attached.vectors import NamedVectors
from search_plugin.engines.cluster.attached.writing import _alias
from search_plugin.engines.cluster.changes import Reached
from search_plugin.engines.cluster.dialects import dialect_of
from search_plugin.engines.cluster.product import Product
from tests.search_plugin.engines.cluster.conversations import BESIDE, INSIDE, attachment, found, unlocked
from tests.search_plugin.engines.cluster.test_joining import SHARDS, error

PRODUCT = Product("opensearch", "3.6.0", (3, 6))
DIALECT = dialect_of(PRODUCT)
SCHEMA = IndexSchema("tiny", "f", (paper_vector("prx", 3, "cosine"),))
KEPT = "GET /ses.attached.catalogue.v*"
STORE = "/ses.attached.catalogue.v1"
OWN = {"hash": {"type": "keyword", "index": False}}


engine_with = partial(unlocked, AttachingEngine)


def kept(*attachments):
    return {
        f"ses.attached.{one.name}.v1": {"mappings": {"_meta": one.facts(), "properties": {}}} for one in attachments
    }


def described(own=None, **settings):
    properties = {"headline": {"type": "text"}, **({NAMESPACE: {"properties": own}} if own is not None else {})}
    return {
        "aliases": {"shelves": {}},
        "mappings": {"properties": properties},
        "settings": {"index.knn": "true", **settings},
    }


PLUGINS = [{"component": name} for name in ("opensearch-knn", "opensearch-neural-search")]
TEXTS = ("headline", "summary")
NAME = {"properties": {"name": {"type": "keyword", "fields": {"exact": {"type": "keyword"}}}}}
REST = {
    "issued": {"type": "date"},
    "journal": {"type": "keyword", "fields": {"exact": {"type": "keyword"}}},
    "people": {"type": "nested", **NAME},
    "doi_s": {"type": "keyword"},
    "shelf": {"type": "long"},
}
WANTED = Wanted("catalogue", "shelves", {"title": "headline"})
VECTORS = {"prx_f": DIALECT.vector(replace(SCHEMA.vectors[0], name="ses.prx_f"), "none")}


SHELF = {"shelf-a": described()}


def test_an_index_gets_a_field_for_vectors_and_what_is_kept_of_it():
    engine = engine_with({}, {}, SHELF, SHELF, {}, {}, PLUGINS, {}, SHELF, {})
    made = engine.attach(WANTED, SCHEMA)
    assert (made.beside, made.indexes, made.schema.vectors[0].name) == ("", ("shelf-a",), "ses.prx_f")
    assert engine.cluster.requests == [
        KEPT, "GET /ses.catalogue.v*", *["GET /shelves"] * 2, "GET /ses.attached.*.v*", "PUT /shelves/_mapping",
        "GET /_cat/plugins", f"PUT {STORE}?timeout=1s", "GET /shelves", "GET /ses.attached.*.v*",
    ]  # fmt: skip
    assert engine.cluster.asked[2] == ("GET /shelves", None, {"flat_settings": True})
    assert engine.cluster.asked[5][1] == {"properties": {"ses": {"properties": {**OWN, **VECTORS}}}}
    body = engine.cluster.asked[7][1]
    assert body["settings"] == {"index": {"number_of_shards": 1, "auto_expand_replicas": "0-1"}}
    assert body["mappings"] == {"dynamic": "strict", "_meta": made.facts()}
    assert "PUT /shelves/_mapping" not in engine.cluster.hasty


@pytest.mark.parametrize(
    ("wanted", "mapped", "why"),
    [
        (replace(WANTED, beside=True), (), "you asked for it"),
        (WANTED, (error(400, "illegal_argument_exception", "Limit of total fields"),), "Limit of total fields"),
        (WANTED, (error(403, "security_exception", "no rights"),), "no rights"),
    ],
)  # fmt: skip
def test_vectors_may_be_beside_the_documents(wanted, mapped, why):
    own = [{"shelf-a": described()}, {}, *mapped] if mapped else []
    engine = engine_with({}, {}, {"shelf-a": described()}, *own, PLUGINS, {}, {"shelf-a": described()}, {})
    made = engine.attach(wanted, SCHEMA)
    assert why in made.beside
    assert not made.beside.endswith(".")
    body = next(body for request, body, _ in engine.cluster.asked if request == f"PUT {STORE}?timeout=1s")
    assert body["mappings"]["properties"]["vector_prx"]["type"] == "knn_vector"
    assert body["mappings"]["_meta"] == made.facts()


def test_other_failures_of_the_mapping_are_told_and_nothing_is_kept():
    engine = engine_with({}, {}, {"a": described()}, {"a": described()}, {}, error(500, "x", "broken"))
    with pytest.raises(UnavailableError, match="broken"):
        engine.attach(WANTED, SCHEMA)
    assert engine.cluster.requests[-1] == "PUT /shelves/_mapping"


def test_of_two_runs_at_the_same_time_one_attaches():
    other = replace(attachment(), name="other")
    shelf = {"shelf-a": described()}
    engine = engine_with({}, {}, shelf, shelf, {}, {}, PLUGINS, {}, shelf, kept(other), {})
    with pytest.raises(InputError, match=r"The documents of shelf-a are attached as other already \(by shelves\)"):
        engine.attach(WANTED, SCHEMA)
    assert engine.cluster.requests[-1] == f"DELETE {STORE}"


BEFORE = attachment(indexes=("shelf-a",))


@pytest.mark.parametrize(
    ("before", "wanted", "schema", "told"),
    [
        (BEFORE, replace(WANTED, target="others"), SCHEMA, "catalogue is attached to shelves; choose another name"),
        (BEFORE, WANTED, replace(SCHEMA, vectors=()), "is attached with vectors of ses; detach it first"),
        (attachment(schema=replace(INSIDE, vectors=())), WANTED, SCHEMA, "is attached without vectors of ses"),
        (BEFORE, WANTED, replace(SCHEMA, fingerprint="g"), "is attached with the model tiny; detach it first, or give"),
        (BEFORE, WANTED, replace(SCHEMA, quantization="int8"), "with the quantization none; detach it first, or leave"),
        (BEFORE, replace(WANTED, beside=True), SCHEMA, "The documents of shelves hold the vectors already"),
    ],
)  # fmt: skip
def test_what_is_attached_otherwise_is_told(before, wanted, schema, told):
    with pytest.raises(InputError, match=told):
        engine_with(kept(before)).attach(wanted, schema)


def test_an_attachment_keeps_its_moment_and_where_its_vectors_are():
    shelf = {"shelf-b": described(OWN)}
    engine = engine_with(kept(BEFORE), shelf, shelf, {}, {}, {})
    again = engine.attach(WANTED, SCHEMA)
    assert (again.attached_at, again.indexes) == (7.5, ("shelf-a", "shelf-b"))
    assert engine.cluster.requests[-2:] == ["PUT /shelves/_mapping", f"PUT {STORE}/_mapping"]
    assert engine.cluster.asked[-1][1] == {"_meta": again.facts(), "properties": {}}
    beside = attachment(beside="so", schema=BESIDE)
    engine = engine_with(kept(beside), shelf, {})
    again = engine.attach(replace(WANTED, fields={"title": "headline"}), SCHEMA)
    assert (again.beside, engine.cluster.requests[-1]) == ("so", f"PUT {STORE}/_mapping")
    with pytest.raises(InputError, match="There is an index catalogue of ses already; choose another name"):
        engine_with({}, {"ses.catalogue.v1": {}}).attach(WANTED, SCHEMA)


def test_attachments_are_found_by_name():
    assert engine_with(kept(BEFORE)).attached("catalogue") == BEFORE
    for there, hint in (({}, "attach one first"), (kept(BEFORE), "choose one of catalogue")):
        with pytest.raises(NotFoundError, match=f"No index 'x' of http://cluster:9200 is attached; {hint}"):
            engine_with({}, there).attached("x")
    with pytest.raises(NotFoundError, match="http://cluster:9200 has no index shelves; check its name"):
        engine_with(error(404, "index_not_found_exception", "no such index")).found(WANTED)
    found_ = engine_with({"shelf-a": described()}).found(WANTED)
    assert (found_.schema.model, found_.schema.vectors, found_.field_mappings[0].path) == ("", (), "headline")
    shelf = {"shelf-a": described()}
    shelf["shelf-a"]["mappings"]["properties"]["emb"] = {"type": "knn_vector", "dimension": 3}
    named = NamedVectors("emb", "theirs", "g", 3, "cosine")
    found_ = engine_with(shelf).found(replace(WANTED, vectors=(named,)))
    assert (found_.schema.model, found_.schema.fingerprint, found_.foreign[0].name) == ("theirs", "g", "emb")


def test_indexes_that_have_come_behind_the_alias_get_the_field_unless_others_write_into_them():
    whole = {**described(OWN), "mappings": {"properties": {name: {"type": "text"} for name in TEXTS}}}
    whole["mappings"]["properties"] |= REST
    engine = engine_with({"shelf-b": whole}, {}, {}, {})
    engine.renew(BEFORE)
    asked = ["GET /shelves", "GET /ses.attached.*.v*", "PUT /shelves/_mapping", f"PUT {STORE}/_mapping"]
    assert engine.cluster.requests == asked
    assert engine.cluster.hasty == asked[:2]
    assert engine.cluster.asked[-1][1]["_meta"]["ses"]["attached"]["indexes"] == ("shelf-a", "shelf-b")
    other = replace(BEFORE, name="other")
    with pytest.raises(InputError, match="take that index out of shelves, or detach other"):
        engine_with({"shelf-b": whole}, kept(other)).renew(BEFORE)
    with pytest.raises(UnavailableError, match="has no index shelves any more, to which catalogue is attached"):
        engine_with(error(404, "index_not_found_exception", "no such index")).renew(BEFORE)
    with pytest.raises(InputError, match="shelves was changed by its owner: its field headline is gone"):
        engine_with({"shelf-b": {}}, {}).renew(BEFORE)
    beside = engine_with({"shelf-b": whole}, {})
    beside.renew(attachment(beside="so"))
    assert beside.cluster.requests == asked[:2]


def reached(**numbers):
    return {
        "indices": {
            name: {
                "uuid": f"uuid of {name}",
                "shards": {
                    str(at): [
                        {"routing": {"primary": True}, "seq_no": {"max_seq_no": number}},
                        {"routing": {"primary": False}, "seq_no": {"max_seq_no": 99}},
                    ]
                    for at, number in enumerate(of)
                },
            }
            for name, of in numbers.items()
        }
    }


def test_how_far_the_changes_have_come_is_asked_before_they_are_made_visible():
    engine = engine_with(reached(a=[5, 3], b=[7]))
    assert engine.reached(BEFORE) == {"a": Reached("uuid of a", 3, 8), "b": Reached("uuid of b", 7, 7)}
    assert engine.cluster.asked == [
        ("GET /shelves/_stats/docs", None, {"level": "shards"}), ("POST /shelves/_refresh", None, {})
    ]  # fmt: skip
    assert engine_with(error(403, "x", "no rights")).reached(BEFORE) == {}
    assert engine_with().reached(attachment(beside="so")) == {}


def test_documents_that_may_have_changed_are_those_with_later_numbers_or_without_vectors():
    now = {"a": Reached("uuid of a", 3, 8), "b": Reached("uuid of b", 7, 7)}
    seen = replace(BEFORE, seen={"uuid of a": 2})
    marks = [{"exists": {"field": "ses.hash"}}, {"exists": {"field": "ses.prx_f"}}]

    def since(name, number):
        return {"bool": {"filter": [{"term": {"_index": name}}, {"range": {"_seq_no": {"gt": number}}}]}}

    assert engine_with().changed(seen, now) == {
        "bool": {
            "should": [{"bool": {"must_not": [{"bool": {"filter": marks}}]}}, since("a", 2), since("b", -1)],
            "minimum_should_match": 1,
        }
    }
    assert engine_with().changed(BEFORE, now) is None
    assert engine_with().changed(replace(BEFORE, seen={"other": 2}), now) is None


def counted(number):
    return {"count": number, "_shards": SHARDS}


@pytest.mark.parametrize(
    ("after", "written", "seen"),
    [
        (reached(a=[9, 7]), 8, 7),  # ses alone has written
        (reached(a=[9, 7]), 7, 3),
        (reached(a=[9, 7], b=[0]), 8, 3),
    ],
)
def test_how_far_documents_were_read_is_noted(after, written, seen):
    before = {"a": Reached("uuid of a", 3, 8)}
    engine = engine_with(kept(BEFORE), counted(9), counted(7), after, {})
    engine.note_read("catalogue", before, written, 2)
    request, body, _ = engine.cluster.asked[-1]
    assert request == f"PUT {STORE}/_mapping"
    assert body["_meta"]["ses"]["attached"]["seen"] == {"uuid of a": seen}
    for there, rejected in (({}, 2), (before, 1)):
        engine = engine_with(kept(BEFORE), counted(9), counted(7))
        engine.note_read("catalogue", there, written, rejected)
        assert engine.cluster.requests[-1] != request


def scrolled(*ids):
    hits = [{"_index": "shelf-a", "_id": id_} for id_ in ids]
    return {**found(*hits), "_scroll_id": "s"}, {**found(), "_scroll_id": "s"}, {}


def test_detaching_restores_each_document_and_forgets():
    held = {"shelf-a": described(OWN), "shelf-b": described()}
    mapped = {"shelf-a": {"mappings": {"properties": {NAMESPACE: {}}}}}
    taken = {"items": [{"update": {"status": 200, "result": "updated"}}] * 2}
    aliases = {"shelf-a": {"aliases": {_alias("catalogue", "shelf-a"): {}}}}
    gone = error(404, "index_not_found_exception", "no such index")
    engine = engine_with(
        kept(replace(BEFORE, indexes=("old",))), held, counted(2), gone, {}, {}, {}, mapped, counted(2),
        *scrolled("a", "b"), mapped, {}, mapped, taken, counted(0), aliases, {}, {},
    )  # fmt: skip
    begun, done = [], []
    detached = engine.detach("catalogue", begun.append, done.append)
    assert (detached.name, detached.target, detached.restored) == ("catalogue", "shelves", 2)
    assert (detached.left, detached.shared, begun, done) == (("shelf-a",), (), [2], [2])
    assert engine.cluster.requests[-1] == f"DELETE {STORE}"
    assert engine.cluster.requests[1:4] == ["GET /shelves", "GET /shelves/_count", "GET /old"]


def test_documents_of_another_attachment_are_left_as_they_are():
    other = replace(attachment(), name="other")
    engine = engine_with(kept(BEFORE), {"shelf-a": described(OWN)}, counted(2), {}, kept(BEFORE, other), {}, {})
    detached = engine.detach("catalogue", pytest.fail, pytest.fail)
    assert (detached.restored, detached.left, detached.shared) == (0, (), ("other",))


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        (described(), ""),
        (described(OWN), ""),
        ({**described(), "data_stream": "s"}, "the index i is a part of a data stream, whose documents"),
        (described(**{"index.knn": "false"}), "the index i was made without index.knn"),
        (described(**{"index.blocks.write": "true"}), "the index i is read-only (index.blocks.write)"),
        (described(**{"index.blocks.read_only": "true"}), "is read-only (index.blocks.read_only)"),
        (described(**{"index.blocks.metadata": "true"}), "is read-only (index.blocks.metadata)"),
        (described(**{"index.mode": "logsdb"}), "does not keep its documents as they were written (logsdb)"),
        (described(**{"index.mapping.source.mode": "synthetic"}), "as they were written (synthetic)"),
        (described(**{"index.mapping.source.mode": "stored", "index.mode": "standard"}), ""),
        (described({"hash": {"type": "text"}}), "the index i has a copy of the field ses of another index"),
        (described({"other": {}}), "the index i has a field ses of its own"),
    ],
)
def test_why_vectors_are_beside_the_documents(facts, why):
    told = why_beside({"i": facts}, DIALECT)
    assert why in told
    assert bool(told) == bool(why)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ({"includes": ["a"]}, "keeps some fields out of _source, and they would be lost by an update"),
        ({"excludes": ["a"]}, "keeps some fields out of _source"),
        ({"mode": "synthetic"}, "does not keep its documents as they were written (synthetic)"),
        ({"mode": "stored"}, ""),
        ({"enabled": True}, ""),
    ],
)
def test_documents_that_are_not_kept_whole_hold_no_vectors(source, why):
    facts = described()
    facts["mappings"]["_source"] = source
    assert why in why_beside({"i": facts}, DIALECT)
    assert bool(why_beside({"i": facts}, DIALECT)) == bool(why)
    check_readable({"i": facts}, "shelves")


def test_documents_that_can_not_be_read_are_told():
    with pytest.raises(InputError, match="shelves is an index of ses already; search it as it is"):
        check_readable({"ses.papers.v1": {}}, "shelves")
    with pytest.raises(InputError, match="The index i does not keep its documents"):
        check_readable({"i": {"mappings": {"_source": {"enabled": False}}}}, "shelves")


def test_a_field_is_of_one_model_and_quantization():
    quantized = replace(SCHEMA, quantization="int8")
    engine = engine_with({}, {}, {"a": described()}, {"a": described()}, {}, {}, PLUGINS, {}, {"a": described()}, {})
    assert engine.attach(WANTED, quantized).schema.vectors[0].name == "ses.prx_f_int8"
    assert own_properties(INSIDE, DIALECT) == {"ses": {"properties": {**OWN, **VECTORS}}}
