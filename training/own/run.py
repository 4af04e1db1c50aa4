"""Trains a format by a field of an index within a time limit, and measures whether it is worth using.

It is trained several times, each with another seed. The first run gives the model; the others only tell how far the
result depends on chance.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from corpora.errors import InputError, require
from corpora.writing import replacing
from encoders.models.formats import Format
from encoders.models.model import Model
from encoders.registry import find_model
from encoders.text_encoder import TextEncoder
from products.trained import TrainedVectors, all_vectors, vectors_for
from products.words import texts_of
from search_plugin.contract.engine import Index
from training.own.comparison import FormatComparison, LabelledVectors, comparison_of, predictions, truth_of
from training.own.papers import (
    FEWEST,
    LABEL,
    PAPERS,
    TEST,
    FieldPapers,
    common_labels,
    field_of,
    read_records,
    write_papers,
)
from training.own.recipes import RECIPE, VALIDATIONS, adapted_layers, field_recipe, write_recipe
from training.preparing import Say, held
from training.recipe import Recipe
from training.train import Trained, train
from training.trainables.base import write_card

_STEPS = 8
_LEAST_PAPERS, _LEAST_STEPS = 500, 20
"""As many are taken in any case, even if the time is too short."""

_OF_READING = 0.5
"""Share of the time in which texts may be read before the first step and after the last one."""

_MORE = 2.0
"""Encoding a text for the report, relative to computing its states: all layers instead of the first ones."""


@dataclass(frozen=True, slots=True)
class TrainingSpeed:
    """Seconds that parts of a run take: the states of a text, a step, a validation."""

    text: float
    step: float
    validation: float

    def fitting(self, papers: int, others: int, seconds: float, passes: float) -> int:
        """Return how many of the papers can be read in the time, beside others that are only encoded.

        For the report, each text is encoded by `passes` of the whole network.
        """
        encoding = passes * _MORE * self.text
        return min(
            papers, max(_LEAST_PAPERS, int((_OF_READING * seconds - others * encoding) / (self.text + encoding)))
        )

    def reading(self, papers: int, others: int, passes: float) -> float:
        """Return the seconds in which these papers and others are read, before the first step and for the report."""
        return self.text * (papers + (papers + others) * passes * _MORE)

    def steps(self, seconds: float, validations: int) -> int:
        """Return how many steps of a run can be taken in the time."""
        return max(_LEAST_STEPS, int((seconds - validations * self.validation) / self.step))


def measured_speed(recipe: Recipe, folder: Path, say: Say) -> TrainingSpeed:
    """Train a few steps in a folder that is deleted afterwards; the states of texts stay for the whole run.

    `say` receives what training reports, except for the steps.
    """
    task = recipe.tasks[0].model_copy(update={"limit": recipe.batch_size * _STEPS})
    trial = recipe.model_copy(update={"tasks": (task,), "steps": _STEPS, "validate_every": _STEPS, "patience": 0})
    seen: list[tuple[float, Mapping[str, Any]]] = []

    def note(entry: Mapping[str, Any]) -> None:
        seen.append((time.monotonic(), entry))
        if "step" not in entry:
            say(entry)

    train(trial, folder, say=note)
    shutil.rmtree(folder)
    steps = [entry["seconds"] for _, entry in seen if "step" in entry]
    # The first step compiles, and the last one validates.
    step = median(steps[1:-1] or steps)
    begun = next(((at, entry["states"]["new"]) for at, entry in seen if "states" in entry), None)
    first = next(at for at, entry in seen if "step" in entry) - steps[0]
    text = (first - begun[0]) / begun[1] if begun and begun[1] else 0.0
    return TrainingSpeed(max(text, 1e-6), step, max(0.0, steps[-1] - step))


_OF_REPORT = 0.05
_STATES, _TRIAL, _RUNS, _TOGETHER = "states", "trial", "runs", "together"

FEWEST_RUNS, MOST_RUNS = 3, len(Format)
"""How often a format is trained: as often as there is time for. A model holds as many as there are formats."""

COMPLETE = "complete"
"""The folder of the model with all formats of the index's model too, in the folder of the run."""


@dataclass(frozen=True, slots=True)
class OwnFormat:
    """A format that was trained by a field of an index.

    Attributes:
        model: Folder of the model.
        format: The format that was trained.
        papers: The papers that it was trained and measured on.
        read: How many of those to train on the time allowed to read.
        trained: Result of the run that gave the model.
        runs: How often it was trained.
        worth: How it compares with what the index has already.
    """

    model: Path
    format: Format
    papers: FieldPapers
    read: int
    trained: Trained
    runs: int
    worth: FormatComparison


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
    base, model = plain_base(index), find_model(index.schema.model)
    field_of(index, field, wanted)
    require(not (folder / RECIPE).exists(), f"{folder} holds a recipe already", "name another folder by <output>")
    with held(folder):
        papers = write_papers(index, field, wanted, folder)
    seconds = 60 * minutes * (1 - _OF_REPORT) - (time.monotonic() - begun)
    report = _Report(index, papers, folder)
    runs, read = fitted(index.name, papers, base, folder, seconds, say, model=model, before=report.learn)
    worth = report.compare(load(together(base, papers.format, runs, folder / _TOGETHER)), len(runs), say)
    for extra in (_RUNS, _TOGETHER):
        shutil.rmtree(folder / extra, ignore_errors=True)
    place = _folder_of(runs[0])
    if model.card.architecture != base.card.architecture:
        place = write_beside(model, papers.format, place, folder / COMPLETE).folder
    return OwnFormat(place, papers.format, papers, read, runs[0], len(runs), worth)


def fitted(
    name: str,
    papers: FieldPapers,
    base: Model,
    folder: Path,
    seconds: float,
    say: Say = lambda _: None,
    model: Model | None = None,
    before: Callable[[int], None] = lambda _: None,
) -> tuple[list[Trained], int]:
    """Train a format by the papers in the files of a folder, as often as there is time for.

    `name` is that of their index, for the recipe, `base` a plain network, and `model` the index's model. The time is
    that of the report too: its encoding, and for each run as long as `before` takes, which is called with the number of
    papers that are read. Returns the runs, the first of them in the folder itself, and how many of the
    papers the time allowed to read.
    """
    begun = time.monotonic()
    recipe = write_recipe(folder, field_recipe(name, papers, base, model))
    speed = measured_speed(recipe, folder / _TRIAL, say)
    passes = 1 + (FEWEST_RUNS - 1) * adapted_layers(base) / base.card.network.layers
    limit = speed.fitting(papers.train, papers.test, seconds - (time.monotonic() - begun), passes)
    (task,) = recipe.tasks
    assert task.build is not None  # noqa: S101 - the recipe is that of `field_recipe`
    # The limit is of papers that train; those of the validation are read too.
    read = min(papers.train, round(limit / (1 - task.build.validation)))
    started = time.monotonic()
    before(read)
    learning = time.monotonic() - started
    reading = speed.reading(limit, papers.test, passes)
    steps = speed.steps((seconds - (time.monotonic() - begun) - reading) / FEWEST_RUNS - learning, VALIDATIONS + 1)
    recipe = write_recipe(folder, field_recipe(name, papers, base, model, limit=limit, steps=steps))
    runs: list[Trained] = []
    took, encoding = list[float](), reading - speed.text * limit
    while len(runs) < MOST_RUNS:
        started = time.monotonic()
        left = seconds - (started - begun) - encoding - learning * (len(runs) + 1)
        if len(runs) >= FEWEST_RUNS and left < max(took[1:]):  # the first one reads the texts too
            break
        place = folder / _RUNS / str(len(runs)) if runs else folder
        runs.append(train(recipe.model_copy(update={"seed": recipe.seed + len(runs)}), place, say=say))
        took.append(time.monotonic() - started)
    shutil.rmtree(folder / _STATES, ignore_errors=True)  # they take gigabytes, and can be computed again
    return runs, read


def together(base: Model, task_format: Format, runs: Sequence[Trained], folder: Path) -> Model:
    """Write a model with the adapters of several runs, each in the place of a format: a text takes one pass."""
    places = [os.path.relpath(_folder_of(one) / "adapters" / task_format.code, folder) for one in runs]
    adapters = {one.value: place for one, place in zip(Format, places, strict=False)}
    prompt = base.card.prompts.get(task_format, "")
    prompts = {"prompts": dict.fromkeys(adapters, prompt)} if prompt else {"prompts": {}}
    write_card(folder, {"architecture": "adapters", "base": base.card.name, "adapters": adapters, **prompts})
    return find_model(str(folder))


def write_beside(model: Model, task_format: Format, trained: Path, folder: Path) -> Model:
    """Write a model whose vectors of a format are those of a trained one, and all others those of an index's model."""
    members = {one.value: model.card.name for one in model.card.formats}
    members |= {task_format.value: os.path.relpath(trained, folder)}
    with replacing(folder) as part:
        part.mkdir()
        write_card(part, {"architecture": "routes", "members": members})
    return find_model(str(folder))


def _folder_of(run: Trained) -> Path:
    assert run.folder is not None  # noqa: S101 - no run has a time limit of its own
    return run.folder


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


class _Report:
    """Compares a new format with the vectors of an index, by the papers in the files of a folder."""

    def __init__(self, index: Index, papers: FieldPapers, folder: Path) -> None:
        self._index, self._papers = index, papers
        self._records = {part: read_records(folder / part) for part in (PAPERS, TEST)}
        self._source = vectors_for(index, papers.format)
        self._truth: dict[str, np.ndarray] = {}
        self._texts: dict[str, Sequence[str]] = {}
        self._indexed: dict[str, np.ndarray] = {}

    def learn(self, read: int) -> None:
        """Let linear models learn from the index's vectors of so many papers, those that are read."""
        papers, search = self._papers, TrainedVectors(self._source.model, self._source.fingerprint, Format.PRX)
        labels = [] if papers.task == "number" else common_labels([one[LABEL] for one in self._records[PAPERS]], FEWEST)
        self._records[PAPERS] = self._records[PAPERS][:read]
        made = {}
        for part, some in self._records.items():
            ids = [one["id"] for one in some]
            self._truth[part] = truth_of([one[LABEL] for one in some], papers.task, labels)
            plain, tagged = (_rows(self._index, one, ids) for one in (search, self._source))
            self._texts[part] = texts_of(self._index, ids)
            made[part] = LabelledVectors(self._truth[part], plain, tagged, self._texts[part])
        self._indexed = self._predictions(made)

    def compare(self, encoder: TextEncoder, runs: int, say: Say) -> FormatComparison:
        """Let the same models learn from the vectors of each run, as the formats of an encoder; return the result."""
        say({"measured": {part: len(some) for part, some in self._records.items()}})
        formats = tuple(Format)[:runs]
        texts = {
            part: [encoder.card.text(one["title"], one["abstract"]) for one in some]
            for part, some in self._records.items()
        }
        vectors = {part: encoder.encode_formats(some, formats) for part, some in texts.items()}
        own = []
        for one in formats:
            made = {
                part: LabelledVectors(self._truth[part], found[one], found[one], self._texts[part])
                for part, found in vectors.items()
            }
            own.append(self._predictions(made))
        return comparison_of(self._truth[TEST], self._indexed, own, len(self._records[PAPERS]))

    def _predictions(self, made: Mapping[str, LabelledVectors]) -> dict[str, np.ndarray]:
        language = self._index.schema.language
        return predictions(made[PAPERS], made[TEST], self._papers.task, self._source, language)


def _rows(index: Index, source: TrainedVectors, ids: list[str]) -> np.ndarray:
    """Return the vectors of papers in their order, float32 (papers, dimension)."""
    found, vectors = all_vectors(index, source, ids)
    place: dict[str, Any] = {id_: row for row, id_ in enumerate(found)}
    require(len(place) == len(ids), f"Papers of the index {index.name} were deleted meanwhile", "train again")
    return np.asarray(vectors[[place[id_] for id_ in ids]])
