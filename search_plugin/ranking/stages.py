"""The stages of every search, and the rerankers that one of them calls.

A new stage is a function and, at its place in the order, one line of `RANKING` or `SHOWING`; a new reranker one line of
`RERANKERS`. Pages, cursors, evaluations and MTEB all rank by these stages (`search_plugin.search.rank_papers`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from corpora.lazy import np
from search_plugin.contract.engine import rank_in_engine
from search_plugin.contract.legs import Facets, Fused, closeness, sorted_ids
from search_plugin.contract.schema import SENTENCES
from search_plugin.contract.tree import OneOf, all_of
from search_plugin.pages.highlights import find, highlight
from search_plugin.pages.hit import Hit, near_sentence
from search_plugin.ranking.named import put_named_first
from search_plugin.ranking.neighbours import smooth, smoothed
from search_plugin.ranking.result_set import continued, counting_of, legs_found, matches_of, settle
from search_plugin.ranking.state import SearchState
from search_plugin.ranking.weakness import literal, mark_weak

Reranker = Callable[[SearchState], Sequence[Fused]]
"""Takes a state after the legs were joined. Returns the papers of its ranking in another order, ties by id."""


def complete(state: SearchState) -> Sequence[Fused]:
    """Score every paper with every leg, also with the legs that did not find it, fuse again, and add neighbours.

    A fusion gives a paper nothing for a leg that did not find it, though the paper may rank just below the leg's
    window. Here the legs run again over the papers found only, with exact vector scores. So the only missing scores are
    lexical scores of papers without a word of the query.

    Use it when legs find different papers, and a search may take twice the time.
    """
    plan, request = state.plan, state.request
    if not plan.vectors:
        return state.ranking  # the lexical leg alone finds every paper with these words, with full scores
    ids = tuple(hit.id for hit in state.ranking)
    where = all_of(OneOf("id", ids), plan.filter)
    legs = state.index.search(replace(plan, filter=where, window=len(ids), exact=True))
    fused = state.joined(legs)
    return smoothed(fused, state.index, request.neighbours, request.fusion) if len(legs) > 1 else fused


RERANKERS: Mapping[str, Reranker] = {"complete": complete}


Stage = Callable[[SearchState], SearchState]
"""Takes a search one step further; with nothing to do, it returns the state as it was."""


def retrieve(state: SearchState) -> SearchState:
    """Run all legs in one request, unless the state has them; in a listing, find the papers that match its filter.

    If the user wants it, the engine joins the legs too.
    """
    index, plan, request = state.index, state.plan, state.request
    if plan.order:
        listing = index.listed(plan.filter, plan.order, request.offset + request.size)
        listed = [Fused(id_, 0.0, {}) for id_ in listing.ids]
        return replace(state, ranking=listed, shown=listed, total=listing.matches)
    if request.join == "engine" and len(plan.legs) > 1 and request.narrow is None:
        joined = rank_in_engine(index, plan, request.fusion, state.weights)
        if joined is not None:
            return replace(
                state, ranking=joined.fused, shown=joined.fused, values=joined.values, joined_by=request.join
            )
    legs = state.legs or legs_found(state)
    if request.narrow is not None:
        plan = replace(plan, filter=all_of(plan.filter, request.narrow))
    values = {hit.id: hit.value for found in legs.values() for hit in found} if plan.column else {}
    return replace(state, plan=plan, legs=legs, values=values)


def expand(state: SearchState) -> SearchState:
    """Search the words again with those of the first papers, if the request says so."""
    if not state.request.expand:
        return state
    from search_plugin.ranking.feedback import with_words_of_the_first

    return with_words_of_the_first(state)


def feedback(state: SearchState) -> SearchState:
    """Search the first vector leg again, nearer to the first papers by words, if the request says so."""
    if not state.request.feedback:
        return state
    from search_plugin.ranking.feedback import feed_back

    return feed_back(state)


def fuse(state: SearchState) -> SearchState:
    """Join the legs by the request's fusion, unless the engine has joined them, or there are none."""
    if state.joined_by == "engine" or not state.plan.legs:
        return state
    ranking = state.joined(state.legs)
    return replace(state, ranking=ranking, shown=ranking)


def rerank(state: SearchState) -> SearchState:
    """Rank again by the request's reranker, if it names one: a method too expensive for all papers."""
    if not (state.request.rerank and state.ranking):
        return state
    if state.scorer:
        from search_plugin.ranking.model_reranking import rerank_by_model

        return rerank_by_model(state, state.scorer)
    ranking = RERANKERS[state.request.rerank](state)
    return replace(state, ranking=ranking, shown=ranking)


def boost(state: SearchState) -> SearchState:
    """Move papers of a higher forecast a little up, if the request names one; a listing has no ranks to change."""
    wanted = state.request.boost
    if wanted is None or not state.plan.legs or not state.ranking:
        return state
    from search_plugin.fusion.boosting import boosted_ids

    found = {hit.id: hit for hit in state.ranking}
    rows = state.index.values(list(found), [wanted.field])
    values = {id_: row[wanted.field] for id_, row in rows.items() if wanted.field in row}
    ranking = [found[id_] for id_ in boosted_ids(list(found), values, wanted.strength)]
    note = (
        f"Papers with a higher forecast ({wanted.field}) are up to {wanted.strength / 2:.0%} of their rank further up; "
        "a forecast repeats past citations and says nothing of quality."
    )
    return replace(state, ranking=ranking, shown=ranking, notes=(*state.notes, note))


def collapse(state: SearchState) -> SearchState:
    """Show one paper for those that share a value, or are versions of one work, if the request says so."""
    if not state.request.collapse:
        return state
    from search_plugin.ranking.collapsing import show_one_of_each

    return show_one_of_each(state)


def sort(state: SearchState) -> SearchState:
    """Sort the papers found by the request's order, if it has one; the engine has sorted a listing already."""
    order = state.request.sort
    if order is None or state.plan.order or not state.shown:
        return state
    found = {hit.id: hit for hit in state.shown}
    rows = state.index.values(list(found), [order.field])
    values = {id_: row[order.field] for id_, row in rows.items() if order.field in row}
    full = not state.legs or any(len(hits) >= state.request.window for hits in state.legs.values())
    more = "; a larger window finds more" if full else ""
    note = f"Only the {len(found):,} papers that the search found are sorted{more}."
    shown = [found[id_] for id_ in sorted_ids(values, found, order)]
    return replace(state, shown=shown, notes=(*state.notes, note))


def render(state: SearchState) -> SearchState:
    """Read the papers of the page and count its facets, in one request; and mark the query's words."""
    request = state.request
    page = state.shown[request.offset : request.offset + request.size]
    fields = {name: state.index.schema.field(name).name for name in request.facets}
    counting = counting_of(state, list(dict.fromkeys(fields.values())))
    missing = [hit.id for hit in page if hit.id not in state.papers]
    if counting and request.facet_typed:
        from search_plugin.filters.containing import Typed, count_containing

        facets: Facets | None = count_containing(state.index, counting, Typed(request.facet_typed))
        read, _ = state.index.fetch(missing)
    else:
        read, facets = state.index.fetch(missing, counting)
    matches = matches_of(state, facets.matches if facets else None)
    if facets and fields:
        counted = facets.counted if state.plan.legs or state.plan.order else "the papers found"
        facets = replace(facets, counted=counted, counts={name: facets.counts[field] for name, field in fields.items()})
    papers = {**state.papers, **read}
    marked = " ".join([state.topic, *(other.text for group in state.plan.groups for other in group.others)])
    language = state.index.schema.language
    hits: list[Hit] = []
    held: dict[str, frozenset[str]] = {}
    for rank, hit in enumerate(page, state.before + request.offset + 1):
        paper = papers.get(hit.id)
        if paper is None:  # deleted since the legs ran
            continue
        found = find(marked, paper.title, paper.abstract, language)
        held[hit.id] = found.terms
        hits.append(
            Hit(
                rank=rank,
                paper=paper,
                score=hit.score,
                legs=hit.contributions,
                snippets=highlight(paper.title, paper.abstract, found),
                collapsed=state.hidden.get(hit.id, 0),
                versions=state.versions.get(hit.id, ()),
                known_by=state.meaning.known_by.get(hit.id, ""),
            )
        )
    return replace(
        state, papers=papers, hits=tuple(hits), held=held, facets=facets if fields else None, matches=matches
    )


def nearest_sentence(state: SearchState) -> SearchState:
    """Find the nearest sentence of each hit, if the search had the query's vector in a leg of sentences.

    Its vectors are read from the index, and no paper is encoded.
    """
    query = next((one.vector for one in state.plan.vectors if one.field == SENTENCES and one.vector.size), None)
    if query is None or not state.hits:
        return state
    from search_plugin.words.sentences import sentences_of

    held = state.index.vectors([hit.id for hit in state.hits], SENTENCES)
    similarity = state.index.schema.leg(SENTENCES).similarity

    def shown(hit: Hit, vectors: np.ndarray | None) -> Hit:
        places = sentences_of(hit.title, hit.paper.abstract)
        # A paper that was written since it was read has other sentences.
        if vectors is None or len(vectors) != len(places):
            return hit
        scores = closeness(vectors, query, similarity)
        best = int(scores.argmax())
        return replace(hit, sentence=near_sentence(hit.paper, places[best], float(scores[best])))

    return replace(state, hits=tuple(shown(hit, held.get(hit.id)) for hit in state.hits))


RANKING: Mapping[str, Stage] = {
    "retrieve": retrieve,
    "expand": expand,
    "feedback": feedback,
    "fuse": fuse,
    "neighbours": smooth,
    "rerank": rerank,
    "literal": literal,
    "boost": boost,
    "known_item": put_named_first,
}
"""The stages that order the papers found, by the name under which a page reports their time."""

SETTLING: Mapping[str, Stage] = {"settle": settle, "collapse": collapse, "sort": sort, "continue": continued}
"""The stages that decide which papers were found, of those ranked and beside them, and which of them are shown."""

SHOWING: Mapping[str, Stage] = {"render": render, "sentence": nearest_sentence, "weak_matches": mark_weak}
"""The stages that make a page of the papers ordered."""
