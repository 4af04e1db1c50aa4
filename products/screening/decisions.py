"""Decisions on the papers of a review: what, why, by whom, and when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a paper is included.

    Attributes:
        id: Id of the paper.
        included: Whether it is included; it is excluded otherwise.
        offered: Whether the review had offered it to read; others were known beforehand.
        reason: Why it is excluded, such as `wrong population`; empty if nobody has said it.
        by: Name of the person who decided; empty if nobody has said it.
        at: When that was, in UTC and to the second, as ISO 8601; empty for decisions of earlier versions of ses.
    """

    id: str
    included: bool
    offered: bool = False
    reason: str = ""
    by: str = ""
    at: str = ""


def utc_now() -> str:
    """Return the time of a decision that is made now."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def count_alike(texts: Iterable[str]) -> Mapping[str, int]:
    """Count texts, the most frequent first: capitals make no difference, and the most frequent spelling stands for all.

    Empty texts are left out.
    """
    spellings = Counter(filter(None, texts))
    counts: Counter[str] = Counter()
    spelling_of: dict[str, str] = {}
    for text, count in spellings.most_common():
        counts[spelling_of.setdefault(text.casefold(), text)] += count
    return dict(counts.most_common())
