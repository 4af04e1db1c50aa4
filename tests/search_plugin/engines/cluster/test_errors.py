"""Replies recorded from OpenSearch 3.6 and Elasticsearch 9.4, shortened, and what users are told about them."""

from __future__ import annotations

import pytest

from corpora.errors import InputError
from search_plugin.engines.cluster.errors import (
    BusyError,
    ClusterError,
    UnansweredError,
    blockade,
    cause,
    check_whole,
    failure,
    lacking,
    unreachable,
    unseen,
)

URL = "http://127.0.0.1:9200"
MORE = "; for more information, see the documentation"


def told(kind, reason, **more):
    """A reply as both products shape it, with the cause told twice."""
    return {"error": {"root_cause": [{"type": kind, "reason": reason}], "type": kind, "reason": reason, **more}}


def in_shards(kind, reason):
    """As a search that failed in its shards."""
    failed = [{"shard": 0, "index": "i", "node": "n", "reason": {"type": kind, "reason": reason}}]
    return {
        "error": {
            "root_cause": [],
            "type": "search_phase_execution_exception",
            "reason": "all shards failed",
            "failed_shards": failed,
        }
    }


def block(reason):
    return told("cluster_block_exception", f"index [i] blocked by: [{reason}];")


FLOOD = "TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage watermark, index has read-only-allow-delete block"
NESTED = "failed to create query: Query contains too many nested clauses; maxClauseCount is set to 8192"
CLAUSES = "failed to create query: maxClauseCount is set to 1024"
QUEUE = "rejected execution of TimedRunnable on QueueResizingOpenSearchThreadPoolExecutor"
BREAKER = "[parent] Data too large, data for [<http_request>] would be larger than the limit of [510027366/486.3mb]"
UNAUTHORIZED = "action [indices:data/write/bulk[s]] is unauthorized for user [reader] with effective roles [viewer]"
CONFLICT = "[1]: version conflict, required seqNo [77], primary term [1]. current document has seqNo [0]"


@pytest.mark.parametrize(
    ("status", "reply", "kind", "sentence"),
    [
        (
            400,
            {"error": {"type": "index_closed_exception", "reason": "closed", "index": "old"}},
            ClusterError,
            "has closed the index old; ask for it to be opened",
        ),
        (
            400,
            told("query_shard_exception", NESTED),
            InputError,
            "so many words or conditions at once; shorten the query",
        ),
        (400, in_shards("query_shard_exception", NESTED), InputError, "so many words or conditions"),
        (400, told("query_shard_exception", CLAUSES), InputError, "so many words or conditions"),
        (400, in_shards("too_many_clauses", "maxClauseCount is set to 1024"), InputError, "so many words"),
        (401, told("security_exception", "missing authentication credentials"), ClusterError, "requires a login; set"),
        (401, "Unauthorized", ClusterError, "set SES_ENGINE_USERNAME and SES_ENGINE_PASSWORD, or SES_ENGINE_API_KEY"),
        (403, told("security_exception", UNAUTHORIZED), ClusterError, r"does not allow this \(action .*may\.$"),
        (403, block("FORBIDDEN/8/index write (api)"), ClusterError, r"has set; remove index\.blocks\.write, and try"),
        (403, block("FORBIDDEN/5/index read-only (api)"), ClusterError, r"remove index\.blocks\.read_only, and try"),
        (429, block(FLOOD), ClusterError, "disk is nearly full; free some space there, and try again"),
        (429, block(FLOOD + MORE), ClusterError, "disk is nearly full"),
        (403, block("FORBIDDEN/12/index read-only / allow delete (api)"), ClusterError, "disk is nearly full"),
        (429, told("rejected_execution_exception", QUEUE), BusyError, r"429 \(rejected execution.*: wait, and"),
        (429, told("circuit_breaking_exception", BREAKER), BusyError, "Data too large"),
        (502, "<html>Bad Gateway</html>", BusyError, "answered 502 .*Bad Gateway.*try again"),
        (503, in_shards("no_shard_available_action_exception", "x"), BusyError, "answered 503"),
        (504, None, UnansweredError, "answered 504"),
        (409, told("version_conflict_engine_exception", CONFLICT), ClusterError, "answered 409 .*required seqNo"),
        (
            404,
            told("index_not_found_exception", "no such index [i]"),
            ClusterError,
            "has no index i any more: somebody deleted it",
        ),
        (405, {"error": "Incorrect HTTP method", "status": 405}, ClusterError, "Incorrect HTTP method"),
        (400, {"error": {"root_cause": ["odd"], "reason": "r"}}, ClusterError, r"answered 400 \(r\)"),
        (500, [1, 2], ClusterError, "answered 500"),
        (500, {"error": None}, ClusterError, "answered 500"),
        (500, told("x", "long " * 1000), ClusterError, "read its log"),
    ],
)
def test_replies_become_sentences(status, reply, kind, sentence):
    error = failure(URL, status, reply)
    assert type(error) is kind
    with pytest.raises(kind, match=sentence):
        raise error
    assert str(error).startswith(URL)
    assert str(error).endswith(".")
    assert "\n" not in str(error)
    assert len(str(error)) < 600
    assert error.kind == ("invalid" if kind is InputError else "unavailable")


def test_the_innermost_cause_is_told():
    reply = told("search_phase_execution_exception", "all shards failed")
    assert cause(reply) == ("search_phase_execution_exception", "all shards failed")
    assert cause(in_shards("script_exception", "runtime error")) == ("script_exception", "runtime error")
    item = {
        "_id": "3",
        "status": 400,
        "error": {
            "type": "document_parsing_exception",
            "reason": "failed to parse field [year] of type [integer] in document with id '3'",
            "caused_by": {"type": "number_format_exception", "reason": 'For input string: "x"'},
        },
    }
    kind, reason = cause(item)
    assert kind == "document_parsing_exception"
    assert reason.endswith("""with id '3': For input string: "x\"""")


def test_errors_keep_status_and_kind():
    exists = failure(URL, 400, told("resource_already_exists_exception", "index [i] already exists"))
    assert (exists.status, exists.type_name) == (400, "resource_already_exists_exception")
    assert failure(URL, 409, told("version_conflict_engine_exception", CONFLICT)).status == 409
    assert failure(URL, 503, "").status == 503
    assert blockade(URL, "mapper_parsing_exception", "a field named watermark is read-only") is None


@pytest.mark.parametrize(
    ("url", "reason", "kind", "sentence"),
    [
        (URL, "[Errno 111] Connection refused", BusyError, r"does not answer \(.*refused\); start it"),
        (URL, "Read timed out. (read timeout=30)", BusyError, "does not answer"),
        ("https://h:1", "[SSL: CERTIFICATE_VERIFY_FAILED] self-signed", ClusterError, "trust; set SES_ENGINE_CA"),
        ("https://h:1", "[SSL: WRONG_VERSION_NUMBER] wrong", ClusterError, "TLS; write the URL with http:"),
        ("https://h:1", "[SSL] record layer failure", ClusterError, "does not speak TLS"),
    ],
)
def test_silence_becomes_a_sentence(url, reason, kind, sentence):
    error = unreachable(url, reason)
    assert type(error) is kind
    with pytest.raises(kind, match=sentence):
        raise error


WHO = "is unauthorized for API key id [FgagBaIB] of user [admin]"
BY = "this action is granted by the"


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        (
            f"action [indices:admin/mapping/put] {WHO} on indices [a,b], {BY} index privileges ["
            "manage,all]",
            "the index privilege manage on a, b is missing",
        ),
        (
            f"action [indices:data/write/bulk[s]] {WHO} on indices [a], {BY} index privileges ["
            "create,index,write,all]",
            "one of the index privileges create, index, write on a is missing",
        ),
        (
            f"action [cluster:monitor/main] {WHO}, {BY} cluster privileges [monitor,manage,all]",
            "one of the cluster privileges monitor, manage is missing",
        ),
        (f"action [x] {WHO}, {BY} cluster privileges [all]", "the cluster privilege all is missing"),
        (
            "no permissions for [indices:admin/mapping/put] and User [name=reader, backend_roles=[]]",
            "the permission indices:admin/mapping/put is missing",
        ),
        (f"action [x] {WHO}", ""),
    ],
)  # fmt: skip
def test_the_missing_right_is_named(reason, told):
    assert lacking(reason) == told


def test_what_is_hidden_is_told():
    held = {"read": True, "view_index_metadata": True}
    assert unseen({"index": {"ses.a.v*": held}}) == ""
    hidden = {"ses.a.v*": held, "ses.b.v1": {**held, "view_index_metadata": False}}
    assert unseen({"index": hidden}) == "the index privilege view_index_metadata on ses.b.v1 is missing"
    assert unseen({}) == ""


LEFT = {"failed": 1, "failures": [{"reason": {"type": "x", "reason": "a node left."}}]}


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ({"_shards": {"total": 2, "successful": 2, "failed": 0}}, ""),
        ({}, ""),
        ({"responses": [{"_shards": {"total": 1, "successful": 1}}] * 2}, ""),
        ({"_shards": {"total": 2, "successful": 1, **LEFT}}, "answered for 1 of 2 parts .* only (a node left); wait"),
        ({"_shards": {"total": 2, "successful": 1}}, "1 of 2 parts .* only (the others are on no node); wait"),
        ({"_shards": {"total": 2, "successful": 2}, "timed_out": True}, "2 of 2 parts .* only (it ran out of time)"),
        ({"responses": [{}, {"error": {"type": "x", "reason": "broken"}, "status": 400}]}, "answered 400 (broken)"),
        ({"error": {"type": "x", "reason": "broken"}}, "answered 500 (broken)"),
    ],
)
def test_a_reply_is_whole_or_says_why_not(reply, why):
    if not why:
        check_whole(reply, url="http://c", name="papers")
        return
    with pytest.raises(ClusterError, match=why.replace("(", r"\(").replace(")", r"\)")):
        check_whole(reply, url="http://c", name="papers")
