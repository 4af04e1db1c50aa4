"""Every builder that asks papers about each other, from a recipe to a trained model."""

from __future__ import annotations

import json

import pytest

from encoders.registry import find_model
from tests.tiny import make_model, papers
from tests.training.recipes import toml, write
from training.data.builders.registry import BUILDERS
from training.recipe import read_recipe
from training.train import train

_EASY = {"least": 5, "most_score": 5.0, "most_alike": 1.0}


def write_papers(folder):
    made = [one for one in papers(60) if len(one.abstract.split()) > 12]
    records = [
        {
            "id": one.id,
            "title": one.title,
            "abstract": f"{one.abstract}. So {one.title} is {number}.",
            "label": list(one.fields) or ["Art"],
            "venue": one.venue,
            "keywords": list(one.fields),
        }
        for number, one in enumerate(made)
    ]
    passages = [{"title": one["title"], "text": one["abstract"]} for one in records]
    questions = [
        {"question": one["title"], "positive_ctxs": [passages[n]], "hard_negative_ctxs": [passages[n - 1]]}
        for n, one in enumerate(records)
    ]
    write(folder / "papers.jsonl", records)
    write(folder / "questions.jsonl", questions)


_TASKS = {
    "distilled": {**_EASY, "teachers": "bm25 base model:TEACHER"},
    "dpr": {},
    "label-pairs": {},
    "mined": _EASY,
    "pseudo-queries": _EASY,
    "topic-pairs": {"widest": 1.0, "field": "label"},
}


def task(builder, options):
    known = {name: value for name, value in options.items() if name in BUILDERS[builder].options}
    inline = ", ".join(f"{name} = {json.dumps(value)}" for name, value in known.items())
    file = "questions.jsonl" if builder == "dpr" else "papers.jsonl"
    return (
        f'[[tasks]]\nname = "{builder}"\nformat = "prx"\nquery_format = "qry"\n'
        f'[tasks.build]\nbuilder = "{builder}"\npapers = ["{file}"]\nvalidation = 0.2\noptions = {{{inline}}}\n'
    )


@pytest.mark.torch
def test_a_recipe_trains_on_what_the_builders_make(tmp_path):
    write_papers(tmp_path)
    base = make_model(tmp_path / "base")
    values = {"base": str(base), "trains": "adapters", "learning_rate": 0.01, "steps": 2}
    tasks = "".join(task(builder, options) for builder, options in _TASKS.items())
    tasks = tasks.replace("TEACHER", str(base))
    (tmp_path / "recipe.toml").write_text(toml(values) + tasks)
    told = []
    done = train(read_recipe(tmp_path / "recipe.toml"), tmp_path / "run", say=told.append)
    assert (done.steps, done.unusable) == (2, dict.fromkeys(_TASKS, 0))
    sources = {one["built"]: one["sources"] for one in told if "built" in one}
    assert sources["distilled"][f"model {base}"] == find_model(str(base)).card.fingerprint
    built = {one["built"]: one["records"] for one in told if "built" in one}
    assert built.keys() == _TASKS.keys()
    assert all(counts["train"] > 10 and counts["validation"] > 0 for counts in built.values())
    assert all(0 <= done.measures[name] <= 1 for name in _TASKS)
