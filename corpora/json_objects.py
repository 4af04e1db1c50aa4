"""JSON objects one at a time: a line each, or the items of one big array or object, of which one is in memory."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BufferedReader
from typing import Literal

from corpora.opening import LONGEST_RECORD, bounded_lines
from corpora.paper import Rejected


@dataclass(frozen=True, slots=True)
class JsonObject:
    """One object, and the line on which it begins."""

    line: int
    members: dict[str, object]


def read_lines(stream: BufferedReader) -> Iterator[JsonObject | Rejected]:
    """Yield the object of each line that isn't blank, and a rejection for every line that is not an object."""
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


_CHUNK = 1 << 16
_SPACE = re.compile(r"[ \t\n\r]*")
_NOT_UTF8 = re.compile("[\ud800-\udfff]")
_LONGEST_TOKEN = 32
"""A parse error this close to the end of the buffer may only mean that more must be read."""


class _Window:
    """The part of a JSON text that is in memory: it grows at its end and drops what has been parsed."""

    def __init__(self, stream: BufferedReader) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape")
        self._json = json.JSONDecoder()
        self._text, self._at = "", 0
        self._ended = False
        self.line = 1

    def peek(self) -> str:
        """Return the next character that isn't white space, empty at the end."""
        while True:
            self._advance(_SPACE.match(self._text, self._at).end())  # type: ignore[union-attr]  # matches always
            if self._at < len(self._text) or not self._grow():
                return self._text[self._at : self._at + 1]

    def take(self, char: str) -> None:
        """Skip a character that must come next; an empty one means the end."""
        if (found := self.peek()) != char:
            wanted, there = (repr(c) if c else "the end" for c in (char, found))
            raise ValueError(f"expected {wanted}, found {there}")
        self._advance(self._at + len(char))

    def value(self) -> object:
        """Read the value that comes next."""
        self.peek()
        while True:
            try:
                value, end = self._json.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated") or error.pos >= len(self._text) - _LONGEST_TOKEN
                if not (cut and self._grow()):
                    raise ValueError(error.msg) from None
            except RecursionError:
                raise ValueError("lists too deep to read") from None
            else:
                if end < len(self._text) or not self._grow():  # a number may continue after the end of the buffer
                    self._advance(end)
                    return value

    def _advance(self, end: int) -> None:
        self.line += self._text.count("\n", self._at, end)
        self._at = end

    def _grow(self) -> bool:
        if self._ended:
            return False
        held = len(self._text) - self._at
        if held > LONGEST_RECORD:
            raise ValueError(f"an item longer than {LONGEST_RECORD >> 20} MiB")
        raw = self._stream.read(max(_CHUNK, held))  # the size doubles, so that a long item isn't parsed too often
        self._ended = not raw
        self._text = self._text[self._at :] + self._decoder.decode(raw, final=self._ended)
        self._at = 0
        return True


def read_items(stream: BufferedReader, layout: Literal["array", "mapping"]) -> Iterator[JsonObject | Rejected]:
    """Yield the objects of an array, or of an object by key, and a rejection for every item that is not an object.

    A key is used where an `id` is missing. After damage, the whole rest is one rejection.
    """
    window = _Window(stream)
    opening, closing = ("[", "]") if layout == "array" else ("{", "}")
    line = 1
    try:
        window.take(opening)
        while window.peek() != closing:
            line = window.line
            key = None
            if layout == "mapping":
                key = window.value()
                window.take(":")
            yield _item(line, key, window.value())
            if window.peek() != closing:
                window.take(",")
        window.take(closing)
        window.peek()
        line = window.line
        window.take("")
    except ValueError as error:
        yield Rejected(line, f"The JSON is damaged here ({error}); nothing after it can be read.")


def read_lists(stream: BufferedReader, names: Sequence[str]) -> Iterator[JsonObject | Rejected]:
    """Yield the objects of a list that stands in an object, `{"items": [...]}`, or in an object in it, by their names.

    Each of `names` leads to the next object or to the list; the others are passed over. After damage, the whole rest is
    one rejection.
    """
    window = _Window(stream)
    line = 1
    try:
        window.take("{")
        while window.peek() != "}":
            name = window.value()
            window.take(":")
            if name in names and window.peek() == "{":
                window.take("{")
                continue
            if name in names and window.peek() == "[":
                window.take("[")
                while window.peek() != "]":
                    line = window.line
                    yield _item(line, None, window.value())
                    if window.peek() != "]":
                        window.take(",")
                return
            window.value()
            if window.peek() != "}":
                window.take(",")
        window.take("[")
    except ValueError as error:
        yield Rejected(line, f"The JSON is damaged here ({error}); nothing after it can be read.")


def _item(line: int, key: object, value: object) -> JsonObject | Rejected:
    item = as_object(line, value)
    if isinstance(item, Rejected):
        return item
    if _NOT_UTF8.search(json.dumps(item.members, ensure_ascii=False)):
        return Rejected(line, "The record has bytes that aren't UTF-8.")
    return item if key is None else JsonObject(line, {"id": key} | item.members)
