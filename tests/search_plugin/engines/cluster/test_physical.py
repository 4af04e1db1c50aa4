"""What a cluster is asked about indexes, from answers as it gives them."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from corpora.errors import UnavailableError
from search_plugin.engines.cluster.errors import SEEING, ClusterError
from search_plugin.engines.cluster.physical import (
    Generation,
    check_seen,
    create_index,
    delete_index,
    find_indexes,
    publish_generation,
    read_generations,
)
from search_plugin.engines.cluster.product import Product
from tests.search_plugin.engines.cluster.test_joining import Recorded, error

NAMES = ["ses.papers.v*"]


def cluster_of(reply):
    return Recorded(Product("elasticsearch", "9.4.0", (9, 4)), reply)


def test_indexes_that_a_user_may_not_see_are_told():
    held = dict.fromkeys(SEEING, True)
    hidden = cluster_of((200, {"index": {NAMES[0]: {**held, "read": False}}}))
    with pytest.raises(UnavailableError, match=r"hides indexes of ses from this user \(the index privilege read on "):
        check_seen(hidden, NAMES)
    asked = {"index": [{"names": NAMES, "privileges": list(SEEING)}]}
    assert hidden.asked == [("POST", "/_security/user/_has_privileges", None, asked)]
    check_seen(cluster_of((200, {"index": {NAMES[0]: held}})), NAMES)
    check_seen(cluster_of(error(400, "illegal_argument_exception", "no handler found")), NAMES)


def test_generations_are_read_from_the_names_of_indexes():
    facts = {
        "mappings": {"_meta": {"ses": {"published": 7.5}}},
        "settings": {"index": {"uuid": "u"}},
        "aliases": {"papers": {}, "x": {}},
    }
    reply = {"ses.papers.v12": facts, "ses.papers.v3": {}, "ses.papers.vx": {}, "papers.v1": {}}
    first, second = read_generations(reply)
    assert (first.name, first.number, first.settings) == ("papers", 12, {"uuid": "u"})
    assert (first.published, first.previous, first.published_at) == (True, False, 7.5)
    assert (second.number, second.mappings, second.settings, second.aliases) == (3, {}, {}, frozenset())
    assert (second.published, second.previous, second.published_at) == (False, False, 0.0)
    assert Generation("papers", 1, {}, {}, frozenset({"ses.papers.previous"})).previous
    cluster = cluster_of((200, reply))
    assert find_indexes(cluster, "papers") == reply
    assert cluster.asked == [("GET", "/ses.papers.v*", {"expand_wildcards": "open,closed"}, None)]


class Writable(Recorded):
    """A cluster that takes writes."""

    connection, writing = SimpleNamespace(timeout=9.0), None


def writable(*replies):
    return Writable(Product("elasticsearch", "9.4.0", (9, 4)), *replies)


@pytest.mark.parametrize("before", [None, Generation("papers", 1, {}, {}, frozenset({"papers"}))])
def test_a_generation_is_published_in_one_request_and_the_one_before_is_kept(before):
    to = Generation("papers", 2, {"_meta": {"ses": {"source": "s"}}}, {}, frozenset())
    cluster = writable((200, {}), (200, {}), (200, {}))
    publish_generation(cluster, "papers", to, before)
    marked, words, switched = cluster.asked
    assert words[:2] == ("GET", "/ses.words.papers.v*")
    assert marked[:2] == ("PUT", "/ses.papers.v2/_mapping")
    facts = marked[3]["_meta"]["ses"]
    assert (facts["source"], abs(facts["published"] - time.time()) < 60) == ("s", True)
    first = [
        {"add": {"index": "ses.papers.v2", "alias": "papers"}},
        {"remove": {"index": "ses.papers.v*", "alias": "ses.papers.previous", "must_exist": False}},
    ]
    kept = [
        {"remove": {"index": "ses.papers.v1", "alias": "papers"}},
        {"add": {"index": "ses.papers.v1", "alias": "ses.papers.previous"}},
    ]
    assert switched == ("POST", "/_aliases", None, {"actions": [*first, *(kept if before else [])]})


def test_an_index_is_made_once_and_only_where_a_node_takes_it():
    cluster = writable((200, {"shards_acknowledged": True}))
    create_index(cluster, "ses.papers.v1", {"mappings": {}})
    assert cluster.asked == [("PUT", "/ses.papers.v1?timeout=4s", None, {"mappings": {}})]
    create_index(writable((200, {})), "x", {})
    create_index(writable(error(400, "resource_already_exists_exception", "there")), "x", {})
    with pytest.raises(ClusterError, match="finds no node for a new index"):
        create_index(writable((200, {"shards_acknowledged": False})), "x", {})
    with pytest.raises(ClusterError, match="answered 400"):
        create_index(writable(error(400, "illegal_argument_exception", "no")), "x", {})


def test_an_index_that_is_not_there_is_deleted():
    cluster = writable((200, {}), error(404, "index_not_found_exception", "none"), error(500, "x", "broken"))
    delete_index(cluster, "ses.papers.v1")
    delete_index(cluster, "ses.papers.v1")
    assert {one[:2] for one in cluster.asked} == {("DELETE", "/ses.papers.v1")}
    with pytest.raises(ClusterError, match="broken"):
        delete_index(cluster, "ses.papers.v1")
