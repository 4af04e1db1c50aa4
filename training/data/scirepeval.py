"""SciRepEval's task configuration (its training/sample_data/tasks_config.json) as tasks of a recipe."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corpora.documents import read_json
from corpora.errors import InputError
from encoders.models.formats import Format

_FORMATS = {task_format.code: task_format.value for task_format in Format}
_CONTRASTIVE = "supervised-contrastive"


def read_config(path: Path) -> list[dict[str, Any]]:
    """Read the tasks of a configuration as a recipe's TOML would name them, with whole paths.

    The paths in it are relative to its folder, or to the folder above, where SciRepEval's training runs. `InputError`
    if it is no such file, or names a data set of the hub in place of files.
    """
    try:
        content = read_json(path)
    except (OSError, ValueError) as error:
        raise InputError(f"The task configuration {path} can't be read ({error}); correct it.") from error
    if not isinstance(content, list) or not all(isinstance(one, dict) and "name" in one for one in content):
        raise InputError(f"{path} is no task configuration: it must hold a list of tasks with names.")
    return [_task(path, given) for given in content]


def _task(path: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    name, files = given["name"], given.get("data_files")
    if not isinstance(files, dict) or "train" not in files:
        raise InputError(
            f"The task {name} of {path} names no data_files with a train file; save its data set as JSON lines, and "
            "name that file."
        )
    code, size = given.get("ctrl_token", "[PRX]"), given.get("sample_size", -1)
    codes = code if isinstance(code, dict) else {"query": code, "candidates": code}
    if unknown := {*codes.values()} - set(_FORMATS):
        raise InputError(f"The task {name} of {path} has the ctrl_token {unknown.pop()!r}; use {', '.join(_FORMATS)}.")
    limit = size.get("train", -1) if isinstance(size, dict) else size
    task = {
        "name": name,
        "type": given.get("type"),
        "train": _located(path, files["train"]),
        "validation": _located(path, files["dev"]) if "dev" in files else None,
        "format": _FORMATS[codes["candidates"]],
        "query_format": _FORMATS[codes["query"]],
        "fields": given.get("input_fields", ["title", "abstract"]),
        "label": given.get("labels_field", "label"),
        "labels": _located(path, given["labels"]) if "labels" in given else None,
        "multi_label": bool(given.get("multi_label")),
        "limit": limit if limit > 0 else None,
    }
    return task | ({"objective": _CONTRASTIVE} if given.get("contrastive") else {})


def _located(path: Path, name: str) -> Path:
    return next((folder / name for folder in path.parents[:2] if (folder / name).exists()), path.parent / name)
