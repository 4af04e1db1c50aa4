"""A student with a linear layer: trained, written, read by us and by sentence-transformers, and what it reaches."""

from __future__ import annotations

import json

import numpy as np
import pytest

from corpora.errors import InputError
from encoders.encoder import load_encoder
from encoders.models.formats import Format
from encoders.registry import find_model
from tests.encoders.checkpoints import make_sentence_transformers
from tests.encoders.checkpoints.huggingface import add_dense
from tests.tiny import make_model, papers
from tests.training.recipes import read_recipe, toml, write
from training.train import train

pytestmark = pytest.mark.torch

TEXTS = ["virus lung cell [SEP] protein gene", "galaxy star", "climate ocean water soil"]


def records(count):
    made = [one for one in papers(3 * count, seed=2) if len(one.abstract.split()) > 20][:count]
    return [{"id": one.id, "title": f"{one.title} {n}", "abstract": one.abstract} for n, one in enumerate(made)]


def distilled(folder, *, trains="all", options=None, steps=50, **values):
    """Train a student by a teacher of twice the width, on papers and queries."""
    folder.mkdir(exist_ok=True)
    teacher = make_sentence_transformers(folder / "teacher", seed=9, layers=1)
    write(folder / "papers.jsonl", records(60))
    base = make_model(folder / "student", seed=3, width=32, layers=2)
    given = {"base": str(base), "trains": trains, "learning_rate": 5e-3, "batch_size": 16, "steps": steps}
    given |= {"epochs": 99, "dropout": 0.0, "validate_every": 25, "max_tokens": 64} | values
    text = toml(given) + f"[options]\n{toml(options or {'dimension': 64})}"
    for texts, task_format in (("papers", "prx"), ("queries", "qry")):
        build = {"builder": "teacher", "papers": ["papers.jsonl"], "validation": 0.2}
        asked = f'teacher = "model:{teacher}", texts = "{texts}", least = 3, keywords = 0, citations = 0'
        text += f'[[tasks]]\nname = "{texts}"\nformat = "{task_format}"\n[tasks.build]\n{toml(build)}'
        text += f"options = {{{asked}}}\n"
    (folder / "recipe.toml").write_text(text)
    return train(read_recipe(folder / "recipe.toml"), folder / "run")


def encoder_of(folder, cache):
    return load_encoder(str(folder), cache_dir=cache, precision="fp32")


def cosines(first, second):
    unit = [one / np.linalg.norm(one, axis=1, keepdims=True) for one in (first, second)]
    return (unit[0] * unit[1]).sum(axis=1)


@pytest.mark.slow
def test_a_student_learns_its_teachers_vectors_and_may_ask_its_index(tmp_path):
    done = distilled(tmp_path)
    teacher, before, after = (
        encoder_of(folder, tmp_path) for folder in (tmp_path / "teacher", tmp_path / "run" / "start", done.folder)
    )
    assert (before.card.dimension, after.card.dimension, after.card.network.width) == (64, 64, 32)
    assert (after.card.network.normalize, after.card.similarity) == (True, "cosine")
    (validation,) = (tmp_path / "run" / "data").glob("papers-*/validation.jsonl")
    held_out = [json.loads(line) for line in validation.read_text().splitlines()]
    texts = [teacher.card.text(one["title"], one["abstract"]) for one in held_out]
    wanted = teacher.encode(texts)
    np.testing.assert_allclose([one["label"] for one in held_out], wanted, atol=1e-5)
    old, new = (cosines(one.encode(texts), wanted).mean() for one in (before, after))
    assert new > max(0.6, old + 0.4)
    assert done.measures["papers"] == pytest.approx(new, abs=1e-3)

    # Its queries find the teacher's papers, nearly as the teacher's own queries do.
    asked = [one["title"] for one in held_out]
    papers_of_teacher = teacher.encode(texts, Format.PRX)

    def overlap(queries):
        wanted_order = np.argsort(-teacher.encode(asked, Format.QRY) @ papers_of_teacher.T)[:, :5]
        order = np.argsort(-queries @ papers_of_teacher.T)[:, :5]
        return np.mean([len(set(a) & set(b)) / 5 for a, b in zip(order, wanted_order, strict=True)])

    assert overlap(after.encode(asked, Format.QRY)) > overlap(before.encode(asked, Format.QRY))
    routes = tmp_path / "asymmetric"
    routes.mkdir()
    members = {"qry": str(done.folder), "prx": "../teacher"}
    (routes / "ses_card.json").write_text(json.dumps({"architecture": "routes", "members": members}))
    both = encoder_of(routes, tmp_path)
    np.testing.assert_allclose(both.encode(texts, Format.PRX), papers_of_teacher, atol=1e-6)
    np.testing.assert_allclose(both.encode(asked, Format.QRY), after.encode(asked, Format.QRY), atol=1e-6)


@pytest.mark.slow
@pytest.mark.mteb
def test_sentence_transformers_loads_the_student(tmp_path):
    from sentence_transformers import SentenceTransformer

    done = distilled(tmp_path, steps=2)
    theirs = SentenceTransformer(str(done.folder), device="cpu").encode(TEXTS)
    np.testing.assert_allclose(encoder_of(done.folder, tmp_path).encode(TEXTS), theirs, atol=1e-5)


def test_the_last_layers_alone_change_with_the_linear_layer(tmp_path):
    done = distilled(tmp_path, trains="last", options={"layers": 1, "dimension": 64}, steps=2)
    before, after = (find_model(str(folder)).read() for folder in (tmp_path / "run" / "start", done.folder))
    changed = {name for name, array in after.items() if not np.array_equal(before[name], array)}
    assert {"dense.0.weight", "dense.0.bias", "encoder.layer.1.output.dense.weight"} <= changed
    assert all(name.startswith(("encoder.layer.1.", "dense.")) for name in changed)


def test_a_model_with_a_linear_layer_is_trained_further(tmp_path):
    folder = make_sentence_transformers(tmp_path / "again", seed=3, normalize=False)
    add_dense(folder, 64, activation="Tanh")
    done = distilled(tmp_path, base=str(folder), options={"dimension": 0}, steps=2)
    card = find_model(str(done.folder)).card
    assert card.network.options == {"dense": ["tanh"]}
    assert not card.network.normalize
    with pytest.raises(InputError, match=r"asks for a linear layer of dimension 64 on .*: it has one"):
        distilled(tmp_path / "other", base=str(folder), steps=2)


def test_lengths_that_can_not_be(tmp_path):
    with pytest.raises(InputError, match="and can't have it: choose 0 or more"):
        distilled(tmp_path / "a", options={"dimension": -1}, steps=1)
    with pytest.raises(InputError, match="or set the option dimension of what is trained to 64"):
        distilled(tmp_path / "b", options={"dimension": 0}, steps=1)
    codes = make_model(tmp_path / "codes", codes=True)
    with pytest.raises(InputError, match="and can't have it: its vector is a code's"):
        distilled(tmp_path / "c", base=str(codes), steps=1)
