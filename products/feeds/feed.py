"""Feeds: papers that a reader liked and disliked, or a saved query, and what is new, ranked by them.

The engine finds candidates by words (BM25) and by vectors, among those that are new. A linear model over PRX vectors
and words then ranks them: liked papers are its relevant ones, disliked papers and the candidates themselves, few of
which a reader would like, are the others. arXiv Sanity (Karpathy, 2015 and 2021) recommends so, by words alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from corpora.errors import InputError, NotFoundError, require
from corpora.lazy import np
from corpora.paper import Paper
from products.indexed import IndexedPapers, read_papers
from products.relevance import Views, relevance, views_of
from search_plugin.contract.engine import Index
from search_plugin.contract.legs import unit_rows
from search_plugin.contract.plan import Plan, VectorClause
from search_plugin.contract.tree import And, Compare, Filter, Not, OneOf
from search_plugin.pages.highlights import find
from search_plugin.request import MAX_QUERY

MOST_SEEDS = 1_000
"""Papers that a feed learns from."""


@dataclass(frozen=True, slots=True)
class Feed:
    """The state of a feed.

    Attributes:
        index: Name of the index that it ranks.
        engine: Its URL.
        liked: Ids of papers to find more of.
        disliked: Ids of papers to find less of.
        query: A saved query, as typed; empty for a feed of papers.
        filter: Expression that all its papers match; empty for none.
        title: What readers see; the feed's name if empty.
    """

    index: str
    engine: str
    liked: tuple[str, ...] = ()
    disliked: tuple[str, ...] = ()
    query: str = ""
    filter: str = ""
    title: str = ""

    @property
    def seeds(self) -> tuple[str, ...]:
        """The liked and the disliked papers."""
        return (*self.liked, *self.disliked)


def add_seeds(feed: Feed, liked: Sequence[str], disliked: Sequence[str]) -> Feed:
    """Return the feed with more papers; a paper that was liked and is disliked now changes sides, and vice versa.

    Raises `InputError` if a paper is given as both, there are too many, or the feed is a saved query.
    """
    if feed.query:
        raise InputError("This feed is a saved query, which papers can't be added to", "create another feed for them")
    if both := sorted({*liked} & {*disliked}):
        raise InputError(f"The paper {both[0]!r} is both liked and disliked", "give it once")
    likes = [id_ for id_ in dict.fromkeys([*feed.liked, *liked]) if id_ not in disliked]
    dislikes = [id_ for id_ in dict.fromkeys([*feed.disliked, *disliked]) if id_ not in liked]
    if len(likes) + len(dislikes) > MOST_SEEDS:
        raise InputError(f"A feed learns from up to {MOST_SEEDS:,} papers; remove some first.")
    return replace(feed, liked=tuple(likes), disliked=tuple(dislikes))


def remove_seeds(feed: Feed, ids: Sequence[str]) -> Feed:
    """Return the feed without some papers, or raise `InputError` if it has not all of them."""
    if unknown := [id_ for id_ in ids if id_ not in feed.seeds]:
        raise InputError(f"The paper {unknown[0]!r} is not in the feed", "show the feed to see its papers")
    liked, disliked = (tuple(id_ for id_ in side if id_ not in ids) for side in (feed.liked, feed.disliked))
    return replace(feed, liked=liked, disliked=disliked)


WINDOW = 500
"""Candidates for each way of finding them."""

NEAREST = 2
"""Liked papers that explain an entry."""

DISLIKED = 0.5
"""Weight of the mean of the disliked papers' vectors against that of the liked ones (Rocchio, 1971), to find
candidates."""


@dataclass(frozen=True, slots=True)
class LikedNear:
    """A liked paper near an entry: its id, title, and the cosine of both vectors."""

    id: str
    title: str
    cosine: float


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """A paper of a feed.

    Attributes:
        rank: Its rank, from 1.
        paper: The paper.
        score: That of the model, or of the search; it is comparable within one feed at one time.
        near: The nearest liked papers; none for a saved query.
        words: Words of a saved query that its title or abstract holds, in the form that stands there; none for a feed
            of papers, and for a paper that is only near in meaning to the query.
    """

    rank: int
    paper: Paper
    score: float
    near: tuple[LikedNear, ...] = ()
    words: tuple[str, ...] = ()

    @property
    def why(self) -> tuple[str, ...]:
        """Why it is there, in words: one line for each near paper, or one for a saved query."""
        if self.near:
            return tuple(f"near {one.title} ({one.cosine:.2f})" for one in self.near)
        return (f"holds {', '.join(self.words)}",) if self.words else ("near in meaning to the query",)


def held_words(query: str, paper: Paper, language: str) -> tuple[str, ...]:
    """Return the words of a query that a paper's title or abstract holds, each once, as they stand there first."""
    held: dict[str, str] = {}
    for text, found in zip(
        (paper.title, paper.abstract), find(query, paper.title, paper.abstract, language), strict=True
    ):
        for one in found:
            held.setdefault(one.term, text[one.start : one.end].lower())
    return tuple(held.values())


def seeds_of(index: Index, ids: Sequence[str]) -> IndexedPapers:
    """Read the papers of a feed, or raise `NotFoundError` if the index holds not all of them."""
    pool = read_papers(index, ids)
    there = {paper.id for paper in pool.papers}
    if missing := [id_ for id_ in ids if id_ not in there]:
        others = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
        raise NotFoundError(
            f"The index {index.name} holds no paper {missing[0]!r}{others}",
            "search for papers to see their ids, or remove these from the feed",
        )
    return pool


def recommend(index: Index, feed: Feed, where: Filter | None, size: int) -> list[FeedEntry]:
    """Return at most `size` papers that match a filter, ranked for a feed, without the feed's own papers.

    Raises `NotFoundError` if the index does not hold one of the feed's papers, and `InputError` if no paper is liked.
    """
    require(feed.liked, "This feed has no liked paper to learn from", "add some first, or save a query as a feed")
    seeds = seeds_of(index, feed.seeds)
    others: Filter = Not(OneOf("id", feed.seeds))
    found = _candidates(index, seeds, feed, And((where, others)) if where else others)
    if not found:
        return []
    pool = read_papers(index, [*feed.seeds, *found])
    views = views_of(pool.papers, pool.vectors)
    scores = scores_for(views, feed.liked)
    rows = {id_: row for row, id_ in enumerate(views.ids)}
    best = sorted(found, key=lambda id_: (-scores[rows[id_]], id_))[:size]
    papers = {paper.id: paper for paper in pool.papers}
    return [
        FeedEntry(rank, papers[id_], float(scores[rows[id_]]), _nearest(views, rows[id_], feed.liked, papers))
        for rank, id_ in enumerate(best, start=1)
    ]


def scores_for(views: Views, liked: Sequence[str]) -> np.ndarray:
    """Return the model's score of every paper, float64 (papers,); all papers but the liked ones count as not liked."""
    wanted = set(liked)
    return relevance(views, range(len(views.ids)), [id_ in wanted for id_ in views.ids])


def since(index: Index, field: str, first: str) -> Filter:
    """Return the filter for papers from a date on, which is a year, a month or a day, such as `2024-05`.

    Raises `InputError` if there is no such field, it is neither a number nor a date, or the date can't be read.
    """
    from datetime import date

    declared = index.schema.field(field)
    try:
        # A year or a month begins with its first day.
        day = date.fromisoformat(first + "-01" * (2 - first.count("-")))
    except ValueError:
        raise InputError(
            f"The date {first[:40]!r} can't be read", "write <since> as 2024, 2024-05 or 2024-05-31"
        ) from None
    if declared.kind == "date":
        return Compare(declared.name, ">=", day.isoformat())
    if declared.kind == "number":
        return Compare(declared.name, ">=", day.year)
    raise InputError(f"The field {declared.name} is no date and no number", "give another <date_field>")


def _candidates(index: Index, seeds: IndexedPapers, feed: Feed, where: Filter) -> list[str]:
    words = " ".join(paper.title for paper in seeds.papers if paper.id in feed.liked)[:MAX_QUERY]
    clauses = []
    liked, disliked = (
        [seeds.vectors[id_] for id_ in side if id_ in seeds.vectors] for side in (feed.liked, feed.disliked)
    )
    if liked:
        clauses.append(VectorClause(index.schema.legs[0], wanted_vector(liked, disliked)))
    legs = index.search(Plan(words, tuple(clauses), where, WINDOW))
    return list(dict.fromkeys(hit.id for hits in legs.values() for hit in hits))


def wanted_vector(liked: Sequence[np.ndarray], disliked: Sequence[np.ndarray]) -> np.ndarray:
    """Return the vector to search for, float32 (dimension,), from the vectors of liked papers and of disliked ones.

    It is the mean of the liked ones minus a part of the mean of the disliked ones; all count as vectors of length one.
    """
    means = [unit_rows(np.stack(side)).mean(axis=0) if len(side) else 0.0 for side in (liked, disliked)]
    return np.asarray(means[0] - DISLIKED * means[1], np.float32)


def _nearest(views: Views, row: int, liked: Sequence[str], papers: dict[str, Paper]) -> tuple[LikedNear, ...]:
    wanted = set(liked)
    rows = [at for at, id_ in enumerate(views.ids) if id_ in wanted]
    cosines = views.vectors[rows] @ views.vectors[row]
    best = np.argsort(-cosines, kind="stable")[:NEAREST]
    return tuple(
        LikedNear(views.ids[rows[at]], papers[views.ids[rows[at]]].title, round(float(cosines[at]), 4)) for at in best
    )
