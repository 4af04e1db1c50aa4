"""Residual collections: judgments of some rounds of an evaluation, without the documents judged in rounds before.

TREC-COVID judged in half and whole rounds. A run of its Round 5 is scored by the judgments 4.5 and 5, after every
document judged earlier for the topic is removed, because the participants knew those (Voorhees et al., "TREC-COVID:
Constructing a pandemic information retrieval test collection", SIGIR Forum 54(1), 2020; ir.nist.gov/trec-covid).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from corpora.errors import InputError, require
from eval.trec.judgments import Qrels

_RANGE = re.compile(r"(\d{1,4}(?:\.\d{1,4})?)(?:-(\d{1,4}(?:\.\d{1,4})?))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Rounds:
    """Rounds of judging, both ends included."""

    first: float
    last: float


def parse_rounds(text: str) -> Rounds:
    """Read rounds such as `4.5-5`, or a single one such as `1`; raise `InputError` where they can't be read."""
    match = _RANGE.fullmatch(text.strip())
    if match is None:
        raise InputError(
            f"The rounds {text!r} can't be read; write FIRST-LAST, such as 4.5-5 for TREC-COVID's Round 5."
        )
    rounds = Rounds(float(match[1]), float(match[2] or match[1]))
    require(rounds.first <= rounds.last, f"The rounds {text!r} end before they begin; write the earlier one first.")
    return rounds


def residual(qrels: Qrels, rounds: Rounds) -> tuple[Qrels, dict[str, frozenset[str]]]:
    """Keep the judgments of some rounds, and return the documents that were judged before.

    The judgments are in TREC's form, whose second column is the round; what was judged later counts as not judged.
    Returns the judgments of these rounds, of queries that have any; and by query, the documents judged in earlier
    rounds, which don't count in a run. Raises `InputError` if the second column isn't a round, or nothing was judged in
    these rounds.
    """
    kept: dict[str, dict[str, int]] = {}
    iterations: dict[str, dict[str, str]] = {}
    seen: dict[str, frozenset[str]] = {}
    for query, judged in qrels.gains.items():
        of_query = qrels.iterations.get(query, {})
        judged_in = {document: _round_of(of_query.get(document, "")) for document in judged}
        if earlier := frozenset(document for document, number in judged_in.items() if number < rounds.first):
            seen[query] = earlier
        if now := [document for document, number in judged_in.items() if rounds.first <= number <= rounds.last]:
            kept[query] = {document: judged[document] for document in now}
            iterations[query] = {document: of_query[document] for document in now}
    require(
        kept,
        f"Nothing was judged in the rounds {rounds.first:g} to {rounds.last:g}; "
        "look into the second column of the judgments for the rounds there are.",
    )
    return Qrels(kept, iterations), seen


def _round_of(iteration: str) -> float:
    number = float(iteration) if _RANGE.fullmatch(iteration) and "-" not in iteration else math.nan
    if math.isnan(number):
        raise InputError(
            f"The second column of the judgments must be the round to choose by rounds, not {iteration!r}; "
            "give judgments in TREC's form, or leave the rounds out."
        )
    return number
