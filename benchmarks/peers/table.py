"""The figures of a run as two tables in Markdown."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.common import percentile
from benchmarks.peers.registry import OURS, PEERS
from benchmarks.peers.sizes import folder_size, installed

MEANINGFUL = 100
"""Pages from which the slowest percent is worth a figure."""

Seen = Mapping[str, Mapping[str, Any]]


def table(seen: Seen, folder: Path) -> str:
    """Return pages, and what is around them, as two tables.

    Args:
        seen: What `benchmarks.peers.measure` returns, ours among it.
        folder: Where the peers' folders and the exact answers are.

    Returns:
        Markdown.
    """
    exact = json.loads((folder / "exact.json").read_bytes())
    return f"{_pages(seen, exact)}\n\n{_costs(seen, folder)}"


def _pages(seen: Seen, exact: Sequence[Mapping[str, Any]]) -> str:
    lines = [
        "| | page, ms: p50, p99 | to ours | CPU ms | to ours | two facets, ms: p50 | to ours | CPU ms | to ours "
        "| pages | of the exact ten | of a venue's papers |",
        "| --- " * 12 + "|",
    ]
    for name, peer in seen.items():
        cells = [name]
        for kind in ("plain", "faceted"):
            if kind not in peer:
                cells += ["no", "", "", ""]
                continue
            wall, cpu = _all(peer[kind], "wall"), _all(peer[kind], "cpu")
            tail = f", {1000 * percentile(wall, 0.99):.1f}" if kind == "plain" and len(wall) >= MEANINGFUL else ""
            cells += [f"{1000 * statistics.median(wall):.1f}{tail}", _ratio(seen, kind, "wall", name)]
            cells += [f"{1000 * statistics.median(cpu):.1f}", _ratio(seen, kind, "cpu", name)]
        cells += [str(len(_all(peer["plain"], "wall"))), f"{_overlap(peer['plain'], exact):.2f}", _counted(peer, exact)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _costs(seen: Seen, folder: Path) -> str:
    lines = [
        "| | load, s | to ours | import, CPU s | open and first page, CPU s | all until then, to ours "
        "| memory, MiB (not of files) | to ours | index, MiB | to ours | packages, MiB (number) | to ours |",
        "| --- " * 12 + "|",
    ]
    figures = {name: _cost(name, peer, folder) for name, peer in seen.items()}
    ours = figures[OURS]
    for name, own in figures.items():
        ratio = {kind: f"{own[kind] / ours[kind]:.2f}" for kind in own}
        lines.append(
            f"| {name} | {own['load']:.1f} | {ratio['load']} | {own['import']:.2f} | {own['first']:.2f} "
            f"| {ratio['start']} | {own['resident']:.0f} ({own['anonymous']:.0f}) | {ratio['resident']} "
            f"| {own['disk']:.0f} | {ratio['disk']} | {own['packages']:.0f} ({own['count']:.0f}) "
            f"| {ratio['packages']} |"
        )
    return "\n".join(lines)


def _cost(name: str, peer: Mapping[str, Any], folder: Path) -> dict[str, float]:
    count, packages = installed(import_module(PEERS[name]).PACKAGES)
    importing = statistics.median(start["import"]["cpu"] for start in peer["starts"])
    first = statistics.median(start["open"]["cpu"] + start["first"]["cpu"] for start in peer["starts"])
    last = peer.get("faceted", peer["plain"])[-1]
    return {
        "load": peer["load"]["wall"],
        "import": importing,
        "first": first,
        "start": importing + first,
        "resident": last["resident"],
        "anonymous": last["anonymous"],
        "disk": folder_size(folder / name),
        "packages": packages,
        "count": count,
    }


def _all(turns: Sequence[Mapping[str, Any]], kind: str) -> list[float]:
    return [value for turn in turns for value in turn[kind]]


def _ratio(seen: Seen, kind: str, clock: str, name: str) -> str:
    """Compare the median of a peer's pages with that of ours, for the same questions."""
    own, ours = [], []
    for turn, reference in zip(seen[name][kind], seen[OURS][kind], strict=True):
        own += turn[clock]
        ours += reference[clock][: len(turn[clock])]
    return f"{statistics.median(own) / statistics.median(ours):.2f}"


def _overlap(turns: Sequence[Mapping[str, Any]], exact: Sequence[Mapping[str, Any]]) -> float:
    """Return which part of the exact first ten a peer's pages hold."""
    shares = [
        len({*page} & {*exact[turn["from"] + place]["page"]}) / len(exact[turn["from"] + place]["page"])
        for turn in turns
        for place, page in enumerate(turn["pages"])
    ]
    return statistics.mean(shares)


def _counted(peer: Mapping[str, Any], exact: Sequence[Mapping[str, Any]]) -> str:
    """Return a peer's count of the most frequent venue over the exact count, the median of the questions."""
    shares = []
    for turn in peer.get("faceted", ()):
        for place, counts in enumerate(turn["counts"]):
            for venue, papers in exact[turn["from"] + place]["venue"]:
                shares.append(dict(map(tuple, counts["venue"])).get(venue, 0) / papers)
    return f"{statistics.median(shares):.2f}" if shares else ""
