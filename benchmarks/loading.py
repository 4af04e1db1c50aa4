"""Loading a cluster: ours against the client library's own `helpers.bulk` at its defaults, with the same documents.

Real PubMed papers with two random vectors each. Timed in turn, until everything can be searched. Needs SES_TEST_DATA.
Run: python -m benchmarks.loading URL [PAPERS] [unrefreshed]; the last word adds a loading without any refresh.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from importlib import import_module

import orjson

from benchmarks.common import interleaved, random_documents
from search_plugin.contract.engine import Document
from search_plugin.contract.schema import IndexSchema, paper_vector
from search_plugin.engines.cluster.engine import ClusterEngine
from search_plugin.engines.cluster.mapping import LOADING, SERVING, body_of

SCHEMA = IndexSchema("none", "none", (paper_vector("prx", 384, "cosine"), paper_vector("clf", 384, "cosine")))
ROUNDS = 3
SENT_TOGETHER = 2_000  # about the batch size of `ses index`


def main() -> None:
    url, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    engine = ClusterEngine(url)
    documents = list(random_documents(count, SCHEMA))
    print(
        f"{engine.cluster.product.name}, {count:,} papers with two vectors of 384 numbers, median of {ROUNDS} rounds:"
    )
    contenders = {"ses": lambda: _ours(engine, documents), "helpers.bulk": lambda: _helpers(engine, documents, SERVING)}
    if "unrefreshed" in sys.argv:
        contenders["helpers.bulk, one large graph"] = lambda: _helpers(engine, documents, LOADING)
    taken = interleaved(contenders, ROUNDS)
    for name, spent in taken.items():
        print(f"  {name:38} {count / spent:7,.0f} papers/s  {taken['helpers.bulk'] / spent:5.2f}x")


def _ours(engine: ClusterEngine, documents: Sequence[Document]) -> None:
    index = engine.build("loading", SCHEMA, "benchmark")
    for start in range(0, len(documents), SENT_TOGETHER):
        index.upsert(documents[start : start + SENT_TOGETHER])
    index.finish()
    _check(index.count(), len(documents))
    engine.drop("loading")


def _helpers(engine: ClusterEngine, documents: Sequence[Document], settings: dict[str, object]) -> None:
    body = body_of(SCHEMA, "benchmark", engine.dialect, 1)
    body["settings"]["index"] |= settings
    engine.cluster.call("PUT", "/ses.loading.v1", body)
    if engine.cluster.product.kind == "opensearch":
        module, name = import_module("opensearchpy"), "OpenSearch"
    else:
        module, name = import_module(f"elasticsearch{engine.cluster.product.version[0]}"), "Elasticsearch"
    client = getattr(module, name)(
        engine.url, **({"timeout": 120} if name == "OpenSearch" else {"request_timeout": 120})
    )
    import_module(f"{module.__name__}.helpers").bulk(client, _actions(documents))
    client.indices.refresh(index="ses.loading.v1")
    _check(client.count(index="ses.loading.v1")["count"], len(documents))
    engine.drop("loading")


def _check(held: int, count: int) -> None:
    if held != count:
        sys.exit(f"Only {held:,} of {count:,} papers arrived.")


def _actions(documents: Sequence[Document]) -> Iterator[dict[str, object]]:
    for document in documents:
        fields = orjson.loads(orjson.dumps(document.paper))
        vectors = {name: vector.tolist() for name, vector in document.vectors.items()}
        kept = {name: value for name, value in fields.items() if value}
        yield {"_index": "ses.loading.v1", "_id": document.paper.id, **kept, **vectors}


if __name__ == "__main__":
    main()
