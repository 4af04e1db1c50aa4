"""How long commands take to start, and `import ses`, beside a bare `import click`: CPU seconds of whole processes.

A service runs until `/readyz` answers 200, and is killed then. The index has 20 papers, and the model is tiny.

Run: python -m benchmarks.starting
"""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from tests.tiny import make_model, papers, write_jsonl

RUNS = 5
BARE = ("-c", "import click")
STARTED = {
    "ses --help": ("-m", "ses", "--help"),
    "ses search --help": ("-m", "ses", "search", "--help"),
    "ses index --help": ("-m", "ses", "index", "--help"),
    "ses eval score --help": ("-m", "ses", "eval", "score", "--help"),
    "ses models list": ("-m", "ses", "models", "list"),
    "ses search, by words": ("-m", "ses", "search", "virus lung", "--mode", "lexical"),
    "ses search, hybrid": ("-m", "ses", "search", "virus lung"),
    "import ses": ("-c", "import ses"),
    "nothing": ("-c", "pass"),
}
SERVED = "ses serve, until ready"


def finish(arguments: Sequence[str]) -> None:
    """Run Python to its end."""
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)


def serve() -> None:
    """Run a service until it is ready."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    command = [sys.executable, "-m", "ses", "serve", "--port", f"{port}"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while not _ready(port):
            if process.poll() is not None:
                raise SystemExit("The service has ended; run `ses serve`, and read why.")
            time.sleep(0.01)
        process.kill()


def _ready(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/readyz", timeout=60):
            return True
    except (URLError, OSError):  # 503 too
        return False


def seconds(run: Callable[[], None]) -> float:
    """Return the CPU seconds, user and system, of the processes of a call."""
    before = os.times()
    run()
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        make_model(folder / "model")
        os.environ |= {"SES_DATA_DIR": str(folder / "data"), "SES_MODEL": str(folder / "model")}
        corpus = write_jsonl(folder / "corpus.jsonl", papers(20))
        finish(("-m", "ses", "index", "--corpus", "jsonl", "--path", str(corpus)))
        measure({name: partial(finish, arguments) for name, arguments in STARTED.items()} | {SERVED: serve})


def measure(started: Mapping[str, Callable[[], None]]) -> None:
    """Print how long each takes, in pairs with a bare `import click`."""
    bare = partial(finish, BARE)
    for run in (bare, *started.values()):
        seconds(run)  # files in the page cache, compiled
    print(f"{'':<24} CPU ms   x import click (median, least, most of {RUNS} pairs)")
    for name, run in started.items():
        pairs = [(seconds(run), seconds(bare)) for _ in range(RUNS)]
        ratios = sorted(own / other for own, other in pairs)
        own = 1000 * statistics.median(pair[0] for pair in pairs)
        print(f"{name:<24} {own:6.0f}   {statistics.median(ratios):.1f}  {ratios[0]:.1f}  {ratios[-1]:.1f}", flush=True)


if __name__ == "__main__":
    main()
