"""The stages of every search, in this order: a new one is one file and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from search_plugin.ranking.stages.boost import boost
from search_plugin.ranking.stages.collapse import collapse
from search_plugin.ranking.stages.fuse import fuse
from search_plugin.ranking.stages.known import known
from search_plugin.ranking.stages.literal import literal
from search_plugin.ranking.stages.render import render
from search_plugin.ranking.stages.rerank import rerank
from search_plugin.ranking.stages.retrieve import retrieve
from search_plugin.ranking.stages.sort import sort
from search_plugin.ranking.stages.state import SearchState
from search_plugin.ranking.stages.warn import warn

Stage = Callable[[SearchState], SearchState]
"""Takes a search one step further; with nothing to do, it returns the state as it was."""

STAGES: Mapping[str, Stage] = {
    "retrieve": retrieve,
    "fuse": fuse,
    "rerank": rerank,
    "literal": literal,
    "boost": boost,
    "known": known,
    "collapse": collapse,
    "sort": sort,
    "render": render,
    "warn": warn,
}
"""Stages by the name under which a page reports their time."""
