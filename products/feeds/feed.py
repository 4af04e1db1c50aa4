"""A feed: papers that a reader liked and disliked, or a saved query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from corpora.errors import InputError

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
