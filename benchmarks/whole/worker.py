"""The process of one contender, for `benchmarks.whole`: `NAME FOLDER` makes its index and asks all questions.

Imports nothing that is not in Python itself, so that the libraries' import and memory count as the contender's. Writes
a line of JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
from importlib import import_module
from pathlib import Path

from benchmarks.whole.base import Read
from benchmarks.whole.registry import CONTENDERS, FURTHER

WARM_UP = "Vitamin D deficiency is associated with a higher risk of infection."
QUIET = {"HF_HUB_OFFLINE": "1", "HAYSTACK_TELEMETRY_ENABLED": "False", "LANCEDB_LOG": "error"}
"""No contender asks a server of others, or warns at every search."""


def main() -> None:
    name, folder = sys.argv[1], Path(sys.argv[2])
    os.environ.update(QUIET)
    with os.fdopen(os.dup(1), "w") as out:
        os.dup2(2, 1)  # what libraries print goes to the errors
        out.write(json.dumps(measure(name, folder)) + "\n")


def measure(name: str, folder: Path) -> dict[str, object]:
    """Make a contender's index, ask all questions once, and return what that took and found."""
    papers = [Read(*paper) for paper in json.loads((folder / "papers.json").read_bytes())]
    questions = json.loads((folder / "questions.json").read_bytes())
    own = folder / name
    own.mkdir()
    begun = time.perf_counter()
    contender = import_module({**CONTENDERS, **FURTHER}[name])
    answer = contender.made(papers, own)
    made = time.perf_counter() - begun
    answer(WARM_UP)
    pages, taken = {}, []
    for query, question in questions.items():
        begun = time.perf_counter()
        pages[query] = answer(question)
        taken.append(time.perf_counter() - begun)
    return {"made": made, "peak": peak(), "taken": taken, "pages": pages, "versions": contender.versions()}


def peak() -> float:
    """Return the most memory so far, in MiB; `ru_maxrss` would count the process that started this one."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))


if __name__ == "__main__":
    main()
