"""Read all results of a search, page by page: no paper twice, and none that stays in the index left out.

A listing is read by the position of its last paper. A ranking is made once, and read by the ids of its papers. After it
come the other papers that hold a word of the query, by id. If the query is a condition, the others that match it come.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from corpora.errors import require
from corpora.lazy import np
from search_plugin.contract.legs import BY_ID, Fused, Join, Position, Scored
from search_plugin.contract.plan import LEXICAL, Plan, VectorClause
from search_plugin.contract.trace import Clock
from search_plugin.contract.tree import Filter, Or, Says, all_of
from search_plugin.pages.hit import Version
from search_plugin.pages.page import Page
from search_plugin.ranking.result_set import counting_of, matches_of
from search_plugin.ranking.stages import SETTLING, SHOWING, collapse, sort
from search_plugin.ranking.state import SearchState
from search_plugin.request import MAX_WINDOW, PageOptions, SearchRequest
from search_plugin.search import page_of, rank_papers, run_stages
from search_plugin.words.terms import TOKEN, folded, terms_of

MOST_WORDS_OF_REST = 400
"""Different words of a query by which the papers after a ranking are found: clusters limit the parts of a filter."""

_CHUNK = 1_000
"""Papers after a ranking that are looked up in one request; most of them may have been in the ranking."""


@dataclass(frozen=True, slots=True)
class Bookmark:
    """How far the results of a search were read.

    Attributes:
        read: Number of papers read.
        after: The last paper of a listing, or of those that come after a ranking.
    """

    read: int = 0
    after: Position | None = None


START = Bookmark()


@dataclass(frozen=True, slots=True)
class FixedRanking:
    """The papers of a ranking in their order, with all that a page says of them; plain values, which can be kept.

    Attributes:
        papers: Id and score of each paper, and its rank, raw score and contribution by leg; best first.
        last: Score of the last paper of each leg.
        found: How many papers each leg found.
        hidden: Number of papers, by id, that are not shown because they share this one's value, or are the same work.
        known_by: What the query named papers by, by id.
        notes: Sentences for the user.
        joined_by: Who joined the legs.
        complete: Whether no further paper can match.
        versions: The other versions, by the id of the work's paper that is shown.
        matches: How many papers match by words, by name or by a condition; None if that is not known.
        near: Ids of papers that are only near in meaning.
    """

    papers: Sequence[tuple[str, float, Mapping[str, tuple[int, float, float]]]]
    last: Mapping[str, float]
    found: Mapping[str, int]
    hidden: Mapping[str, int]
    known_by: Mapping[str, str]
    notes: Sequence[str]
    joined_by: Join
    complete: bool
    versions: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    matches: int | None = None
    near: Sequence[str] = field(default_factory=list)


def of_all(options: PageOptions) -> PageOptions:
    """Return options for reading all results: with the largest window, unless the user gave one.

    Raises `InputError` if they name an offset, or a page without hits.
    """
    size = options.get("size")
    require(not options.get("offset"), "All results are read from the first one", "leave <offset> out")
    require(size is None or size >= 1, f"{size} hits at a time can't be read", "give <size> of 1 or more")
    window = options.get("window") or (MAX_WINDOW // 2 if options.get("rerank") else MAX_WINDOW)
    return {**options, "window": window}


def near_of(options: PageOptions) -> int | None:
    """Return how many papers near in meaning count where all results are read: as many as on pages.

    None stands for those of the window: where the user gave one, and where papers are found by meaning alone.
    """
    return None if options.get("window") or options.get("mode") == "vector" else SearchRequest("").window


def order_of(state: SearchState, clock: Clock) -> FixedRanking | None:
    """Rank the papers of a search; None for a listing, whose engine keeps the order."""
    if state.plan.order:
        return None
    whole = replace(state, index=state.index.pinned(), request=replace(state.request, size=0))
    done = run_stages(rank_papers(whole, clock), SETTLING, clock)
    if done.request.whole and done.request.collapse:
        done = _with_all_that_match(done)
    lexical, matches = done.legs.get(LEXICAL), done.by_words
    said = lexical is not None and len(lexical) < state.request.window
    if (counting := counting_of(done, ())) is not None:
        counted = done.index.fetch([], counting)[1]
        matches = matches_of(done, counted.matches if counted else None)
    return FixedRanking(
        papers=[(hit.id, hit.score, _parts(hit)) for hit in done.shown],
        last={leg: hits[-1].score for leg, hits in done.legs.items() if hits},
        found={leg: len(hits) for leg, hits in done.legs.items()},
        hidden=dict(done.hidden),
        versions={id_: [asdict(one) for one in versions] for id_, versions in done.versions.items()},
        known_by=dict(done.meaning.known_by),
        notes=list(done.notes),
        joined_by=done.joined_by,
        complete=bool(state.request.collapse) or (not state.request.whole and (not state.plan.words or said)),
        matches=matches,
        near=list(done.near),
    )


def _with_all_that_match(state: SearchState) -> SearchState:
    """Return a ranking with the other papers that match its condition, of which versions are collapsed too."""
    ranked = {hit.id for hit in state.ranking}
    listing = state.index.listed(state.plan.filter, BY_ID, MAX_WINDOW)
    rest = [id_ for id_ in listing.ids if id_ not in ranked]
    if not rest:
        return state
    column = state.plan.column
    held = state.index.values(rest, [column]) if column else {}
    values = {**state.values, **{id_: row[column] for id_, row in held.items() if column in row}}
    every = [*state.ranking, *(Fused(id_, 0.0, {}) for id_ in rest)]
    return sort(collapse(replace(state, shown=every, values=values)))


def _parts(hit: Fused) -> dict[str, tuple[int, float, float]]:
    return {leg: parts[hit.id] for leg, parts in hit.given.items() if hit.id in parts}


def read(state: SearchState, order: FixedRanking | None, place: Bookmark, clock: Clock) -> tuple[Page, Bookmark | None]:
    """Return the next page of all results, and where the one after it begins; None at the end.

    `state` is the search as `prepare_search` returns it, whose request says how many hits a page has. `order` are the
    papers in their order, as `order_of` returned them for the same search, and `place` is how far they were read.
    """
    size = state.request.size
    state = replace(state, index=state.index.pinned(), before=place.read)
    if order is None:
        return _listed(state, place, clock)
    known = replace(state.meaning, known_by=order.known_by)
    # Only the last score of a leg is needed, to say which hits are weak.
    legs = {leg: [Scored("", score)] for leg, score in order.last.items()}
    vectors = tuple(VectorClause(leg, _no_vector()) for leg in order.found if leg != LEXICAL)
    state = replace(
        state,
        plan=replace(state.plan, vectors=vectors, filter=all_of(state.plan.filter, state.request.narrow)),
        meaning=known,
        legs=legs,
        hidden=order.hidden,
        versions={id_: tuple(Version(**one) for one in told) for id_, told in order.versions.items()},
        joined_by=order.joined_by,
        notes=tuple(order.notes),
        by_words=order.matches,
        near=tuple(order.near),
    )
    ranking = [
        Fused(id_, score, {leg: {id_: (parts[0], parts[1], parts[2])} for leg, parts in given.items()})
        for id_, score, given in order.papers[place.read : place.read + size]
    ]
    after, ended = place.after, order.complete
    if len(ranking) < size and not order.complete:
        rest, after, ended = _rest(state, order, place.after, size - len(ranking))
        ranking += [Fused(id_, 0.0, {}) for id_ in rest]
        if rest:
            notes = _notes_of_rest(state, order)
            state = replace(state, notes=(*state.notes, *notes))
    read_now = place.read + len(ranking)
    if state.request.facets:
        every = [Fused(id_, score, {}) for id_, score, _ in order.papers]
        state = replace(state, ranking=every)
    state = run_stages(replace(state, shown=ranking), SHOWING, clock)
    candidates = len(order.papers)
    if not order.complete and order.matches is not None:
        candidates = max(candidates, order.matches + len(order.near))
    page = replace(page_of(state, clock), found=dict(order.found), candidates=candidates)
    more = read_now < len(order.papers) or not ended
    return page, Bookmark(read_now, after) if more else None


def _listed(state: SearchState, place: Bookmark, clock: Clock) -> tuple[Page, Bookmark | None]:
    request, plan = state.request, state.plan
    assert plan.order is not None  # noqa: S101 - a listing has an order
    with clock.step("retrieve"):
        listing = state.index.listed(plan.filter, plan.order, request.size, place.after)
    shown = [Fused(id_, 0.0, {}) for id_ in listing.ids]
    state = run_stages(replace(state, ranking=shown, shown=shown, total=listing.matches), SHOWING, clock)
    more = len(shown) == request.size
    return page_of(state, clock), Bookmark(place.read + len(shown), listing.positions[-1]) if more else None


def _rest(
    state: SearchState, order: FixedRanking, after: Position | None, size: int
) -> tuple[list[str], Position | None, bool]:
    """Return the next papers with a word that are not in the ranking, the last one's position, and if that is all."""
    ranked = {id_ for id_, _, _ in order.papers}
    holding = None if state.request.whole else holding_a_word(state.plan, state.index.schema.language)
    where = all_of(state.plan.filter, holding)
    found: list[str] = []
    while True:
        listing = state.index.listed(where, BY_ID, max(size, _CHUNK), after)
        for id_, position in zip(listing.ids, listing.positions, strict=True):
            after = position
            if id_ not in ranked:
                found.append(id_)
                if len(found) == size:
                    return found, after, False
        if len(listing.ids) < max(size, _CHUNK):
            return found, after, True


def holding_a_word(plan: Plan, language: str) -> Filter:
    """Return the filter for papers that hold at least one of a plan's words, in any of their spellings."""
    # Without a word, the empty phrase finds no paper.
    words = _words_of(plan, language)[:MOST_WORDS_OF_REST] or [""]
    parts = tuple(Says("text", one) for one in words)
    return Or(parts) if len(parts) > 1 else parts[0]


def _words_of(plan: Plan, language: str) -> list[str]:
    """Return the different words of a plan, and the other spellings of its groups."""
    typed = [plan.words if plan.plain is None else plan.plain, *(group.typed for group in plan.groups)]
    words: dict[str, str] = {}
    for token in (token for text in typed for token in TOKEN.finditer(text)):
        # Text without spaces is searched by pairs of characters.
        pairs = [token[1][at : at + 2] for at in range(max(1, len(token[1]) - 1))] if token[1] else [token[0]]
        words |= {folded(one): one for one in pairs if any(terms_of(one, language))}
    spelled = (other.text for group in plan.groups for other in group.others)
    return [*words.values(), *dict.fromkeys(spelled)]


def _notes_of_rest(state: SearchState, order: FixedRanking) -> Iterator[str]:
    if state.request.whole:
        yield f"The first {len(order.papers):,} papers are ranked; the others match the query too, ordered by id."
        return
    yield f"The first {len(order.papers):,} papers are ranked; the others hold a word of the query, ordered by id."
    if (count := len(_words_of(state.plan, state.index.schema.language))) > MOST_WORDS_OF_REST:
        yield f"They were found by {MOST_WORDS_OF_REST} of the {count:,} different words of the query."


def _no_vector() -> np.ndarray:
    return np.empty(0, np.float32)


def pages(state: SearchState, clock: Clock) -> Iterator[Page]:
    """Yield all results of a search, page by page."""
    order = order_of(state, clock)
    place: Bookmark | None = START
    while place is not None:
        page, place = read(state, order, place, clock)
        yield page
