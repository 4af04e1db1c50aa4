"""How far a cluster's own joining is from that of ses: nDCG@10 of the same queries, and how many of ten papers agree.

Needs SES_TEST_DATA, the extra eval, an OpenSearch at SES_TEST_OPENSEARCH and an Elasticsearch at
SES_TEST_ELASTICSEARCH9, in which the indexes scifact and cranfield are made and stay. Run: python -m benchmarks.joining
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import ses
from benchmarks.common import data_dir
from encoders.models.formats import Format
from eval.measures.metrics import evaluate
from eval.retrieval.beir import BeirFolder
from eval.statistics.pairs import compare_values
from eval.trec.runs import Run
from search_plugin.contract.plan import LEXICAL, Plan, VectorClause
from search_plugin.engines.cluster import joining
from search_plugin.engines.cluster.frontends.page_request import page_request
from search_plugin.fusion.fusions import fusion_of
from search_plugin.request import SearchRequest

if TYPE_CHECKING:
    import numpy as np

    from search_plugin.engines.cluster.index import ClusterIndex

MEASURE = "nDCG@10"
SHOWN = 10
SERVERS = ("SES_TEST_OPENSEARCH", "SES_TEST_ELASTICSEARCH9")
"""The variables of the two servers."""

Ranked = Callable[[Plan], list[str]]
"""Gives the ids of the best papers of a plan."""


def main() -> None:
    for name in ("scifact", "cranfield"):
        beir = BeirFolder(data_dir() / "eval" / name)
        opensearch, elasticsearch = (indexed(variable, name, beir) for variable in SERVERS)
        judged = beir.judged("test")
        texts = list(judged.texts.values())
        vectors = opensearch.load(opensearch.index).encode(texts, Format.QRY)
        systems = {
            "ses": by_ses(opensearch.index, "minmax"),
            "OpenSearch: the pipeline": by_page(opensearch.index, "minmax"),
            "OpenSearch: the template": by_template(opensearch, "minmax"),
            "Elasticsearch: added up": by_page(elasticsearch.index, "minmax"),
            "Elasticsearch: a plain sum": by_plain_sum(elasticsearch.index),
            "ses, rrf": by_ses(opensearch.index, "rrf"),
            "OpenSearch: the pipeline, rrf": by_page(opensearch.index, "rrf"),
            "words alone": by_words(opensearch.index),
        }
        found = {label: ranked_by(rank, judged.texts, vectors) for label, rank in systems.items()}
        ses.open(opensearch.index.cluster.url).cluster.remove(name)
        show(name, found, judged.qrels)


def indexed(variable: str, name: str, beir: BeirFolder) -> Any:
    """Return the opened index of a data set on a server."""
    if not os.environ.get(variable):
        sys.exit(f"Set {' and '.join(SERVERS)} to the URLs of an OpenSearch and an Elasticsearch.")
    library = ses.open(os.environ[variable])
    if name not in library:
        library.index(name, beir.path, corpus="beir")
    return library[name]


def ranked_by(rank: Ranked, texts: Mapping[str, str], vectors: np.ndarray) -> dict[str, list[str]]:
    """Return the best papers of each query."""
    return {
        query: rank(Plan(text, (VectorClause("prx", vector),), None, 100))
        for (query, text), vector in zip(texts.items(), vectors, strict=True)
    }


def by_ses(index: ClusterIndex, fusion: str) -> Ranked:
    return lambda plan: [hit.id for hit in fusion_of(fusion)(index.search(plan), {})][:SHOWN]


def by_words(index: ClusterIndex) -> Ranked:
    return lambda plan: [hit.id for hit in index.search(Plan(plan.words, (), None, plan.window))[LEXICAL]][:SHOWN]


def by_page(index: ClusterIndex, fusion: str) -> Ranked:
    def rank(plan: Plan) -> list[str]:
        asked = page_request(index, plan, SearchRequest("", fusion=fusion))
        return ids(index, asked.path, cast("Mapping[str, Any]", asked.body))

    return rank


def by_template(opened: Any, fusion: str) -> Ranked:
    index: ClusterIndex = opened.index
    ses.open(index.cluster.url).cluster.install(index.name, fusion=fusion)
    path = f"/{index.name}/_search/template?search_pipeline=ses-{index.name}-{fusion}"

    def rank(plan: Plan) -> list[str]:
        given = {"words": plan.words, "vector": plan.vectors[0].vector}
        return ids(index, path, {"id": f"ses-{index.name}-hybrid", "params": given})

    return rank


def by_plain_sum(index: ClusterIndex) -> Ranked:
    def rank(plan: Plan) -> list[str]:
        body = {"query": {"bool": {"should": joining.leg_queries(index, plan)}}, "size": SHOWN}
        return ids(index, f"/{index.name}/_search", body)

    return rank


def ids(index: ClusterIndex, path: str, body: Mapping[str, Any]) -> list[str]:
    """Return the ids of the hits of a search."""
    return [str(hit["_id"]) for hit in index.cluster.call("POST", path, body)["hits"]["hits"]]


def show(name: str, found: Mapping[str, Mapping[str, list[str]]], qrels: Any) -> None:
    measured = {label: evaluate(as_run(label, lists), qrels, [MEASURE]) for label, lists in found.items()}
    means = {label: scores.means[MEASURE] for label, scores in measured.items()}
    print(f"{name}: {measured['ses'].queries} queries; the difference from ses with its interval of 95 %")
    print(f"| {'who joins':30} | nDCG@10 | difference | the same of 10 |\n| --- | --- | --- | --- |")
    for label, lists in found.items():
        same = sum(len({*lists[query]} & {*best}) / SHOWN for query, best in found["ses"].items()) / len(found["ses"])
        told = ""
        if label != "ses":
            (pair,) = compare_values({"ses": measured["ses"].per_query, label: measured[label].per_query})
            told = f"{pair.difference.mean:+.4f} ({pair.difference.low:+.4f} to {pair.difference.high:+.4f})"
        print(f"| {label:30} | {means[label]:.4f} | {told} | {10 * same:.1f} |", flush=True)


def as_run(label: str, lists: Mapping[str, list[str]]) -> Run:
    """Return ranked lists as a run."""
    return Run(
        label, {query: [(one, float(-place)) for place, one in enumerate(best)] for query, best in lists.items()}
    )


if __name__ == "__main__":
    main()
