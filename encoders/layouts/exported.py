"""Models exported for one runtime, which load without torch and without the weights, on any machine.

A folder holds a card, a tokenizer, graphs, and vectors of some texts, by which every machine checks itself.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.checksums import sha256_of
from corpora.errors import InputError, require
from corpora.installed import DISTRIBUTION, installed_version
from corpora.writing import explaining
from encoders.architectures.registry import SPARSE
from encoders.layouts.own_card import CARD_FILE
from encoders.models.card import ModelCard
from encoders.models.folder import inside, read_json
from encoders.models.formats import Format, Precision
from encoders.models.model import Exported, Find, Model, Weights
from encoders.runtimes.registry import Runtime, get_runtime
from encoders.runtimes.sessions import make_source, run_texts, sample_texts
from encoders.tokens.tokenizer import load_tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer

EXPORT_FILE = "ses_export.json"


@dataclass(frozen=True, slots=True)
class _Graph:
    folder: str
    heads: tuple[str, ...]
    sha256: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Checks:
    texts: tuple[str, ...]
    vectors: Mapping[str, tuple[tuple[float, ...], ...]]


@dataclass(frozen=True, slots=True)
class _File:
    card: ModelCard
    runtime: str
    precision: Precision
    graphs: tuple[_Graph, ...]
    checks: _Checks
    made_with: Mapping[str, str]


def recognizes(path: Path) -> bool:
    """Return whether a path is such a folder."""
    return (path / EXPORT_FILE).is_file()


def read(folder: Path, name: str, find: Find) -> Model:  # noqa: ARG001 - it is made of no others
    """Read an exported model, whose weights are in its graphs alone; `InputError` if it is damaged or was changed."""
    from pydantic import TypeAdapter, ValidationError

    path = folder / EXPORT_FILE
    try:
        file = TypeAdapter(_File).validate_python(read_json(path, dict))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError(f"{path} is damaged ({place}: {first['msg']}); export the model again.") from error
    graphs = {graph.heads: _checked(folder, graph) for graph in file.graphs}
    exported = Exported(file.runtime, file.precision, graphs, file.checks.texts, file.checks.vectors)

    def no_weights() -> Weights:
        raise InputError(f"{folder} was exported for {file.runtime}, without weights; use the model it was made from.")

    return Model(replace(file.card, name=name), folder, no_weights, exported=exported)


def _checked(folder: Path, graph: _Graph) -> Path:
    part = inside(folder, graph.folder)
    for name, digest in graph.sha256.items():
        file = inside(part, name)
        if not file.is_file() or sha256_of(file) != digest:
            raise InputError(f"{file} is not the file that was exported; copy or export the model again.")
    return part


_CHECKED_TEXTS = 4
_VERSIONS = (DISTRIBUTION, "onnx", "onnxruntime", "openvino", "torch", "optimum-onnx", "transformers")


def export_model(
    model: Model, folder: Path, *, runtime: str, precision: Precision | None = None, formats: Sequence[Format] = ()
) -> None:
    """Write a model for a runtime into an empty folder; `InputError` if it can't be, `UnavailableError` if it fails."""
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
    require(model.card.architecture != SPARSE, f"{model.card.name} makes sparse vectors, and can't be exported yet.")
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
        "card": asdict(model.card),
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
