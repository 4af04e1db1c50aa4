"""The fastest runtime on this machine: every installed runtime is tried once, and the results are kept.

Which runtime is fastest depends on the CPU, and can differ between single queries and batches (docs/benchmarks.md,
Encoding), so there is a winner for each. All runtimes with at least the requested precision take part. So a query's
vector may come from another runtime than that of the same text in a batch. Both stay as close to fp32 as their
precision allows.
"""

from __future__ import annotations

import json
import logging
import shutil
import statistics
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

from corpora.checksums import sha256_of_text
from corpora.cores import cores
from corpora.documents import read_json
from corpora.errors import InputError, UnavailableError
from corpora.installed import installed_version
from corpora.lazy import np
from encoders.models.formats import Precision
from encoders.runtimes.hardware import has_device, processor
from encoders.runtimes.registry import Runtime, RuntimeSource, Session, is_installed
from encoders.tokens.batching import Batch

_FILE = "winners.json"

Shape = Literal["bulk", "single"]
"""Batches, as papers come, or one short text, as queries do."""

_WORDS: Mapping[Shape, str] = {"bulk": "batches", "single": "single texts"}

_ROUNDS: Mapping[Shape, int] = {"bulk": 5, "single": 15}

Candidates = Mapping[str, tuple[Runtime, Precision]]


def prepare(runtimes: Sequence[Runtime], source: RuntimeSource, precision: Precision, folder: Path) -> None:
    """Try runtimes, and keep the files of those that win, and the result; `UnavailableError` if none works."""
    work = _work(source)
    loaded, skipped = _loaded(_candidates(runtimes, precision), source, list(work.values()), folder)
    seconds = {shape: race(loaded, run, _ROUNDS[shape]) for shape, run in work.items()}
    winners = {shape: next(iter(taken)) for shape, taken in seconds.items()}
    at_once = loaded[winners["bulk"]].at_once
    loaded.clear()  # some systems delete no file that is in use
    for child in folder.iterdir():
        if child.name not in winners.values():
            shutil.rmtree(child)
    facts = {"cpu": processor().name, "winners": winners, "seconds": seconds, "skipped": skipped, "at_once": at_once}
    (folder / _FILE).write_text(json.dumps(facts, indent=2), encoding="utf-8")
    choices = []
    for shape, what in _WORDS.items():
        taken = list(seconds[shape].items())
        more = f" ({taken[1][1] / taken[0][1]:.2f} times as fast as {taken[1][0]})" if len(taken) > 1 else ""
        choices.append(f"{taken[0][0]} for {what}{more}")
    logging.getLogger("ses").warning("The runtime auto takes %s, from now on on this machine.", " and ".join(choices))


def _loaded(
    candidates: Candidates, source: RuntimeSource, work: Sequence[Sequence[Batch]], folder: Path
) -> tuple[dict[str, Session], dict[str, str]]:
    """Prepare every candidate in its own folder; return those that work, and why the others do not."""
    loaded: dict[str, Session] = {}
    failed: dict[str, Exception] = {}
    for name, (runtime, precision) in candidates.items():
        own = folder / name
        own.mkdir()
        try:
            runtime.prepare(source, precision, own)
            session = runtime.load(own, source.threads)
            for batch, *_ in work:
                session(batch.ids, batch.mask)
        except Exception as error:  # noqa: BLE001 - whatever fails in one library, the others may do
            failed[name] = error
            logging.getLogger("ses").warning("The runtime auto leaves out %s: %s", name, error)
        else:
            loaded[name] = session
    if not loaded:
        raise next(iter(failed.values()), UnavailableError("No runtime is installed; install onnxruntime or openvino."))
    return loaded, {name: str(error) for name, error in failed.items()}


def _work(source: RuntimeSource) -> dict[Shape, list[Batch]]:
    """Return what is timed: batches of texts of middling length, and the shortest text by itself, as queries are."""
    middle, last = source.samples[len(source.samples) // 2], source.samples[-1]
    length = int(last.mask[-1].sum())
    query = Batch(last.rows[-1:], last.ids[-1:, :length], last.mask[-1:, :length])
    return {"bulk": [middle] * (source.threads or cores()), "single": [query]}


def load(runtimes: Sequence[Runtime], folder: Path, threads: int) -> Session:
    """Load what `prepare` wrote, each winner when it is first used; raises `InputError` if it is damaged."""
    try:
        facts, known = read_json(folder / _FILE), _every(runtimes)
        winners, at_once = facts["winners"], int(facts.get("at_once", 1))
        chosen = {shape: known[winners[shape]] for shape in get_args(Shape)}
    except (LookupError, OSError, TypeError, ValueError) as error:
        raise InputError(f"{folder} does not say which runtime won; delete it, and it is created again.") from error
    sessions: dict[str, Session] = {}
    lock = threading.Lock()

    def run(ids: np.ndarray, mask: np.ndarray) -> list[np.ndarray]:
        shape: Shape = "single" if len(ids) == 1 else "bulk"
        name, (runtime, _) = winners[shape], chosen[shape]
        with lock:
            # A search needs only the winner for single texts.
            if name not in sessions:
                sessions[name] = runtime.load(folder / name, threads)
        return sessions[name](ids, mask)

    return Session(run, at_once)


def version(runtimes: Sequence[Runtime], precision: Precision, threads: int) -> str:
    """Return 8 hex digits over all that may change who wins: candidates, their packages, the CPU and the threads."""
    candidates = _candidates(runtimes, precision)
    packages = sorted({package for runtime, _ in candidates.values() for package in runtime.packages})
    # A build for GPUs has a name of its own, as that of onnxruntime.
    versions = [[installed_version(name) for name in (package, f"{package}-gpu")] for package in packages]
    facts = (sorted(candidates), packages, versions, processor(), threads)
    return sha256_of_text(repr(facts))[:8]


def _candidates(runtimes: Iterable[Runtime], precision: Precision) -> Candidates:
    """Return those that are installed, have their device and are at least as precise as asked."""
    coarse_to_fine = get_args(Precision)
    enough = coarse_to_fine[coarse_to_fine.index(precision) :]
    there = [runtime for runtime in runtimes if is_installed(runtime) and (runtime.device == "cpu" or has_device())]
    return {name: candidate for name, candidate in _every(there).items() if candidate[1] in enough}


def _every(runtimes: Iterable[Runtime]) -> Candidates:
    return {f"{runtime.name}-{kind}": (runtime, kind) for runtime in runtimes for kind in runtime.precisions}


_BEHIND = 2.0


def race(sessions: Mapping[str, Session], work: Sequence[Batch], rounds: int) -> dict[str, float]:
    """Return the median seconds of each session for the same work, the fastest first, and last those that left."""
    # They take turns, so that other load is spread over all of them. A session that is twice as slow as the best after
    # a round leaves, as most of the time would go to the slowest. All have run this batch before, as some compile for
    # its shape then.
    taken: dict[str, list[float]] = {name: [] for name in sessions}
    medians: dict[str, float] = {}
    running = list(sessions)
    for _ in range(rounds):
        for name in running:
            taken[name].append(_seconds(sessions[name], work))
        medians = {name: statistics.median(values) for name, values in taken.items()}
        running.sort(key=medians.__getitem__)
        running = [name for name in running if medians[name] < _BEHIND * medians[running[0]]]
    # Their only measurement may be from a quieter moment than all later ones.
    left = sorted(set(sessions) - set(running), key=medians.__getitem__)
    return {name: medians[name] for name in (*running, *left)}


def _seconds(session: Session, work: Sequence[Batch]) -> float:
    session(work[0].ids[:1, :2], work[0].mask[:1, :2])  # threads of the one before may still spin
    begun = time.perf_counter()
    for _ in session.each(work):
        pass
    return time.perf_counter() - begun
