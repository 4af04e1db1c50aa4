"""Text in other encodings than UTF-8: told from binary files, and recoded where the user names the encoding.

Nothing is guessed. A detector was tried: charset-normalizer took French in Latin-1 for Mac Central European and Spanish
for Polish, and would have written wrong letters into titles without a word.
"""

from __future__ import annotations

import codecs
import io
from typing import Protocol

from corpora.errors import InputError

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
    """A source of text in any encoding as UTF-8; bytes that the encoding lacks stay as they are, and aren't UTF-8.

    Args:
        source: In the encoding.
        encoding: Its name.
    """

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
    """Refuse what is not text, or text in another encoding.

    Args:
        path: The file, for the message.
        head: Its beginning, recoded if an encoding was named.
        encoding: The one that the user named, or empty.

    Raises:
        InputError: If more than a few records' worth of bytes can't be read; fewer reject their records.
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
