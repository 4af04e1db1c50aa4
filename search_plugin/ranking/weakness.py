"""Which hits match weakly: by floors fitted on judged queries (docs/ranking.md, Weak matches).

A vector leg finds papers for every query, also for nonsense and for topics that no paper is about. So a hit is judged
by two signals: the similarity of its vector to the query's, and the share of the query's different words that it holds.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

from search_plugin.words.languages import get_language


@dataclass(frozen=True, slots=True)
class Floor:
    """The least that a hit should reach with a model.

    Attributes:
        least: Of the similarity and the weighted share of words together.
        words: Weight of the share of the query's words that the paper holds.
    """

    least: float
    words: float

    def strength(self, similarity: float, share: float) -> float:
        """Return how strongly a hit matches; a weak one stays below `least`."""
        return similarity + self.words * share


_MINILM = Floor(least=0.302, words=0.25)

FLOORS: Mapping[str, Floor] = {
    "3b9a20da48be8dfb": _MINILM,  # all-MiniLM-L6-v2
    "ad06dc5bb56baa7a": _MINILM,  # ses-minilm, whose vectors for search are those of all-MiniLM-L6-v2
}
"""By fingerprint of the model; fitted by `python -m benchmarks.weak`. Of other models nothing is said."""

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
