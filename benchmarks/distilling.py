"""Distillation in the manner of LEAF: all-MiniLM-L6-v2 teaches a network of half its layers. What the student reaches.

Run: python -m benchmarks.distilling --data DIR --folder build/distilling --papers 1500 --steps 120

The recipe is `recipes/distil-leaf.toml` with another teacher, base and number of papers. Measured are the mean cosine
to the teacher on held-out texts, and nDCG@10 by vectors alone on a BEIR folder: of the student before and after, of the
student's queries among the teacher's papers, and of the teacher.
"""

from __future__ import annotations

import argparse
import json
import re
import tomllib
from pathlib import Path
from typing import Any

from encoders.encoder import load_encoder
from encoders.models.formats import Format
from encoders.registry import find_model
from eval.embedder import Embedder, by_encoder, by_format
from eval.retrieval.beir import JudgedQueries, join
from eval.retrieval.protocol import evaluate_exact, make_protocol
from eval.trec.judgments import Qrels
from ses.evaluation.collection import beir_collection, in_memory
from ses.loaded_model import make_encoder
from ses.settings import load_settings
from training.recipe import read_variants
from training.train import train
from training.trainables.network import write

TEACHER = "all-MiniLM-L6-v2"
LAYERS = (0, 2, 4)
"""Of the teacher, that the student starts with: every second one, as DistilBERT's (Sanh et al. 2019, section 3)."""

RECIPE = Path(__file__).parents[1] / "recipes" / "distil-leaf.toml"


def make_student(folder: Path) -> Path:
    """Write the untrained student: some layers of the teacher."""
    teacher = find_model(TEACHER)
    weights = {}
    for name, array in teacher.read().items():
        found = re.fullmatch(r"encoder\.layer\.(\d+)\.(.*)", name)
        if found is None:
            weights[name] = array
        elif int(found[1]) in LAYERS:
            weights[f"encoder.layer.{LAYERS.index(int(found[1]))}.{found[2]}"] = array
    write(teacher, (), weights, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": len(LAYERS)}))
    return folder


def make_recipe(folder: Path, student: Path, papers: int, file: str) -> Path:
    """Write the recipe with the small teacher and the student."""
    content: dict[str, Any] = tomllib.loads(RECIPE.read_text(encoding="utf-8"))
    # The student's vectors have the teacher's length already.
    content |= {
        "base": str(student.resolve()),
        "options": {},
        "learning_rate": 3e-4,
        "schedule": "constant",
        "warmup": 0,
    }
    content |= {"epochs": 20, "max_tokens": 64, "validate_every": 20, "precision": "fp32"}
    for task in content["tasks"]:
        options = {"teacher": f"model:{TEACHER}", "most": papers, "precision": "int8"}
        task["build"] |= {"papers": [file], "options": task["build"]["options"] | options, "validation": 0.05}
    path = folder / "recipe.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def main() -> None:
    """Train, and print what was measured."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--folder", type=Path, required=True)
    options.add_argument("--papers", type=int, default=1_500)
    options.add_argument("--file", default="train/pubmed.jsonl.xz")
    options.add_argument("--steps", type=int, default=120)
    options.add_argument("--on", default="eval/cranfield")
    options.add_argument("--most", type=int, default=300, help="papers to search: the first of the file")
    given = options.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    student = make_student(given.folder / "student")
    recipes = read_variants(make_recipe(given.folder, student, given.papers, given.file), (), given.data)

    def report(entry: Any) -> None:
        if "validation" in entry or "built" in entry:
            print(json.dumps(entry), flush=True)

    run = given.folder / "run"
    train(recipes[""].model_copy(update={"steps": given.steps}), run, say=report)
    settings = load_settings()
    teacher = by_encoder(make_encoder(settings, find_model(TEACHER)))
    before, after = (embedder_of(folder, given.folder) for folder in (run / "start", run / "model"))
    systems: dict[str, Embedder] = {
        "student before": before,
        "student after": after,
        "student's queries, teacher's papers": by_format({Format.QRY: after}, teacher),
        "teacher": teacher,
    }
    collection = beir_collection(str(given.data / given.on), "test", settings)
    papers = in_memory(collection)[0][: given.most]
    judged = among(collection.judged, {paper.id for paper in papers})
    print(f"{len(papers):,} papers, {len(judged.texts)} queries", flush=True)
    protocol = make_protocol(modes=("vector",), measures=("nDCG@10",))
    for name, embed in systems.items():
        found = evaluate_exact(judged, papers, embed, "cosine", protocol).scores
        values = found.per_query["nDCG@10"].values()
        print(f"{name}: nDCG@10 {sum(values) / len(values):.3f}", flush=True)


def among(judged: JudgedQueries, papers: set[str]) -> JudgedQueries:
    """Return the queries that some papers answer, and their judgments."""
    kept = {query: {one: gain for one, gain in of.items() if one in papers} for query, of in judged.qrels.gains.items()}
    return join(judged.texts, Qrels({query: of for query, of in kept.items() if any(gain > 0 for gain in of.values())}))


def embedder_of(folder: Path, cache: Path) -> Embedder:
    """Return an embedder of a student, in fp32."""
    return by_encoder(load_encoder(find_model(str(folder)), cache_dir=cache / "graphs", precision="fp32"))


if __name__ == "__main__":
    main()
