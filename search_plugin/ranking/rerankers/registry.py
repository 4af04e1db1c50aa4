"""The available rerankers: a new one is one file and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from corpora.errors import InputError
from search_plugin.contract.legs import Fused
from search_plugin.ranking.rerankers import complete
from search_plugin.ranking.stages.state import SearchState

Reranker = Callable[[SearchState], Sequence[Fused]]
"""Returns the papers of a state's ranking in another order, best first, ties by id."""

RERANKERS: Mapping[str, Reranker] = {"complete": complete.rerank}


def get_reranker(name: str) -> Reranker:
    """Return the reranker of that name, or raise `InputError` that names the available ones."""
    if name not in RERANKERS:
        raise InputError(f"There is no reranker {name!r}; choose one of {', '.join(RERANKERS)}.")
    return RERANKERS[name]
