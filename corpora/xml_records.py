"""Cuts a big XML file into its records, so that a broken one can't affect the others.

A parser in recovery mode was tried first: at a stray `<` or closing tag libxml2 silently drops everything that follows.
If each record is cut out and parsed alone, it fails alone, on known lines. Without the document type there are no
entities to expand, and memory holds one record.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from copy import deepcopy
from dataclasses import dataclass
from io import BufferedReader
from typing import Any

from corpora.errors import InputError
from corpora.oai import name_of
from corpora.opening import LONGEST_RECORD
from corpora.paper import Rejected

_CHUNK = 1 << 20
_LONGEST_TAG = 1024
_ELEMENT = re.compile(rb"<!--.*?-->|<([A-Za-z][\w:.-]*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class XmlRecord:
    """One record: the line on which it begins, the name of its element, and the element as written."""

    line: int
    tag: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Elements:
    """The elements of a record that hold text, for an account of what is read.

    Attributes:
        root: The outermost element.
        inline: Elements that are parts of a text.
    """

    root: Any
    inline: tuple[str, ...] = ()

    def names(self) -> Collection[str]:
        """Return the names of elements with text, after that of the one around them, unless that is the outermost."""
        return list(dict.fromkeys(name for name, _, _ in self._leaves(self.root)))

    def without(self, names: Collection[str]) -> Any:
        """Return a copy without some elements."""
        root = deepcopy(self.root)
        for name, parent, element in [*self._leaves(root)]:
            if name in names:
                parent.remove(element)
        return root

    def text(self, name: str) -> str:
        """Return the texts of the elements of a name."""
        return "; ".join("".join(element.itertext()) for found, _, element in self._leaves(self.root) if found == name)

    def _leaves(self, root: Any) -> Iterator[tuple[str, Any, Any]]:
        for parent in root.iter():
            around = "" if parent is root else f"{name_of(parent)}/"
            if name_of(parent) in self.inline:
                continue
            for element in parent:
                name = name_of(element)
                own = [element, *(child for child in element if name_of(child) in self.inline)]
                if name not in self.inline and any((one.text or "").strip() for one in own):
                    yield f"{around}{name}", parent, element


@dataclass(slots=True)
class _Cutter:
    """The bytes read and not yet delivered; a record begins at `start`, unless that is None."""

    tags: re.Pattern[bytes]
    buffer: bytes = b""
    line: int = 1
    counted: int = 0
    scanned: int = 0
    start: int | None = None
    root: bytes = b""
    closed: bool = False

    def add(self, chunk: bytes) -> None:
        """Take the next bytes of the file, and note its outermost element and whether that has ended."""
        self.buffer += chunk
        if not self.root:
            self.root = next((name for name in _ELEMENT.findall(self.buffer) if name), b"")
        self.closed = self.closed or b"</" + self.root in self.buffer

    def cut(self) -> Iterator[XmlRecord | Rejected]:
        for tag in self.tags.finditer(self.buffer, self.scanned):
            closing, name = tag.group(1), tag.group(2).decode()
            if closing and self.start is None:
                yield Rejected(self.line_at(tag.start()), f"Here ends a {name} that never began.")
            elif closing and self.start is not None:
                yield XmlRecord(self.line_at(self.start), name, self.buffer[self.start : tag.end()])
                self.start = None
            elif not tag.group().endswith(b"/>"):
                if self.start is not None:
                    yield Rejected(self.line_at(self.start), f"The record is cut off by the next {name}.")
                self.start = tag.start()
            self.scanned = tag.end()

    def forget(self) -> Iterator[Rejected]:
        """Drop bytes that are no longer needed, and a record longer than the limit."""
        if self.start is not None and len(self.buffer) - self.start > LONGEST_RECORD:
            yield Rejected(self.line_at(self.start), f"The record is longer than {LONGEST_RECORD >> 20} MiB.")
            self.start = None
        self.scanned = max(self.scanned, len(self.buffer) - _LONGEST_TAG)
        keep = self.scanned if self.start is None else self.start
        self.line_at(keep)
        self.buffer = self.buffer[keep:]
        self.counted = 0
        self.scanned -= keep
        self.start = None if self.start is None else 0

    def rest(self, reason: str) -> Iterator[Rejected]:
        if self.start is not None:
            yield Rejected(self.line_at(self.start), reason)

    def line_at(self, offset: int) -> int:
        """Return the line of an offset; offsets must ascend from call to call."""
        self.line += self.buffer.count(b"\n", self.counted, offset)
        self.counted = offset
        return self.line


def read_records(stream: BufferedReader, tags: tuple[str, ...]) -> Iterator[XmlRecord | Rejected]:
    """Yield the elements of some names, and a rejection for each one, and for a file, without its end or its beginning.

    The elements don't contain one another, and the file is in an encoding that contains ASCII. Damage to the stream
    itself (a truncated gzip) rejects the rest of the file.
    """
    cutter = _Cutter(re.compile(rb"<(/?)(%s)\b[^<>]*>" % "|".join(tags).encode()))
    while True:
        try:
            chunk = stream.read1(_CHUNK)
        except InputError as damage:
            yield from cutter.rest("The record is cut off where the file is damaged.")
            yield Rejected(cutter.line_at(len(cutter.buffer)), f"Nothing after this line can be read: {damage}")
            return
        if not chunk:
            yield from cutter.rest("The record is cut off where the file ends.")
            if cutter.start is None and cutter.root and not cutter.closed:
                line = cutter.line_at(len(cutter.buffer))
                yield Rejected(line, f"The file is cut off here: its last tag, </{cutter.root.decode()}>, is missing.")
            return
        cutter.add(chunk)
        yield from cutter.cut()
        yield from cutter.forget()
