"""Writes the files of the surface beside this one: `python -m tests.surface [NAME...]`."""

from __future__ import annotations

import sys
import tempfile
from contextlib import chdir
from pathlib import Path

from tests.isolation import isolate
from tests.surface.facts import FACTS, place_of, text_of


def main() -> None:
    """Write the files that were named, or all of them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        isolate(folder)
        with chdir(folder / "work"):
            for one in sys.argv[1:] or FACTS:
                place_of(one).write_text(text_of(one, folder), encoding="utf-8")


if __name__ == "__main__":
    main()
