"""Prints the result of training as text or JSON."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.outgoing import aligned
from ses.terminal.results import say_json, tell

if TYPE_CHECKING:
    from training.recipe import Recipe
    from training.train import Trained


def as_dict(trained: Trained | None) -> dict[str, Any] | None:
    """Return a result for JSON; None for a run that was not started."""
    if trained is None:
        return None
    return {
        "model": str(trained.folder) if trained.folder else None,
        "steps": trained.steps,
        "total": trained.total,
        "chosen": trained.chosen,
        "measures": dict(trained.measures),
        "unusable": dict(trained.unusable),
        "waiting": round(trained.waiting, 4),
        "plots": list(trained.plots),
    }


def show(name: str, recipe: Recipe, trained: Trained, folder: Path) -> None:
    """Print the result of a run.

    Args:
        name: Name of the variant, or empty.
        recipe: Recipe of the run.
        trained: Result of the run.
        folder: Folder of the run.
    """
    from training.log import read_log
    from training.objectives.registry import OBJECTIVES

    prefix = f"{name}: " if name else ""
    for task, number in trained.unusable.items():
        if number:
            tell(f"{prefix}{task}: {number:,} records gave no example")
    found = {entry["step"]: entry["validation"] for entry in read_log(folder) if entry.get("validation")}
    if found:
        marks = {min(found): "first", max(found): "last", trained.chosen: "chosen"}
        steps = sorted(step for step in marks if step in found)
        rows = [
            [task.name, OBJECTIVES[task.objective].measure, *(f"{found[step][task.name]:.4f}" for step in steps)]
            for task in recipe.tasks
            if task.name in found[trained.chosen]
        ]
        head = ["validation", "measure", *(f"step {step:,} ({marks[step]})" for step in steps)]
        for line in aligned([head, *rows]):
            tell(line)
    tell(f"{prefix}Waiting for data took {trained.waiting:.1%} of the time.")
    plots = " and ".join(trained.plots)
    drawn = f", drawn in {plots}." if plots else "; they are not drawn without matplotlib."
    tell(f"{prefix}Losses by step are in {folder / 'log.jsonl'}{drawn}")
    if trained.folder:
        tell(f"{prefix}The model is in {trained.folder} (step {trained.chosen:,} of {trained.steps:,}).")
    else:
        tell(f"{prefix}Stopped after {trained.steps:,} of {trained.total:,} steps; add --resume to go on.")


def show_prepared(examples: Mapping[str, Mapping[str, tuple[int, int]]], folder: Path, *, as_json: bool) -> None:
    """Print the numbers of training and validation examples, by variant and task."""
    if as_json:
        documents = {
            name: {task: {"train": train, "validation": held} for task, (train, held) in tasks.items()}
            for name, tasks in examples.items()
        }
        say_json(documents.get("", {"variants": documents}))
        return
    for name, tasks in examples.items():
        for task, (train, held) in tasks.items():
            prefix = f"{name}: {task}" if name else task
            tell(f"{prefix}: {train:,} examples for training, {held:,} for validation")
        place = folder / name
        tell(f"The data of the run are in {place}; train with: ses train {place / 'recipe.json'} --output {place}")


def show_variants(results: Mapping[str, Trained | None]) -> None:
    """Print the validation measures of all variants, one per line, or the progress of unfinished ones."""
    tasks = list(dict.fromkeys(task for result in results.values() if result for task in result.measures))
    rows = []
    for name, result in results.items():
        if result is None or result.folder is None:
            done = f"{result.steps:,} of {result.total:,} steps" if result else "not started"
            rows.append([name, f"{done}; add --resume"])
        else:
            measures = (result.measures.get(task) for task in tasks)
            rows.append([name, f"step {result.chosen:,}", *("" if one is None else f"{one:.4f}" for one in measures)])
    tell()
    for line in aligned([["variant", "", *tasks], *rows]):
        tell(line)
