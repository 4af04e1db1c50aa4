"""From token lists to batches: long texts are cut, and texts of similar lengths go together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from corpora.lazy import np

V = TypeVar("V")

LongText = Literal["start", "ends", "passages"]
"""Keep the start (what the papers do), keep start and end in equal parts, or encode passages and take their mean."""

_OVERLAP = 4
"""Passages share a quarter of their tokens with the next, so that no sentence is cut in both."""


def pieces(ids: Sequence[int], limit: int, prompt: int, policy: LongText) -> list[list[int]]:
    """Cut token ids to pieces of at most `limit` ids; each has the first `prompt` ids and the last one of the text."""
    if len(ids) <= limit:
        return [list(ids)]
    before, text, after = list(ids[:prompt]), list(ids[prompt:-1]), list(ids[-1:])
    room = limit - len(before) - len(after)
    if policy == "start":
        kept = [text[:room]]
    elif policy == "ends":
        kept = [text[: room - room // 2] + text[len(text) - room // 2 :]]
    else:
        step = max(room - room // _OVERLAP, 1)
        kept = [text[start : start + room] for start in range(0, len(text) - room + step, step)]
    return [before + part + after for part in kept]


CPU_TOKENS = 512
"""Tokens of a batch on a CPU: what a layer computes of them stays in a core's cache.

The number of cores does not change it, since a vector's last bits depend on the batch, and all machines of a run should
give the same.
"""

GPU_TOKENS = 4096
"""Tokens of a batch on a GPU."""

MAX_PAIRS = GPU_TOKENS * 512
"""Limit of token pairs that a batch's attention compares: 8 texts of 8,192 tokens would take 26 GB in each layer."""

PART = 64
"""Vectors are saved after this many rows. A CPU needs seconds for them, and saving takes a thousandth of it."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Texts to encode together.

    Attributes:
        rows: The position of each text in the input, int64 (batch,).
        ids: Token ids padded with 0 on the right, int64 (batch, length).
        mask: 1 for text, 0 for padding, int64 (batch, length).
    """

    rows: np.ndarray
    ids: np.ndarray
    mask: np.ndarray


def batches(
    token_ids: Sequence[Sequence[int]], max_texts: int | None = None, tokens: int = CPU_TOKENS
) -> Iterator[Batch]:
    """Yield token lists in batches by length, longest first, so that memory use peaks at the start, not hours later.

    The grouping depends on the arguments alone: the same call makes the same batches, and so the same vectors to the
    last bit. In another batch a vector differs only by rounding, as float32 sums in another order do. A batch has
    `max_texts` texts, or as many as have so many tokens together; one text may have more.
    """
    lengths = np.array([len(ids) for ids in token_ids], dtype=np.int64)
    order = np.argsort(-lengths, kind="stable")
    while len(order):
        longest = max(int(lengths[order[0]]), 1)
        count = max(min(max_texts or tokens // longest, MAX_PAIRS // longest**2), 1)
        rows, order = order[:count], order[count:]
        ids = np.zeros((len(rows), int(lengths[rows].max())), dtype=np.int64)
        for i, row in enumerate(rows):
            ids[i, : lengths[row]] = token_ids[row]
        yield Batch(rows, ids, (np.arange(ids.shape[1]) < lengths[rows, None]).astype(np.int64))


def parts(ran: Iterable[tuple[Batch, V]], owners: np.ndarray, least: int = PART) -> Iterator[list[tuple[Batch, V]]]:
    """Yield batches with what was made of them, in parts of at least `least` rows that split no text.

    `owners` is the text of each row, int64 (rows,).
    """
    # The texts of the parts that remain give the same batches again, also in another process.
    counts = np.bincount(owners)
    left, part, rows = counts.copy(), list[tuple[Batch, V]](), 0
    for batch, made in ran:
        part.append((batch, made))
        rows += len(batch.rows)
        np.subtract.at(left, owners[batch.rows], 1)
        if rows >= least and not ((left > 0) & (left < counts)).any():
            yield part
            part, rows = [], 0
    if part:
        yield part
