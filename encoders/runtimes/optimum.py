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
from pathlib import Path
from typing import Any

from corpora.cores import cores
from corpora.errors import InputError, UnavailableError
from corpora.lazy import np
from encoders.models.card import ModelCard
from encoders.models.folder import bert_config
from encoders.models.formats import Precision
from encoders.models.model import Weights
from encoders.models.weights import SAFETENSORS, write_safetensors
from encoders.runtimes.graph import write_graph
from encoders.runtimes.onnx import open_session
from encoders.runtimes.pooling import read_pooling, write_pooling
from encoders.runtimes.registry import RuntimeSource, Session

_GRAPH = "model.onnx"
_POSITIONS, _SEGMENTS = (f"embeddings.{table}_embeddings.weight" for table in ("position", "token_type"))


def prepare(source: RuntimeSource, precision: Precision, folder: Path) -> None:
    """Let the exporter write the graph up to the last hidden states, and write beside it how they are pooled."""
    card = source.card
    if card.architecture != "plain":
        raise InputError(
            f"optimum exports plain networks alone, and {card.name} is of the architecture {card.architecture}",
            "leave out <runtime>, or choose another",
        )
    if "dense" in card.network.options:
        raise InputError(
            f"optimum exports networks alone, and {card.name} has linear layers after pooling",
            "leave out <runtime>, or choose another",
        )
    export = _exporter()
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        network, written = Path(scratch) / "network", Path(scratch) / "written"
        # Our own graph reports weights that don't fit, as with every runtime.
        write_graph(source.weights, card, source.heads, Path(scratch) / _GRAPH)
        _write_network(source.weights, card, network)
        # What it prints is no result of ours; its warnings are all about tracing, and tests compare the vectors.
        with contextlib.redirect_stdout(sys.stderr), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                export(
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
    write_pooling(source, precision, folder)


def load(folder: Path, threads: int) -> Session:
    """Load what `prepare` wrote; `InputError` if the files are damaged, or don't fit one another."""

    def run(ids: np.ndarray, mask: np.ndarray) -> list[np.ndarray]:
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (states,) = session.run(["last_hidden_state"], inputs)
        return pooling.vectors(states, mask)

    try:
        pooling = read_pooling(folder)
        session = open_session(folder / _GRAPH)
        trial = run(np.zeros((1, 2), dtype=np.int64), np.ones((1, 2), dtype=np.int64))
        fits = trial[0].shape == (1, pooling.dimension)
    except Exception:  # noqa: BLE001 - whatever a damaged file raises in onnxruntime
        fits = False
    if not fits:
        raise InputError(f"{folder} holds an incomplete model of optimum; delete it, and it is created again.")
    return Session(run, at_once=threads or cores())


def _write_network(weights: Weights, card: ModelCard, folder: Path) -> None:
    """Write a folder as transformers reads it.

    RoBERTa is written as BERT: they differ in the first position alone, where the position table is cut, and RoBERTa's
    own code would skip positions at padding tokens that stand in a text.
    """
    # Texts have segment 0 alone, but the exporter tries two. No vector depends on the pooler, but transformers would
    # make up one that it doesn't find.
    changed = {
        _POSITIONS: weights[_POSITIONS][card.network.first_position :],
        _SEGMENTS: np.repeat(weights[_SEGMENTS][:1], 2, axis=0),
        "pooler.dense.weight": np.zeros((card.dimension, card.dimension)),
        "pooler.dense.bias": np.zeros(card.dimension),
    }
    arrays = {**weights, **changed}
    config = bert_config(card, arrays) | {"model_type": "bert", "max_position_embeddings": len(arrays[_POSITIONS])}
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config | {"pad_token_id": 0}), encoding="utf-8")
    write_safetensors(folder / SAFETENSORS, arrays)


def _exporter() -> Any:
    try:
        from optimum.exporters.onnx import main_export
    except ImportError:
        raise UnavailableError(
            "The optimum runtime is not installed: install ses with the extra optimum in an environment without the "
            "extra train, as they need different versions of transformers."
        ) from None
    for name in ("optimum", "transformers"):
        logging.getLogger(name).setLevel(logging.ERROR)  # else they advise those who would call them by hand
    return main_export
