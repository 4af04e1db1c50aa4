"""Residual collections: judgments of some rounds of an evaluation, without the documents judged in rounds before.

TREC-COVID judged in half and whole rounds. A run of its Round 5 is scored by the judgments 4.5 and 5, after every
document judged earlier for the topic is removed, because the participants knew those (Voorhees et al., "TREC-COVID:
Constructing a pandemic information retrieval test collection", SIGIR Forum 54(1), 2020; ir.nist.gov/trec-covid).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from corpora.errors import InputError
from eval.trec.judgments import Qrels

_RANGE = re.compile(r"(\d{1,4}(?:\.\d{1,4})?)(?:-(\d{1,4}(?:\.\d{1,4})?))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Rounds:
    """Rounds of judging, both ends included."""

    first: float
    last: float


@dataclass(frozen=True, slots=True)
class Residual:
    """The judgments for scoring a run when earlier judgments are known.

    Attributes:
        qrels: The judgments of the rounds; queries without any are not in it.
        seen: By query, the documents judged in earlier rounds, which don't count in a run.
    """

    qrels: Qrels
    seen: Mapping[str, AbstractSet[str]]


def parse_rounds(text: str) -> Rounds:
    """Read rounds such as `4.5-5`, or a single one such as `1`; raise `InputError` where they can't be read."""
    match = _RANGE.fullmatch(text.strip())
    if match is None:
        raise InputError(
            f"The rounds {text!r} can't be read; write FIRST-LAST, such as 4.5-5 for TREC-COVID's Round 5."
        )
    rounds = Rounds(float(match[1]), float(match[2] or match[1]))
    if rounds.first > rounds.last:
        raise InputError(f"The rounds {text!r} end before they begin; write the earlier one first.")
    return rounds


def residual(qrels: Qrels, rounds: Rounds) -> Residual:
    """Keep the judgments of some rounds, and return the documents that were judged before.

    Args:
        qrels: In TREC's form, whose second column is the round.
        rounds: Those to keep. What was judged later counts as not judged.

    Returns:
        The judgments kept and the documents seen before.

    Raises:
        InputError: If the second column isn't a round, or nothing was judged in these rounds.
    """
    kept: dict[str, dict[str, int]] = {}
    iterations: dict[str, dict[str, str]] = {}
    seen: dict[str, set[str]] = {}
    for query, judged in qrels.gains.items():
        for document, gain in judged.items():
            iteration = qrels.iterations.get(query, {}).get(document, "")
            judged_in = _round_of(iteration)
            if judged_in < rounds.first:
                seen.setdefault(query, set()).add(document)
            elif judged_in <= rounds.last:
                kept.setdefault(query, {})[document] = gain
                iterations.setdefault(query, {})[document] = iteration
    if not kept:
        raise InputError(
            f"Nothing was judged in the rounds {rounds.first:g} to {rounds.last:g}; "
            "look into the second column of the judgments for the rounds there are."
        )
    return Residual(Qrels(kept, iterations), seen)


def _round_of(iteration: str) -> float:
    number = float(iteration) if _RANGE.fullmatch(iteration) and "-" not in iteration else math.nan
    if math.isnan(number):
        raise InputError(
            f"The second column of the judgments must be the round to choose by rounds, not {iteration!r}; "
            "give judgments in TREC's form, or leave the rounds out."
        )
    return number
