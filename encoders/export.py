"""Exports a model for one runtime. The export loads without torch and without the weights, on any machine."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.checksums import sha256_of
from corpora.errors import InputError, require
from corpora.installed import installed_version
from corpora.writing import explaining
from encoders.layouts.exported import EXPORT_FILE, card_to_json
from encoders.layouts.own_card import CARD_FILE
from encoders.models.formats import Format
from encoders.runtimes.registry import get_runtime
from encoders.runtimes.sessions import make_source, run_texts, sample_texts
from encoders.tokens.tokenizer import load_tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from encoders.models.formats import Precision
    from encoders.models.model import Model
    from encoders.runtimes.base import Runtime

_CHECKED_TEXTS = 4
_VERSIONS = ("ses", "onnx", "onnxruntime", "openvino", "torch", "optimum-onnx", "transformers")


def export_model(
    model: Model, folder: Path, *, runtime: str, precision: Precision | None = None, formats: Sequence[Format] = ()
) -> None:
    """Write a model out for a runtime.

    The folder holds the model's card, its tokenizer, a graph for queries and one for all the formats of papers, and
    vectors of some texts, against which every machine that loads it checks itself.

    Args:
        model: What to write.
        folder: The target folder; must be empty or must not exist.
        runtime: A name in `encoders.runtimes.registry`.
        precision: A precision of the runtime; if None, the fastest.
        formats: Formats of papers to export; by default all of the model.

    Raises:
        InputError: If the folder is not empty, or the model lacks a format.
        UnavailableError: If the runtime is not installed, or the disk can't be written.
    """
    chosen = get_runtime(runtime, precision)
    if chosen.version(precision or chosen.precisions[0], 0):
        raise InputError(f"The runtime {runtime} depends on the machine; export for one of those that it chooses from.")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} exists already; name an empty or a new folder.")
    with explaining(folder, "free some disk, or name another"):
        folder.parent.mkdir(parents=True, exist_ok=True)
        # Written to a temporary folder and then moved, so that no half-written model is ever loaded.
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            part = Path(scratch) / "model"
            part.mkdir()
            _write(model, part, chosen, precision or chosen.precisions[0], formats)
            shutil.copytree(part, folder, dirs_exist_ok=True)


def _write(model: Model, folder: Path, runtime: Runtime, precision: Precision, formats: Sequence[Format]) -> None:
    if model.members:
        _write_members(model, folder, runtime, precision, formats)
        return
    require(not model.exported, f"{model.card.name} is an export itself; export the model that it was made from.")
    tokenizer = load_tokenizer(model.folder, model.card)
    tokenizer.save(str(folder / "tokenizer.json"))
    graphs = []
    for number, heads in enumerate(_graphs(model, formats)):
        part = folder / f"graph{number}"
        part.mkdir()
        runtime.prepare(make_source(model, tokenizer, heads), precision, part)
        digests = {file.name: sha256_of(file) for file in sorted(part.iterdir())}
        graphs.append({"folder": part.name, "heads": heads, "sha256": digests})
    facts = {
        "card": card_to_json(model.card),
        "runtime": runtime.name,
        "precision": precision,
        "graphs": graphs,
        "checks": _checks(model, folder, runtime, tokenizer, graphs),
        "made_with": {package: found for package in _VERSIONS if (found := installed_version(package))},
    }
    (folder / EXPORT_FILE).write_text(json.dumps(facts, indent=1), encoding="utf-8")


def _write_members(
    model: Model, folder: Path, runtime: Runtime, precision: Precision, formats: Sequence[Format]
) -> None:
    routed = model.card.architecture == "routes"
    for key, member in model.members.items():
        (folder / key).mkdir()
        _write(member, folder / key, runtime, precision, [Format(key)] if routed else formats)
    names = {key: key for key in model.members}
    own: dict[str, Any] = {"architecture": model.card.architecture, **model.card.network.options}
    own["members"] = names if routed else list(names)
    (folder / CARD_FILE).write_text(json.dumps(own), encoding="utf-8")


def _graphs(model: Model, formats: Sequence[Format]) -> list[tuple[str, ...]]:
    """Return the heads of each graph: those for a query, and those for papers in one pass or several."""
    card = model.card
    papers = formats or [task_format for task_format in card.formats if task_format is not Format.QRY]
    wanted = [[Format.QRY]] if Format.QRY in card.formats and (not formats or Format.QRY in formats) else []
    wanted += [list(group) for group in card.passes(papers)]
    # A model without formats of its own has one graph for all.
    return list(dict.fromkeys(tuple(dict.fromkeys(card.head(one) for one in group)) for group in wanted))


def _checks(
    model: Model, folder: Path, runtime: Runtime, tokenizer: Tokenizer, graphs: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    texts = sample_texts()[:_CHECKED_TEXTS]
    vectors: dict[str, Any] = {}
    for graph in graphs:
        found = run_texts(runtime.load(folder / graph["folder"], 0), tokenizer, model.card, texts)
        vectors |= {head: rows.tolist() for head, rows in zip(graph["heads"], found, strict=True)}
    return {"texts": texts, "vectors": vectors}
