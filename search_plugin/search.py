"""From a request to a page, the same over every engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from corpora.errors import InputError, NotFoundError, UnavailableError, require
from search_plugin.contract.engine import Index
from search_plugin.contract.plan import VectorClause
from search_plugin.contract.trace import Clock
from search_plugin.contract.tree import Compare, Filter, Not, all_of
from search_plugin.filters.resolve import resolve
from search_plugin.fusion.fusions import fusion_of
from search_plugin.pages.page import Page
from search_plugin.ranking.planning import EncoderSource, encoder_of, legs_of, make_plan, plan_of, text_vector
from search_plugin.ranking.result_set import goes_on
from search_plugin.ranking.stages import RANKING, RERANKERS, SETTLING, SHOWING, Stage
from search_plugin.ranking.state import SearchState
from search_plugin.request import MAX_QUERY, MAX_WINDOW, SAME_WORK, SearchRequest
from search_plugin.understanding.meaning import Meaning, QueryChange, find, look_up
from search_plugin.understanding.preferences.recognise import recognise
from search_plugin.understanding.spelling import correct, look_up_words, with_changes

if TYPE_CHECKING:
    from encoders.rerankers.scorer import PairScorer


ScorerLoader = Callable[[str], "PairScorer"]
"""Loads the reranker of a name."""


def search(
    index: Index, request: SearchRequest, encoder: EncoderSource | None = None, scorers: ScorerLoader | None = None
) -> Page:
    """Search an index.

    Args:
        index: The index, of any engine.
        request: The request of the user.
        encoder: Encoder of the model that made the index, or a function that loads that of a leg by its name, called
            if a vector is needed; not needed for lexical searches.
        scorers: Loads the reranker that the request names, if it is a model.

    Returns:
        The page asked for.

    Raises:
        InputError: If the encoder's model is not the index's, or a field, fusion or reranker is unknown.
        UnavailableError: If the engine does not answer.
    """
    clock = Clock()
    return _page(prepare_search(index.pinned(), request, encoder, clock, scorers), clock)


def prepare_search(
    index: Index,
    request: SearchRequest,
    encoder: EncoderSource | None,
    clock: Clock,
    scorers: ScorerLoader | None = None,
    *,
    ranked: bool = False,
) -> SearchState:
    """Return what a search asks, before it asks the engine for papers; arguments and errors as of `search`.

    If its papers are `ranked` already, no model is needed, and its plan has no vectors.
    """
    _check(index, request)
    scorer = None if ranked else _scorer(request, scorers)
    with clock.step("read"):
        request = _resolved(index, request)
        where = all_of(request.filter, request.narrow)
        meaning = look_up(index, request.searched, where)
        if request.words is not None:
            meaning = replace(meaning, changes=(QueryChange("operators", request.query, (), "literal"),))
        if meaning.topic and not request.verbatim:
            meaning = _recognised(index, meaning, where)
        request, meaning = _understood(index, request, meaning)
    needed = bool(meaning.topic) and request.mode != "lexical" and not ranked
    loaded = _loaded(index, request, encoder) if needed else None
    with clock.step("encode"):
        if meaning.topic or not request.searched:
            topic = request if meaning.topic == request.searched else replace(request, words=meaning.topic)
            plan = plan_of(index, topic) if ranked else make_plan(index, topic, loaded)
        elif meaning.preferences and not meaning.papers:
            request = _listing(request, meaning)
            plan = plan_of(index, request)
        else:
            plan = replace(plan_of(index, replace(request, verbatim=True)), words="")
    if not plan.vectors or request.whole:  # else the stage that finds takes papers away
        plan, request = replace(plan, filter=all_of(plan.filter, request.narrow)), replace(request, narrow=None)
    notes = (*request.notes, *meaning.notes)
    return SearchState(index, request, plan, notes=notes, meaning=meaning, scorer=scorer)


def _recognised(index: Index, meaning: Meaning, where: Filter | None) -> Meaning:
    """Return a meaning with what the query names beside its topic, and with that as a change of the query."""
    found = recognise(index, meaning, where)
    if found == meaning:
        return meaning
    names = tuple(preference.description for preference in found.preferences)
    return replace(found, changes=(*found.changes, QueryChange("preferred", "", names)))


def _changes(state: SearchState) -> tuple[QueryChange, ...]:
    """Return how a search went beyond the words of its query as they were typed."""
    spelled = (
        QueryChange("expanded", one.typed, tuple(other.text for other in one.others)) for one in state.plan.groups
    )
    return (*state.meaning.changes, *spelled)


def _resolved(index: Index, request: SearchRequest) -> SearchRequest:
    """Return a request with the values of the index in its filter, and with notes on those that no paper has."""
    if request.narrow is not None:
        narrowed = resolve(request.narrow, index)
        request = replace(request, narrow=narrowed.filter, notes=(*request.notes, *narrowed.notes))
    if request.filter is None:
        return request
    resolved = resolve(request.filter, index)
    words = request.words
    if words is not None:
        words = " ".join([words, *resolved.words]).strip()
    return replace(request, filter=resolved.filter, notes=(*request.notes, *resolved.notes), words=words)


def _listing(request: SearchRequest, meaning: Meaning) -> SearchRequest:
    """Return the request for all papers that a query without a topic prefers."""
    where = all_of(request.filter, *(one.filter for one in meaning.preferences))
    return replace(request, words="", filter=where, rerank="", collapse="")


def _understood(index: Index, request: SearchRequest, meaning: Meaning) -> tuple[SearchRequest, Meaning]:
    """Correct the words to rank by, or say that they are in another language."""
    if request.verbatim or not meaning.topic:
        return request, meaning
    looked, language = look_up_words(index, meaning.topic), index.schema.language
    if looked.unknown:
        from search_plugin.understanding.foreign import foreign_language, foreign_note

        if foreign := foreign_language(looked, language):
            return request, replace(meaning, notes=(*meaning.notes, foreign_note(foreign, language)))
    corrected = correct(index, looked)
    if not corrected.changes:
        return request, meaning
    words = with_changes(request.searched, corrected.changes)
    return replace(request, words=words), replace(
        meaning,
        topic=corrected.words,
        notes=(*meaning.notes, *corrected.notes),
        changes=(
            *meaning.changes,
            *(QueryChange("corrected", word, (better,)) for word, better in corrected.changes.items()),
        ),
    )


def similar(
    index: Index, paper_id: str, request: SearchRequest | None = None, scorers: ScorerLoader | None = None
) -> Page:
    """Find papers like one that is in the index, by its own vector and, in hybrid mode, its title's words.

    Args:
        index: The index, of any engine.
        paper_id: The paper's id or another identifier; the paper itself is not among the hits.
        request: The request, for mode, filter, facets and page; its query is not used.
        scorers: As of `search`.

    Returns:
        The page asked for.

    Raises:
        NotFoundError: If the paper is not in the index.
    """
    clock = Clock()
    return _page(prepare_similar(index.pinned(), paper_id, request, clock, scorers), clock)


def prepare_similar(
    index: Index, paper_id: str, request: SearchRequest | None, clock: Clock, scorers: ScorerLoader | None = None
) -> SearchState:
    """Return the state of a search for papers like one before its stages run; arguments and errors as of `similar`."""
    request = request or SearchRequest("", mode="vector")
    fields = legs_of(request, index.schema.whole_legs) if request.mode != "lexical" else []
    with clock.step("read"):
        document = index.documents([paper_id], fields).get(paper_id)
        if document is None:
            paper_id = find(index, paper_id)[0].id
            document = index.documents([paper_id], fields).get(paper_id)
    if document is None:  # deleted a moment ago
        raise NotFoundError(f"The index {index.name} holds no paper {paper_id!r}", "search for it to see its id")
    title = document.paper.title
    request = replace(request, query=title[:MAX_QUERY], words=None, notes=())
    _check(index, request)
    scorer = _scorer(request, scorers)
    with clock.step("read"):
        request = _resolved(index, request)
    others: Filter = Not(Compare("id", "=", paper_id))
    request = replace(request, filter=all_of(request.filter, others))
    vectors = tuple(VectorClause(leg, document.vectors[leg]) for leg in fields if leg in document.vectors)
    if fields and not vectors:
        raise UnavailableError(f"The document {paper_id[:100]} has no vector", "ask for papers like its text instead")
    return SearchState(index, request, plan_of(index, request, vectors), notes=request.notes, scorer=scorer)


def similar_text(
    index: Index,
    title: str,
    abstract: str,
    request: SearchRequest,
    encoder: EncoderSource,
    scorers: ScorerLoader | None = None,
) -> Page:
    """Find papers like one that is not in the index, by its text.

    Args:
        index: The index, of any engine.
        title: The paper's title.
        abstract: The paper's abstract; empty if it has none.
        request: The request, for mode, filter, facets and page; its query is not used.
        encoder: Encoder of the model that made the index, or a function that loads that of a leg by its name.
        scorers: As of `search`.

    Returns:
        The page asked for.

    Raises:
        InputError: If the encoder's model is not the index's.
    """
    request = replace(request, query=title[:MAX_QUERY], words=None, notes=())
    _check(index, request)
    scorer = _scorer(request, scorers)
    clock = Clock()
    with clock.step("read"):
        request = _resolved(index, request)
    legs = legs_of(request, index.schema.whole_legs) if request.mode != "lexical" else []
    loaded = _loaded(index, request, encoder) if legs else encoder
    with clock.step("encode"):
        vectors = tuple(VectorClause(leg, text_vector(index, title, abstract, loaded, leg)) for leg in legs)
    plan = plan_of(index, request, vectors)
    return _page(SearchState(index.pinned(), request, plan, notes=request.notes, scorer=scorer), clock)


def _loaded(index: Index, request: SearchRequest, encoder: EncoderSource | None) -> EncoderSource:
    """Return the encoders of a request's vector legs, loaded, so that loading does not count as encoding."""
    return {leg: encoder_of(index, leg, encoder) for leg in legs_of(request, index.schema.legs)}.__getitem__


def _check(index: Index, request: SearchRequest) -> None:
    """Find errors before the index is asked anything."""
    fusion_of(request.fusion)
    if request.rerank in RERANKERS:
        most = MAX_WINDOW // (1 + len(index.schema.legs))
        require(
            request.window <= most, f"A window of {request.window:,} is too large to rank again; choose up to {most:,}."
        )
    for name in request.facets:
        index.schema.facet(name)
    # Lists that people read ask for works everywhere, and a listing shows every paper.
    if not request.searched and (request.rerank or request.collapse not in ("", SAME_WORK)):
        unused = "rerank" if request.rerank else "collapse"
        raise InputError("Without words, papers are listed and not ranked", f"leave <{unused}> out, or give some words")


def _scorer(request: SearchRequest, scorers: ScorerLoader | None) -> PairScorer | None:
    """Return the model that a request names as its reranker, if it names one; `InputError` if there is none."""
    if not request.rerank or request.rerank in RERANKERS:
        return None
    if scorers is None:
        raise InputError(f"There is no reranker {request.rerank!r}; choose one of {', '.join(RERANKERS)}.")
    return scorers(request.rerank)


def _page(state: SearchState, clock: Clock) -> Page:
    return page_of(run_stages(rank_papers(state, clock), {**SETTLING, **SHOWING}, clock), clock)


def rank_papers(state: SearchState, clock: Clock) -> SearchState:
    """Find and order the papers of a search: the one way to a ranking, of a page, a cursor, an evaluation and MTEB.

    Legs that the state has are taken as they are, so that many ways to join them share one search.
    """
    return run_stages(state, RANKING, clock)


def run_stages(state: SearchState, stages: Mapping[str, Stage], clock: Clock) -> SearchState:
    """Return a search after some stages, whose times go to the clock."""
    for name, stage in stages.items():
        with clock.step(name):
            state = stage(state)
    return state


def candidates_of_page(state: SearchState) -> int:
    """Return how many papers can be paged through: those of the set, of which each work is shown once."""
    if state.total is not None:
        return state.total
    if state.matches is None or not goes_on(state):
        return len(state.shown)
    return state.matches + len(state.near) - sum(state.hidden.values())


def page_of(state: SearchState, clock: Clock) -> Page:
    """Return the page of a search after its last stage."""
    index, request, plan = state.index, state.request, state.plan
    found = {leg: len(hits) for leg, hits in state.legs.items()}
    return Page(
        index=index.name,
        query=request.query,
        mode="listing" if plan.order else request.mode,
        fusion=request.fusion,
        joined_by=state.joined_by,
        hits=state.hits,
        candidates=candidates_of_page(state),
        window=request.window,
        found=found,
        facets=state.facets,
        milliseconds=clock.milliseconds,
        requests=clock.requests,
        rerank=request.rerank,
        notes=state.notes,
        size=request.size,
        sort=str(plan.order or request.sort or ""),
        changes=_changes(state),
        matches=state.matches,
        near=len(state.near),
    )
