"""What queries by a table cost beside queries by the model: start, memory and encoding, as ratios in one run.

An embedded index of PubMed's papers with random vectors (`benchmarks.common.random_index`) is searched by `ses search`,
and by `ses serve` until its first answer, each in a process of its own; both kinds of query take turns. CPU time is of
user and system, memory is the peak of the process, and a line says which of them loaded a runtime of networks. Needs
SES_TEST_DATA, the extra serve and Linux.

Run: python -m benchmarks.query_tables [PAPERS]
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx

import ses
from benchmarks.common import claims, interleaved, random_index
from encoders.encoder import load_encoder
from encoders.models.formats import Format
from encoders.query_tables import table_for
from encoders.registry import find_model
from search_plugin.engines.registry import connect

ROUNDS, QUERIES = 3, 50
KINDS = ("model", "table")
_AT_END = (
    "import atexit, runpy, sys; "
    "atexit.register(lambda: sys.stderr.write('STATUS' + open('/proc/self/status').read() "
    "+ open('/proc/self/maps').read())); "
    "runpy.run_module('ses', run_name='__main__', alter_sys=True)"
)


@dataclass(frozen=True)
class Cost:
    """What a process took: CPU milliseconds, peak memory in MiB, and whether it mapped onnxruntime."""

    cpu: float
    memory: float
    runtime: bool


def searched(kind: str, query: str) -> Cost:
    """Search once by the command."""
    before = os.times()
    given = ("search", query, "--query-encoder", kind)
    done = subprocess.run([sys.executable, "-c", _AT_END, *given], check=True, capture_output=True, text=True)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    status = done.stderr.rpartition("STATUS")[2]
    return Cost(1000 * cpu, _peak(status), "onnxruntime" in status)


def answered(kind: str, query: str) -> Cost:
    """Start the service, and ask it once."""
    command = [sys.executable, "-m", "ses", "serve", "--port", "0"]
    given = {**os.environ, "SES_QUERY_ENCODER": kind}
    with subprocess.Popen(command, env=given, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None  # noqa: S101
            address = process.stdout.readline().split()[-1]  # it is ready when it says where it is
            httpx.get(f"{address}v1/search", params={"query": query}, timeout=120).raise_for_status()
            return _so_far(process.pid)
        finally:
            process.terminate()


def _so_far(number: int) -> Cost:
    """What a process has taken so far."""
    folder = Path(f"/proc/{number}")
    ticks = (folder / "stat").read_text().rpartition(")")[2].split()
    cpu = 1000 * (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK")
    return Cost(cpu, _peak((folder / "status").read_text()), "onnxruntime" in (folder / "maps").read_text())


def _peak(status: str) -> float:
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM:"))


def main() -> None:
    papers = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"SES_DATA_DIR": folder, "SES_EMBEDDING_CACHE": "false"}
        # As where a package is installed: without compiled files, each start compiles all that it imports.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = f"{folder}/compiled"
        card = ses.load_model().card
        index = random_index(f"embedded:{folder}/indexes", papers, card.name, card.fingerprint, card.dimension)
        index.finish()
        connect(f"embedded:{folder}/indexes").publish(index)
        for kind in KINDS:
            searched(kind, "warm")  # files in the page cache, compiled
        print(f"{papers:,} papers; the table's share of the model: median, least, most of {ROUNDS} pairs")
        for name, work in {"ses search": searched, "ses serve": answered}.items():
            _compare(name, work)
    _encode(card.fingerprint)


def _compare(name: str, work: Callable[[str, str], Cost]) -> None:
    found: dict[str, list[Cost]] = {kind: [] for kind in KINDS}
    for query in claims(ROUNDS):
        for kind in KINDS:
            found[kind].append(work(kind, query))
    for what, unit in (("cpu", "ms"), ("memory", "MiB")):
        pairs = [[getattr(one, what) for one in both] for both in zip(*(found[kind] for kind in KINDS), strict=True)]
        ratios = sorted(table / model for model, table in pairs)
        model, table = (statistics.median(column) for column in zip(*pairs, strict=True))
        print(
            f"{name:12}{what:8}{model:6.0f} {unit:4}{table:6.0f} {unit:4}"
            f"{statistics.median(ratios):5.2f} {ratios[0]:.2f} {ratios[-1]:.2f}",
            flush=True,
        )
    print(f"{name:12}onnxruntime " + ", ".join(f"{kind}: {any(one.runtime for one in found[kind])}" for kind in KINDS))


def _encode(fingerprint: str) -> None:
    """Print the time of a query's vector, one query after another."""
    table = table_for(fingerprint)
    assert table is not None  # noqa: S101
    with tempfile.TemporaryDirectory() as cache:
        encoders = {
            "model": load_encoder(find_model("all-MiniLM-L6-v2"), cache_dir=Path(cache)),
            "table": load_encoder(table, cache_dir=Path(cache)),
        }
        queries = claims(QUERIES)
        works = {
            kind: lambda encoder=encoder: [encoder.encode([one], Format.QRY) for one in queries]
            for kind, encoder in encoders.items()
        }
        interleaved(works, 1)
        taken = {kind: 1000 * each / QUERIES for kind, each in interleaved(works, ROUNDS).items()}
    print(
        f"{'.encode':12}{'wall':8}{taken['model']:6.2f} ms  {taken['table']:6.2f} ms  "
        f"{taken['table'] / taken['model']:5.2f}"
    )


if __name__ == "__main__":
    main()
