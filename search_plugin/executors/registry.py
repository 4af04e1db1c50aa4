"""The executors `--executor NAME` knows: a new one is one file and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from corpora.errors import InputError
from search_plugin.legs import Fused

if TYPE_CHECKING:
    from search_plugin.engines.base import Index
    from search_plugin.plan import Plan
    from search_plugin.request import SearchRequest


@dataclass(frozen=True, slots=True)
class Ranking:
    """The papers a plan found, in order.

    Attributes:
        fused: Best first, ties by id.
        found: How many each leg brought, where the executor can tell.
        executor: Who did it: another than asked for where that one could not.
    """

    fused: Sequence[Fused]
    found: Mapping[str, int]
    executor: str


Executor = Callable[["Index", "Plan", "SearchRequest"], Ranking]
"""Runs a plan's legs in an index and joins them by the request's fusion and weights."""


def _client(index: Index, plan: Plan, request: SearchRequest) -> Ranking:
    from search_plugin.executors.client import execute

    return execute(index, plan, request)


def _opensearch_pipeline(index: Index, plan: Plan, request: SearchRequest) -> Ranking:
    from search_plugin.executors.opensearch_pipeline import execute

    return execute(index, plan, request)


def _es_retriever(index: Index, plan: Plan, request: SearchRequest) -> Ranking:
    from search_plugin.executors.es_retriever import execute

    return execute(index, plan, request)


EXECUTORS: Mapping[str, Executor] = {
    "client": _client,
    "opensearch-pipeline": _opensearch_pipeline,
    "es-retriever": _es_retriever,
}

DEFAULT_EXECUTOR = "client"


def get_executor(name: str) -> Executor:
    """Return the executor of that name, or raise `InputError` naming those there are."""
    if name not in EXECUTORS:
        raise InputError(f"There is no executor {name!r}; those there are: {', '.join(EXECUTORS)}.")
    return EXECUTORS[name]
