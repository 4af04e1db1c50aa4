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
_QUERIES = {
    "titles": 1,
    "conclusions": 1,
    "keywords": 1,
    "citations": 1,
    "keyword_fields": "keywords,mesh_major",
    "citation_field": "citation_sentences",
    "shortest": 3,
    "longest": 64,
    "least": 30,
}
_LABELS = {"field": "label", "fewest": 8, "most": 0, "multi_label": False, "level": -1, "score": 0, "until": ""}
_MINED = {
    "by": "bm25 base",
    "first": 1,
    "last": 50,
    "negatives": 1,
    "hardest": False,
    "most_score": 0.95,
    "most_alike": 0.7,
}
_DISTILLED = {"teachers": "bm25 base", "weights": "", "fusion": "minmax", "depth": 60, "candidates": 8, "top": 3}
_HYBRID = {
    "most": 0,
    "depth": 60,
    "teacher_temperature": 0.07,
    "temperature": 0.05,
    "answer": 0.3,
    "steps": 5,
    "rate": 0.2,
}
_BANDS = {"positives": 5, "positive_end": 25, "hard": 2, "hard_end": 4000, "easy": 3}
_DEFAULTS = {
    "labels": ("classification", _LABELS, ("classes",)),
    "numbers": (
        "regression",
        {"field": "label", "log": False, "unknown": -1, "scale": "none", "most": 0, "words": 0},
        (),
    ),
    "citations": ("triplet", {"references": "references_in_set", "per_query": 5, "hard": 0.5}, ("graph",)),
    "neighbours": ("triplet", {"references": "references_in_set", "dimension": 128, **_BANDS}, ("graph",)),
    "coupling": ("triplet", {"field": "references", "fewest": 2, "per_query": 5}, ()),
    "pseudo-queries": ("ir", {**_QUERIES, "negatives": 1}, ()),
    "mined": ("ir", {**_QUERIES, **_MINED}, ()),
    "distilled": ("ranked", {**_QUERIES, **_DISTILLED}, ()),
    "whitened": ("vectors", {"most": 0, "strength": 0.5}, ()),
    "hybrid-queries": ("vectors", {**_QUERIES, **_HYBRID}, ()),
    "teacher": (
        "vectors",
        {**_QUERIES, "teacher": "", "texts": "papers", "most": 0, "runtime": "", "precision": "fp32"},
        (),
    ),
    "label-pairs": ("triplet", {"field": "label", "level": -1, "most": 100, "related": "venue"}, ("labels",)),
    "topic-pairs": ("triplet", {"field": "topics", "level": -1, "widest": 0.01, "pairs": 1, "related": "venue"}, ()),
    "dpr": ("triplet", {"pairs": 1}, ()),
}


def test_the_builders_and_their_defaults():
    assert {name: (one.type, dict(one.options), one.files) for name, one in BUILDERS.items()} == _DEFAULTS


@pytest.mark.parametrize("name", BUILDERS)
def test_the_page_names_the_defaults(name):
    row = re.search(rf"^\| `{name}` \|.*$", _PAGE, re.MULTILINE)[0]
    told = dict(reversed(re.findall(r"`(\w+) = ([^`]+)`", row)))  # the first value of each
    assert {key: json.loads(value) for key, value in told.items()}.items() <= _DEFAULTS[name][1].items()


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
