"""Every builder that asks papers about each other, from a recipe to a trained model."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from encoders.registry import find_model
from tests.tiny import make_model, papers
from tests.training.data.papers import paper, source
from tests.training.recipes import read_recipe, toml, write
from training.data.builders.base import drawn, drawn_papers, id_of, identity_of
from training.data.builders.registry import BUILDERS
from training.train import train

_PAGE = (Path(__file__).parents[3] / "docs" / "training.md").read_text()
_TYPES = {
    "labels": "classification",
    "numbers": "regression",
    "distilled": "ranked",
    **dict.fromkeys(("citations", "neighbours", "coupling", "label-pairs", "topic-pairs", "dpr"), "triplet"),
    **dict.fromkeys(("pseudo-queries", "mined"), "ir"),
    **dict.fromkeys(("whitened", "hybrid-queries", "teacher"), "vectors"),
}
_FILES = {"labels": ("classes",), "citations": ("graph",), "neighbours": ("graph",), "label-pairs": ("labels",)}


def test_each_builder_has_its_type_and_its_files():
    assert {name: one.type for name, one in BUILDERS.items()} == _TYPES
    assert {name: one.files for name, one in BUILDERS.items() if one.files} == _FILES


def defaults_on_the_page(name):
    row = re.search(rf"^\| `{name}` \|.*$", _PAGE, re.MULTILINE)[0]
    pairs = reversed(re.findall(r"`(\w+) = ([^`]+)`", row))  # the first value of each
    own = {key: json.loads(value) for key, value in pairs}
    return (defaults_on_the_page("pseudo-queries") if "as `pseudo-queries`" in row else {}) | own


@pytest.mark.parametrize("name", BUILDERS)
def test_the_page_names_every_option_with_its_default(name):
    """The task's own key sets `multi_label`."""
    wanted = {key: value for key, value in BUILDERS[name].options.items() if key != "multi_label"}
    found = defaults_on_the_page(name)
    assert {key: found.get(key) for key in wanted} == wanted


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


def test_some_papers_are_drawn_by_their_ids():
    papers = [paper(number) for number in range(40)]
    chances = {one["id"]: drawn(7, one["id"]) for one in papers}
    for most in (1, 5, 39):
        given = source(papers, seed=7)
        found = [one["id"] for one in drawn_papers(given, most).papers()]
        lowest = sorted(chances, key=chances.get)[:most]
        assert found == [one["id"] for one in papers if one["id"] in lowest]
        assert given.left_out == {"not drawn": 40 - most}
    for most in (0, 40, 99):
        given = source(papers, seed=7)
        assert drawn_papers(given, most) is given
        assert not given.left_out


def test_what_a_paper_is_called():
    assert id_of({"title": "T"}) == "T"
    assert id_of({}) == ""
    assert identity_of({}) == ""
    assert source([], fields=("title", "year")).text_of({"title": "", "year": 3, "abstract": "x"}) == {"year": 3}
