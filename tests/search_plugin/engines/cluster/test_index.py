"""What an index of a cluster asks for each thing that it does, and what it makes of the answers."""

from __future__ import annotations

import numpy as np
import pytest

from corpora.errors import InputError, UnavailableError
from corpora.paper import Paper
from search_plugin.contract.engine import Document
from search_plugin.contract.legs import Position, Sort
from search_plugin.contract.plan import Plan
from search_plugin.contract.schema import Bm25, Field, IndexSchema, paper_vector
from search_plugin.engines.cluster.errors import ClusterError, unanswered
from search_plugin.filters.parse import parse_filter
from tests.search_plugin.engines.cluster.conversations import Lease, found, index_with, several
from tests.search_plugin.engines.cluster.test_joining import SCHEMA, SHARDS, error

SHELF = Field("shelf", "keyword")
LENT = Field("lent", "boolean")
SCHEMA_2 = IndexSchema("tiny", "f", (paper_vector("prx", 3, "cosine"),)).with_fields([SHELF, LENT])
SEARCH = "POST /ses.papers.v3/_search"
WHOLE = {"allow_partial_search_results": False}
AMONG = {"query": {"terms": {"id": ["a", "b"]}}, "size": 2, "sort": ["_doc"]}
COLUMNS = {"_source": False, "stored_fields": "_none_"}
EITHER = [{"terms": {"id": ["a"]}}, {"terms": {"identifiers": ["doi:10.1/x"]}}]
OF_1990 = {"range": {"year": {"lte": 1990}}}


def columns(id_, **fields):
    return {"_id": id_, "fields": {"id": [id_], **{name: [value] for name, value in fields.items()}}}


def document(id_, **source):
    return {"_id": id_, "_source": {"id": id_, **source}}


def order(name, how):
    return {"sort": [{name: {"order": how, "missing": "_last"}}, {"id": "asc"}]}


LISTED = {"size": 3, "_source": False, "docvalue_fields": ["id"], "stored_fields": "_none_", "track_total_hits": True}
READS = (
    (
        lambda index: index.hashes(["a", "b"]),
        {**AMONG, **COLUMNS, "docvalue_fields": ["id", "content_hash"]},
        found(columns("a", content_hash="h"), columns("b")),
        {"a": "h", "b": ""},
    ),
    (
        lambda index: index.values(["a", "b"], ["venue", "shelf"]),
        {**AMONG, **COLUMNS, "docvalue_fields": ["id", "venue", "shelf"]},
        found(columns("a", venue="Cell"), columns("b")),
        {"a": {"venue": "Cell"}, "b": {}},
    ),
    (
        lambda index: index.values(["a", "b"], ["authors"]),
        {**AMONG, **COLUMNS, "docvalue_fields": ["id", "authors"]},
        found({"_id": "a", "fields": {"id": ["a"], "authors": ["Ana", "Bo"]}}),
        {"a": {"authors": ("Ana", "Bo")}},
    ),
    (
        lambda index: index.values(["a", "b"], ["venue", "lent"]),
        {**AMONG, "_source": ["id", "venue", "lent"]},
        found(document("a", venue="Cell", lent=True, other=1), document("b", lent=None)),
        {"a": {"venue": "Cell", "lent": True}, "b": {}},
    ),
    (
        lambda index: {id_: row.tolist() for id_, row in index.vectors(["a", "b"], "prx").items()},
        {**AMONG, "_source": False, "fields": ["id", "vector_prx"]},
        found({"_id": "a", "fields": {"id": ["a"], "vector_prx": [1, 0, 0.5]}}),
        {"a": [1.0, 0.0, 0.5]},
    ),
    (
        lambda index: index.value_counts("venue", 2),
        {
            "size": 0,
            "aggs": {
                "venue": {
                    "terms": {
                        "field": "venue",
                        "size": 3,
                        "shard_size": 102,
                        "order": [{"_count": "desc"}, {"_key": "asc"}],
                    }
                }
            },
        },
        {
            **found(),
            "aggregations": {"venue": {"buckets": [{"key": key, "doc_count": 3} for key in ("", "A", "B", "C")]}},
        },
        [("A", 3), ("B", 3)],
    ),
    (
        lambda index: index.matching_values({"venue": ["c", "d"], "shelf": ["x"]}),
        {
            "size": 0,
            "track_total_hits": False,
            "aggs": {
                "0": {"terms": {"field": "venue", "include": "c|d", "size": 60_001}},
                "1": {"terms": {"field": "shelf", "include": "x", "size": 60_001}},
            },
        },
        {
            **found(),
            "aggregations": {"0": {"buckets": [{"key": "c"}, {"key": "d"}]}, "1": {"buckets": []}},
        },
        {"venue": ["c", "d"], "shelf": []},
    ),
    (
        lambda index: list(index.find_papers(["a"], ["doi:10.1/x"]).values()),
        {
            "query": {"bool": {"should": EITHER, "minimum_should_match": 1}},
            "size": 1_000,
            "sort": ["_doc"],
            "_source": [
                *("id", "title", "abstract", "authors", "year", "venue", "types", "language", "fields", "identifiers"),
                *("references", "url", "retracted", "origins", "shelf", "lent"),
            ],
        },
        found(document("a", title="A", year=2000, shelf="x")),
        [Paper("a", "A", year=2000, extra={"shelf": "x"})],
    ),
    (
        lambda index: index.listed(parse_filter("year<=1990"), Sort("year", descending=True), 3),
        {"query": {"bool": {"filter": [OF_1990]}}, **LISTED, **order("year", "desc")},
        found({**columns("a"), "sort": [1990, "a"]}, {**columns("b"), "sort": [None, "b"]}, total=9),
        (["a", "b"], 9, [Position(1990, "a"), Position(None, "b")]),
    ),
    (
        lambda index: index.listed(None, Sort("title"), 3, Position("virus", "a")),
        {
            "query": {"bool": {"filter": [{"match_all": {}}]}},
            **LISTED,
            **order("title_order", "asc"),
            "search_after": ["virus", "a"],
        },
        found(),
        ([], 0, []),
    ),
)  # fmt: skip


@pytest.mark.parametrize(("read", "body", "reply", "result"), READS, ids=range(len(READS)))
def test_what_is_read_takes_one_search(read, body, reply, result):
    index = index_with(SCHEMA_2, reply)
    read_ = read(index)
    if hasattr(read_, "positions"):
        read_ = (read_.ids, read_.matches, read_.positions)
    assert read_ == result
    assert index.cluster.asked == [(SEARCH, body, WHOLE)]
    # A writer sees what an interrupted run wrote, and its lease is none to read.
    writing = index_with(SCHEMA_2, reply, reply, lease=Lease())
    read(writing)
    read(writing)
    assert writing.cluster.requests == ["POST /ses.papers.v3/_refresh", SEARCH, SEARCH]
    assert (index.cluster.hasty, writing.cluster.hasty) == ([SEARCH], [])


def test_a_reply_that_is_not_whole_is_told():
    for reply in ({**found(), "timed_out": True}, {**found(), "_shards": {**SHARDS, "failed": 1}}):
        with pytest.raises(UnavailableError):
            index_with(SCHEMA_2, reply).hashes(["a"])


def test_more_ids_than_one_request_holds_are_asked_page_by_page():
    ids = [f"p{number}" for number in range(1_001)]
    index = index_with(SCHEMA_2, found(columns("p0", content_hash="h")), found(columns("p1000", content_hash="i")))
    assert index.hashes(ids) == {"p0": "h", "p1000": "i"}
    assert [body["query"]["terms"]["id"] for _, body, _ in index.cluster.asked] == [ids[:1_000], ids[1_000:]]
    with_vectors = several(
        found(document("p0", title="A", content_hash="h")),
        found({**columns("p0")} | {"fields": {"id": ["p0"], "vector_prx": [1, 0, 0]}}),
    )
    index = index_with(SCHEMA_2, with_vectors, several(found(), found()))
    (read,) = index.documents(ids, ["prx"]).values()
    assert (read.paper, read.content_hash, read.vectors["prx"].tolist()) == (Paper("p0", "A"), "h", [1.0, 0.0, 0.0])
    assert index.cluster.requests == ["POST /ses.papers.v3/_msearch"] * 2
    header, papers, _, vectors = index.cluster.asked[0][1]
    assert (header, papers["size"], papers["_source"][-1]) == (WHOLE, 1_000, "content_hash")
    assert (vectors["_source"], vectors["fields"]) == (False, ["id", "vector_prx"])
    assert index.cluster.asked[1][1][1]["query"] == {"terms": {"id": ids[1_000:]}}


def test_all_ids_are_read_in_their_order_until_there_are_no_more():
    page = found({**columns("a"), "sort": ["a"]}, {**columns("b"), "sort": ["b"]})
    index = index_with(SCHEMA_2, page, found())
    assert list(index.ids(parse_filter("year<=1990"))) == ["a", "b"]
    body = {
        "query": {"bool": {"filter": [OF_1990]}},
        "size": 1_000,
        "sort": [{"id": "asc"}],
        "_source": False,
        "docvalue_fields": ["id"],
        "stored_fields": "_none_",
        "track_total_hits": False,
    }
    assert [asked for _, asked, _ in index.cluster.asked] == [body, {**body, "search_after": ["b"]}]
    index = index_with(SCHEMA_2, found())
    assert list(index.ids()) == []
    assert index.cluster.asked[0][1]["query"] == {"bool": {"filter": [{"match_all": {}}]}}


def test_texts_are_read_by_a_scroll():
    page = {**found({"_source": {"title": "A", "abstract": None}}, {"_source": {}}), "_scroll_id": "s"}
    index = index_with(SCHEMA_2, page, {**found(), "_scroll_id": "s"}, {})
    assert list(index.texts({"match_all": {}})) == [("A", ""), ("", "")]
    body = {"query": {"match_all": {}}, "_source": ["title", "abstract"], "size": 1_000, "sort": ["_doc"]}
    assert index.cluster.asked == [
        (SEARCH, body, {"scroll": "30m", "track_total_hits": True}),
        ("POST /_search/scroll", {"scroll": "30m", "scroll_id": "s"}, {}),
        ("DELETE /_search/scroll", {"scroll_id": ["s"]}, {}),
    ]
    short = index_with(SCHEMA_2, {**page, "hits": {"total": {"value": 3}, "hits": []}}, {})
    with pytest.raises(
        ClusterError, match=r"sent 0 of 3 documents of ses[.]papers[.]v3; try again when it is less busy"
    ):
        list(short.texts({}))


def test_counts_of_papers_and_of_those_with_a_vector():
    for field, query in ((None, {"match_all": {}}), ("prx", {"exists": {"field": "vector_prx"}})):
        index = index_with(SCHEMA_2, {"count": 7, "_shards": SHARDS})
        assert index.count(field) == 7
        assert index.cluster.asked == [("POST /ses.papers.v3/_count", {"query": query}, {})]


def test_the_disk_counts_all_copies():
    stored = {"_all": {"total": {"store": {"size_in_bytes": 9}}, "primaries": {"store": {"size_in_bytes": 4}}}}
    index = index_with(SCHEMA_2, stored)
    assert (index.disk_bytes(), index.cluster.requests) == (9, ["GET /ses.papers.v3/_stats/store"])


def seen(total):
    buckets = [{"key": "ses.papers.v3", "doc_count": 2, "numbers": {"sum": total}}]
    return {**found(), "aggregations": {"indexes": {"buckets": buckets}}}


def settings(**more):
    return {"ses.papers.v3": {"settings": {"index": {"uuid": "u", "number_of_shards": "2", **more}}}}


def test_a_revision_changes_with_what_each_shard_sees_and_with_the_index():
    def revision(uuid="u", first=1.0, second=2.0):
        index = index_with(SCHEMA_2, settings(uuid=uuid), several(seen(first), seen(second)))
        made = index.revision()
        assert index.cluster.requests == [
            "GET /ses.papers.v3/_settings/index.uuid,index.number_of_shards", "POST /ses.papers.v3/_msearch"
        ]  # fmt: skip
        lines = index.cluster.asked[1][1]
        assert [header["preference"] for header in lines[::2]] == ["_shards:0", "_shards:1"]
        return made

    made = revision()
    assert made.startswith("3-")
    assert made == revision()
    assert len({made, revision(uuid="v"), revision(first=2.0), revision(second=1.0)}) == 4


ALIAS = "PUT /ses.papers.v3/_alias/ses.papers.v3.writing"
BULK = "POST /ses.papers.v3.writing/_bulk"
TAKEN = {"items": [{"index": {"status": 201, "result": "created"}}]}
REFUSED = {"items": [{"delete": {"status": 400, "error": {"type": "x", "reason": "why"}}}]}
MISSING = {"items": [{"update": {"status": 404, "error": {"type": "document_missing_exception", "reason": "r"}}}]}


def test_papers_are_written_through_an_alias_that_only_a_writer_makes():
    lease = Lease()
    index = index_with(SCHEMA_2, {}, settings(refresh_interval="-1"), TAKEN, TAKEN, lease=lease)
    vectors = {"prx": np.array([1, 0, 0], np.float32)}
    paper = Document(Paper("a", "A", extra={"lent": True}), "h", vectors)
    assert index.upsert([paper]) == []
    assert index.upsert([paper]) == []
    assert index.cluster.requests == [ALIAS, "GET /ses.papers.v3/_settings", BULK, BULK]
    assert index.cluster.hasty == [BULK, BULK]  # which have retries of their own
    assert lease.checked == 2
    action, source = index.cluster.asked[2][1]
    assert action == {"index": {"_id": "a"}}
    assert source == {
        "id": "a", "title": "A", "title_order": "a", "lent": True, "vector_prx": [1.0, 0.0, 0.0], "content_hash": "h",
    }  # fmt: skip
    assert index.cluster.asked[2][2] == {"require_alias": True, "refresh": True}
    serving = index_with(SCHEMA_2, {}, settings(refresh_interval="1s"), TAKEN, found(columns("a")))
    odd = Document(Paper("b", "\ud800"), "h", vectors)
    (refused,) = serving.upsert([odd, paper])
    assert (refused.id, refused.reason.partition(":")[0]) == ("b", "It can't be written as JSON")
    assert serving.cluster.asked[2][2] == {"require_alias": True}
    serving.hashes(["a"])
    assert serving.cluster.requests[-2:] == ["POST /ses.papers.v3/_refresh", SEARCH]


@pytest.mark.parametrize(
    ("stored", "sent_again"),
    [
        ({"content_hash": "h", "shelf": "x"}, False),
        ({"content_hash": "i", "shelf": "x"}, True),
        ({"content_hash": "h"}, True),
        ({"content_hash": "h", "shelf": "x", "origins": ["c"]}, True),
        (None, True),
    ],
)
def test_what_was_stored_without_an_answer_is_not_sent_again(stored, sent_again):
    there = {"docs": [{"_id": "a", **({"_source": stored} if stored else {})}]}
    index = index_with(
        SCHEMA_2, {}, settings(), unanswered(index_with(SCHEMA).cluster.url), *[there] * 9, lease=Lease()
    )
    paper = Document(Paper("a", "A", extra={"shelf": "x"}), "h", {"prx": np.zeros(3, np.float32)})
    if sent_again:
        with pytest.raises(UnavailableError):  # a single paper, which is sent once
            index.upsert([paper])
    else:
        assert index.upsert([paper]) == []
    asked = {"docs": [{"_id": "a", "_source": ["content_hash", "origins", "shelf", "lent"]}]}
    assert index.cluster.asked[3] == ("POST /ses.papers.v3.writing/_mget", asked, {})
    assert set(index.cluster.hasty) == {BULK}


def test_papers_are_deleted_and_their_values_written():
    index = index_with(SCHEMA_2, {}, TAKEN, REFUSED, MISSING, TAKEN, lease=Lease())
    index.delete(["a"])
    assert index.cluster.asked[1] == (BULK, [{"delete": {"_id": "a"}}], {"require_alias": True})
    index.delete([])
    with pytest.raises(ClusterError, match=r"1 papers can't be deleted: .* would not take it: why"):
        index.delete(["a"])
    assert index.update({"a": {"shelf": "x", "lent": None}}) == ["a"]
    assert index.update({"b": {"shelf": "x"}}) == []
    written = [{"update": {"_id": "a"}}, {"doc": {"shelf": "x", "lent": None}}]
    assert index.cluster.asked[3] == (BULK, written, {"require_alias": True})
    assert index.cluster.requests == [ALIAS, BULK, BULK, BULK, BULK]
    assert index_with(SCHEMA_2).update({}) == []
    broken = index_with(SCHEMA_2, {}, {"items": [{"update": REFUSED["items"][0]["delete"]}]})
    with pytest.raises(ClusterError, match=r"The paper a can't be updated: .* would not take it: why"):
        broken.update({"a": {"shelf": "x"}})
    with pytest.raises(InputError):
        index_with(SCHEMA_2).update({"a": {"nothing": "x"}})


def test_more_values_than_one_request_holds_are_written_page_by_page():
    taken = [{"items": TAKEN["items"] * count} for count in (1_000, 1)]
    index = index_with(SCHEMA_2, {}, *taken, lease=Lease())
    assert index.update({f"p{number}": {"shelf": "x"} for number in range(1_001)}) == []
    assert [len(lines or ()) for _, lines, _ in index.cluster.asked] == [0, 2_000, 2]


def test_fields_are_added_to_schema_and_mapping_in_one_step():
    mappings = {"ses.papers.v3": {"mappings": {"_meta": {"ses": {"schema": {}, "source": "s", "published": 7.5}}}}}
    index = index_with(SCHEMA, {}, mappings, {}, lease=Lease())
    index.add_fields([SHELF])
    assert index.cluster.requests == [ALIAS, "GET /ses.papers.v3/_mapping", "PUT /ses.papers.v3/_mapping"]
    body = index.cluster.asked[2][1]
    assert list(body["properties"]) == ["shelf"]
    facts = body["_meta"]["ses"]
    assert (facts["source"], facts["published"]) == ("s", 7.5)
    assert [one["name"] for one in facts["schema"]["fields"]][-1] == "shelf"
    assert (index.schema, index.cluster.hasty) == (SCHEMA.with_fields([SHELF]), [])
    index.add_fields([SHELF])
    assert len(index.cluster.asked) == 3


GIB = 1 << 30


@pytest.mark.parametrize(("size", "segments"), [(0, 1), (10 * GIB - 2, 1), (10 * GIB, 2), (31 * GIB, 4)])
def test_what_was_loaded_is_merged_and_served(size, segments):
    loading = settings(refresh_interval="-1")
    stored = {"_all": {"total": {}, "primaries": {"store": {"size_in_bytes": size}}}}
    index = index_with(SCHEMA_2, loading, stored, loading, {}, {}, lease=Lease())
    index.finish()
    index.finish()
    assert index.cluster.requests == [
        "GET /ses.papers.v3/_settings",
        "POST /ses.papers.v3/_refresh",
        "GET /ses.papers.v3/_stats/store",
        "GET /ses.papers.v3/_settings",
        "POST /ses.papers.v3/_forcemerge",
        "PUT /ses.papers.v3/_settings",
        "POST /ses.papers.v3/_refresh",
        "POST /ses.papers.v3/_refresh",
    ]
    # Each of the two shards is merged into segments of at most 5 GiB.
    assert index.cluster.asked[4][2] == {"max_num_segments": segments, "wait_for_completion": False}
    served = {"refresh_interval": "1s", "auto_expand_replicas": "0-1", "merge.policy.segments_per_tier": 10}
    assert index.cluster.asked[5][1] == {"index": served}
    assert index.cluster.hasty == []


def test_another_scoring_of_words_is_for_a_while():
    index = index_with(SCHEMA_2, *[{}] * 6)
    with index.scored_by(Bm25()):
        assert index.cluster.asked == []
    with index.scored_by(Bm25(2.0, 0.5)):
        assert len(index.cluster.asked) == 3
    steps = ["POST /ses.papers.v3/_close", "PUT /ses.papers.v3/_settings", "POST /ses.papers.v3/_open"]
    assert index.cluster.requests == [*steps, *steps]
    assert index.cluster.hasty == []
    bodies = [index.cluster.asked[at][1]["index"]["similarity"]["default"] for at in (1, 4)]
    assert bodies == [{"type": "BM25", "k1": 2.0, "b": 0.5}, {"type": "BM25", "k1": 1.2, "b": 0.75}]


def test_what_was_written_is_searched_by_the_other_scoring_too():
    index = index_with(SCHEMA_2, *[{}] * 6, lease=Lease())
    with index.scored_by(Bm25(2.0, 0.5)):
        assert index.cluster.requests[:2] == ["POST /ses.papers.v3/_refresh", "POST /ses.papers.v3/_close"]


def test_the_scoring_comes_back_after_a_failure():
    index = index_with(SCHEMA_2, {}, error(400, "x", "why"), {}, {}, {})
    with pytest.raises(ClusterError), index.scored_by(Bm25(2.0, 0.5)):
        pytest.fail("The block is not entered.")
    assert index.cluster.asked[-2][1]["index"]["similarity"]["default"]["k1"] == 1.2


def test_an_index_says_what_others_need_to_know():
    index = index_with(SCHEMA_2)
    assert (index.address, index.holds_vectors) == ("papers", True)
    assert index.unshown == ["vector_prx", "content_hash", "title_order"]
    assert index.search(Plan("", (), None, 7)) == {}
