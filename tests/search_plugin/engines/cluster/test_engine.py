"""Indexes of a cluster as an engine keeps them: found, built, published, brought back and dropped, without a server."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from corpora.errors import InputError, NotFoundError, UnavailableError
from search_plugin.engines.cluster.dialects import dialect_of
from search_plugin.engines.cluster.engine import ClusterEngine
from search_plugin.engines.cluster.errors import SEEING
from search_plugin.engines.cluster.mapping import SERVING, body_of
from search_plugin.engines.cluster.product import Product
from tests.search_plugin.engines.cluster.conversations import attachment, unlocked
from tests.search_plugin.engines.cluster.test_attaching import PLUGINS, kept
from tests.search_plugin.engines.cluster.test_joining import SCHEMA, error

DIALECT = dialect_of(Product("opensearch", "3.6.0", (3, 6)))
engine_with = partial(unlocked, ClusterEngine)
GENERATIONS, ATTACHED = "GET /ses.papers.v*", "GET /ses.attached.papers.v*"
NOT_FOUND = error(404, "index_not_found_exception", "no such index")
MAY_SEE = {
    "index": {"ses.papers.v*": dict.fromkeys(SEEING, True), "ses.attached.papers.v1": dict.fromkeys(SEEING, True)}
}
PUBLISHED, PREVIOUS = ("papers",), ("ses.papers.previous",)


def generation(number, aliases=(), published=None, name="papers", source="source", **settings):
    body = body_of(SCHEMA, source, DIALECT, 2)
    body["mappings"]["_meta"]["ses"] |= {"published": published} if published else {}
    index = {**body["settings"]["index"], **SERVING, **settings}
    facts = {"mappings": body["mappings"], "settings": {"index": index}, "aliases": {alias: {} for alias in aliases}}
    return {f"ses.{name}.v{number}": facts}


def test_published_indexes_are_named_the_last_one_first():
    there = generation(1, PUBLISHED, 5.0) | generation(2) | generation(1, ("books",), 9.0, "books")
    engine = engine_with({**there, **kept(attachment())}, there, {}, kept(attachment()), {}, {})
    assert engine.names() == ["books", "catalogue", "papers"]
    assert engine.cluster.requests == ["GET /ses.*.v*"]
    assert engine.published_at("papers") == 5.0
    assert engine.published_at("catalogue") == 7.5
    assert engine.published_at("none") == 0.0


def test_the_published_version_is_opened():
    there = generation(1, PREVIOUS) | generation(2, PUBLISHED) | generation(3)
    engine = engine_with(there, there)
    index = engine.open("papers")
    assert (index.name, index.generation, index.schema) == ("papers", 2, SCHEMA)
    assert engine.schema("papers") == SCHEMA
    assert engine.cluster.requests == [GENERATIONS] * 2
    attached = engine_with({}, kept(attachment()), {}, {})
    assert attached.schema("catalogue") == attachment().searched
    assert attached.schema("none") is None
    closed = engine_with({"ses.papers.v1": {**generation(1, PUBLISHED)["ses.papers.v1"], "mappings": {"_meta": {}}}})
    with pytest.raises(UnavailableError):
        closed.open("papers")


@pytest.mark.parametrize(
    ("taken", "known", "hint"),
    [
        (NOT_FOUND, {}, "index some papers first"),
        (NOT_FOUND, generation(1, ("books",), name="books"), "choose one of books"),
        ({}, {}, "attach the index of this name first, which ses did not make"),
        (error(403, "x", "no rights"), {}, "index some papers first"),
    ],
)
def test_an_index_that_is_not_there_is_told_with_the_others(taken, known, hint):
    engine = engine_with({}, {}, MAY_SEE, known, taken)
    with pytest.raises(NotFoundError, match=f"There is no index 'papers' in http://cluster:9200; {hint}"):
        engine.open("papers")
    asked = ["POST /_security/user/_has_privileges", "GET /ses.*.v*", "GET /papers/_alias"]
    assert engine.cluster.requests == [GENERATIONS, ATTACHED, *asked]


def test_a_new_version_has_the_next_number_and_an_interrupted_one_is_gone_on_with():
    new = engine_with({}, {}, NOT_FOUND, PLUGINS, {})
    index = new.build("papers", SCHEMA, "source")
    assert (index.generation, new.cluster.requests[-1]) == (1, "PUT /ses.papers.v1?timeout=1s")
    assert new.cluster.asked[-1][1] == body_of(SCHEMA, "source", DIALECT, 2)
    assert new.cluster.asked[-2] == ("GET /_cat/plugins", None, {"format": "json"})
    there = generation(1, PREVIOUS) | generation(2, PUBLISHED)
    assert engine_with(there, PLUGINS, {}).build("papers", SCHEMA, "source").generation == 3
    left = there | generation(3, published=9.0)
    assert engine_with(left).build("papers", SCHEMA, "source").generation == 3
    for other in (replace(SCHEMA, fingerprint="g"), SCHEMA):
        source = "source" if other != SCHEMA else "another"
        assert engine_with(left, PLUGINS, {}).build("papers", other, source).generation == 4
    changed = there | generation(3)
    changed["ses.papers.v3"]["mappings"]["dynamic"] = "true"
    assert engine_with(changed, PLUGINS, {}).build("papers", SCHEMA, "source").generation == 4


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        (({}, kept(replace(attachment(), name="papers"))), "so ses can't build an index of this name; detach it, or"),
        (({}, {}, {}), "has an index or alias papers that ses did not make; choose another name"),
        (({}, {}, error(403, "x", "no rights")), "no rights"),
        (({}, {}, NOT_FOUND, []), "lacks the plugin opensearch-knn"),
    ],
)
def test_an_index_that_can_not_be_built_is_told(answers, told):
    with pytest.raises((InputError, UnavailableError), match=told):
        engine_with(*answers).build("papers", SCHEMA, "source")


def published(there, number, *rest):
    engine = engine_with(there, {}, {}, {}, *rest)
    index = engine._index(next(one for one in engine_with(there)._generations("papers") if one.number == number))
    engine.publish(index)
    return engine


def test_the_version_before_is_kept_and_the_others_are_deleted():
    there = generation(1, PREVIOUS) | generation(2, PUBLISHED) | generation(3) | generation(4)
    engine = published(there, 4, {}, {})
    actions = engine.cluster.asked[3][1]["actions"]
    assert {"add": {"index": "ses.papers.v4", "alias": "papers"}} in actions
    assert {"add": {"index": "ses.papers.v2", "alias": "ses.papers.previous"}} in actions
    assert sorted(engine.cluster.requests[4:]) == ["DELETE /ses.papers.v1", "DELETE /ses.papers.v3"]
    again = engine_with(there, {}, {})
    again.publish(again._index(next(one for one in engine_with(there)._generations("papers") if one.number == 2)))
    assert sorted(again.cluster.requests[1:]) == ["DELETE /ses.papers.v3", "DELETE /ses.papers.v4"]
    first = published(generation(1), 1)
    assert first.cluster.requests[-1] == "POST /_aliases"
    gone = engine_with(generation(2))
    with pytest.raises(UnavailableError, match="Version 1 of the index papers is gone: somebody deleted it"):
        gone.publish(gone._index(engine_with(generation(1))._generations("papers")[0]))


def test_a_rollback_publishes_the_earlier_version():
    there = generation(1, PREVIOUS) | generation(2, PUBLISHED)
    back = generation(1, PUBLISHED) | generation(2, PREVIOUS)
    engine = engine_with(there, {}, {}, {}, back)
    assert engine.rollback("papers").generation == 1
    actions = engine.cluster.asked[3][1]["actions"]
    assert {"add": {"index": "ses.papers.v1", "alias": "papers"}} in actions
    for held in (generation(2, PUBLISHED), back):
        with pytest.raises(NotFoundError, match="The index papers has no earlier version to go back to"):
            engine_with(held).rollback("papers")


def test_all_versions_are_dropped_and_one_is_discarded():
    there = generation(1, PREVIOUS) | generation(2, PUBLISHED)
    engine = engine_with(there, {}, {})
    engine.drop("papers")
    assert engine.cluster.requests[1:] == ["DELETE /ses.papers.v1", "DELETE /ses.papers.v2"]
    discarding = engine_with({})
    discarding.discard(discarding._index(engine_with(there)._generations("papers")[1]))
    assert discarding.cluster.requests == ["DELETE /ses.papers.v2"]
    owned = kept(replace(attachment(), name="papers"))
    with pytest.raises(InputError, match="so it can't be dropped; detach it"):
        engine_with({}, owned).drop("papers")
    with pytest.raises(InputError, match="so it can't be copied; index its papers with corpus"):
        engine_with(owned).copy("papers", "to", print)
    with pytest.raises(NotFoundError, match="There is no index 'papers'"):
        engine_with({}, {}, {}, {}, MAY_SEE, {}, NOT_FOUND).drop("papers")
