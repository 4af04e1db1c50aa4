"""Recall as in SciMult's scripts: at three cut-offs, over queries that have relevant papers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eval.statistics.interval import Values

CUTOFFS = (20, 50, 100)


def recalls(rankings: Mapping[str, Sequence[str]], relevant: Mapping[str, frozenset[str]]) -> Values:
    """Return by cut-off and query the share of relevant items among the first ranks; 0 without a ranking."""
    return {
        f"R@{cutoff}": {
            query: len(wanted.intersection(rankings.get(query, ())[:cutoff])) / len(wanted)
            for query, wanted in relevant.items()
        }
        for cutoff in CUTOFFS
    }
