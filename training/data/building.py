"""Builds the tasks that a recipe makes from papers. Records are written once, with a manifest of their sources."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from corpora.checksums import data_hash, sha256_of, sha256_of_text
from corpora.errors import InputError
from corpora.writing import replacing
from encoders.registry import find_model
from encoders.text_encoder import TextEncoder
from eval.frozen import FROZEN
from training.data.builders.base import MODEL, BuilderOptions, BuilderSource, Made, PaperRecord, held_out_at
from training.data.builders.registry import BUILDERS
from training.data.guard import Guard, make_guard, read_papers
from training.recipe import Recipe
from training.task import Build, TrainingTask

_MANIFEST = "manifest.json"
_FORM = 2
"""Increase this number when a builder makes other records from the same papers."""


@dataclass(frozen=True, slots=True)
class BuildManifest:
    """What a task was built from, and what was written.

    Attributes:
        builder: Its name in the registry.
        options: All options of the builder.
        sources: SHA-256 of every file that was read.
        seed: Seed of the random draws.
        base: Fingerprint of the recipe's base, which a builder may use.
        papers: Records read, refused by the guard by reason, duplicates, and those left out by reason: by the builder,
            or because a paper in them is held out.
        records: Number of records made for each part: train and validation.
        outputs: SHA-256 of the files written.
    """

    builder: str
    options: Mapping[str, Any]
    sources: Mapping[str, str]
    seed: int
    base: str
    papers: Mapping[str, int]
    records: Mapping[str, int]
    outputs: Mapping[str, str]


def build_tasks(
    recipe: Recipe,
    base: str,
    model: Callable[..., TextEncoder],
    folder: Path,
    say: Callable[[Mapping[str, Any]], None] = lambda _: None,
) -> Recipe:
    """Write the records of the tasks that are built from papers; keep records of the same input.

    The recipe has whole paths; `base` is the fingerprint of its base, and `model` loads the base, or the model of a
    name. `say` receives the manifest of every task built, under `built`. Returns the recipe with tasks of files only.
    Raises `InputError` if papers can't be read, or give no record.
    """
    guard = cache(lambda: make_guard(recipe.guard))
    share = max((task.build.validation for task in recipe.tasks if task.build), default=0.0)

    def built(task: TrainingTask) -> TrainingTask:
        if task.build is None:
            return task
        place = _built(task, task.build, recipe, base, model, guard, folder, share)
        say({"built": task.name, **json.loads((place / _MANIFEST).read_text(encoding="utf-8"))})
        held_out = place / "validation.jsonl"
        found = {"train": place / "train.jsonl", "validation": held_out if held_out.stat().st_size else None}
        return task.model_copy(update={**found, "build": None})

    return recipe.model_copy(update={"tasks": tuple(map(built, recipe.tasks))})


def _built(
    task: TrainingTask,
    build: Build,
    recipe: Recipe,
    base: str,
    model: Callable[..., TextEncoder],
    guard: Callable[[], Guard],
    folder: Path,
    share: float,
) -> Path:
    """Return the folder of a task's records, written now or before; a share of the papers is held out in all tasks."""
    builder = BUILDERS[build.builder]
    options = {**builder.options, **build.options}
    if "multi_label" in options:
        options["multi_label"] = task.multi_label
    sources = _sources(build, recipe.guard) | _models(options)
    # File names are left out: the same files in another place give the same task.
    inputs = [list(sources.values()), recipe.seed, base, task.fields]
    facts = [_FORM, build.builder, options, build.validation, share, *inputs]
    key = sha256_of_text(json.dumps(facts))[:12]
    place = folder / f"{re.sub(r'[^A-Za-z0-9._-]', '_', task.name)}-{key}"
    if (place / _MANIFEST).is_file():
        return place
    folder.mkdir(parents=True, exist_ok=True)
    papers, left_out = Counter[str](), Counter[str]()

    def begin() -> Iterator[PaperRecord]:
        return read_papers(build.papers, guard(), papers)

    source = BuilderSource(begin, model, recipe.seed, task.fields, build.files, left_out, share)
    with replacing(place, locked=True) as part:
        part.mkdir()
        records = _write(part, builder.build(source, options), source, build.validation)
        counts = {**papers, **{f"left out: {reason}": count for reason, count in left_out.items()}}
        if not records["train"]:
            reasons = ", ".join(f"{name} {count:,}" for name, count in counts.items())
            raise InputError(f"The task {task.name} gets no training record from its papers ({reasons}).")
        outputs = {path.name: sha256_of(path) for path in sorted(part.iterdir())}
        manifest = BuildManifest(build.builder, options, sources, recipe.seed, base, counts, records, outputs)
        (part / _MANIFEST).write_text(json.dumps(asdict(manifest), indent=1), encoding="utf-8")
    return place


def _sources(build: Build, guard: Sequence[Path]) -> dict[str, str]:
    """Return the SHA-256 of each input that decides the records, by its name."""
    read = [("papers", build.papers), ("guard", (FROZEN, *guard))]
    found = {
        f"{kind} {number}: {path.name}": data_hash(path) for kind, paths in read for number, path in enumerate(paths)
    }
    return found | {name: data_hash(path) for name, path in sorted(build.files.items())}


def _models(options: BuilderOptions) -> dict[str, str]:
    """Return the fingerprints of the models that options name."""
    parts = [part for value in options.values() if isinstance(value, str) for part in value.split()]
    names = {part.removeprefix(MODEL) for part in parts if part.startswith(MODEL)}
    return {f"model {name}": find_model(name).card.fingerprint for name in sorted(names)}


def _write(folder: Path, made: Iterator[Made], source: BuilderSource, validation: float) -> dict[str, int]:
    """Write records: to train on, those without a paper that is held out; to validate on, those that ask about one."""
    counts = {"train": 0, "validation": 0}
    with (
        (folder / "train.jsonl").open("w", encoding="utf-8") as train,
        (folder / "validation.jsonl").open("w", encoding="utf-8") as held_out,
    ):
        for one in made:
            asks = held_out_at(one.papers[0]) < validation
            if not asks and any(map(source.holds_out, one.papers)):
                of = "of another task" if source.holds_out(one.papers[0]) else "beside the one it asks about"
                source.left_out[f"held-out paper {of}"] += 1
                continue
            counts["validation" if asks else "train"] += 1
            (held_out if asks else train).write(json.dumps(one.record) + "\n")
    return counts
