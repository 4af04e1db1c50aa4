"""Indexes of a cluster without a server: what they ask is kept whole, and they are answered as a cluster answers."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import orjson

from search_plugin.contract.connection import Connection
from search_plugin.contract.schema import IndexSchema, paper_vector
from search_plugin.engines.cluster.attached.attachment import Attachment
from search_plugin.engines.cluster.attached.field_mappings import FieldMapping
from search_plugin.engines.cluster.attached.index import AttachedIndex
from search_plugin.engines.cluster.dialects import dialect_of
from search_plugin.engines.cluster.errors import failure
from search_plugin.engines.cluster.index import ClusterIndex
from search_plugin.engines.cluster.product import Product
from search_plugin.engines.cluster.transport import READING, RetryPolicy
from tests.search_plugin.engines.cluster.test_joining import SHARDS

PLACES = (
    FieldMapping("title", "headline", "headline", "text"),
    FieldMapping("abstract", "summary", "summary", "text"),
    FieldMapping("year", "issued", "issued", "date"),
    FieldMapping("venue", "journal.exact", "journal", "keywords"),
    FieldMapping("authors", "people.name.exact", "people.name", "keywords", "people"),
    FieldMapping("doi", "doi_s", "doi_s", "keywords"),
    FieldMapping("shelf", "shelf", "shelf", "number"),
)
INSIDE = IndexSchema("tiny", "f", (replace(paper_vector("prx", 3, "cosine"), name="ses.prx_f"),))
BESIDE = replace(INSIDE, vectors=(paper_vector("prx", 3, "cosine"),))


class Conversation:
    """A cluster that gives its answers one after the other, each to a method and a path, and keeps what it was asked.

    An answer is a reply, the status and the reply of a failure, or an error. `hasty` are the requests that are not sent
    again for as long as those of a writing run.
    """

    url = "http://cluster:9200"
    connection = Connection(timeout=0.2, shards=2)
    writing = RetryPolicy(0.0, 1.0)

    def __init__(self, product, *answers):
        self.product, self.lacking, self.asked, self.hasty = product, set(), [], []
        self._answers = list(answers)

    def call(self, method, path, body=None, *, params=None, retry=READING, check=None):
        if retry != self.writing:
            self.hasty.append(f"{method} {path}")
        lines = [orjson.loads(line) for line in body.splitlines()] if isinstance(body, bytes) else None
        self.asked.append((f"{method} {path}", lines or body, dict(params or {})))
        if path.endswith("/_refresh"):
            return {}
        reply = self._answers.pop(0)
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, tuple):
            raise failure(self.url, *reply)
        if check:
            check(reply)
        return reply

    @property
    def requests(self):
        """Methods and paths alone."""
        return [request for request, _, _ in self.asked]


class Lease:
    """The right to write, which nobody takes away; it counts how often it was looked at."""

    def __init__(self):
        self.checked = 0

    def check(self):
        """Do nothing."""
        self.checked += 1

    confirm = check


def found(*hits, total=None):
    """The reply to a search, whole."""
    counted = {"total": {"value": len(hits) if total is None else total}}
    return {"timed_out": False, "_shards": SHARDS, "hits": {**counted, "hits": [*hits]}}


def several(*replies):
    """The reply to several searches in one request."""
    return {"responses": [{**reply, "status": 200} for reply in replies]}


def _cluster(kind, answers):
    version = (3, 6) if kind == "opensearch" else (9, 4)
    return Conversation(Product(kind, f"{version[0]}.{version[1]}.0", version), *answers)


def index_with(schema, *answers, kind="opensearch", lease=None):
    cluster = _cluster(kind, answers)
    return ClusterIndex(cluster, dialect_of(cluster.product), "papers", 3, schema, lease)


def attachment(*, beside="", schema=None, **more):
    schema = schema or (BESIDE if beside else INSIDE)
    return Attachment("catalogue", "shelves", PLACES, schema, beside, 7.5, **more)


def attached_with(*answers, kind="opensearch", lease=None, **of_attachment):
    cluster = _cluster(kind, answers)
    return AttachedIndex(cluster, dialect_of(cluster.product), attachment(**of_attachment), lease)


def unlocked(kind, *answers):
    """An engine of a class whose cluster gives these answers, and whose locks nobody else takes."""
    engine = object.__new__(kind)
    engine.cluster = _cluster("opensearch", answers)
    engine.url, engine.dialect, engine._leases = engine.cluster.url, dialect_of(engine.cluster.product), {}

    @contextmanager
    def lock(name):
        engine._leases[name] = Lease()
        yield
        del engine._leases[name]

    engine.lock = lock
    return engine
