"""Ways to damage a file, for hypothesis: what an editor, a disk or somebody's malice leaves of it."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

NASTY = (
    *(b"", b"\0", b"\xff", b"\xed\xa0\x80", b"\r", b"\n", b"\r\n\n", b"\t", b" ", b'"', b"'", b",", b";", b"|", b"\\"),
    *(b"{", b"}", b"[", b"]", b"[" * 2_000, b"<", b">", b"&", b"</", b"<!--", b"]]>", b"<![CDATA[", b"&#0;", b"&lol;"),
    *(b"null", b"true", b"{}", b"[]", b'""', b"NaN", b"-Infinity", b"1e999", b"-0", b"9" * 5_000, b"1" * 30, b"0.5"),
    *("\u202e\u2028\ufeff\x85".encode(), "é病".encode(), b'"\\ud800"', b'"\\u0000"', b"x" * 10_000),
)


@st.composite
def damaged(draw: st.DrawFn, sample: bytes) -> bytes:
    """Bytes of a file after a few edits: parts taken out, put in, doubled, moved or cut off."""
    data = sample
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(data)))
        length = draw(st.sampled_from([0, 0, 1, 2, 9, 50, len(data)]))
        other = draw(st.integers(0, len(sample)))
        put = draw(st.sampled_from(NASTY) | st.binary(max_size=4) | st.just(sample[other : other + 40]))
        data = data[:start] + put + data[start + length :]
    return data


_VALUES = st.sampled_from([None, True, 0, -1, 7, 2**31, 2**70, 0.5, 1e308, "", "x", "../x", "\0", "\ud800", "/"])
VALUES = _VALUES | st.lists(_VALUES, max_size=3) | st.dictionaries(st.text(max_size=3), _VALUES, max_size=2)
"""What may stand in JSON where something else is meant."""


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every container in a JSON value with each of its keys."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    return [place for key in keys for place in [(value, key), *_places(value[key])]]


@st.composite
def damaged_json(draw: st.DrawFn, sample: bytes) -> bytes:
    """JSON after a few of its values, at any depth, became others, went, or were put in."""
    value = json.loads(sample)
    for _ in range(draw(st.integers(1, 2))):
        # The first hundred, or a tokenizer's words would be all that is ever changed.
        container, key = draw(st.sampled_from(_places(value)[:100] or [([None], 0)]))
        how = draw(st.sampled_from(["change", "change", "drop"]))
        if how == "change":
            container[key] = draw(VALUES)
        else:
            del container[key]
    return json.dumps(value).encode()
