"""Reading one big JSON array of objects, or one big object of objects by id, without holding more than one of them."""

from __future__ import annotations

import codecs
import json
import re
from typing import TYPE_CHECKING, Literal

from corpora.json_lines import JsonObject, as_object
from corpora.lines import LONGEST_RECORD
from corpora.paper import Rejected

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader

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
    """Read the objects of an array, or of an object by key; a key is used where an `id` is missing.

    Args:
        stream: The file.
        layout: Which of the two it holds.

    Yields:
        Every object, and a rejection for every item that is not an object. After damage, the whole rest is one
        rejection.
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


def _item(line: int, key: object, value: object) -> JsonObject | Rejected:
    item = as_object(line, value)
    if isinstance(item, Rejected):
        return item
    if _NOT_UTF8.search(json.dumps(item.members, ensure_ascii=False)):
        return Rejected(line, "The record has bytes that aren't UTF-8.")
    return item if key is None else JsonObject(line, {"id": key} | item.members)
