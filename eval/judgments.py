"""Relevance judgments (qrels): which papers answer which query, and how well."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from corpora.errors import InputError
from eval.textfile import bad_line, decode, numbered_lines, require_column, require_id, write_lines

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

LARGEST_GAIN = 1_000_000
"""trec_eval allocates a counter per grade up to the largest, so a gain of billions would exhaust memory or crash."""

BEIR_HEADER = [b"query-id", b"corpus-id", b"score"]


@dataclass(frozen=True, slots=True)
class Qrels:
    """Judgments of papers for queries.

    Attributes:
        gains: For each query id, the gain of each judged document id; zero and below mean not relevant.
    """

    gains: Mapping[str, Mapping[str, int]]

    def __post_init__(self) -> None:
        for query, judged in self.gains.items():
            require_id(query)
            for document, gain in judged.items():
                require_id(document)
                if abs(gain) > LARGEST_GAIN:
                    raise InputError(
                        f"Query {query}, document {document}: the gain {gain} is outside ±{LARGEST_GAIN:,}; rescale it."
                    )


def read_qrels(path: Path) -> Qrels:
    """Read judgments in BEIR's form (three columns between tabs) or TREC's (four between blanks).

    The first line tells which. BEIR's header may be missing; TREC's second column (the iteration) means nothing to
    any measure here and is passed over.

    Args:
        path: The file.

    Returns:
        The judgments, in the order of the file.

    Raises:
        InputError: If the file can't be read, a line is malformed, or a pair is judged twice.
    """
    gains: dict[str, dict[str, int]] = {}
    beir: bool | None = None
    for number, line in numbered_lines(path):
        if beir is None:
            beir = line.count(b"\t") == 2
            if beir and line.lower().split(b"\t") == BEIR_HEADER:
                continue
        query, document, gain = _parse(line, path, number, beir=beir)
        judged = gains.setdefault(query, {})
        if document in judged:
            raise bad_line(path, number, f"query {query} and document {document} were judged before; keep one line")
        judged[document] = gain
    if not gains:
        raise InputError(f"{path} holds no judgments.")
    return Qrels(gains)


def write_trec_qrels(qrels: Qrels, path: Path) -> None:
    """Write judgments in TREC's form; a query without any judged document has no line there.

    Args:
        qrels: The judgments.
        path: The file; an older one is replaced in one step.

    Raises:
        InputError: If an identifier holds a blank.
        UnavailableError: If the file can't be written.
    """
    write_lines(
        path,
        (
            f"{require_column(query)} 0 {require_column(document)} {gain:d}"
            for query, judged in qrels.gains.items()
            for document, gain in judged.items()
        ),
    )


def _parse(line: bytes, path: Path, number: int, *, beir: bool) -> tuple[str, str, int]:
    if beir:
        fields = [field.strip() for field in line.split(b"\t")]
        form = "query-id, corpus-id and score between tabs"
    else:
        fields = line.split()
        form = "`qid iteration docid relevance` between blanks (or query-id, corpus-id and score between tabs)"
    if len(fields) != (3 if beir else 4) or not all(fields):
        raise bad_line(path, number, f"a judgment is {form}")
    query, document, gain = fields[0], fields[-2], fields[-1]
    if not re.fullmatch(rb"[+-]?\d{1,9}", gain) or abs(int(gain)) > LARGEST_GAIN:
        found = gain[:40].decode(errors="replace")
        raise bad_line(path, number, f"the relevance must be a whole number within ±{LARGEST_GAIN:,}, not {found!r}")
    return decode(query, path, number), decode(document, path, number), int(gain)
