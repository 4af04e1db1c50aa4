"""What an attached index asks of its owner's documents, what is written into them, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import orjson
import pytest

from corpora.errors import InputError, UnavailableError
from corpora.paper import Paper
from search_plugin.contract.engine import Document
from search_plugin.contract.schema import Bm25, Field, ForeignField
from search_plugin.engines.cluster.attached import writing
from search_plugin.engines.cluster.attached.index import check_copied, is_copied, open_attached, own_fields
from search_plugin.engines.cluster.dialects import dialect_of
from search_plugin.engines.cluster.errors import ClusterError
from search_plugin.engines.cluster.product import Product
from search_plugin.filters.parse import parse_filter
from tests.search_plugin.engines.cluster.conversations import (
    INSIDE,
    Conversation,
    Lease,
    attached_with,
    attachment,
    found,
    several,
)
from tests.search_plugin.engines.cluster.test_joining import PLAN, SHARDS, error, hits

SEARCH = "POST /shelves/_search"
HAS_TITLE = {"exists": {"field": "headline"}}
MARKS = [{"exists": {"field": "ses.hash"}}, {"exists": {"field": "ses.prx_f"}}]
EMB = ForeignField("emb", "emb", 3, "cosine", "paper", "none", "other", "g", True, "")
NONE = replace(INSIDE, vectors=())
OPENSEARCH = Product("opensearch", "3.6.0", (3, 6))


def papers_only(query):
    return {"bool": {"must": [query], "filter": [HAS_TITLE]}}


def located(*ids, index="shelf-a"):
    return found(*({"_index": index, "_id": id_} for id_ in ids))


def alias(index):
    return writing._alias("catalogue", index)


def mapped(*indexes):
    properties = {"headline": {}, "ses": {"properties": {}}}
    return {index: {"mappings": {"properties": properties}} for index in indexes}


TAKEN = {"items": [{"update": {"status": 200, "result": "updated"}}]}
LEFT = {"items": [{"update": {"status": 200, "result": "noop"}}]}


def paper(id_, vector=(1, 0, 0)):
    return Document(Paper(id_, "A"), f"hash of {id_}", {"prx": np.array(vector, np.float32)})


def test_vectors_are_written_through_aliases_of_a_run_into_documents_that_are_there():
    hits_ = [{"_index": "shelf-a", "_id": "a", "_routing": "r"}, {"_index": "shelf-b", "_id": "b"}]
    twice = [{"_index": index, "_id": "c"} for index in ("shelf-b", "shelf-a")]
    index = attached_with(
        found(*hits_, *twice),
        mapped("shelf-a", "shelf-b") | {"bare": {"mappings": {}}},
        {},
        mapped("shelf-a", "shelf-b"),
        {"items": TAKEN["items"] * 2},
        lease=Lease(),
    )
    refused = index.upsert([paper(id_) for id_ in "abcd"])
    assert [(one.id, one.reason) for one in refused] == [
        ("d", "It was deleted while it was read."),
        ("c", "Two documents have this id, in shelf-a and shelf-b; attach each index by its name."),
    ]
    assert index.cluster.requests == [
        "POST /shelves/_refresh",
        SEARCH,
        "GET /shelves/_mapping",
        "POST /_aliases",
        "GET /ses.attached.catalogue.writing.*/_mapping",
        "POST /_bulk",
    ]
    assert index.cluster.asked[1][1] == {"query": {"ids": {"values": [*"abcd"]}}, "size": 40, "_source": False}
    added = [{"add": {"index": name, "alias": alias(name)}} for name in ("shelf-a", "shelf-b")]
    actions = index.cluster.asked[3][1]["actions"]
    assert sorted(actions, key=str) == added
    first, change, second, _ = index.cluster.asked[5][1]
    assert first["update"] == {"_index": alias("shelf-a"), "_id": "a", "retry_on_conflict": 5, "routing": "r"}
    assert second["update"] == {"_index": alias("shelf-b"), "_id": "b", "retry_on_conflict": 5}
    script = change["script"]
    assert (script["lang"], script["params"]) == ("painless", {"own": {"hash": "hash of a", "prx_f": [1.0, 0.0, 0.0]}})
    assert "ctx._source['ses'].putAll(params.own)" in script["source"]
    assert index.cluster.asked[5][2] == {"require_alias": True}
    assert index.cluster.hasty == ["POST /_bulk"]  # which has retries of its own


def test_a_document_that_an_update_would_change_is_refused_and_a_second_page_needs_no_new_aliases():
    there = mapped("shelf-a")
    index = attached_with(located("a"), there, {}, there, LEFT, located("b"), TAKEN, lease=Lease())
    (refused,) = index.upsert([paper("a")])
    assert refused.reason == writing.TOO_LARGE
    assert index.upsert([paper("b")]) == []
    assert index.cluster.requests[-3:] == ["POST /shelves/_refresh", SEARCH, "POST /_bulk"]


@pytest.mark.parametrize(
    "answers",
    [
        # Another index has the name by now; the alias is on an index without the field; none is there any more.
        (located("a", index="other"), mapped("shelf-a"), {}, mapped("shelf-a")),
        (located("a"), mapped("shelf-a"), {}, {"shelf-a": {"mappings": {"properties": {}}}}),
        (located("a"), mapped("shelf-a"), {}, error(404, "index_not_found_exception", "no such index")),
        (located("a"), mapped("shelf-a"), {}, mapped("shelf-a"), error(404, "index_not_found_exception", "no index")),
        (located("a"), error(404, "index_not_found_exception", "no such index")),
        (located("a"), mapped("shelf-a"), error(404, "index_not_found_exception", "no such index")),
    ],
)
def test_an_index_that_was_replaced_gets_nothing(answers):
    index = attached_with(*answers, lease=Lease())
    told = "An index of shelves was deleted or replaced by its owner while vectors were written; nothing was written"
    with pytest.raises(UnavailableError, match=told):
        index.upsert([paper("a")])


def test_other_failures_of_writing_are_told_as_they_are():
    index = attached_with(located("a"), mapped("shelf-a"), error(403, "security_exception", "no rights"), lease=Lease())
    with pytest.raises(ClusterError, match="no rights"):
        index.upsert([paper("a")])
    forbidden = {"items": [{"update": {"status": 400, "error": {"type": "x", "reason": "r"}}}]}
    for reason in ("cannot execute [inline] scripts", "cannot execute scripts using [update] context"):
        forbidden["items"][0]["update"]["error"]["reason"] = reason
        index = attached_with(located("a"), mapped("shelf-a"), {}, mapped("shelf-a"), forbidden, lease=Lease())
        with pytest.raises(UnavailableError, match=r"allows no scripts in updates .*, and vectors are added"):
            index.upsert([paper("a")])


def test_documents_are_restored_by_removing_what_is_of_ses():
    missing = {"update": {"status": 404, "error": {"type": "document_missing_exception", "reason": "r"}}}
    broken = {"update": {"status": 400, "error": {"type": "x", "reason": "why"}}}
    there, items = mapped("shelf-a"), {"items": [*TAKEN["items"], missing, broken, *LEFT["items"]]}
    index = attached_with(there, {}, there, items, lease=Lease())
    hits_ = located(*"abcd")["hits"]["hits"]
    (refused,) = index.strip(hits_)
    assert (refused.id, refused.reason) == ("c", "OpenSearch 3.6.0 would not take it: why")
    change = index.cluster.asked[3][1][1]
    assert change == {"script": {"lang": "painless", "source": "ctx._source.remove('ses')"}}


def test_aliases_of_a_run_are_removed_after_it():
    held = {"shelf-a": {"aliases": {alias("shelf-a"): {}}}, "shelf-b": {"aliases": {}}}
    index = attached_with(held, {}, lease=Lease())
    index.finish()
    asked = "GET /_alias/ses.attached.catalogue.writing.*"
    assert index.cluster.requests == ["POST /shelves/_refresh", asked, "POST /_aliases"]
    removed = {"index": "shelf-a", "alias": alias("shelf-a"), "must_exist": False}
    assert index.cluster.asked[2][1] == {"actions": [{"remove": removed}]}
    assert index.cluster.hasty == []
    for answers in (({},), (held, error(404, "aliases_not_found_exception", "gone"))):
        writing.unpin(Conversation(OPENSEARCH, *answers), "catalogue")
    with pytest.raises(ClusterError):
        writing.unpin(Conversation(OPENSEARCH, held, error(403, "x", "no rights")), "catalogue")
    assert writing.pin(Conversation(OPENSEARCH), attachment(), []) == {}


def test_what_is_the_owners_is_refused():
    reader, writer = attached_with(), attached_with(lease=Lease())
    for call, told in (
        (lambda: reader.upsert([paper("a")]), "so only attaching it writes vectors"),
        (lambda: reader.strip([]), "so only attaching it writes vectors"),
        (lambda: reader.delete(["a"]), "so its owner deletes its documents"),
        (lambda: reader.update({"a": {}}), "so its owner writes its fields"),
        (lambda: reader.add_fields([]), "so no corpus can be indexed into it; attach it with <update>"),
        (lambda: writer.add_fields([Field("x", "keyword")]), "so no corpus can be indexed into it"),
        (lambda: reader.scored_by(Bm25(2.0, 0.5)).__enter__(), "so its owner chooses how words are scored"),
    ):
        with pytest.raises(InputError) as refused:
            call()
        assert f"The index catalogue is attached, not made by ses, {told}".replace("<", "").replace(">", "") in (
            str(refused.value).replace("<", "").replace(">", "")
        )
    reader.delete([])
    assert reader.update({}) == []
    writer.add_fields([])
    with reader.scored_by(Bm25()):
        assert reader.rank(PLAN, "minmax", {}) is None
    assert reader.cluster.asked == writer.cluster.asked == []


@pytest.mark.parametrize(
    ("made", "field", "counted"),
    [
        ({}, None, MARKS),
        ({}, "prx", [{"exists": {"field": "ses.prx_f"}}]),
        ({"foreign": (EMB,)}, "emb", [{"exists": {"field": "emb"}}, HAS_TITLE]),
        ({"schema": NONE, "foreign": (EMB,)}, None, [HAS_TITLE]),
        ({"beside": "so", "foreign": (EMB,)}, "emb", [{"exists": {"field": "emb"}}, HAS_TITLE]),
    ],
)
def test_documents_that_have_vectors_count(made, field, counted):
    index = attached_with({"count": 5, "_shards": SHARDS}, **made)
    assert index.count(field) == 5
    assert index.cluster.asked == [("POST /shelves/_count", {"query": {"bool": {"filter": counted}}}, {})]


def test_all_documents_and_those_of_a_companion_count():
    index = attached_with({"count": 9, "_shards": SHARDS}, {"count": 4, "_shards": SHARDS}, beside="so")
    assert (index.count_all(), index.count()) == (9, 4)
    assert index.cluster.asked == [
        ("POST /shelves/_count", {"query": {"match_all": {}}}, {}),
        ("POST /ses.attached.catalogue.v1/_count", {"query": {"match_all": {}}}, {}),
    ]


def scrolled(*hits_):
    return {**found(*hits_), "_scroll_id": "s"}, {**found(), "_scroll_id": "s"}, {}


UP_TO_1990 = {"range": {"issued": {"lte": "1990-12-31", "format": "yyyy-MM-dd"}}}


def test_marked_documents_ids_and_texts_are_read_by_a_scroll():
    sources = {"headline": "A", "summary": "B"}, {"summary": "No title"}
    for read, query, rest, result in (
        (lambda index: [hit["_id"] for hit in index.marked()],
         {"bool": {"should": MARKS, "minimum_should_match": 1}}, {"_source": False}, ["0", "1"]),
        (lambda index: list(index.ids(parse_filter("year<=1990"))),
         papers_only(UP_TO_1990), {"_source": False}, ["0", "1"]),
        (lambda index: list(index.texts({"term": {"x": 1}})),
         {"bool": {"filter": [{"term": {"x": 1}}, HAS_TITLE]}}, {"_source": ["headline", "summary"]}, [("A", "B")]),
    ):  # fmt: skip
        hits_ = [{"_id": str(at), "_source": source} for at, source in enumerate(sources)]
        index = attached_with(*scrolled(*hits_))
        assert read(index) == result
        assert index.cluster.asked[0] == (
            SEARCH,
            {"sort": ["_doc"], "size": 200, "query": query, **rest},
            {"scroll": "30m", "track_total_hits": True},
        )


def test_documents_that_lack_vectors_are_read_up_to_a_number():
    hits_ = [{"_id": id_, "_source": {"headline": id_}} for id_ in "ab"] + [{"_id": "c", "_source": {"x": 1}}]
    index = attached_with(*scrolled(*hits_))
    first, second, third = index.lacking(9)
    assert (first.paper.id, second.paper.id, third.reason) == ("a", "b", "The record has neither title nor abstract.")
    assert index.cluster.asked[0][1]["query"] == {"bool": {"must_not": [{"bool": {"filter": MARKS}}]}}
    assert index.unmarked == {"bool": {"must_not": [{"bool": {"filter": MARKS}}]}}
    page, _, _ = scrolled(*hits_)
    index = attached_with(page, {})
    assert [one.paper.id for one in index.lacking(1)] == ["a"]
    there = {"_id": "a", "fields": {"id": ["a"], "content_hash": ["h"]}}
    beside = attached_with(page, found(there), found() | {"_scroll_id": "s"}, {}, beside="so")
    lacking = [one.paper.id if hasattr(one, "paper") else one.id for one in beside.lacking(2)]
    assert lacking == ["b"]
    assert beside.cluster.asked[0][1]["query"] == {"match_all": {}}
    assert beside.cluster.asked[1][0] == "POST /ses.attached.catalogue.v1/_search"


def test_hashes_are_those_of_documents_that_still_have_their_vectors():
    hit = {"_source": {"ses": {"hash": "h"}, "headline": "A"}}
    index = attached_with(found({"_id": "a", **hit}, {"_id": "b", "_source": {"headline": "B"}}))
    assert index.hashes(["a", "b"]) == {"a": "h"}
    ((request, body, _),) = index.cluster.asked
    assert request == SEARCH
    assert body["query"] == papers_only({"bool": {"filter": [{"ids": {"values": ["a", "b"]}}, *MARKS]}})
    assert "ses.hash" in body["_source"]


def test_papers_and_vectors_are_read_from_the_documents_or_their_companion():
    source = {"headline": "A", "ses": {"hash": "h"}}
    hashes, there = found({"_id": "a", "_source": source}), located("a")
    both = several(found({"_id": "a", "_source": source}), found({"_id": "a", "fields": {"ses.prx_f": [1, 0, 0]}}))
    index = attached_with(hashes, there, both)
    (document,) = index.documents(["a"], ["prx"]).values()
    assert (document.paper, document.content_hash) == (Paper("a", "A"), "h")
    assert document.vectors["prx"].tolist() == [1.0, 0.0, 0.0]
    index = attached_with(hashes, there, both)
    assert index.vectors(["a"], "prx")["a"].tolist() == [1.0, 0.0, 0.0]
    late = attached_with(hashes, located("a", "new"))
    with pytest.raises(UnavailableError, match="The document new has no vector yet; attach the index with update"):
        late.documents(["a", "new"], ["prx"])
    foreign = several(found({"_id": "a", "_source": source}), found({"_id": "a", "fields": {"emb": [0, 0, 1]}}))
    index = attached_with(foreign, foreign=(EMB,))
    assert index.documents(["a"], ["emb"])["a"].vectors["emb"].tolist() == [0.0, 0.0, 1.0]
    assert index.cluster.requests == ["POST /shelves/_msearch"]
    index = attached_with(hashes, there, both, foreign, foreign=(EMB,))
    read = index.documents(["a"], ["prx", "emb"])["a"].vectors
    assert {name: row.tolist() for name, row in read.items()} == {"prx": [1.0, 0.0, 0.0], "emb": [0.0, 0.0, 1.0]}
    own = found({"_id": "a", "fields": {"id": ["a"], "vector_prx": [0, 1, 0]}})
    index = attached_with(own, beside="so")
    assert index.vectors(["a"], "prx")["a"].tolist() == [0.0, 1.0, 0.0]
    assert index.cluster.requests == ["POST /ses.attached.catalogue.v1/_search"]


def test_a_search_beside_the_documents_leaves_out_what_is_gone_and_keeps_the_order_of_legs():
    near, words = several(hits(a=0.9, gone=0.8)), several(found({"_id": "b", "_score": 2.0}))
    index = attached_with(near, located("a"), words, beside="so")
    searched = index.search(PLAN)
    assert {leg: [hit.id for hit in hits_] for leg, hits_ in searched.items()} == {"lexical": ["b"], "prx": ["a"]}
    assert list(searched) == ["lexical", "prx"]
    assert index.cluster.asked[1][1]["query"] == {"ids": {"values": ["a", "gone"]}}


def test_disk_revision_and_addresses_are_of_both_indexes():
    def stored(size):
        return {"_all": {"total": {"store": {"size_in_bytes": size}}}}

    assert attached_with(stored(7)).disk_bytes() == 7
    beside = attached_with(stored(7), stored(2), beside="so", foreign=(EMB,))
    assert beside.disk_bytes() == 9
    assert (beside.holds_vectors, beside.address, beside.unshown) == (False, "shelves", ["ses", "emb"])
    assert (
        beside.attached_to == "to shelves, vectors beside its documents (so), searched by its own vectors emb (other)"
    )
    inside = attached_with()
    assert (inside.holds_vectors, inside.unshown) == (True, ["ses"])
    assert inside.value_counts("language", 3) == []
    assert inside.matching_values({"language": ["x"]}) == {"language": []}
    assert inside.cluster.asked == []

    def revision(**made):
        buckets = {**found(), "aggregations": {"indexes": {"buckets": []}}}
        kept = {"i": {"settings": {"index": {"uuid": "u", "number_of_shards": "1"}}}}
        return attached_with(kept, several(buckets), kept, several(buckets), **made).revision()

    assert revision(beside="so").count("-") == 3
    assert revision().count("-") == 1


DIALECT = dialect_of(OPENSEARCH)
HASH, VECTOR = {"type": "keyword"}, {"type": "knn_vector", "dimension": 3}


def described(**own):
    return {"mappings": {"properties": {"headline": {"type": "text"}, "ses": {"properties": own}}}}


@pytest.mark.parametrize(
    ("own", "copied"),
    [
        ({"hash": HASH, "prx_f": VECTOR}, False),
        ({"hash": {"type": "text"}, "prx_f": VECTOR}, True),
        ({"hash": HASH, "prx_f": {"type": "float"}}, True),
        ({"prx_f": {"type": "float"}}, False),
        ({}, False),
    ],
)
def test_fields_that_came_by_a_copy_are_known(own, copied):
    assert own_fields(described(**own)) == own
    assert is_copied(own, DIALECT) is copied
    if copied:
        with pytest.raises(UnavailableError, match="The index i, to which shelves leads, has the field ses of another"):
            check_copied("i", own, attachment(), DIALECT)
    else:
        check_copied("i", own, attachment(), DIALECT)


def test_an_attached_index_is_opened_if_all_its_indexes_have_vectors():
    whole = described(hash=HASH, prx_f=VECTOR)

    def opened(answer, **made):
        return open_attached(Conversation(OPENSEARCH, answer), DIALECT, attachment(**made))

    index = opened({"shelf-a": whole, "shelf-b": whole})
    assert index.cluster.requests == ["GET /shelves/_mapping"]
    assert (index.name, index.physical, index.companion) == ("catalogue", "shelves", None)
    assert opened({"shelf-a": described()}, beside="so").companion.name == "attached.catalogue"
    with pytest.raises(UnavailableError, match="shelves was changed by its owner: the index b has no vectors yet"):
        opened({"a": whole, "b": described(hash=HASH)})
    with pytest.raises(UnavailableError, match="has the field ses of another"):
        opened({"a": described(hash=HASH, prx_f={"type": "float"})})
    with pytest.raises(UnavailableError, match="has no index shelves any more, to which catalogue is attached"):
        opened(error(404, "index_not_found_exception", "no such index"))
    with pytest.raises(ClusterError, match="no rights"):
        opened(error(403, "security_exception", "no rights"))
    assert orjson.loads(writing._REMOVE)["script"]["lang"] == "painless"
