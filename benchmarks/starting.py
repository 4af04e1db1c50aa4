"""How long commands take to start, and `import ses`, beside a bare `import click`: CPU seconds of whole processes.

Run: python -m benchmarks.starting
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

RUNS = 5
BARE = ("-c", "import click")
STARTED = {
    "ses --help": ("-m", "ses", "--help"),
    "ses search --help": ("-m", "ses", "search", "--help"),
    "ses index --help": ("-m", "ses", "index", "--help"),
    "ses eval score --help": ("-m", "ses", "eval", "score", "--help"),
    "ses models list": ("-m", "ses", "models", "list"),
    "import ses": ("-c", "import ses"),
    "nothing": ("-c", "pass"),
}


def seconds(arguments: tuple[str, ...]) -> float:
    """Return the CPU seconds, user and system, of one process of Python."""
    before = os.times()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    for arguments in (BARE, *STARTED.values()):
        seconds(arguments)  # files in the page cache, compiled
    print(f"{'':<24} CPU ms   x import click (median, least, most of {RUNS} pairs)")
    for name, arguments in STARTED.items():
        pairs = [(seconds(arguments), seconds(BARE)) for _ in range(RUNS)]
        ratios = sorted(own / bare for own, bare in pairs)
        own = 1000 * statistics.median(pair[0] for pair in pairs)
        print(f"{name:<24} {own:6.0f}   {statistics.median(ratios):.1f}  {ratios[0]:.1f}  {ratios[-1]:.1f}", flush=True)


if __name__ == "__main__":
    main()
