"""Folders of data for SciRepEval's tasks, and vectors whose results are known."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np

from eval.embedder import Vectors
from eval.scirepeval.task_file import Task, read_tasks


def write_jsonl(path: Path, rows) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_labels(folder: Path, train, test) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for split, rows in (("train", train), ("test", test)):
        with (folder / f"{split}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([("paper_id", "label"), *rows])


def write_papers(folder: Path, ids) -> Path:
    return write_jsonl(folder / "metadata.jsonl", ({"doc_id": name, "title": f"Title {name}"} for name in ids))


def a_task(tmp_path: Path, kind: str = "classification", metrics=("f1",), **members) -> Task:
    data = members.pop("data", {"meta": {"name": "x/a", "config": "one"}})
    line = {"name": "One", "type": kind, "data": data, "metrics": metrics, **members}
    return read_tasks(write_jsonl(tmp_path / "one_task.jsonl", [line]))[0]


def embedder(by_format):
    """An embedder of given vectors by format and id; others are missing."""

    def embed(texts, task_format):
        table = by_format[task_format]
        known = [text.id for text in texts if text.id in table]
        matrix = np.array([table[name] for name in known], np.float32).reshape(
            len(known), len(next(iter(table.values())))
        )
        return Vectors({name: row for row, name in enumerate(known)}, matrix)

    return embed
