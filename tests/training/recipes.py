"""Small task files and recipes over a tiny model."""

from __future__ import annotations

import json
import random

import pyarrow as pa
import pyarrow.parquet as pq

from encoders.models.formats import Format
from encoders.registry import find_model
from tests.tiny import WORDS, make_model
from training.recipe import read_variants
from training.trainables.adapters import ADAPTERS

LABELS = ("astronomy", "biology", "medicine")


def paper(draw, label=0):
    own = WORDS[label * 9 : label * 9 + 9]
    return {"title": " ".join(draw.choices(own, k=4)), "abstract": " ".join(draw.choices(WORDS, k=draw.randint(0, 9)))}


def write(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def task_files(folder, count=24):
    """Write one file of each shape of records, all about three subjects that their words tell apart."""
    draw = random.Random(3)
    numbers = [draw.randrange(3) for _ in range(count)]
    other = [(number + 1) % 3 for number in numbers]
    labelled = [paper(draw, number) | {"label": LABELS[number], "value": number + 0.5} for number in numbers]
    write(folder / "papers.jsonl", labelled)
    write(
        folder / "several.jsonl",
        [one | {"label": [one["label"], LABELS[0]][: 1 + i % 2]} for i, one in enumerate(labelled)],
    )
    pairs = list(zip(numbers, other, strict=True))
    triplets = [{"query": paper(draw, a), "pos": paper(draw, a), "neg": paper(draw, b)} for a, b in pairs]
    write(folder / "triplets.jsonl", triplets)
    ranked = [
        {
            "query": " ".join(draw.choices(WORDS[a * 9 : a * 9 + 9], k=3)),
            "candidates": [paper(draw, a) | {"score": 1}, paper(draw, b) | {"score": 0}, paper(draw, b) | {"score": 0}],
        }
        for a, b in pairs
    ]
    write(folder / "judged.jsonl", ranked)
    write(folder / "vectors.jsonl", [one | {"label": [draw.gauss(0, 1) for _ in range(64)]} for one in labelled])
    return folder


TASKS = {
    "cross-entropy": {"type": "classification", "train": "papers.jsonl", "format": "clf"},
    "supervised-contrastive": {"type": "classification", "train": "papers.jsonl", "format": "clf"},
    "bce": {"type": "classification", "train": "several.jsonl", "multi_label": True, "format": "clf"},
    "mse": {"type": "regression", "train": "papers.jsonl", "label": "value", "format": "rgn"},
    "ranking": {"type": "regression", "train": "papers.jsonl", "label": "value", "format": "rgn"},
    "triplet": {"type": "triplet", "train": "triplets.jsonl", "format": "prx"},
    "contrastive": {"type": "ir", "train": "judged.jsonl", "format": "prx", "query_format": "qry"},
    "vectors": {"type": "vectors", "train": "vectors.jsonl", "format": "clf"},
    "kl": {"type": "ranked", "train": "judged.jsonl", "format": "prx", "query_format": "qry"},
    "margin-mse": {"type": "ranked", "train": "judged.jsonl", "format": "prx", "query_format": "qry"},
}
"""A task for every objective of vectors."""

PAIRS = {
    "listwise": {"type": "ir", "train": "judged.jsonl", "format": "qry"},
    "listwise of a teacher": {"type": "ranked", "train": "judged.jsonl", "format": "qry"},
}
"""Tasks for rerankers."""


PUBLISHED = [
    {
        "name": name,
        "type": kind,
        "dataset": {"path": "allenai/scirepeval", "name": config},
        "ctrl_token": code,
        "sample_size": {"train": 600_000, "dev": 40_000},
    }
    | more
    for name, kind, config, code, more in (
        ("year_pred", "regression", "pub_year", "[RGN]", {"labels_field": "value"}),
        ("mesh", "classification", "mesh_descriptors", "[CLF]", {}),
        ("fos", "classification", "fos", "[CLF]", {"multi_label": True}),
        ("search", "ir", "search", {"query": "[QRY]", "candidates": "[PRX]"}, {"input_fields": ["title", "year"]}),
        ("specter", "triplet", "cite_prediction", "[PRX]", {}),
    )
]
"""Tasks in the words of SciRepEval's training/sample_data/tasks_config.json."""

FILES = ("papers", "papers", "several", "judged", "triplets")


def publish(folder, form):
    """Write the records of each task as Parquet, in the places that a published data set has."""
    for task, name in zip(PUBLISHED, FILES, strict=True):
        rows = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
        for split, part in (("train", rows[:16]), ("validation", rows[16:])):
            for number in range(2):
                path = folder / "scirepeval" / task["dataset"]["name"] / form.format(split=split, number=number)
                path.parent.mkdir(parents=True, exist_ok=True)
                pq.write_table(pa.Table.from_pylist(part[number * 8 : number * 8 + 8]), path)


def adapted(base):
    """Write adapters of all formats, as a run leaves them, that lie on a base; return their model's folder."""
    folder, model = base.with_name("adapted"), find_model(str(base))
    weights = ADAPTERS.start(model, tuple(Format), {"layers": 0, "reduction": 4, "identity": 0}, 1)
    ADAPTERS.write(model, tuple(Format), {name: 10 * array for name, array in weights.items()}, folder)
    return folder


def toml(values):
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())


def write_recipe(folder, objectives=("cross-entropy", "triplet"), options=None, **values):
    """Write task files, a tiny base and a recipe in a folder; return the recipe's path."""
    if not (folder / "papers.jsonl").exists():
        task_files(folder)
        make_model(folder / "base")
    base = adapted(folder / "base") if values.get("trains") == "fusion" else folder / "base"
    given = {"base": str(base), "trains": "adapters", "learning_rate": 0.01, "batch_size": 8} | values
    text = toml(given)
    if options:
        text += f"[options]\n{toml(options)}"
    for name in objectives:
        given = {**TASKS, **PAIRS}[name]
        task = {"name": name, "objective": name.split(" ")[0], "validation": given["train"], **given}
        text += f"[[tasks]]\n{toml(task)}"
    path = folder / "recipe.toml"
    path.write_text(text)
    return path


def read_recipe(path, data=None):
    """Return the recipe of a file without variants."""
    (recipe,) = read_variants(path, (), data).values()
    return recipe
