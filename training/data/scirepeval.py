"""SciRepEval's task configuration (its training/sample_data/tasks_config.json) as tasks of a recipe."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corpora.documents import read_json
from corpora.errors import InputError
from encoders.models.formats import Format
from training.data.records import files_of

_FORMATS = {task_format.code: task_format.value for task_format in Format}
_SPLITS = {"train": "train", "dev": "validation"}
_CONTRASTIVE = "supervised-contrastive"


def read_config(path: Path) -> list[dict[str, Any]]:
    """Read the tasks of a configuration as a recipe's TOML would name them, with whole paths.

    The paths in it are relative to its folder, or to the folder above, where SciRepEval's training runs. So are the
    folders of data sets of the hub, such as `scirepeval/fos`, with the Parquet files of their splits. `InputError` if
    it is no such file, or the data are not there.
    """
    try:
        content = read_json(path)
    except (OSError, ValueError) as error:
        raise InputError(f"The task configuration {path} can't be read ({error}); correct it.") from error
    if not isinstance(content, list) or not all(isinstance(one, dict) and "name" in one for one in content):
        raise InputError(f"{path} is no task configuration: it must hold a list of tasks with names.")
    return [_task(path, given) for given in content]


def _task(path: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    name, files = given["name"], _files(path, given)
    code, size = given.get("ctrl_token", "[PRX]"), given.get("sample_size", -1)
    codes = code if isinstance(code, dict) else {"query": code, "candidates": code}
    if unknown := {*codes.values()} - set(_FORMATS):
        raise InputError(f"The task {name} of {path} has the ctrl_token {unknown.pop()!r}; use {', '.join(_FORMATS)}.")
    limit = size.get("train", -1) if isinstance(size, dict) else size
    task = {
        "name": name,
        "type": given.get("type"),
        "train": files["train"],
        "validation": files.get("dev"),
        "format": _FORMATS[codes["candidates"]],
        "query_format": _FORMATS[codes["query"]],
        "fields": given.get("input_fields", ["title", "abstract"]),
        "label": given.get("labels_field", "label"),
        "labels": _located(path, given["labels"]) if "labels" in given else None,
        "multi_label": bool(given.get("multi_label")),
        "limit": limit if limit > 0 else None,
    }
    return task | ({"objective": _CONTRASTIVE} if given.get("contrastive") else {})


def _files(path: Path, given: Mapping[str, Any]) -> dict[str, Path]:
    """Return the files of each split of a task."""
    name, files, published = given["name"], given.get("data_files"), given.get("dataset")
    if isinstance(files, dict) and "train" in files:
        return {split: _located(path, str(file)) for split, file in files.items()}
    if not isinstance(published, dict) or not isinstance(published.get("path"), str):
        raise InputError(
            f"The task {name} of {path} names no data_files with a train file, and no dataset with a path; name one."
        )
    hub, config = published["path"], str(published.get("name") or "")
    folder = hub.rpartition("/")[2]
    places = [parent / one for parent in path.parents[:2] for one in (Path(folder, config), Path(config)) if one.name]
    for place in places:
        found = {ours: split for ours, theirs in _SPLITS.items() if (split := _split(place, theirs))}
        if "train" in found:
            return found
    raise InputError(
        f"The task {name} of {path} is trained on the published set {hub} {config}, which is not in {places[0]}",
        f"download the folder {config or 'of each task'} from its branch refs/convert/parquet on the hub into "
        f"{path.parent / folder}",
    )


def _split(place: Path, name: str) -> Path | None:
    """Return the path of a split in a folder as data sets are published or saved."""
    forms = (name, f"{name}-*-of-*.parquet", f"{name}.parquet", f"{name}.jsonl")
    return next((place / form for form in forms if files_of(place / form)), None)


def _located(path: Path, name: str) -> Path:
    return next((folder / name for folder in path.parents[:2] if (folder / name).exists()), path.parent / name)
