"""The stages that add to a query what its first papers hold: their words, or their vectors.

**Words: the relevance model RM3.** A first ranking is taken for relevant. The words of its papers have the probability
`P(w|R)`, which is the sum over papers of `P(w|D) P(Q|D)` (Lavrenko and Croft, "Relevance-based language models", SIGIR
2001, section 3.1, RM1): here the share of a paper's words times the share of the ranking's score. The likeliest words
are mixed with those of the query: `(1 - l) P(w|Q) + l P(w|R)` (Abdul-Jaleel et al., "UMass at TREC 2004", section 2.2,
RM3).

**Vectors: Rocchio 1971, the positive part.** The vector of the query becomes `q + w mean(d)` over the best five papers
by words: their vectors are in the index, so nothing is encoded. Then the vector leg runs again. Words find papers that
say the same, and their vectors find those that mean the same.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from corpora.lazy import np
from corpora.paper import Paper
from search_plugin.contract.legs import Fused
from search_plugin.contract.plan import LEXICAL, TermVariant
from search_plugin.ranking.state import SearchState
from search_plugin.words.terms import TOKEN, term_of, terms_of

PAPERS = 10
"""Papers that are taken for relevant."""

WORDS = 20
"""Words that are added."""

SHARE = 0.5
"""The part of the added words in the mixture (`l` above)."""

NOTHING_TO_ADD_TO = "No words are added: ses itself has ranked no papers by words here."

_SHOWN = 5
"""Added words that the note names."""


def with_words_of_the_first(state: SearchState) -> SearchState:
    """Search the words again with those of the first papers."""
    if LEXICAL not in state.legs:
        return replace(state, notes=(*state.notes, NOTHING_TO_ADD_TO))
    first = state.joined(state.legs)[:PAPERS]
    papers = {**state.papers, **state.index.fetch([hit.id for hit in first])[0]}
    language = state.index.schema.language
    length = sum(map(bool, terms_of(state.plan.words, language)))
    added = added_words(first, papers, language, length)
    if not added:
        return state
    plan = replace(state.plan, added=added)
    found = state.index.search(replace(plan, vectors=()))
    values = {hit.id: hit.value for hit in found[LEXICAL]} if plan.column else {}
    named = ", ".join(word.text for word in added[:_SHOWN])
    note = f"Words of the first papers are searched too, such as {named}."
    return replace(
        state,
        plan=plan,
        legs={**state.legs, **found},
        papers=papers,
        values={**state.values, **values},
        notes=(*state.notes, note),
    )


def added_words(
    first: Sequence[Fused], papers: Mapping[str, Paper], language: str, length: int
) -> tuple[TermVariant, ...]:
    """Return the likeliest words of a ranking's papers, the likeliest first, ties by term.

    A word of the query weighs 1, so a query of `length` words has a weight of `length (1 - l)` of the mixture's, scaled
    by `1 / (1 - l)`. The weights of the added words sum to `length l / (1 - l)`.
    """
    likely: defaultdict[str, float] = defaultdict(float)
    forms: dict[str, Counter[str]] = {}
    for hit in first:
        if hit.id not in papers:  # deleted a moment ago
            continue
        counts: Counter[str] = Counter()
        for token in TOKEN.finditer(f"{papers[hit.id].title} {papers[hit.id].abstract}"):
            term = "" if token[1] or token[0].isdigit() else term_of(token[0], language)
            if term:
                counts[term] += 1
                forms.setdefault(term, Counter())[token[0].lower()] += 1
        for term, count in counts.items():
            likely[term] += hit.score * count / counts.total()
    best = sorted(likely.items(), key=lambda pair: (-pair[1], pair[0]))[:WORDS]
    total = sum(value for _, value in best)
    scale = length * SHARE / (1 - SHARE) / total if total else 0.0
    return tuple(
        TermVariant(min(forms[term].items(), key=lambda pair: (-pair[1], pair[0]))[0], value * scale)
        for term, value in best
        if value * scale > 0
    )


FIRST_PAPERS = 5
"""Papers by words whose vectors count."""

NO_FEEDBACK = "Feedback counts in a search by words and vectors that ses itself joins, and this is another one."


def feed_back(state: SearchState) -> SearchState:
    """Search the first vector leg again by the moved vector."""
    weight, field = state.request.feedback, state.index.schema.legs[0] if state.index.schema.legs else ""
    clause = next((one for one in state.plan.vectors if one.field == field), None)
    if not state.plan.legs:
        return state
    if clause is None or not state.legs.get(LEXICAL):
        return state if state.legs.get(field) else replace(state, notes=(*state.notes, NO_FEEDBACK))
    first = [hit.id for hit in state.legs[LEXICAL][:FIRST_PAPERS]]
    moved = replace(clause, vector=moved_vector(clause.vector, state.index.vectors(first, field), weight))
    vectors = tuple(moved if one is clause else one for one in state.plan.vectors)
    again = replace(state.plan, words="", vectors=(moved,))
    found = state.index.search(again)
    values = {hit.id: hit.value for hit in found[field]} if again.column else {}
    return replace(
        state,
        plan=replace(state.plan, vectors=vectors),
        legs={**state.legs, **found},
        values={**state.values, **values},
    )


def moved_vector(query: np.ndarray, papers: Mapping[str, np.ndarray], weight: float) -> np.ndarray:
    """Return a query's vector, moved towards papers by a weight, float32 (dimension,), of the query's length.

    Papers are float32 (dimension,) by id, or (passages, dimension); each counts by its direction.

    >>> import numpy as np
    >>> moved_vector(np.array([1.0, 0.0]), {"a": np.array([0.0, 2.0]), "b": np.array([0.0, 1.0])}, 1.0).round(3)
    array([0.707, 0.707], dtype=float32)
    """
    rows = [row.mean(axis=0) if row.ndim > 1 else row for row in papers.values()]
    units = [row / length for row in rows if (length := float(np.linalg.norm(row))) > 0]
    size = float(np.linalg.norm(query))
    if not units or not size:
        return query
    moved = query / size + weight * np.mean(units, axis=0)
    return np.asarray(moved * (size / (float(np.linalg.norm(moved)) or 1.0)), np.float32)
