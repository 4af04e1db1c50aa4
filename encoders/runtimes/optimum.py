"""optimum: Hugging Face's exporter in place of ses's own graphs, for plain networks; onnxruntime runs what it wrote.

Only `prepare` needs it. The exporter's transformers has run code that a `config.json` named, so it is given one that is
written here from the card, and no file of the model's own.
"""

from __future__ import annotations

import contextlib
import json
import logging
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError, UnavailableError
from encoders.architectures.bert import layer_name
from encoders.architectures.network import Pooling
from encoders.runtimes.graph import build_graph
from encoders.runtimes.onnx import open_session
from encoders.runtimes.pooling import pool

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from encoders.models.card import ModelCard
    from encoders.models.formats import Precision
    from encoders.models.model import Weights
    from encoders.runtimes.base import RuntimeSource, Session

_GRAPH, _POOLING = "model.onnx", "pooling.json"
_POSITIONS, _SEGMENTS = (f"embeddings.{table}_embeddings.weight" for table in ("position", "token_type"))


@dataclass(frozen=True, slots=True)
class _Pooled:
    """How the hidden states of the graph become vectors.

    Attributes:
        pooling: Which of them become the vector.
        normalize: Whether it is scaled to unit length.
        dimension: Of the vector.
        heads: Those that have it.
    """

    pooling: Pooling
    normalize: bool
    dimension: int
    heads: tuple[str, ...]


def prepare(source: RuntimeSource, precision: Precision, folder: Path) -> None:  # noqa: ARG001 - it has one alone
    """Let the exporter write the graph up to the last hidden states, and write beside it how they are pooled."""
    card = source.card
    if card.architecture != "plain":
        raise InputError(
            f"optimum exports plain networks alone, and {card.name} is of the architecture {card.architecture}",
            "leave out <runtime>, or choose another",
        )
    main_export = _exporter()
    build_graph(source.weights, card, source.heads)  # tells weights that don't fit, as every runtime does
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        network, written = Path(scratch) / "network", Path(scratch) / "written"
        _write_network(source.weights, card, network)
        # What it prints is no result of ours; of its warnings, all are about tracing, which tests hold to the formula.
        with contextlib.redirect_stdout(sys.stderr), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                main_export(
                    str(network),
                    written,
                    task="feature-extraction",
                    library_name="transformers",
                    local_files_only=True,
                    do_validation=False,
                )
            except Exception as error:
                reason = str(error).strip().splitlines()[-1:] or [type(error).__name__]
                raise UnavailableError(
                    f"optimum can't export {card.name} ({reason[0]})", "leave out <runtime>, or choose another"
                ) from error
        for file in written.glob(f"{_GRAPH}*"):  # large ones have their weights in a second file
            file.rename(folder / file.name)
    facts = card.network
    pooled = _Pooled(facts.pooling, facts.normalize, card.dimension, source.heads)
    (folder / _POOLING).write_bytes(_json().dump_json(pooled))


def load(folder: Path, threads: int) -> Session:
    """Load what `prepare` wrote.

    Args:
        folder: Where it wrote it.
        threads: Cores to use; 0 for all.

    Returns:
        A function that can be called from several threads.

    Raises:
        InputError: If the files are damaged, or don't fit one another.
    """
    import numpy as np

    def run(ids: np.ndarray, mask: np.ndarray) -> list[np.ndarray]:
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (states,) = session.run(["last_hidden_state"], inputs)
        return [pool(states, mask, pooled.pooling, normalize=pooled.normalize)] * len(pooled.heads)

    try:
        pooled = _json().validate_json((folder / _POOLING).read_bytes())
        session = open_session(folder / _GRAPH, threads)
        trial = run(np.zeros((1, 2), dtype=np.int64), np.ones((1, 2), dtype=np.int64))
        whole = bool(trial) and trial[0].shape == (1, pooled.dimension)
    except Exception as error:
        raise _damaged(folder) from error
    if not whole:
        raise _damaged(folder)
    return run


def _write_network(weights: Weights, card: ModelCard, folder: Path) -> None:
    """Write a folder as transformers reads it.

    RoBERTa is written as BERT: they differ in the first position alone, where the position table is cut, and RoBERTa's
    own code would skip positions at padding tokens that stand in a text.
    """
    import numpy as np
    from safetensors.numpy import save_file

    facts = card.network
    config = {
        "model_type": "bert",
        "vocab_size": facts.vocabulary,
        "hidden_size": facts.width,
        "num_hidden_layers": facts.layers,
        "num_attention_heads": facts.attention_heads,
        "intermediate_size": len(weights[f"{layer_name(0)}.intermediate.dense.weight"]),
        "hidden_act": "gelu",
        "layer_norm_eps": facts.epsilon,
        "max_position_embeddings": facts.positions - facts.first_position,
        "type_vocab_size": 2,
    }
    # Texts have segment 0 alone, but the exporter tries two. No vector depends on the pooler, but transformers would
    # make up one that it doesn't find.
    changed = {
        _POSITIONS: weights[_POSITIONS][facts.first_position :],
        _SEGMENTS: np.repeat(weights[_SEGMENTS][:1], 2, axis=0),
        "pooler.dense.weight": np.zeros((facts.width, facts.width), dtype=np.float32),
        "pooler.dense.bias": np.zeros(facts.width, dtype=np.float32),
    }
    arrays = {name: np.ascontiguousarray(array) for name, array in {**weights, **changed}.items()}
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    save_file(arrays, folder / "model.safetensors", metadata={"format": "pt"})


def _damaged(folder: Path) -> InputError:
    return InputError(f"{folder} holds no whole model of optimum's; delete it, and it is created again.")


def _exporter() -> Callable[..., None]:
    try:
        from optimum.exporters.onnx import main_export
    except ImportError:
        raise UnavailableError(
            "The optimum runtime is not installed: run `pip install 'ses[optimum]'` in an environment without the "
            "extra train, as they need different versions of transformers."
        ) from None
    for name in ("optimum", "transformers"):
        logging.getLogger(name).setLevel(logging.ERROR)  # else they advise those who would call them by hand
    exporter: Callable[..., None] = main_export
    return exporter


def _json() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(_Pooled)
