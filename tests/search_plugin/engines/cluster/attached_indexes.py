"""Attached indexes without a server: a catalogue behind an alias, and answers as a cluster gives them."""

from __future__ import annotations

from dataclasses import replace

from search_plugin.contract.schema import IndexSchema, paper_vector
from search_plugin.engines.cluster.attached.attachment import Attachment
from search_plugin.engines.cluster.attached.index import AttachedIndex
from search_plugin.engines.cluster.attached.places import Place
from search_plugin.engines.cluster.dialects import dialect_of
from search_plugin.engines.cluster.product import Product
from tests.search_plugin.engines.cluster.test_joining import Recorded

PLACES = (
    Place("title", "headline", "headline", "text"),
    Place("abstract", "summary", "summary", "text"),
    Place("year", "issued", "issued", "date"),
    Place("venue", "journal.exact", "journal", "keywords"),
    Place("authors", "people.name.exact", "people.name", "keywords", "people"),
    Place("doi", "doi_s", "doi_s", "keywords"),
    Place("shelf", "shelf", "shelf", "number"),
)
INSIDE = IndexSchema("tiny", "f", (replace(paper_vector("prx", 3, "cosine"), name="ses.prx_f"),))
BESIDE = replace(INSIDE, vectors=(paper_vector("prx", 3, "cosine"),))


class Lease:
    """The right to write, which nobody takes away."""

    def check(self):
        """Do nothing."""


def attachment(*, beside="", schema=None, **more):
    schema = schema or (BESIDE if beside else INSIDE)
    return Attachment("catalogue", "shelves", PLACES, schema, beside, 7.5, **more)


def attached_in(kind, version, *replies, lease=None, **of_attachment):
    product = Product(kind, f"{version[0]}.{version[1]}.0", version)
    cluster = Recorded(product, *replies)
    cluster.writing = None
    return AttachedIndex(cluster, dialect_of(product), attachment(**of_attachment), lease)
