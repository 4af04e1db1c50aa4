"""How far a mistyped word is from another."""

from __future__ import annotations

_VOWELS = "aeiouy"


def edits(one: str, other: str) -> float:
    """Return the cost of the insertions, deletions, substitutions and swaps of neighbours from one word to another.

    The restricted Damerau-Levenshtein distance (Boytsov, "Indexing methods for approximate dictionary searching", 2011,
    section 2.1), where to substitute a consonant costs 1.5: words that differ in one are mostly two words.

    Args:
        one: A word.
        other: Another.

    Returns:
        The cost; 0 for equal words.
    """
    before: list[float] = []
    last: list[float] = [float(at) for at in range(len(other) + 1)]
    for at, letter in enumerate(one, 1):
        row = [float(at)]
        for to, wanted in enumerate(other, 1):
            changed = 0.0 if letter == wanted else 1.0 if letter in _VOWELS and wanted in _VOWELS else 1.5
            cost = min(last[to] + 1, row[to - 1] + 1, last[to - 1] + changed)
            if at > 1 and to > 1 and letter == other[to - 2] and wanted == one[at - 2]:
                cost = min(cost, before[to - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]
