"""Times of sequential searches in the modes whose quality is measured, to compare quality with speed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from statistics import median
from typing import Any

from encoders.text_encoder import TextEncoder
from eval.retrieval.protocol import Protocol
from search_plugin.contract.engine import Index
from search_plugin.request import MAX_QUERY, SearchRequest
from search_plugin.search import search

QUERIES = 50
WARMING = 3
"""Warm-up searches that are not timed, because the first ones open files."""


def seconds_a_query(
    texts: Mapping[str, str], index: Index, encoder: TextEncoder, protocol: Protocol
) -> dict[str, float]:
    """Time a page of ten for some of the queries, in every mode and by every fusion.

    Args:
        texts: By query id.
        index: Holds the corpus.
        encoder: Of the model that made the index, without a cache, because a cached vector takes no time.
        protocol: Its modes, fusions, weights and depth.

    Returns:
        Median seconds, by the labels of `eval.retrieval.protocol.evaluate_queries`.
    """
    base = SearchRequest("words", window=max(protocol.depth, 10), title_boost=protocol.title_boost)
    asked = [text[:MAX_QUERY] for text in islice(texts.values(), QUERIES)]
    taken: dict[str, float] = {}
    for label, (mode, fusion) in protocol.systems.items():
        joined: dict[str, Any] = {"fusion": fusion, "weights": protocol.weights} if mode == "hybrid" else {}
        request = replace(base, mode=mode, **joined)
        for text in asked[:WARMING]:
            search(index, replace(request, query=text), encoder)
        taken[label] = median(_timed(index, replace(request, query=text), encoder) for text in asked)
    return taken


def _timed(index: Index, request: SearchRequest, encoder: TextEncoder) -> float:
    begun = time.perf_counter()
    search(index, request, encoder)
    return time.perf_counter() - begun
