"""Peak memory of writing and of finishing an index, by its size, without a model.

Each size is a process of its own. Needs SES_TEST_DATA. Run: python -m benchmarks.memory [PAPERS ...]
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile

from benchmarks.common import random_index


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        measure(int(sys.argv[2]))
        return
    print(f"{'papers':>8} {'MiB after writing':>18} {'MiB after finishing':>20}", flush=True)
    for size in sys.argv[1:] or ("5000", "33000", "132000"):
        subprocess.run([sys.executable, "-m", "benchmarks.memory", "--one", size], check=True)


def measure(size: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        index = random_index(f"embedded:{folder}", size)
        written = peak()
        index.finish()
        print(f"{size:8,} {written:18} {peak():20}", flush=True)


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    main()
