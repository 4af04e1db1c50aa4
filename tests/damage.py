"""Ways to damage a file: what an editor, a disk or somebody's malice leaves of it; the first ones for hypothesis."""

from __future__ import annotations

import copy
import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import strategies as st

NASTY = (
    *(b"", b"\0", b"\xff", b"\xed\xa0\x80", b"\r", b"\n", b"\r\n\n", b"\t", b" ", b'"', b"'", b",", b";", b"|", b"\\"),
    *(b"{", b"}", b"[", b"]", b"[" * 2_000, b"<", b">", b"&", b"</", b"<!--", b"]]>", b"<![CDATA[", b"&#0;", b"&lol;"),
    *(b"null", b"true", b"{}", b"[]", b'""', b"NaN", b"-Infinity", b"1e999", b"-0", b"9" * 5_000, b"1" * 30, b"0.5"),
    *("\u202e\u2028\ufeff\x85".encode(), "é病".encode(), b'"\\ud800"', b'"\\u0000"', b"x" * 10_000),
)


_SHARE = st.floats(0, 1)
EDITS = st.lists(
    st.tuples(
        _SHARE, st.sampled_from([0, 0, 1, 2, 9, 50, 1 << 30]), st.sampled_from(NASTY) | st.binary(max_size=4) | _SHARE
    ),
    min_size=1,
    max_size=3,
)
"""Where, how many bytes go, and what comes: bytes, or those that stand elsewhere in the file."""


def edited(sample: bytes, edits: list[tuple[float, int, bytes | float]]) -> bytes:
    """Return a file's bytes after some edits: parts taken out, put in, doubled, moved or cut off."""
    data = sample
    for share, length, put in edits:
        start = round(share * len(data))
        if isinstance(put, float):
            put = sample[round(put * len(sample)) :][:40]
        data = data[:start] + put + data[start + length :]
    return data


GONE = ...
_VALUES = st.sampled_from([None, True, 0, -1, 7, 2**31, 2**70, 0.5, 1e308, "", "x", "../x", "\0", "\ud800", "/"])
CHANGES = st.lists(
    st.tuples(
        _SHARE,
        _VALUES
        | st.lists(_VALUES, max_size=3)
        | st.dictionaries(st.text(max_size=3), _VALUES, max_size=2)
        | st.just(GONE),
    ),
    min_size=1,
    max_size=2,
)
"""Where in a JSON value, and what stands there instead."""


def changed(sample: bytes, changes: list[tuple[float, Any]]) -> bytes:
    """Return JSON in which a few values, at any depth, became others or went."""
    value = json.loads(sample)
    for share, put in changes:
        # The first hundred, or a tokenizer's words would be all that is ever changed.
        if places := _places(value)[:100]:
            container, key = places[round(share * (len(places) - 1))]
            if put is GONE:
                del container[key]
            else:
                container[key] = copy.deepcopy(put)
    return json.dumps(value).encode()


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every container in a JSON value with each of its keys."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    return [place for key in keys for place in [(value, key), *_places(value[key])]]


def _remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def _cut(path: Path, draw: Random, _: Path) -> None:
    os.truncate(path, draw.randrange(path.stat().st_size or 1))


def _delete(path: Path, _: Random, __: Path) -> None:
    _remove(path)


def _zero(path: Path, draw: Random, _: Path) -> None:
    content = bytearray(path.read_bytes())
    start = draw.choice([0, draw.randrange(len(content) or 1)])
    end = draw.choice([len(content), min(len(content), start + 512)])
    content[start:end] = bytes(end - start)
    path.write_bytes(content)


def _flip(path: Path, draw: Random, _: Path) -> None:
    content = bytearray(path.read_bytes())
    if content:
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    path.write_bytes(content)


def _swap(path: Path, _: Random, other: Path) -> None:
    kept = path.with_name("kept aside")
    path.rename(kept)
    other.rename(path)
    kept.rename(other)


def _put_back(path: Path, _: Random, other: Path) -> None:
    _remove(path)
    shutil.copytree(other, path) if other.is_dir() else shutil.copy2(other, path)


def _device(path: Path, _: Random, __: Path) -> None:
    _remove(path)
    path.symlink_to("/dev/zero")


def _pipe(path: Path, _: Random, __: Path) -> None:
    _remove(path)
    os.mkfifo(path)


def _folder(path: Path, _: Random, __: Path) -> None:
    _remove(path)
    path.mkdir()


FILE_DAMAGES: Mapping[str, Callable[[Path, Random, Path], None]] = {
    "cut": _cut,
    "deleted": _delete,
    "zeroed": _zero,
    "flipped": _flip,
    "swapped": _swap,
    "put back": _put_back,
    "device": _device,
    "pipe": _pipe,
    "folder": _folder,
}
"""What to do with a file: each takes its path, chance, and another path that may take its place."""
