"""Which hits match weakly: by thresholds fitted on judged queries (docs/ranking.md, Weak matches).

A vector leg finds papers for every query, also for nonsense and for topics that no paper is about. So a hit is judged
by two signals: the similarity of its vector to the query's, and the share of the query's different words that it holds.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace

from search_plugin.contract.plan import LEXICAL
from search_plugin.pages.highlights import share_of_words
from search_plugin.pages.hit import Hit
from search_plugin.ranking.state import SearchState
from search_plugin.words.languages import get_language
from search_plugin.words.terms import terms_of


@dataclass(frozen=True, slots=True)
class MatchThreshold:
    """The least that a hit should reach with a model.

    Attributes:
        least: The least sum of the similarity and the weighted share of words.
        words: Weight of the share of the query's words that the paper holds.
    """

    least: float
    words: float

    def strength(self, similarity: float, share: float) -> float:
        """Return how strongly a hit matches; a weak one stays below `least`."""
        return similarity + self.words * share


THRESHOLDS: Mapping[str, MatchThreshold] = {
    "3b9a20da48be8dfb": MatchThreshold(least=0.302, words=0.25)  # ses-minilm, which is all-MiniLM-L6-v2
}
"""Thresholds by fingerprint of the model, fitted by `python -m benchmarks.weak`; others have none."""

NOTHING_MATCHES = "Nothing matches well; the nearest papers follow."

_SCRIPTS = frozenset(("LATIN", "GREEK"))
_UNSPACED_SCRIPTS = frozenset(("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "IDEOGRAPHIC", "HALFWIDTH", "FULLWIDTH"))


def unknown_script(text: str, language: str) -> bool:
    """Return whether most letters of a text are of a script that the analysis of a language does not know."""
    if text.isascii():
        return False
    known = _SCRIPTS | (_UNSPACED_SCRIPTS if get_language(language).bigrams else frozenset())
    letters = [char for char in text if char.isalpha()]
    # A character's name begins with its script.
    foreign = sum(unicodedata.name(char, "").split(" ")[0] not in known for char in letters)
    return 2 * foreign > len(letters)


def literal(state: SearchState) -> SearchState:
    """Move hits behind the others that do not say the query's only word, and are weak matches by their vectors.

    Models know few names of genes and drugs, such as TNF-alpha. With more words, most papers say some of them, and
    nothing is moved.
    """
    judged = threshold_of(state)
    if not judged or LEXICAL not in state.legs or not _is_one_word(state):
        return state
    leg, threshold = judged
    said = {hit.id for hit in state.legs[LEXICAL]}
    near = {hit.id for hit in state.legs[leg] if hit.score >= threshold.least}
    ranking = sorted(state.ranking, key=lambda hit: hit.id not in said and hit.id not in near)
    return replace(state, ranking=ranking, shown=ranking)


def threshold_of(state: SearchState) -> tuple[str, MatchThreshold] | None:
    """Return the first vector leg whose model has a threshold, with that; thresholds are of cosines."""
    schema = state.index.schema
    for clause in state.plan.vectors:
        foreign = schema.beside(clause.field)
        threshold = THRESHOLDS.get(foreign.fingerprint if foreign else schema.fingerprint)
        if threshold and (foreign is None or foreign.similarity == "cosine"):
            return clause.field, threshold
    return None


def _is_one_word(state: SearchState) -> bool:
    plan = state.plan
    if plan.groups:
        return len(plan.groups) == 1 and not plan.plain
    return len([term for term in terms_of(plan.words, state.index.schema.language) if term]) == 1


def mark_weak(state: SearchState) -> SearchState:
    """Mark the hits below the threshold of the index's model, and add notes."""
    query, schema = state.request.searched, state.index.schema
    notes = list(state.notes)
    if unknown_script(query, schema.language):
        notes.append(
            f"Most of the query is in a script that this index does not know: it analyses words as {schema.language}."
        )
    hits = state.hits
    judged = threshold_of(state)
    if judged and state.legs:
        leg, threshold = judged
        hits = tuple(
            hit if hit.known_by else replace(hit, weak=threshold.strength(*signals(hit, state, leg)) < threshold.least)
            for hit in hits
        )
        if hits and not state.before + state.request.offset and all(hit.weak for hit in hits):
            notes.append(NOTHING_MATCHES)
    return replace(state, hits=hits, notes=tuple(notes))


def signals(hit: Hit, state: SearchState, leg: str) -> tuple[float, float]:
    """Return a hit's similarity to the query by a leg, and the share of the query's words that it holds."""
    found = hit.legs.get(leg)
    # A paper that the leg did not find is no nearer than the last one that it found.
    last = state.legs[leg][-1].score if state.legs[leg] else 0.0
    language, groups = state.index.schema.language, state.plan.groups
    share = share_of_words(state.topic, state.held[hit.id], language, groups)
    return (found.raw if found else last), share
