"""SciRepEval's own sample files, made into tasks and run from the command line with a tiny model."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from math import log2
from pathlib import Path

import numpy as np
import pytest

from encoders.encoder import load_encoder
from encoders.models.formats import Format
from eval.files.archives import unpacked
from tests.commands import fails, ses
from tests.eval.scirepeval.worlds import write_jsonl, write_labels
from tests.tiny import make_model

HUB = {"name": "allenai/scirepeval"}


def paper(record):
    return {"doc_id": record["corpus_id"], **{key: record.get(key) for key in ("title", "abstract", "venue", "year")}}


def split(folder, records, label):
    write_jsonl(folder / "metadata.jsonl", map(paper, records))
    rows = [(record["corpus_id"], label(record)) for record in records]
    write_labels(folder, rows[: len(rows) * 2 // 3], rows[len(rows) * 2 // 3 :])


def ranked(folder, queries):
    rows = [{"doc_id": name, "query": query, "candidates": list(map(paper, found))} for name, query, found in queries]
    write_jsonl(folder / "metadata.jsonl", rows)
    judged = (
        {"query_id": name, "cand_id": one["corpus_id"], "score": one["score"]}
        for name, _, found in queries
        for one in found
    )
    write_jsonl(folder / "test_qrel.jsonl", judged)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """The sample files in the layout of local data, with a task of each type, and a tiny model."""
    root = tmp_path_factory.mktemp("samples")
    with unpacked(Path(os.environ["SES_TEST_DATA"]) / "eval" / "scirepeval-samples.tar.xz") as folder:
        shutil.copytree(folder, root, dirs_exist_ok=True)
    samples = root / "scirepeval_sample" / "training" / "sample_data"
    read = {name: json.loads((samples / f"{name}_small.json").read_text()) for name in ("fos", "mesh", "s2and")}
    # Those fields of study that have enough papers here.
    common = [
        label for label, _ in Counter(label for record in read["fos"] for label in record["labels"]).most_common(4)
    ]
    split(root / "fos", read["fos"], lambda r: str([int(label in r["labels"]) for label in common]))
    split(root / "mesh_descriptors", read["mesh"], lambda r: r["descriptor"])
    split(root / "pub_year", read["mesh"], lambda r: len(r["abstract"] or ""))
    ranked(root / "same_author", [(r["query"]["corpus_id"], paper(r["query"]), r["candidates"]) for r in read["s2and"]])
    searches = [json.loads(line) for line in (samples / "search_small.jsonl").read_text().splitlines()]
    ranked(root / "search", [(f"q{i}", r["query"], r["candidates"]) for i, r in enumerate(searches)])
    fields = ["title", "abstract", "venue", "year"]
    tasks = [
        ("Fields of study", "classification", "fos", ["f1_macro"], {"multi_label": True}),
        ("MeSH", "classification", "mesh_descriptors", ["f1_macro"], {}),
        ("Publication Year", "regression", "pub_year", ["kendalltau"], {}),
        ("Same Author Detection", "proximity", "same_author", ["map"], {}),
        ("Search", "adhoc_search", "search", ["ndcg"], {"fields": fields}),
        ("DRSM", "classification", "drsm", ["f1_macro"], {}),
    ]
    lines = [
        {"name": name, "type": kind, "data": {"meta": {**HUB, "config": config}}, "metrics": metrics, **more}
        for name, kind, config, metrics, more in tasks
    ]
    write_jsonl(root / "tasks.jsonl", lines)
    make_model(root / "model", codes=True)
    return root


def test_a_task_of_each_type_runs_on_the_samples(data_dir, world):
    # Not int8: its vectors depend a little on what else is in the batch.
    model = ("--model", world / "model", "--precision", "fp32")
    done = ses(world, "eval", "task", world / "tasks.jsonl", "--data", world, *model, "--json")
    assert done.returncode == 1, done.stderr  # there are no data of DRSM
    told = json.loads(done.stdout)
    assert "There is no train table" in told["not_run"]["DRSM"]
    rows = {row["task"]: row for row in told["rows"]}
    for row in rows.values():
        cell = row["measures"]["measured"]
        assert cell["low"] <= cell["mean"] <= cell["high"]
    assert rows["Search, ndcg"]["measures"]["measured"]["mean"] == pytest.approx(searched(world), abs=1e-6)
    assert rows["MeSH, f1_macro"]["counts"]["train"] == 137
    assert rows["Search, ndcg"]["counts"]["queries"] == 100
    assert told["solvers"]["Fields of study"].startswith("one-vs-rest LinearSVC(hinge)")
    assert told["averages"]["groups"].keys() == {"In-Train", "Average"}
    assert told["averages"]["formats"].keys() == {"CLF", "RGN", "PRX", "SRCH"}
    assert told["leaderboard"][-1]["measures"]["In-Train"]["mean"] == told["averages"]["groups"]["In-Train"]


def test_formats_are_routed_to_files(data_dir, world):
    papers = [{"id": name, "title": "virus"} for row in lines(world / "search") for name in ids(row)]
    write_jsonl(world / "papers.jsonl", papers)
    encoded = ses(world, "encode", world / "papers.jsonl", "--output", world / "prx.npy", "--model", world / "model")
    assert encoded.returncode == 0, encoded.stderr
    command = ("eval", "task", world / "tasks.jsonl", "search", "--data", world, "--embeddings", f"prx={world}/prx.npy")
    mixed = ses(world, *command, "--model", world / "model", "--json")
    assert mixed.returncode == 0, mixed.stderr
    told = json.loads(mixed.stdout)
    assert told["embeddings"]["prx"].endswith("prx.npy")
    assert told["model"].endswith("model")
    # All papers have one vector, so that trec_eval orders them by id, last first.
    measured = told["rows"][0]["measures"]["measured"]["mean"]
    wanted = [ndcg([row[name] for name in sorted(row, reverse=True)]) for row in lines(world / "search", "test_qrel")]
    assert measured == pytest.approx(sum(wanted) / len(wanted))
    shown = ses(world, *command, "--model", world / "model")
    for part in ("Search, ndcg", "SciNCL Adapters (BENCHMARKING.md of allenai/scirepeval)", "0.709", "S2AND"):
        assert part in shown.stdout


def searched(world):
    """The mean nDCG of the sample searches, from the model's vectors and the texts written out."""
    encoder = load_encoder(str(world / "model"), cache_dir=world / "cache", precision="fp32")
    values = []
    for row, judged in zip(lines(world / "search"), lines(world / "search", "test_qrel"), strict=True):
        texts = {}
        for one in row["candidates"]:
            fields = [one["title"], one["abstract"], one["venue"], one["year"]]
            texts.setdefault(str(one["doc_id"]), " [SEP] ".join(str(field) for field in fields if field))
        query = encoder.encode([row["query"]], Format.QRY)
        distances = np.linalg.norm(encoder.encode(list(texts.values()), Format.PRX).astype(float) - query, axis=1)
        values.append(ndcg([gain for _, gain in sorted(zip(distances, map(judged.get, texts), strict=True))]))
    return sum(values) / len(values)


def ndcg(gains):
    best = sum(gain / log2(rank + 2) for rank, gain in enumerate(sorted(gains, reverse=True)))
    return sum(gain / log2(rank + 2) for rank, gain in enumerate(gains)) / best if best else 0.0


def lines(folder, name="metadata"):
    rows = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
    if name == "metadata":
        return rows
    grouped = {}
    for row in rows:
        grouped.setdefault(row["query_id"], {}).setdefault(str(row["cand_id"]), row["score"])
    return grouped.values()


def ids(row):
    return dict.fromkeys(str(one["doc_id"]) for one in row["candidates"])


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nothing"], 2, "no task 'nothing' in the file; it has: Fields of study"),
        (["DRSM"], 2, "There is no train table"),
        (["search", "--embeddings", "none.npy"], 2, "There is no file none.npy"),
        (["search", "--embeddings", "sim=x.npy"], 2, "There is no format 'sim' and no file sim=x.npy"),
        (["search", "--embeddings", "prx=a.npy", "--embeddings", "prx=b.npy"], 2, "names two files for prx"),
        (["search", "--embeddings", "prx=no.npy"], 2, "no.npy"),
    ],
)
def test_mistakes_are_told(data_dir, world, arguments, code, message):
    fails(ses(world, "eval", "task", world / "tasks.jsonl", *arguments, "--data", world), code, message)
