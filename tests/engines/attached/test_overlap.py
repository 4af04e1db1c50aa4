"""Attachments that reach the same documents."""

from __future__ import annotations

import pytest

from corpora.errors import InputError
from search_plugin.engines.cluster.attached.attachment import Attachment, overlaps
from search_plugin.engines.cluster.attached.engine import AttachingEngine
from search_plugin.engines.cluster.attached.writing import pin
from tests.engines.attached.conftest import opened
from tests.engines.conftest import SCHEMA, newest_version
from tests.engines.foreign import ALIAS, ATTACHED, INDEXES, document, sources, write

MORE = {**ATTACHED, "fields": {}}
FIRST, SECOND = INDEXES


def attachment(name, target, *, beside=""):
    return Attachment(name, target, (), SCHEMA, beside, 0.0)


@pytest.mark.parametrize(
    ("target", "reached"),
    [
        ("papers", True),
        ("everything", True),
        ("pap*", True),
        ("*thing", True),
        ("other,papers", True),
        ("stream", True),
        ("paper", False),
        ("papers2", False),
        ("p.pers", False),
        ("thing*", False),
        ("other", False),
    ],
)
def test_a_name_reaches_an_index_by_its_name_an_alias_a_pattern_or_a_stream(target, reached):
    described = {"papers": {"aliases": {"everything": {}}, "data_stream": "stream"}}
    mine, other = attachment("mine", "whatever"), attachment("other", target)
    assert list(overlaps(described, mine, [mine, other])) == ([("papers", other)] if reached else [])
    beside = attachment("other", target, beside="you asked for it")
    assert list(overlaps(described, mine, [beside])) == []
    assert list(overlaps(described, attachment("mine", "whatever", beside="so"), [other])) == []


@newest_version
def test_documents_are_attached_once(server, library, attached):
    before = sources(server.cluster)
    server.cluster.call("PUT", f"/{FIRST}/_alias/third", {"filter": {"term": {"pub_year": 1991}}})
    told = "are attached as catalogue already .by catalogue., and each would rewrite .* search or detach that one"
    for target, name in ((FIRST, ""), ("third", ""), (ALIAS, "again")):
        with pytest.raises(InputError, match=told):
            library.attach(target, **MORE, name=name)
        assert (name or target) not in library
    assert sources(server.cluster) == before
    assert library.follow(ALIAS).unchanged == 60
    # A companion holds its vectors apart, and so does the other attachment then.
    assert library.attach(FIRST, **MORE, beside=True).papers == 40
    assert library.detach(FIRST).restored == 0
    assert sources(server.cluster) == before
    assert library.detach(ALIAS).restored == 60


def test_an_alias_that_is_extended_is_told(server, library):
    cluster = server.cluster
    plain = sources(cluster)
    cluster.call("DELETE", f"/{SECOND}/_alias/{ALIAS}")
    assert library.attach(ALIAS, **MORE).papers == 40
    assert library.attach(SECOND, **MORE).papers == 20
    cluster.call("PUT", f"/{SECOND}/_alias/{ALIAS}")
    for again in (lambda: library.follow(ALIAS), lambda: library.attach(ALIAS, **MORE)):
        with pytest.raises(InputError, match=f"documents of {SECOND} are attached as {SECOND} already, and each"):
            again()
    with pytest.raises(InputError, match=f"are attached as {ALIAS} already .by {ALIAS}.*take that index out of"):
        library.follow(SECOND)
    # Detaching one leaves the documents of the other alone.
    done = library.detach(ALIAS)
    assert (done.restored, done.left, done.shared) == (40, (FIRST,), (SECOND,))
    assert library[SECOND].search("virus", mode="vector", size=20).candidates == 20
    assert library.follow(SECOND).unchanged == 20
    assert library.detach(SECOND).restored == 20
    assert sources(cluster) == plain


def test_two_runs_that_attach_the_same_documents_at_once(server, library, model, tmp_path, monkeypatch):
    engine, second = (opened(server, model, tmp_path / name) for name in ("a", "b"))
    keep = AttachingEngine._keep
    seen = []

    def late(self, attachment, before):
        # The other run finds nothing attached yet, and attaches before this one has written that it does.
        monkeypatch.setattr(AttachingEngine, "_keep", keep)
        seen.append(second.attach(FIRST, **MORE).papers)
        keep(self, attachment, before)

    monkeypatch.setattr(AttachingEngine, "_keep", late)
    with pytest.raises(InputError, match=f"are attached as {FIRST} already"):
        engine.attach(ALIAS, **MORE)
    assert seen == [40]
    assert engine.indexes() == [FIRST]


@newest_version
def test_documents_that_the_alias_reaches_no_more_are_restored_too(server, library):
    cluster = server.cluster
    before = sources(cluster)
    everywhere = {"term": {"journal.name.exact": "Nature"}}
    cluster.call("DELETE", f"/{FIRST}/_alias/{ALIAS}")
    cluster.call("PUT", f"/{FIRST}/_alias/{ALIAS}", {"filter": everywhere})
    assert library.attach(ALIAS, **MORE).papers == 40
    # One document leaves by the filter, one index leaves the alias.
    moved = {**document(1), "journal": {"name": "The Lancet"}}
    cluster.call("POST", f"/{FIRST}/_update/id-1", {"doc": {"journal": moved["journal"]}}, params={"refresh": True})
    cluster.call("DELETE", f"/{SECOND}/_alias/{ALIAS}")
    done = library.detach(ALIAS)
    assert (done.restored, done.left) == (40, INDEXES)
    write(cluster, FIRST, {"id-1": document(1)})
    assert sources(cluster, "catalogue-*") == before


def test_the_vectors_go_also_if_the_alias_is_gone(server, library, attached):
    for name in INDEXES:
        server.cluster.call("DELETE", f"/{name}/_alias/{ALIAS}")
    assert library.detach(ALIAS).restored == 60


class Recording:
    """A cluster that says that every index has the field, and remembers the paths it was asked for."""

    writing = None

    def __init__(self, indexes):
        self.indexes, self.paths = indexes, []

    def call(self, method, path, *_, **__):
        self.paths.append(path)
        return {index: {"mappings": {"properties": {"ses": {}}}} for index in self.indexes} if method == "GET" else {}


def test_an_alias_of_any_number_of_indexes_fits_into_a_request():
    cluster = Recording([f"index-{number}" for number in range(500)])
    aliases = pin(cluster, attachment("many", "alias"), cluster.indexes)
    assert len(set(aliases.values())) == 500
    assert max(map(len, cluster.paths)) < 100
