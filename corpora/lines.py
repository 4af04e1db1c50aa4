"""Lines of a stream, each with its number and of limited length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from corpora.paper import Rejected

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader

LONGEST_RECORD = 16 << 20
"""In bytes for a line; in characters for an item of an array."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line: its number, from 1, and its bytes without the blanks around them."""

    number: int
    raw: bytes


def bounded_lines(stream: BufferedReader) -> Iterator[Line | Rejected]:
    """Yield the lines that aren't blank, and a rejection for each that is too long; a byte order mark is left out."""
    number = 0
    while raw := stream.readline(LONGEST_RECORD):
        number += 1
        if len(raw) == LONGEST_RECORD and not raw.endswith(b"\n"):
            while raw and not raw.endswith(b"\n"):
                raw = stream.readline(LONGEST_RECORD)
            yield Rejected(number, f"The line is longer than {LONGEST_RECORD >> 20} MiB.")
        elif raw := raw.removeprefix(b"\xef\xbb\xbf").strip():
            yield Line(number, raw)
