"""Runtimes, which run a model's network. A new one needs one file and one line here."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import chain, islice
from typing import TYPE_CHECKING, Literal, get_args

from corpora.errors import InputError
from corpora.installed import deferred
from corpora.lazy import np
from encoders.models.formats import Precision

if TYPE_CHECKING:
    from concurrent.futures import Future
    from pathlib import Path

    from encoders.models.card import ModelCard
    from encoders.tokens.batching import Batch

Device = Literal["cpu", "cuda"]

GRAPH_VERSION = 6
"""Increase this number when graphs change, so that cached files of older versions are not used."""

_AHEAD = 2
"""Batches that run or wait, for each that can run at once."""

RunBatch = Callable[["np.ndarray", "np.ndarray"], "list[np.ndarray]"]
"""Token ids and mask, both int64 (batch, length), to vectors, float32 (batch, dimension), for each head."""


@dataclass(frozen=True, slots=True)
class Session:
    """A loaded network; threads may share it.

    Attributes:
        run: What runs a batch.
        at_once: How many batches to run at once, where each is run by one thread. Threads that share a batch wait for
            each other at every operator.
    """

    run: RunBatch
    at_once: int = 1

    def __call__(self, ids: np.ndarray, mask: np.ndarray) -> list[np.ndarray]:
        """Run a batch; arguments and result as of `RunBatch`."""
        return self.run(ids, mask)

    def each(self, batches: Iterable[Batch]) -> Iterator[tuple[Batch, list[np.ndarray]]]:
        """Yield batches, in their order, with their vectors; only a few are held at a time."""
        left = iter(batches)
        first = list(islice(left, 2))
        if len(first) < 2 or self.at_once == 1:
            for batch in chain(first, left):
                yield batch, self.run(batch.ids, batch.mask)
            return
        from concurrent.futures import ThreadPoolExecutor

        waiting: deque[tuple[Batch, Future[list[np.ndarray]]]] = deque()
        pool = ThreadPoolExecutor(self.at_once, "encode")
        try:
            for new in chain(first, left):
                waiting.append((new, pool.submit(self.run, new.ids, new.mask)))
                if len(waiting) > _AHEAD * self.at_once:
                    batch, future = waiting.popleft()
                    yield batch, future.result()
            for batch, future in waiting:
                yield batch, future.result()
        finally:
            pool.shutdown(cancel_futures=True)


@dataclass(frozen=True, slots=True)
class RuntimeSource:
    """The input from which a runtime makes its own files.

    Attributes:
        weights: Weights that the heads use, float32 by name.
        card: The model's card.
        heads: Heads whose vectors are wanted.
        samples: Batches for runtimes that time themselves.
        threads: Number of threads, for runtimes that time themselves; 0 for all cores.
    """

    weights: Mapping[str, np.ndarray]
    card: ModelCard
    heads: tuple[str, ...]
    samples: Sequence[Batch]
    threads: int = 0


def _lasting(precision: Precision, threads: int) -> str:  # noqa: ARG001 - the signature is a runtime's
    """Return the version of files that stay valid when anything else changes."""
    return ""


@dataclass(frozen=True, slots=True)
class Runtime:
    """A way to run a network.

    Attributes:
        name: The name that users give.
        precisions: Its precisions, the fastest first.
        packages: Python packages that it needs, by their names for import.
        prepare: Function that writes its own files into a folder.
        load: Function that loads them for a number of threads (0: all cores); its session may run in several threads.
        device: The device that it runs on.
        version: Function of precision and threads to a text that changes if the files must be made again.
    """

    name: str
    precisions: tuple[Precision, ...]
    packages: tuple[str, ...]
    prepare: Callable[[RuntimeSource, Precision, Path], None]
    load: Callable[[Path, int], Session]
    device: Device = "cpu"
    version: Callable[[Precision, int], str] = _lasting


def is_installed(runtime: Runtime) -> bool:
    """Return whether a runtime's packages are there."""
    return all(find_spec(package) for package in runtime.packages)


def _runtime(
    name: str, precisions: tuple[Precision, ...], packages: tuple[str, ...], module: str, device: Device = "cpu"
) -> Runtime:
    """Return the runtime of a module, which is imported when it is used."""
    prepare, load = (deferred(f"encoders.runtimes.{module}", function) for function in ("prepare", "load"))
    if device == "cuda":
        prepare, load = partial(prepare, device=device), partial(load, device=device)
    return Runtime(name, precisions, packages, prepare, load, device=device)


def fastest_of(runtimes: Sequence[Runtime]) -> Runtime:
    """Return the runtime that runs the fastest of others."""
    prepare, load, version = (
        partial(deferred("encoders.runtimes.auto", function), runtimes) for function in ("prepare", "load", "version")
    )
    return Runtime("auto", get_args(Precision), (), prepare, load, version=version)


_SINGLE = (
    _runtime("onnx", ("int8", "fp32"), ("onnxruntime",), "onnx"),
    _runtime("openvino", ("int8", "bf16", "fp32"), ("openvino",), "openvino"),
    _runtime("torch", ("fp32", "bf16"), ("torch",), "torch"),
    _runtime("onnx-cuda", ("fp32",), ("onnxruntime",), "onnx", "cuda"),
    _runtime("torch-cuda", ("bf16", "fp32"), ("torch",), "torch", "cuda"),
)

# Not for auto: it is the same network, run by onnxruntime as ours is, and as fast.
_EXPORTER = _runtime("optimum", ("fp32",), ("optimum", "optimum.exporters.onnx"), "optimum")

# Not for auto either: no other runtime can run its models.
_FOREIGN = _runtime("transformers", ("fp32", "bf16"), ("torch", "transformers"), "transformers")

RUNTIMES = {runtime.name: runtime for runtime in (*_SINGLE, _EXPORTER, _FOREIGN, fastest_of(_SINGLE))}


def get_runtime(name: str, precision: Precision | None = None) -> Runtime:
    """Return a runtime by name, or raise `InputError` naming the available runtimes, or the precisions of this one."""
    if name not in RUNTIMES:
        raise InputError(f"There is no runtime {name!r}; choose one of {', '.join(RUNTIMES)}.")
    runtime = RUNTIMES[name]
    if precision not in (None, *runtime.precisions):
        raise InputError(
            f"The runtime {name} has no precision {precision}",
            f"choose <precision> {' or '.join(runtime.precisions)}, or another <runtime>",
        )
    return runtime
