"""The sentence of each hit that is nearest to the query, by the vectors in the index: no paper is encoded."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from search_plugin.contract.closeness import closeness
from search_plugin.contract.schema import SENTENCES
from search_plugin.pages.hit import Hit, near_sentence
from search_plugin.words.sentences import sentences_of

if TYPE_CHECKING:
    import numpy as np

    from search_plugin.ranking.state import SearchState


def nearest_sentence(state: SearchState) -> SearchState:
    """Find the nearest sentence of each hit, if the search had the query's vector in a leg of sentences."""
    asked = next((one.vector for one in state.plan.vectors if one.field == SENTENCES and one.vector.size), None)
    if asked is None or not state.hits:
        return state
    held = state.index.vectors([hit.id for hit in state.hits], SENTENCES)
    similarity = state.index.schema.leg(SENTENCES).similarity

    def shown(hit: Hit, vectors: np.ndarray | None) -> Hit:
        places = sentences_of(hit.title, hit.paper.abstract)
        # A paper that was written since it was read has other sentences.
        if vectors is None or len(vectors) != len(places):
            return hit
        scores = closeness(vectors, asked, similarity)
        best = int(scores.argmax())
        return replace(hit, sentence=near_sentence(hit.paper, places[best], float(scores[best])))

    return replace(state, hits=tuple(shown(hit, held.get(hit.id)) for hit in state.hits))
