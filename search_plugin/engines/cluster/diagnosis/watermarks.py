"""How full a node's disk may be: the cluster's watermarks, given as a share that is used or as bytes that are free."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Level = Literal["ok", "low", "high", "flood_stage"]

_SETTING = "cluster.routing.allocation.disk"
_UNITS = {"": 0, "b": 0, "k": 1, "kb": 1, "m": 2, "mb": 2, "g": 3, "gb": 3, "t": 4, "tb": 4, "p": 5, "pb": 5}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)")


@dataclass(frozen=True, slots=True)
class Watermark:
    """One of them.

    Attributes:
        value: As the cluster gives it: `85%` or `0.85` used, or `20gb` free.
        headroom: For a share, the most that need be free on a large disk: `200GB`; `-1` or empty for any.
    """

    value: str
    headroom: str = ""

    def free_bytes(self, total: int) -> int | None:
        """Return how much must be free on a disk of some size, or None where the value can't be read."""
        used = _share(self.value)
        if used is None:
            return parse_size(self.value)
        free = round(total * (1 - used))
        cap = parse_size(self.headroom)
        return free if cap is None else min(free, cap)


@dataclass(frozen=True, slots=True)
class Watermarks:
    """All three.

    Attributes:
        enabled: Whether the cluster looks at disks at all.
        low: No new copies go to a node beyond it.
        high: Shards are moved away from a node beyond it.
        flood_stage: Indexes with a shard on a node beyond it can't be written any more.
    """

    enabled: bool
    low: Watermark
    high: Watermark
    flood_stage: Watermark

    def level(self, total: int, free: int) -> Level:
        """Return the worst watermark that a disk is beyond."""
        marks: tuple[tuple[Level, Watermark], ...] = (
            ("flood_stage", self.flood_stage),
            ("high", self.high),
            ("low", self.low),
        )
        for level, mark in marks:
            needed = mark.free_bytes(total)
            if total and needed is not None and free < needed:
                return level
        return "ok"


def read_watermarks(settings: Mapping[str, Any]) -> Watermarks:
    """Read them from the settings in force, with whole names as keys."""

    def mark(name: str) -> Watermark:
        key = f"{_SETTING}.watermark.{name}"
        return Watermark(str(settings.get(key, "")), str(settings.get(f"{key}.max_headroom", "")))

    enabled = str(settings.get(f"{_SETTING}.threshold_enabled", "true")).lower() == "true"
    return Watermarks(enabled, mark("low"), mark("high"), mark("flood_stage"))


def parse_size(text: str) -> int | None:
    """Return the bytes of a size such as `20gb`, in whose units 1 kb is 1,024 bytes, or None if it is none."""
    match = _SIZE.fullmatch(text.strip().lower())
    if not match or match[2] not in _UNITS:
        return None
    return int(float(match[1]) * (1 << (10 * _UNITS[match[2]])))


def share_or_size(text: str, whole: int) -> int | None:
    """Return the bytes that `50%` of something or a plain size comes to, or None if it is neither."""
    share = _share(text)
    return parse_size(text) if share is None else round(whole * share)


def _share(text: str) -> float | None:
    """Return the share that `85%` or `0.85` says, or None for anything else."""
    number = text.strip().removesuffix("%")
    try:
        share = float(number) / (100 if "%" in text else 1)
    except ValueError:
        return None
    return share if 0 <= share <= 1 else None
