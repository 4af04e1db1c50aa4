"""The whole of `ses index`: compared with encoding alone, when run again, and its memory at 5,000 and 33,000 papers.

Each run is a process of its own, in a data folder of its own. Needs SES_TEST_DATA.
Run: python -m benchmarks.indexing [RUNTIME] [SIZE ...] [ENGINE], such as http://HOST:9200; else the embedded one.
"""

from __future__ import annotations

import json
import lzma
import os
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path

from benchmarks.common import data_dir

INDEX = "import runpy, resource, sys; sys.argv = ['ses', *sys.argv[1:]]\n" + (
    "try: runpy.run_module('ses', run_name='__main__')\n"
    "finally: sys.stderr.write(f'peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}\\n')"
)


def run(home: Path, *arguments: str) -> tuple[dict[str, float], float]:
    """Run `ses index --json` and return its report and the process's peak memory in MiB."""
    environment = {**os.environ, "SES_DATA_DIR": str(home / "data"), "SES_CACHE_DIR": str(home / "cache")}
    environment["SES_EMBEDDING_CACHE"] = "false"
    command = [sys.executable, "-c", INDEX, "index", "--json", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout), int(done.stderr.rsplit("peak ", 1)[1]) / 1024


def main() -> None:
    runtime = sys.argv[1] if len(sys.argv) > 1 else "onnx"
    sizes = [int(argument) for argument in sys.argv[2:] if argument.isdigit()] or [5_000, 33_000]
    engines = [argument for argument in sys.argv[2:] if not argument.isdigit()]
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        corpus = home / "papers.jsonl"
        with lzma.open(data_dir() / "train" / "pubmed.jsonl.xz", "rt", encoding="utf-8") as file:
            corpus.write_text("".join(islice(file, max(sizes))), encoding="utf-8")
        given = ("--corpus", "jsonl", "--path", str(corpus), "--runtime", runtime)
        given += ("--engine", engines[0]) if engines else ()
        run(home, *given, "--limit", "1", "--index", "warm-up")  # builds the model's graph
        for size in sizes:
            name = f"papers-{size}"
            first, memory = run(home, *given, "--limit", str(size), "--index", name, "--fresh")
            again, _ = run(home, *given, "--limit", str(size), "--index", name)
            print(f"{size:,} papers of PubMed, {runtime} int8:")
            print(f"  the whole run over the encoding alone: {first['seconds'] / first['encoding_seconds']:.3f}x")
            print(f"  papers/s: {size / first['seconds']:.1f}")
            print(f"  the first run over the second: {first['seconds'] / again['seconds']:.0f}x")
            print(f"  peak resident memory: {memory:.0f} MiB")


if __name__ == "__main__":
    main()
