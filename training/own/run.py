"""Trains a format by a field of an index within a time limit, and measures whether it is worth using."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from corpora.errors import InputError, require
from encoders.models.formats import Format
from encoders.registry import find_model
from products.trained import TrainedVectors, all_vectors, vectors_for
from training.own.budget import measured_speed
from training.own.papers import LABEL, PAPERS, TEST, FieldPapers, field_of, read_records, write_papers
from training.own.recipes import FEWEST, RECIPE, VALIDATIONS, field_recipe
from training.own.worth import FormatWorth, LabelledVectors, common_labels, measured_worth, truth_of
from training.preparing import Say, held
from training.recipe import read_variants
from training.train import Trained, train

if TYPE_CHECKING:
    from encoders.models.model import Model
    from encoders.text_encoder import TextEncoder
    from search_plugin.contract.engine import Index
    from training.recipe import Recipe

_OF_REPORT = 0.15
_STATES, _TRIAL = "states", "trial"


@dataclass(frozen=True, slots=True)
class OwnFormat:
    """A format that was trained by a field of an index.

    Attributes:
        model: Folder of the model.
        format: The format that was trained.
        papers: The papers that it was trained and measured on.
        read: How many of those to train on the time allowed to read.
        trained: Result of the run.
        worth: How it compares with what the index has already.
    """

    model: Path
    format: Format
    papers: FieldPapers
    read: int
    trained: Trained
    worth: FormatWorth


def train_format(
    index: Index,
    field: str,
    folder: Path,
    *,
    wanted: Format | None,
    minutes: float,
    load: Callable[[Model], TextEncoder],
    say: Say = lambda _: None,
) -> OwnFormat:
    """Train a format by a field of an index, and measure it on a fifth of the papers; takes about so many minutes.

    `folder` gets the papers, the recipe, the run and the model. `load` loads a model as the index's queries are
    encoded, and `say` receives what training reports. Raises `InputError` if the field or the index can't be used so,
    or the folder holds a recipe already, and `UnavailableError` if torch or scikit-learn is not installed.
    """
    begun = time.monotonic()
    require(minutes > 0, f"Nothing can be learned in {minutes:g} minutes", "give more <minutes>, such as 20")
    base = plain_base(index)
    field_of(index, field, wanted)
    require(not (folder / RECIPE).exists(), f"{folder} holds a recipe already", "name another folder by <output>")
    with held(folder):
        papers = write_papers(index, field, wanted, folder)
    seconds = 60 * minutes * (1 - _OF_REPORT) - (time.monotonic() - begun)
    trained, read = fitted(index.name, papers, base, folder, seconds, say)
    assert trained.folder is not None  # noqa: S101 - the run had no time limit
    encoder = load(find_model(str(trained.folder)))
    worth = _worth(index, papers, folder, encoder, read, say)
    return OwnFormat(trained.folder, papers.format, papers, read, trained, worth)


def fitted(
    name: str, papers: FieldPapers, base: Model, folder: Path, seconds: float, say: Say = lambda _: None
) -> tuple[Trained, int]:
    """Train a format by the papers in the files of a folder; return how many of them the time allowed to read.

    `name` is that of their index, for the recipe. `base` is a plain network.
    """
    begun = time.monotonic()
    _write_recipe(folder, field_recipe(name, papers, base))
    speed = measured_speed(_recipe(folder), folder / _TRIAL, say)
    left = seconds - (time.monotonic() - begun)
    limit = speed.fitting(papers.train, papers.test, left)
    steps = speed.steps(limit, papers.test, left, VALIDATIONS + 1)
    _write_recipe(folder, field_recipe(name, papers, base, limit=limit, steps=steps))
    recipe = _recipe(folder)
    trained = train(recipe, folder, say=say)
    shutil.rmtree(folder / _STATES, ignore_errors=True)  # they take gigabytes, and can be computed again
    (task,) = recipe.tasks
    assert task.build is not None  # noqa: S101 - the recipe is that of `field_recipe`
    # The limit is of papers that train; those of the validation are read too.
    return trained, min(papers.train, round(limit / (1 - task.build.validation)))


def plain_base(index: Index) -> Model:
    """Return the plain network under the model of an index; `InputError` if there is none, so nothing can be added."""
    model = find_model(index.schema.model)
    base = model.base or model
    if base.card.architecture != "plain":
        raise InputError(
            f"The model {index.schema.model} of the index {index.name} has the architecture {base.card.architecture}, "
            "and a format can be added to a plain network only",
            "index again with another <model>, or write a recipe (docs/training.md)",
        )
    return base


def _write_recipe(folder: Path, text: str) -> None:
    (folder / RECIPE).write_text(text, encoding="utf-8")


def _recipe(folder: Path) -> Recipe:
    return read_variants(folder / RECIPE)[""]


def _worth(
    index: Index,
    papers: FieldPapers,
    folder: Path,
    encoder: TextEncoder,
    read: int,
    say: Say,
) -> FormatWorth:
    """Compare the new format with the index's vectors, by the papers of the files, of which training read some."""
    records = {part: read_records(folder / part) for part in (PAPERS, TEST)}
    labels = [] if papers.task == "number" else common_labels([one[LABEL] for one in records[PAPERS]], FEWEST)
    source = vectors_for(index, papers.format)
    search = TrainedVectors(source.model, source.fingerprint, Format.PRX)
    encoded = {PAPERS: read, TEST: len(records[TEST])}
    made = {}
    say({"measured": {part: len(some) for part, some in records.items()}})
    for part, some in records.items():
        truth = truth_of([one[LABEL] for one in some], papers.task, labels)
        usable = np.asarray(truth.any(axis=1) if labels else np.isfinite(truth))
        kept = [one for one, use in zip(some, usable, strict=True) if use]
        texts = [encoder.card.text(one["title"], one["abstract"]) for one in kept[: encoded[part]]]
        ids = [one["id"] for one in kept]
        made[part] = LabelledVectors(
            truth[usable],
            _rows(index, search, ids),
            _rows(index, source, ids),
            encoder.encode(texts, papers.format),
        )
    return measured_worth(made[PAPERS], made[TEST], papers.task, source)


def _rows(index: Index, source: TrainedVectors, ids: list[str]) -> np.ndarray:
    """Return the vectors of papers in their order, float32 (papers, dimension)."""
    found, vectors = all_vectors(index, source, ids)
    place: dict[str, Any] = {id_: row for row, id_ in enumerate(found)}
    require(len(place) == len(ids), f"Papers of the index {index.name} were deleted meanwhile", "train again")
    return np.asarray(vectors[[place[id_] for id_ in ids]])
