"""A table for queries as one file that programs in any language read, with its vocabulary and its folding.

The file is in the format safetensors: a length of 8 bytes, a JSON header, raw numbers. `codes`, `centroids` and
`weights` are those of `encoders.static.StaticTable`; `none` is the vector of a text without tokens. The others are
texts of UTF-8, line by line: `vocabulary` has the pieces of words by number. `folding` has a character, a tab, and what
the tokenizer makes of it; `ranges` the first and the last number of characters, and the same with `&` for the
character. Spaces around a character make it a word of its own.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import InputError, require
from corpora.lazy import np
from corpora.writing import replacing
from encoders.static import StaticEncoder
from encoders.tokens.tokenizer import splits_as_bert

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokenizers import Tokenizer

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
"""The tokens that are found in a text as they are."""

_CHARACTERS = (range(0x30000), range(0xE0000, 0xE1000))
"""What the folding knows; other characters are unassigned, or private."""

_SURROGATES = range(0xD800, 0xE000)
_AT_ONCE = 1 << 12
_ASCII = 128

_SHORTEST_RANGE = 8
"""Fewer characters have a line each: programs look these up, and try range after range."""


def write_table_file(encoder: StaticEncoder, path: Path) -> int:
    """Write a table as one file, and return its bytes; `InputError` if it is of another kind than ses ships."""
    from safetensors.numpy import save

    table, tokenizer = encoder.table, encoder.tokenizer
    name = Path(encoder.card.name).name
    if table.codes is None or table.centroids is None or table.mapping is not None or encoder.ignored:
        raise InputError(f"The table {name} is not quantised, so it has no file that other programs read.")
    _check(tokenizer, name)
    vocabulary = tokenizer.get_vocab(with_added_tokens=True)
    folding, ranges = _folding(tokenizer)
    mean = table.mean()
    texts = {"vocabulary": sorted(vocabulary, key=vocabulary.__getitem__), "folding": folding, "ranges": ranges}
    arrays = {
        "centroids": table.centroids.astype(np.float32),
        "weights": table.weights.astype(np.float32),
        "none": mean / np.linalg.norm(mean),
        "codes": table.codes,
        **{part: np.frombuffer("\n".join(lines).encode(), np.uint8) for part, lines in texts.items()},
    }
    with replacing(path) as new:
        new.write_bytes(save(arrays, {"model": encoder.card.papers_by}))
    return path.stat().st_size


def _check(tokenizer: Tokenizer, name: str) -> None:
    """Raise `InputError` for a tokenizer that the programs have no code for."""
    added = [one["content"] for one in json.loads(tokenizer.to_str())["added_tokens"]]
    require(
        splits_as_bert(tokenizer) and set(added) <= set(SPECIAL),
        f"The tokenizer of the table {name} is not BERT's, so it has no file that other programs read.",
    )


def _folding(tokenizer: Tokenizer) -> tuple[list[str], list[str]]:
    """Return the lines of the characters that the tokenizer changes: alone, and in ranges that become the same."""
    runs: list[tuple[int, int, str]] = []
    for code, text in _changed(tokenizer):
        if runs and runs[-1][1] == code - 1 and runs[-1][2] == text:
            runs[-1] = (runs[-1][0], code, text)
        else:
            runs.append((code, code, text))
    alone, ranges = [], []
    for first, last, text in runs:
        if first < _ASCII or last - first >= _SHORTEST_RANGE or first in _SURROGATES:
            ranges.append(f"{first}\t{last}\t{text}")
        else:
            alone += [f"{chr(code)}\t{text.replace('&', chr(code))}" for code in range(first, last + 1)]
    return alone, ranges


def _changed(tokenizer: Tokenizer) -> Iterator[tuple[int, str]]:
    """Yield each character that the tokenizer changes, and what it makes of it, with `&` for itself."""
    for first in (start for part in _CHARACTERS for start in part[::_AT_ONCE]):
        # Programs replace lone surrogates by U+FFFD, as ses does.
        signs = ["\ufffd" if code in _SURROGATES else chr(code) for code in range(first, first + _AT_ONCE)]
        # A word on each side: what is alone becomes a word between them. No character becomes the word "b".
        normal = tokenizer.normalizer.normalize_str(" b ".join(f"a{sign}a" for sign in signs))
        words = " ".join(word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normal))
        for code, (sign, made) in enumerate(zip(signs, words.split(" b "), strict=True), first):
            if made[1:-1] != sign:
                yield code, " & " if made[1:-1] == f" {sign} " else made[1:-1]
