"""Relevance judgments (qrels): which papers answer which query, and how well; and those of some rounds alone.

TREC-COVID judged in half and whole rounds. A run of its Round 5 is scored by the judgments 4.5 and 5, after every
document judged earlier for the topic is removed, because the participants knew those (Voorhees et al., "TREC-COVID:
Constructing a pandemic information retrieval test collection", SIGIR Forum 54(1), 2020; ir.nist.gov/trec-covid).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from corpora.errors import InputError, require
from eval.files.text import NamedRow, bad_line, decode, is_id, numbered_lines, require_id, require_line

LARGEST_GAIN = 1_000_000
"""trec_eval allocates a counter per grade up to the largest, so a gain of billions would exhaust memory or crash."""

BEIR_HEADER = [b"query-id", b"corpus-id", b"score"]


@dataclass(frozen=True, slots=True)
class Qrels:
    """Judgments of papers for queries.

    Attributes:
        gains: For each query id, the gain of each judged document id; zero and below mean not relevant.
        iterations: In the same shape, TREC's second column: the round of an evaluation in which a document was judged.
            No measure uses it; empty for judgments in BEIR's form.
    """

    gains: Mapping[str, Mapping[str, int]]
    iterations: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.gains.keys() | self.documents:
            # A quick check is enough for most ids; the full check takes far longer.
            if not name.isascii() or not name or "\0" in name:
                require_id(name)
        for query, judged in self.gains.items():
            for document, gain in judged.items():
                if abs(gain) > LARGEST_GAIN:
                    raise InputError(
                        f"Query {query}, document {document}: the gain {gain} is outside ±{LARGEST_GAIN:,}; rescale it."
                    )

    @property
    def documents(self) -> set[str]:
        """Every document that is judged for any query."""
        return {document for judged in self.gains.values() for document in judged}

    @property
    def without_relevant(self) -> int:
        """How many queries have no relevant document."""
        return sum(all(gain <= 0 for gain in judged.values()) for judged in self.gains.values())


def read_qrels(path: Path) -> Qrels:
    """Read judgments in BEIR's form (three columns between tabs) or TREC's (four between blanks).

    The first line tells which. BEIR's header may be missing. Raises `InputError` if the file can't be read, a line is
    malformed, or a pair is judged twice.
    """
    gains: dict[str, dict[str, int]] = {}
    iterations: dict[str, dict[str, str]] = {}
    beir: bool | None = None
    for number, line in numbered_lines(path):
        if beir is None:
            beir = line.count(b"\t") == 2
            if beir and line.lower().split(b"\t") == BEIR_HEADER:
                continue
        query, iteration, document, gain = _parse(line, path, number, beir=beir)
        judged = gains.setdefault(query, {})
        if document in judged:
            raise bad_line(path, number, f"query {query} and document {document} were judged before; keep one line")
        judged[document] = gain
        if not beir:
            iterations.setdefault(query, {})[document] = iteration
    require(gains, f"{path} holds no judgments.")
    return Qrels(gains, iterations)


def qrels_of(rows: Iterable[NamedRow], counts: Counter[str]) -> Qrels:
    """Return judgments from SciRepEval's rows of `query_id`, `cand_id` and `score`; of a pair's several the first.

    Each row comes with what an error calls it. Repeated pairs are counted in `counts`. Raises `InputError` if there are
    no rows, or one is no judgment.
    """
    gains: dict[str, dict[str, int]] = {}
    for place, row in rows:
        query, candidate, score = (row.get(key) for key in ("query_id", "cand_id", "score"))
        require(
            is_id(query) and is_id(candidate) and re.fullmatch(r"-?\d{1,9}(\.0)?", str(score)),
            f"{place} needs query_id, cand_id and a score that is a whole number.",
        )
        found = gains.setdefault(str(query), {})
        counts["judgments_repeated"] += str(candidate) in found
        found.setdefault(str(candidate), int(float(str(score))))
    require(gains, "The table of judgments is empty; each line needs query_id, cand_id and score.")
    return Qrels(gains)


def _parse(line: bytes, path: Path, number: int, *, beir: bool) -> tuple[str, str, str, int]:
    if not beir and len(fields := line.split()) == 4 and fields[3].isdigit() and len(fields[3]) < 7:
        # A fast path for nearly every line of a large file; the code below gives the same, but slower.
        with suppress(UnicodeDecodeError):
            return fields[0].decode(), fields[1].decode(), fields[2].decode(), int(fields[3])
    if beir:
        fields = [field.strip() for field in line.split(b"\t")]
        form = "query-id, corpus-id and score between tabs"
    else:
        fields = line.split()
        form = "`qid iteration docid relevance` between blanks (or query-id, corpus-id and score between tabs)"
    require_line(len(fields) == (3 if beir else 4) and all(fields), path, number, f"a judgment is {form}")
    query, document, gain = fields[0], fields[-2], fields[-1]
    if not re.fullmatch(rb"[+-]?\d{1,9}", gain) or abs(int(gain)) > LARGEST_GAIN:
        found = gain[:40].decode(errors="replace")
        raise bad_line(path, number, f"the relevance must be a whole number within ±{LARGEST_GAIN:,}, not {found!r}")
    iteration = "" if beir else decode(fields[1], path, number)
    return decode(query, path, number), iteration, decode(document, path, number), int(gain)


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
