"""Recall as SciMult's scripts take it: at three cut-offs, of queries that have something to find."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eval.statistics.interval import Values

CUTOFFS = (20, 50, 100)


def recalls(rankings: Mapping[str, Sequence[str]], relevant: Mapping[str, frozenset[str]]) -> Values:
    """Return by cut-off and query the share of what is relevant that stands among the first; 0 without a ranking."""
    return {
        f"R@{cutoff}": {
            query: len(wanted.intersection(rankings.get(query, ())[:cutoff])) / len(wanted)
            for query, wanted in relevant.items()
        }
        for cutoff in CUTOFFS
    }
