"""The process of one peer, for `benchmarks.peers`: `load NAME FOLDER` loads, `open NAME FOLDER` opens and answers.

Imports nothing large itself, so that the import of the peer's libraries can be measured. Writes lines of JSON.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

from benchmarks.peers.registry import PEERS


def main() -> None:
    os.environ.setdefault("LANCEDB_LOG", "error")  # it warns at every search
    task, name, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    with os.fdopen(os.dup(1), "w") as out:
        os.dup2(2, 1)  # what libraries print goes to the errors
        {"load": load, "open": serve}[task](name, folder, out)


def load(name: str, folder: Path, out: TextIO) -> None:
    """Load all papers, and write how long it took and the peak of memory."""
    peer = import_module(PEERS[name])
    papers, vectors, _ = read(folder)
    before = peak()
    (folder / name).mkdir()
    clock = Clock()
    peer.load(folder / name, papers, vectors)
    say(out, {**clock.lap(), "peak": peak(), "before": before})


def serve(name: str, folder: Path, out: TextIO) -> None:
    """Open the peer and answer questions, until there are no more requests."""
    clock = Clock()
    peer = import_module(PEERS[name])
    imported = clock.lap()
    search = peer.opened(folder / name)
    opened = clock.lap()
    *_, questions = read(folder, papers=False)
    clock.lap()
    search(*questions[0], ())
    say(out, {"import": imported, "open": opened, "first": clock.lap(), "fields": peer.FIELDS})
    for line in sys.stdin:
        asked = json.loads(line)
        fields = peer.FIELDS if asked["faceted"] else ()
        say(
            out,
            turn(lambda question, fields=fields: search(*question, fields), questions[slice(*asked["range"])], asked),
        )


def turn(search: Callable[[Any], Any], questions: list[Any], asked: dict[str, Any]) -> dict[str, Any]:
    """Answer some questions, at least one, until the turn's time is over."""
    answered: dict[str, Any] = {"wall": [], "cpu": [], "pages": [], "counts": []}
    ends = time.perf_counter() + asked["seconds"]
    for question in questions:
        clock = Clock()
        rows, counts = search(question)
        for kind, taken in clock.lap().items():
            answered[kind].append(taken)
        answered["pages"].append([row.id for row in rows])
        answered["counts"].append({field: list(values.items()) for field, values in counts.items()})
        if time.perf_counter() > ends:
            break
    return {**answered, "resident": memory("VmRSS"), "anonymous": memory("RssAnon")}


def read(folder: Path, *, papers: bool = True) -> tuple[Any, Any, Any]:
    """Return papers, their vectors and the questions, as `benchmarks.peers.prepare` wrote them."""
    import numpy as np

    from benchmarks.peers.base import Row

    texts = json.loads((folder / "questions.json").read_bytes())
    questions = list(zip(texts, np.load(folder / "questions.npy"), strict=True))
    rows = [Row(*row) for row in json.loads((folder / "papers.json").read_bytes())] if papers else []
    return rows, np.load(folder / "vectors.npy") if papers else None, questions


class Clock:
    """Seconds on the wall and of all the process's threads, since it was last asked."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def lap(self) -> dict[str, float]:
        """Return the seconds, and start again."""
        wall, cpu = self._wall, self._cpu
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        return {"wall": self._wall - wall, "cpu": self._cpu - cpu}


def peak() -> float:
    """Return the most memory so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def memory(kind: str) -> float:
    """Return memory of this process, in MiB, by its name in /proc."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{kind}:"))


def say(out: TextIO, what: object) -> None:
    """Write a line."""
    out.write(json.dumps(what) + "\n")
    out.flush()


if __name__ == "__main__":
    main()
