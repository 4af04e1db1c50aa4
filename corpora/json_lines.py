"""Reading JSON lines one at a time, each with its number."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from corpora.lines import bounded_lines
from corpora.paper import Rejected

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader


@dataclass(frozen=True, slots=True)
class JsonObject:
    """One object.

    Attributes:
        line: Line on which it begins.
        members: Its members.
    """

    line: int
    members: dict[str, object]


def read_lines(stream: BufferedReader) -> Iterator[JsonObject | Rejected]:
    """Read one object per line; blank lines are skipped.

    Args:
        stream: The file.

    Yields:
        Every object, and a rejection for every line that is not an object.
    """
    for line in bounded_lines(stream):
        yield line if isinstance(line, Rejected) else _parse(line.number, line.raw)


def _parse(number: int, raw: bytes) -> JsonObject | Rejected:
    # Not orjson: it refuses the NaN that pandas writes for a missing value.
    try:
        value = json.loads(raw.decode())
    except UnicodeDecodeError:
        return Rejected(number, "The line has bytes that aren't UTF-8.")
    except json.JSONDecodeError as error:
        return Rejected(number, f"The line isn't JSON ({error.msg.removesuffix(' at')} at character {error.pos + 1}).")
    except (ValueError, RecursionError):
        return Rejected(number, "The line has a number too long or lists too deep to read.")
    return as_object(number, value)


def as_object(line: int, value: object) -> JsonObject | Rejected:
    """Return a JSON value as an object, or a rejection where it's something else."""
    return JsonObject(line, value) if isinstance(value, dict) else Rejected(line, "The record isn't a JSON object.")
