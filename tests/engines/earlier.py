"""An index as the version before retractions and origins made it."""

from __future__ import annotations

from dataclasses import replace

import lancedb

from search_plugin.engines.base import Document
from search_plugin.engines.cluster.documents import batches
from search_plugin.engines.cluster.mapping import SERVING
from search_plugin.schema import LATER_FIELDS


def make_earlier(engine, name):
    """Take the later fields out of a published index, and of its papers."""
    if hasattr(engine, "cluster"):
        _make_earlier_in_a_cluster(engine, engine.open(name))
    else:
        table = lancedb.connect(engine.url.removeprefix("lance:")).open_table(f"{name}.v1")
        table.drop_columns(list(LATER_FIELDS))


def _make_earlier_in_a_cluster(engine, index):
    ids = list(index.ids())
    papers, hashes, vectors = index.papers(ids), index.hashes(ids), index.vectors(ids, "prx")
    kept = engine.cluster.call("GET", f"/{index.physical}")[index.physical]
    for field in LATER_FIELDS:
        del kept["mappings"]["properties"][field]
    settings = {
        part: kept["settings"]["index"][part] for part in ("similarity", "knn") if part in kept["settings"]["index"]
    }
    engine.cluster.call("DELETE", f"/{index.physical}")
    body = {"settings": {"index": SERVING | settings}, "mappings": kept["mappings"], "aliases": kept["aliases"]}
    engine.cluster.call("PUT", f"/{index.physical}", body)
    # What is missing is left out, so that papers without a mark or an origin are documents as they were.
    written = [Document(replace(papers[id_], origins=()), hashes[id_], {"prx": vectors[id_]}) for id_ in ids]
    for batch in batches(written, index.schema, 1 << 30, []):
        reply = engine.cluster.call(
            "POST", f"/{index.physical}/_bulk", b"\n".join([*batch.lines, b""]), params={"refresh": True}
        )
        assert not reply["errors"], reply
