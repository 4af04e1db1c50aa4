"""Opens a corpus's file: plain, gzip, zstd or xz, recognised by content, in any encoding that the user names.

Every failure is one sentence. No encoding is guessed. A detector was tried: charset-normalizer took French in Latin-1
for Mac Central European and Spanish for Polish, and would have written wrong letters into titles without a word.
"""

from __future__ import annotations

import codecs
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from corpora.errors import InputError, require
from corpora.paper import Rejected

if TYPE_CHECKING:
    from io import BufferedReader
    from pathlib import Path

    from _typeshed import WriteableBuffer

NOT_UTF8 = "bytes that aren't UTF-8 (if the whole file is in another encoding, name it)"
"""What a record has that can't be read, for the reason of its rejection."""

_CHUNK = 1 << 16
_MOST_BAD = 0.05
_MOST_CONTROLS = 0.01
_TEXT_CONTROLS = b"\t\n\v\f\r\x1a\x1b"
"""White space, and what DOS and terminals put into texts."""


class Source(Protocol):
    """Where bytes come from."""

    def read1(self, size: int, /) -> bytes:
        """Return up to `size` bytes, none at the end."""

    def close(self) -> None:
        """Close it."""


def check_encoding(name: str) -> str:
    """Return the name of an encoding, or raise `InputError` if there is none of that name for texts."""
    try:
        codecs.getincrementaldecoder(name)
        io.TextIOWrapper(io.BytesIO(), name)  # refuses what is no text, such as "zip"
    except (LookupError, ValueError):
        shown = name[:40]
        raise InputError(
            f"There is no encoding {shown!r}", "give <encoding> as Python names it, such as cp1252, latin-1 or utf-16"
        ) from None
    return name


class Recoded:
    """A source of text in any encoding as UTF-8; bytes that the encoding lacks stay as they are, and aren't UTF-8."""

    def __init__(self, source: Source, encoding: str) -> None:
        self._source = source
        self._decoder = codecs.getincrementaldecoder(encoding)("surrogateescape")
        self._rest = b""

    def read1(self, size: int, /) -> bytes:
        """Return up to `size` bytes of UTF-8, none at the end; `UnicodeError` where the encoding allows no escape."""
        while not self._rest:
            raw = self._source.read1(_CHUNK)
            self._rest = self._decoder.decode(raw, final=not raw).encode("utf-8", "surrogateescape")
            if not raw:
                break
        piece, self._rest = self._rest[:size], self._rest[size:]
        return piece

    def close(self) -> None:
        """Close the source."""
        self._source.close()


def refuse_other_text(path: object, head: bytes, encoding: str) -> None:
    """Raise `InputError` for what is not text, or text in another encoding, by its beginning, recoded if it has a name.

    A few records' worth of bytes may be unreadable: their records are rejected later.
    """
    if not encoding and head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{path} is UTF-16 text", "save it as UTF-8, or give <encoding=utf-16>")
    text = head.decode(errors="replace")
    controls = sum(char < " " and char.encode() not in _TEXT_CONTROLS for char in text)
    # The sample may end within a character.
    foreign = text[:-1].count("\ufffd")
    if controls + foreign <= max(3, _MOST_BAD * len(text)):
        return
    if controls > max(3, _MOST_CONTROLS * len(text)):
        raise InputError(f"{path} is a binary file: name a UTF-8 text file, or one packed as gzip, zstd or xz.")
    if encoding:
        raise InputError(f"{path} isn't text in the encoding {encoding}", "give another <encoding>")
    raise InputError(
        f"{path} is text, but not UTF-8",
        "save it as UTF-8, or name its encoding, such as <encoding=cp1252> for Western European text from Windows",
    )


BUFFER_BYTES = 1 << 20
"""How much is read ahead: enough to recognise a file's content before it is consumed."""

COMPRESSED_SUFFIXES = ("", ".gz", ".zst", ".xz")
"""Suffixes that may follow a file's usual name."""

_SAMPLE_BYTES = 8192
_DAMAGE = (EOFError, zlib.error, lzma.LZMAError, OSError)


@dataclass(frozen=True, slots=True)
class Opening:
    """How to open what a path names, beyond the path itself.

    Attributes:
        encoding: Encoding of a text file; UTF-8 if empty.
        documents: Reads all documents of an index in a cluster, with their ids as `_id`; None if the path is a file or
            folder.
    """

    encoding: str = ""
    documents: Callable[[], Iterator[Mapping[str, Any]]] | None = None


PLAIN = Opening()
"""A file in UTF-8."""


def _open_zstd(raw: io.BufferedReader) -> Source:
    # Not zstandard's stream_reader: at a cut-off file it reports a clean end, Python 3.14's own ZstdFile an error.
    from backports import zstd

    return _Zstd(zstd.ZstdFile(raw))


class _Zstd:
    """A file compressed by zstd; damage raises `OSError`."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def read1(self, size: int, /) -> bytes:
        from backports import zstd

        try:
            return bytes(self._file.read1(size))
        except zstd.ZstdError as error:
            raise OSError(str(error)) from error

    def close(self) -> None:
        self._file.close()


_DECOMPRESSORS: dict[bytes, Callable[[io.BufferedReader], Source]] = {
    b"\x1f\x8b": lambda raw: gzip.GzipFile(fileobj=raw, mode="rb"),
    b"\x28\xb5\x2f\xfd": _open_zstd,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}
"""By a file's first bytes; its name can be wrong, as when a browser unpacks a download and keeps `.gz`."""

_OFFICE = (b"[Content_Types].xml", b"xl/", b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet")
"""One of them is near the beginning of a spreadsheet (.xlsx, .ods), which is a zip archive."""

_OLD_OFFICE = b"\xd0\xcf\x11\xe0"
"""The first bytes of .xls."""

_ARCHIVES = {b"PK\x03\x04": "a zip archive", b"7z\xbc\xaf": "a 7z archive", b"BZh": "bzip2", b"Rar!": "a rar archive"}


class _Guarded(io.RawIOBase):
    """A source whose failures become `InputError`, raised only after everything before the failure was delivered."""

    def __init__(self, source: Source, raw: io.BufferedReader, path: Path, encoding: str) -> None:
        self._packed = source is not raw
        self._source = Recoded(source, encoding) if encoding else source
        self._raw, self._path = raw, path
        self._failure: Exception | None = None

    def readable(self) -> bool:
        """Return True: it can be read."""
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Fill the buffer, or as much of it as the source has."""
        view, filled = memoryview(buffer), 0
        try:
            while self._failure is None and filled < len(view):
                piece = self._source.read1(len(view) - filled)
                if not piece:
                    break
                view[filled : filled + len(piece)] = piece
                filled += len(piece)
        except (*_DAMAGE, UnicodeError) as failure:
            self._failure = failure
        if self._failure is not None and not filled:
            if isinstance(self._failure, UnicodeError):
                raise InputError(
                    f"{self._path} isn't text in that encoding", "give another <encoding>"
                ) from self._failure
            why = "cut off or damaged" if self._packed else f"unreadable ({self._failure})"
            raise InputError(f"{self._path} is {why}: fetch it again.") from self._failure
        return filled

    def close(self) -> None:
        """Close the source and the file below it."""
        if not self.closed:
            self._source.close()
            self._raw.close()
        super().close()


def open_binary(path: Path, encoding: str = "") -> io.BufferedReader:
    """Return a text file as a stream of UTF-8; gzip, zstd and xz are decompressed. Its `peek` shows the beginning.

    Raises `InputError` if the file is missing, a folder, unreadable, empty, cut off, binary, an archive or a
    spreadsheet, or in another encoding than the given one; a stream raises it when it is read past damage.
    """
    if encoding:
        check_encoding(encoding)
    return _opened(path, encoding, _refuse_unreadable)


def open_bytes(path: Path) -> io.BufferedReader:
    """Return a file that need not be text as a stream; as `open_binary` otherwise."""
    return _opened(path, "", _refuse_archive)


def _opened(path: Path, encoding: str, refuse: Callable[[Path, bytes, str], None]) -> io.BufferedReader:
    try:
        raw = path.open("rb")
    except IsADirectoryError:
        raise InputError(f"{path} is a folder: name a file in it.") from None
    except FileNotFoundError:
        raise InputError(f"There is no file {path}: check its name.") from None
    except PermissionError:
        raise InputError(f"{path} can't be read: give yourself permission to read it.") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{str(path)!r} can't be opened ({error}): check its name.") from None
    try:
        source = next((make(raw) for magic, make in _DECOMPRESSORS.items() if _starts(raw, magic)), raw)
        stream: io.BufferedReader = io.BufferedReader(_Guarded(source, raw, path, encoding), BUFFER_BYTES)
        head = stream.peek(BUFFER_BYTES)[:_SAMPLE_BYTES]
        refuse(path, head, encoding)
    except BaseException:
        raw.close()
        raise
    return stream


def as_text(stream: io.BufferedReader) -> io.TextIOWrapper:
    """Return a stream as UTF-8 text, with or without a byte order mark; line ends are unchanged, as `csv` needs them.

    Bytes that aren't UTF-8 become lone surrogates (PEP 383), so that the caller can reject the record that has them.
    """
    return io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")


def find_compressed(folder: Path, name: str) -> Path | None:
    """Return the file of that name in the folder, plain or compressed, or None."""
    return next((p for suffix in COMPRESSED_SUFFIXES if (p := folder / f"{name}{suffix}").is_file()), None)


def _starts(raw: io.BufferedReader, magic: bytes) -> bool:
    try:
        return raw.peek(len(magic)).startswith(magic)
    except OSError as error:
        raise InputError(f"{os.fspath(raw.name)} is unreadable ({error.strerror}): fetch it again.") from error


def _refuse_unreadable(path: Path, head: bytes, encoding: str) -> None:
    _refuse_archive(path, head, encoding)
    refuse_other_text(path, head, encoding)


def _refuse_archive(path: Path, head: bytes, encoding: str) -> None:  # noqa: ARG001 - like _refuse_unreadable
    require(head, f"{path} is empty: fetch it again or name another file.")
    if head.startswith(_OLD_OFFICE) or (head.startswith(b"PK") and any(mark in head for mark in _OFFICE)):
        raise InputError(f"{path} is a spreadsheet", "use <corpus=xlsx>, or save it as CSV")
    kind = next((kind for magic, kind in _ARCHIVES.items() if head.startswith(magic)), None)
    kind = "a tar archive" if head[257:262] == b"ustar" else kind
    if kind is not None:
        raise InputError(f"{path} is {kind}: unpack it and name the file you want of it.")


LONGEST_RECORD = 16 << 20
"""Most bytes of a line, and most characters of an item of an array."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line: its number, from 1, and its bytes, in most uses without the blanks around them."""

    number: int
    raw: bytes


def bounded_lines(stream: BufferedReader, *, stripped: bool = True) -> Iterator[Line | Rejected]:
    """Yield the lines that aren't blank, and a rejection for each that is too long; a byte order mark is left out.

    Unless `stripped`, the blanks and line ends around a line stay.
    """
    number = 0
    while raw := stream.readline(LONGEST_RECORD):
        number += 1
        if len(raw) == LONGEST_RECORD and not raw.endswith(b"\n"):
            while raw and not raw.endswith(b"\n"):
                raw = stream.readline(LONGEST_RECORD)
            yield Rejected(number, f"The line is longer than {LONGEST_RECORD >> 20} MiB.")
        elif content := (raw := raw.removeprefix(b"\xef\xbb\xbf")).strip():
            yield Line(number, content if stripped else raw)
