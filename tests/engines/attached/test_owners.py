"""What the owner of an attached index does meanwhile, has written, or does not allow."""

from __future__ import annotations

import orjson
import pytest
import urllib3

import ses
from corpora.errors import UnavailableError
from tests.commands import ses as command
from tests.engines.attached.conftest import opened
from tests.engines.conftest import every_version, newest_version
from tests.engines.foreign import ALIAS, ATTACHED, INDEXES, MAPPING, document, drop, make, sources, write
from tests.engines.test_disturbed_loads import making_what_is_missing

ODD = {**MAPPING, "properties": {**MAPPING["properties"], "odd": {"type": "object", "enabled": False}}}
HUGE = {
    "alone": b'{"title_t":"The huge number","odd":1E400}',
    "deep": b'{"title_t":"The deep number","odd":{"a":[{"b":[1, -1e999]}]}}',
}
LARGE = {"large": b'{"title_t":"The large number","odd":{"a":1e300,"b":123456789012345678901234567890,"c":"1E400"}}'}


def raw(server, index, id_):
    """The text of a document as the server keeps it."""
    return urllib3.request("GET", f"{server.url}/{index}/_source/{id_}").data


def check_untouched(server):
    """The documents with huge numbers were never written again."""
    # From 9.2 on, Elasticsearch shows them as texts wherever an index has vectors.
    product = server.cluster.product
    as_written = product.kind == "opensearch" or product.version < (9, 2)
    for id_, text in HUGE.items():
        kept = server.cluster.call("GET", f"/{INDEXES[0]}/_doc/{id_}", params={"_source": False})
        assert kept["_version"] == 1
        if as_written:
            assert raw(server, INDEXES[0], id_) == text


@every_version
def test_documents_with_numbers_that_an_update_would_change_are_skipped_and_told(server, library, model, tmp_path):
    drop(server.cluster)
    make(server.cluster, mapping=ODD)
    for id_, text in {**HUGE, **LARGE}.items():
        server.cluster.call("PUT", f"/{INDEXES[0]}/_doc/{id_}", text)
    server.cluster.call("POST", f"/{INDEXES[0]}/_refresh")
    report = library.attach(ALIAS, **ATTACHED)
    assert (report.new, report.rejected, report.papers) == (61, 2, 61)
    told = [orjson.loads(line) for line in report.dead_letter.read_text().splitlines()]
    assert {one["id"] for one in told} == set(HUGE)
    assert all("too large for a double" in one["reason"] for one in told)
    check_untouched(server)
    assert "alone" in {hit.id for hit in library[ALIAS].search("huge number", mode="lexical")}
    done = command(tmp_path, "attach", ALIAS, "--update", "--engine", server.url, SES_MODEL=str(model))
    assert done.returncode == 1
    assert "2 rejected" in done.stdout
    library.detach(ALIAS)
    check_untouched(server)
    assert orjson.loads(raw(server, INDEXES[0], "large")) == orjson.loads(LARGE["large"])
    assert library.attach(ALIAS, **ATTACHED, beside=True).papers == 63


@newest_version
@pytest.mark.parametrize(("anew", "early"), [(False, False), (True, False), (True, True)])
def test_an_index_that_is_deleted_or_replaced_meanwhile_gets_no_vectors(server, proxy, model, tmp_path, anew, early):
    drop(server.cluster)
    make(server.cluster)
    library = opened(proxy, model, tmp_path)

    def replace(reply):
        for name in INDEXES:
            server.cluster.call("DELETE", f"/{name}")
        if anew:
            make(server.cluster)
        return reply

    try:
        with making_what_is_missing(server):
            # Right before ses takes hold of the indexes, or right before the first vectors are written.
            if early:
                proxy.handle(lambda _, forward: replace(None) or forward(), match="POST /_aliases")
            else:
                proxy.rewrite(replace, match=".writing.")
            told = "was deleted or replaced by its owner while vectors were written"
            with pytest.raises(UnavailableError, match=told):
                library.attach(ALIAS, **ATTACHED)
            there = server.cluster.call("GET", f"/{ALIAS}*")
            assert sorted(there) == (sorted(INDEXES) if anew else [])
            assert all("ses" not in one["mappings"]["properties"] for one in there.values())
            if anew:
                assert not any(b'"ses"' in source for source in sources(server.cluster).values())
                assert library.follow(ALIAS).new == 60
    finally:
        drop(server.cluster)


def test_a_cluster_that_allows_no_scripts_is_told(server, proxy, model, tmp_path):
    drop(server.cluster)
    make(server.cluster)
    told = {"type": "illegal_argument_exception", "reason": "cannot execute [inline] scripts"}

    def forbid(reply):
        items = [{"update": {**item["update"], "status": 400, "error": told}} for item in reply["items"]]
        return {**reply, "errors": True, "items": items}

    proxy.rewrite(forbid, match="_bulk")
    with pytest.raises(UnavailableError, match=r"allows no scripts in updates .*; ask for them .* with beside"):
        opened(proxy, model, tmp_path).attach(ALIAS, **ATTACHED)
    drop(server.cluster)


@newest_version
def test_the_aliases_of_a_run_are_gone_afterwards(server, library):
    library.attach(ALIAS, **ATTACHED)
    assert all(list(server.cluster.call("GET", f"/{name}")[name]["aliases"]) == [ALIAS] for name in INDEXES)
    # As a run that was killed leaves them.
    server.cluster.call("PUT", f"/{INDEXES[0]}/_alias/ses.attached.{ALIAS}.writing.0123")
    write(server.cluster, INDEXES[0], {"id-100": document(100)})
    assert library.follow(ALIAS).new == 1
    assert all(list(server.cluster.call("GET", f"/{name}")[name]["aliases"]) == [ALIAS] for name in INDEXES)
    server.cluster.call("PUT", f"/{INDEXES[1]}/_alias/ses.attached.{ALIAS}.writing.0123")
    library.detach(ALIAS)
    assert all(list(server.cluster.call("GET", f"/{name}")[name]["aliases"]) == [ALIAS] for name in INDEXES)
    assert isinstance(library, ses.Library)


@newest_version
@pytest.mark.parametrize("beside", [False, True])
def test_the_revision_follows_the_documents_of_the_owner(server, library, beside):
    library.attach(ALIAS, **ATTACHED, beside=beside)
    index = library[ALIAS].index
    revisions = [index.revision()]
    assert index.revision() == revisions[0]
    server.cluster.call("POST", f"/{INDEXES[0]}/_update/id-1", {"doc": {"title_t": "Another title"}})
    server.cluster.call("POST", f"/{INDEXES[0]}/_refresh")
    revisions.append(index.revision())
    # Deleted and made again, with as many documents and as many writes.
    drop(server.cluster)
    make(server.cluster)
    server.cluster.call("POST", f"/{INDEXES[0]}/_update/id-1", {"doc": {"title_t": "Yet another title"}})
    server.cluster.call("POST", f"/{INDEXES[0]}/_refresh")
    revisions.append(index.revision())
    assert len(set(revisions)) == 3
