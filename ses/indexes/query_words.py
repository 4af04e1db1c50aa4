"""The words that an index in a cluster has for front ends, kept up to date with its papers."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from corpora.errors import SesError, UnavailableError
from search_plugin.contract.engine import InCluster

if TYPE_CHECKING:
    from encoders.word_vectors import WordVectors
    from search_plugin.contract.engine import Engine, Index
    from search_plugin.engines.cluster.frontends.query_words import QueryWords

    VectorsOf = Callable[[Index, str], WordVectors]


def words_to_keep(index: Index, vectors: VectorsOf, *, asked: bool = False) -> QueryWords | None:
    """Return the words that an index should have: if they are asked for, or there are some; None otherwise.

    `vectors` returns what makes the vectors, by a table of a name, if one is given. If words that are asked for can't
    be made, since no table stands in for the model of the index, it is an `InputError`; otherwise that is only said.
    """
    from search_plugin.engines.cluster.frontends.query_words import query_words
    from search_plugin.engines.cluster.index import index_in_cluster
    from search_plugin.engines.cluster.word_indexes import find_word_indexes

    clustered = index_in_cluster(index)
    if clustered is None:
        return None
    held = find_word_indexes(clustered.cluster, clustered.name)
    if not held and not asked:
        return None
    # The table by which they were made need not be the one that ses ships.
    held = sorted(held, key=lambda one: not one.searched)
    name = next((str(one.facts["name"]) for one in held if one.facts.get("name")), "")
    try:
        return query_words(clustered, vectors(index, name))
    except SesError as error:
        if asked:
            raise
        _say(index.name, error)
        return None


def update_words(engine: Engine, name: str, vectors: VectorsOf) -> None:
    """Add the words of new papers to those that front ends know, if they know some; a failure is only said."""
    if not isinstance(engine, InCluster):
        return
    from search_plugin.engines.cluster.frontends.installation import Installation
    from search_plugin.engines.cluster.word_indexes import find_word_indexes

    # Who may write papers may not see the words of front ends; then there are usually none.
    with suppress(UnavailableError):
        if not find_word_indexes(engine.cluster, name):
            return
        try:
            index = engine.open(name)
            if words := words_to_keep(index, vectors):
                Installation(engine.cluster, index.name, (words,)).install()
        except SesError as error:
            _say(name, error)


def _say(name: str, error: SesError) -> None:
    logging.getLogger("ses").warning("The words that front ends of %s know are not up to date: %s", name, error)
