"""Put papers that say a query's one word before papers whose vectors alone are a little near to it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from search_plugin.contract.plan import LEXICAL
from search_plugin.ranking.weakness import FLOORS
from search_plugin.words.terms import terms_of

if TYPE_CHECKING:
    from search_plugin.ranking.stages.state import SearchState


def literal(state: SearchState) -> SearchState:
    """Move hits behind the others that do not say the query's only word, and are weak matches by their vectors.

    Models know few names of genes and drugs, such as TNF-alpha. With more words, most papers say some of them, and
    nothing is moved.
    """
    plan, schema = state.plan, state.index.schema
    floor = FLOORS.get(schema.fingerprint)
    if not floor or LEXICAL not in state.legs or not plan.vectors or not _is_one_word(state):
        return state
    said = {hit.id for hit in state.legs[LEXICAL]}
    near = {hit.id for hit in state.legs[plan.vectors[0].field] if hit.score >= floor.least}
    ranking = sorted(state.ranking, key=lambda hit: hit.id not in said and hit.id not in near)
    return replace(state, ranking=ranking, shown=ranking)


def _is_one_word(state: SearchState) -> bool:
    plan = state.plan
    if plan.notions:
        return len(plan.notions) == 1 and not plan.plain
    return len([term for term in terms_of(plan.words, state.index.schema.language) if term]) == 1
