"""Runtimes, which run a model's network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

    from encoders.models.card import ModelCard
    from encoders.models.formats import Precision
    from encoders.tokens.batching import Batch

Device = Literal["cpu", "cuda"]

Session = Callable[["np.ndarray", "np.ndarray"], "list[np.ndarray]"]
"""Token ids and mask, both int64 (batch, length), to vectors, float32 (batch, dimension), for each head."""


@dataclass(frozen=True, slots=True)
class RuntimeSource:
    """The input from which a runtime makes its own files.

    Attributes:
        weights: All that its heads use.
        card: Of the model.
        heads: Whose vectors are wanted.
        samples: Batches for runtimes that time themselves.
        threads: How many will run it, for those that time themselves; 0 for all cores.
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
        name: What users call it.
        precisions: Those it can run at, the fastest first.
        packages: What it needs, by their names for import.
        prepare: Writes its own files into a folder.
        load: Loads them, given the number of threads (0: all cores).
        device: Where it runs.
        version: Takes precision and threads; returns a text that changes whenever the files must be created again.
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
