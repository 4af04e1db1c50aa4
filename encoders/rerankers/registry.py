"""From the name a user gives to a reranker that is ready. A new kind needs one file and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from corpora.errors import InputError
from corpora.installed import deferred
from encoders.cache import EmbeddingCache
from encoders.models.formats import Precision
from encoders.models.hub import is_hub_id
from encoders.models.model import Model
from encoders.registry import fetch_model, local_folder
from encoders.rerankers.scorer import CachedScorer, PairScorer

_GRAPH_RUNTIMES = ("onnx", "openvino", "torch", "onnx-cuda", "torch-cuda", "auto")


@dataclass(frozen=True, slots=True)
class RerankerKind:
    """A kind of reranker.

    Attributes:
        recognizes: Whether a folder holds one.
        read: Reads a folder, given the model's name.
        load: Makes the scorer, as `load_reranker` does.
    """

    recognizes: Callable[[Path], bool]
    read: Callable[[Path, str], Model]
    load: Callable[[Model, Path, str | None, Precision | None, int], PairScorer]


def _everything(folder: Path) -> bool:  # noqa: ARG001 - the signature is a kind's
    return True


KINDS: Mapping[str, RerankerKind] = {
    "late interaction": RerankerKind(
        deferred("encoders.layouts.late_interaction", "recognizes"),
        deferred("encoders.layouts.late_interaction", "read"),
        deferred("encoders.rerankers.late_interaction", "load"),
    ),
    "cross-encoder": RerankerKind(
        _everything,
        deferred("encoders.layouts.cross_encoders", "read"),
        deferred("encoders.rerankers.cross_encoder", "load"),
    ),
}
"""The first that recognizes a folder reads it."""


def load_reranker(
    name: str,
    *,
    cache_dir: Path,
    runtime: str | None = None,
    precision: Precision | None = None,
    threads: int = 0,
    cache: EmbeddingCache | None = None,
) -> PairScorer:
    """Prepare a reranker: find it, check its weights, build its graph once per machine, load the runtime.

    Args:
        name: The path of a folder, or a hub id, `org/model` or `org/model@revision`.
        cache_dir: Folder of built graphs.
        runtime: A name in `encoders.runtimes.registry`; onnx if None.
        precision: Numeric precision; if None, the fastest that the runtime has.
        threads: Cores to use; 0 for all.
        cache: Store of scores; they are not stored without one.

    Returns:
        The reranker.

    Raises:
        InputError: If the model or the runtime's name is wrong.
        UnavailableError: If the model, the runtime's package or a writable folder is missing.
    """
    if runtime not in (None, *_GRAPH_RUNTIMES):
        raise InputError(
            f"The runtime {runtime} can't run a reranker", f"choose <runtime> {' or '.join(_GRAPH_RUNTIMES)}"
        )
    if folder := local_folder(name):
        name = str(folder)
    elif is_hub_id(name):
        folder = fetch_model(name)
    else:
        raise InputError(
            f"There is no reranker {name!r}",
            "give <rerank=complete>, the folder of a cross-encoder or late-interaction model, or its hub id",
        )
    kind = next(kind for kind in KINDS.values() if kind.recognizes(folder))
    scorer = kind.load(kind.read(folder, name), cache_dir, runtime, precision, threads)
    return CachedScorer(scorer, cache) if cache else scorer
