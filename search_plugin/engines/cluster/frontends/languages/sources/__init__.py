"""What programs in other languages are made of to have the vector of a query: a file for each part and language."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from search_plugin.engines.cluster.frontends.script import VectorWay

PARTS: Mapping[VectorWay, tuple[str, ...]] = {
    "words": ("direction", "words"),
    "table": ("table",),
    "feedback": ("direction",),
    "service": (),
}
"""The parts that a program needs for each way."""


def source_of(part: str, ending: str) -> str:
    """Return a part in the language whose files end so, for a program that nothing imports from."""
    text = Path(__file__).with_name(f"{part}.{ending}").read_text(encoding="utf-8")
    return text.replace("\nexport ", "\n")
