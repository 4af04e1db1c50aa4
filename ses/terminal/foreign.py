"""Packages of others that have the name of a package of ses, and that Python finds first.

It imports nothing of ses, since one of these may be missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("corpora", "encoders", "indexer", "search_plugin", "products", "eval", "training")
"""The packages that are installed beside `ses` itself."""


def foreign_packages() -> Iterator[str]:
    """Yield a sentence for each package of ses in whose place Python finds another one."""
    own = Path(__file__).parents[2]
    for name in PACKAGES:
        spec = find_spec(name)
        places = [Path(place) for place in (spec and spec.submodule_search_locations) or ()]
        if own / name in places[:1]:
            continue
        there = places[0] if places else spec and spec.origin
        found = f"Python finds another {name}, in {there}, before" if there else f"Python does not find {name},"
        yield (
            f"{found} the one of ses in {own}; install ses in an environment of its own, and start it in a folder "
            f"without a {name}."
        )
