"""Packages of others that have the name of a package of ses, and take its place.

The module imports nothing of ses, since one of these may be missing.
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


def foreign_distributions() -> Iterator[str]:
    """Yield a sentence for each installed project of others that has a package or a command named like one of ours.

    pip puts their files and ours into the same folder, where one overwrites the other; so the place of a package does
    not tell them apart.
    """
    from importlib.metadata import entry_points, packages_distributions

    from corpora.installed import DISTRIBUTION

    owners = packages_distributions()
    named = [(owner, f"package {name}") for name in ("ses", *PACKAGES) for owner in owners.get(name, ())]
    scripts = entry_points(group="console_scripts", name="ses")
    named += [(script.dist.name, "command ses") for script in scripts if script.dist]
    clashes: dict[str, list[str]] = {}
    for owner, thing in dict.fromkeys(named):
        if owner != DISTRIBUTION:
            clashes.setdefault(owner, []).append(thing)
    for owner, things in clashes.items():
        yield (
            f"The project {owner} is installed here too and has its own {' and '.join(things)}: run "
            f"`pip uninstall {owner}`, then install ses again, or give each an environment of its own."
        )
