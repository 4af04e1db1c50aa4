"""The stage that shows one paper for several: for those that share a field's value, or are versions of one work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from corpora.lazy import np
from corpora.paper import Paper
from search_plugin.contract.engine import Index
from search_plugin.contract.legs import Fused
from search_plugin.pages.hit import Version
from search_plugin.ranking.state import SearchState
from search_plugin.request import SAME_WORK
from search_plugin.words.works import FIELDS, SIMILARITIES, LikeVectors, PaperPair, works


def show_one_of_each(state: SearchState) -> SearchState:
    """Keep the best of the papers that share a value, and all without one; count how many papers each one hides.

    The best ranked of the versions of a work is shown too, and the page names the others.
    """
    if state.request.collapse == SAME_WORK:
        return _one_of_each_work(state)
    column = state.plan.column
    if not column:
        return state
    # A missing boolean means false, which papers can share.
    missing = False if state.index.schema.field(column).kind == "boolean" else None
    values: dict[str, object] = {}
    for hit in state.shown:
        value = state.values.get(hit.id)
        value = missing if value is None else value
        if value not in (None, ""):
            values[hit.id] = value
    shown, behind = _best(state.shown, values)
    return replace(state, shown=shown, hidden={id_: len(others) for id_, others in behind.items()})


def _best(ranked: Sequence[Fused], values: Mapping[str, object]) -> tuple[list[Fused], dict[str, list[str]]]:
    """Return the papers that are the first of their value, and those without one; and by their id what each hides."""
    best: dict[object, str] = {}
    shown: list[Fused] = []
    behind: dict[str, list[str]] = {}
    for hit in ranked:
        value = values.get(hit.id)
        if value is not None and value in best:
            behind.setdefault(best[value], []).append(hit.id)
            continue
        shown.append(hit)
        if value is not None:
            best[value] = hit.id
    return shown, behind


def _one_of_each_work(state: SearchState) -> SearchState:
    if state.plan.order or len(state.shown) < 2:  # a listing is not ranked: it shows all papers
        return state
    papers = _described(state)
    leg, similarity = _judged(state.index)
    groups = works(
        list(papers.values()),
        language=state.index.schema.language,
        similarity=similarity,
        cosines=lambda pairs: _cosines(state.index, leg, pairs),
    )
    shown, behind = _best(state.shown, {id_: place for place, ids in enumerate(groups) for id_ in ids})
    versions = {id_: tuple(_version(papers[other]) for other in others) for id_, others in behind.items()}
    return replace(state, shown=shown, hidden={id_: len(told) for id_, told in versions.items()}, versions=versions)


def _described(state: SearchState) -> dict[str, Paper]:
    """Return what is compared of the papers that can be paged to; one read of those that were not read yet."""
    compared = [hit.id for hit in state.shown[: state.request.window]]
    unread = [id_ for id_ in compared if id_ not in state.papers]
    rows = state.index.values(unread, FIELDS) if unread else {}
    read = {id_: Paper(id_, **{"title": "", **row}) for id_, row in rows.items()}  # type: ignore[arg-type]
    return {id_: paper for id_ in compared if (paper := state.papers.get(id_) or read.get(id_))}


def _version(paper: Paper) -> Version:
    return Version(paper.id, paper.title, paper.year, paper.venue, paper.retracted)


def _judged(index: Index) -> tuple[str, LikeVectors | None]:
    """Return the first vector leg of whose model something is known, with that."""
    for leg in index.schema.whole_legs:
        foreign = index.schema.beside(leg)
        if known := SIMILARITIES.get(foreign.fingerprint if foreign else index.schema.fingerprint):
            return leg, known
    return "", None


def _cosines(index: Index, leg: str, pairs: Sequence[PaperPair]) -> dict[PaperPair, float]:
    ids = sorted({id_ for pair in pairs for id_ in pair})
    rows: Mapping[str, np.ndarray] = index.vectors(ids, leg)
    unit = {id_: row / length for id_, row in rows.items() if (length := np.linalg.norm(row))}
    return {pair: float(unit[pair[0]] @ unit[pair[1]]) for pair in pairs if pair[0] in unit and pair[1] in unit}
