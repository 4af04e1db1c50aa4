"""How texts with more tokens than a model accepts are handled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

LongText = Literal["start", "ends", "passages"]
"""Keep the start (what the papers do), keep start and end in equal parts, or encode passages and take their mean."""

_OVERLAP = 4
"""Passages share a quarter of their tokens with the next, so that no sentence is cut in both."""


def pieces(ids: Sequence[int], limit: int, prompt: int, policy: LongText) -> list[list[int]]:
    """Cut a text's tokens to what a model takes.

    Args:
        ids: All of them: a first special token, the prompt, the text, a last special token.
        limit: Most tokens a piece may have.
        prompt: How many tokens stand before the text; every piece has them.
        policy: What to keep.

    Returns:
        One piece, or, for passages, as many as it takes.
    """
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
