"""A paper is held out in all tasks or in none, whatever builds them."""

from __future__ import annotations

import json
import re

import pytest

from eval.frozen import title_key
from tests.tiny import WORDS, make_model
from tests.training.data.papers import paper
from tests.training.data.test_mined import encoder  # noqa: F401 - a fixture
from tests.training.recipes import read_recipe, write
from training.data.builders.base import drawn, identity_of
from training.data.builders.registry import BUILDERS
from training.data.building import build_tasks

SHARE = 0.3
PAPERS = 150
MINED = {"least": 5, "most_score": 5.0, "most_alike": 1.0, "by": "bm25", "negatives": 2}
OPTIONS = {
    "coupling": {"fewest": 1},
    "distilled": {"least": 5, "teachers": "bm25", "candidates": 4},
    "hybrid-queries": {"least": 5, "depth": 10},
    "labels": {"fewest": 2},
    "mined": MINED,
    "neighbours": {"dimension": 8, "positives": 2, "positive_end": 4, "hard": 2, "hard_end": 20},
    "numbers": {"field": "year"},
    "pseudo-queries": {"least": 5, "negatives": 3},
    "teacher": {"teacher": "model:TEACHER"},
    "topic-pairs": {"widest": 0.5},
}
"""What the builders need to make records of so few papers."""


def numbered(number):
    """Return a paper whose every text says its number."""
    words = " ".join(WORDS[number % 20 : number % 20 + 5])
    return paper(
        number,
        title=f"Study paper{number}x {words}",
        abstract=f"About paper{number}x and {words}. So paper{number}x is {words} in the end.",
        keywords=[f"paper{number}x", words],
        label="abc"[number % 3],
        topics=[f"topic {number % 10}"],
        year=1900 + number,
        references=[f"r{number % 12}"],
        references_in_set=[f"p{(number * k) % PAPERS}" for k in (2, 3, 7)],
    )


def judged(number):
    """Return a query with two answers and a wrong paper, which occur in no other file."""
    texts = [{"title": f"Study paper{n}x", "abstract": f"Only here paper{n}x."} for n in range(number, number + 4)]
    return {"query": texts[0], "candidates": [{**one, "score": n != 2} for n, one in enumerate(texts[1:])]}


def question(number):
    passages = [
        {"title": one["title"], "text": one["abstract"]} for one in map(numbered, range(number + 1, number + 3))
    ]
    asks = "[SEP]".join(numbered(number)[part] for part in ("title", "abstract"))
    return {"question": asks, "positive_ctxs": passages[:1], "hard_negative_ctxs": passages[1:]}


@pytest.fixture(scope="module")
def built(encoder, tmp_path_factory):  # noqa: F811
    """Build a task with every builder; return what was said of each, with its records."""
    folder = tmp_path_factory.mktemp("built")
    write(folder / "papers.jsonl", map(numbered, range(PAPERS)))
    write(folder / "judged.jsonl", map(judged, range(200, 400, 4)))
    write(folder / "questions.jsonl", map(question, range(PAPERS - 3)))
    text = 'base = "base"\ntrains = "adapters"\nlearning_rate = 0.01\n'
    for name, builder in BUILDERS.items():
        files = ["questions.jsonl"] if name == "dpr" else ["papers.jsonl"]
        files += ["judged.jsonl"] if "titles" in builder.options else []
        # Another share, and fields without the title, change nothing.
        share, fields = (0.1, '["abstract"]') if name == "labels" else (SHARE, '["title", "abstract"]')
        options = ", ".join(f"{key} = {json.dumps(value)}" for key, value in OPTIONS.get(name, {}).items())
        text += (
            f'[[tasks]]\nname = "{name}"\nformat = "prx"\nfields = {fields}\n[tasks.build]\nbuilder = "{name}"\n'
            f"papers = {json.dumps(files)}\nvalidation = {share}\noptions = {{{options}}}\n"
        )
    (folder / "recipe.toml").write_text(text.replace("TEACHER", str(make_model(folder / "teacher"))))
    told = []
    recipe = read_recipe(folder / "recipe.toml")
    done = build_tasks(recipe, "base", lambda *name, **options: encoder, folder / "data", told.append)
    said = {one["built"]: one for one in told}
    return {task.name: (said[task.name], lines(task.train), lines(task.validation)) for task in done.tasks}


def lines(path):
    return list(map(json.loads, path.read_text().splitlines()))


def numbers_in(record):
    return {int(number) for number in re.findall(r"paper(\d+)x", json.dumps(record))}


def held_out(title):
    return drawn("validation", title_key(title)) < SHARE


HELD = {n for n in range(PAPERS) if held_out(numbered(n)["title"])} | {
    n for n in range(200, 500) if held_out(f"Study paper{n}x")
}


@pytest.mark.parametrize("name", BUILDERS)
def test_no_training_record_holds_a_paper_that_is_held_out(built, name):
    told, train, validation = built[name]
    assert len(train) >= 10
    assert validation
    assert set().union(*map(numbers_in, train)).isdisjoint(HELD)
    assert all(numbers_in(record) & HELD for record in validation)
    assert told["records"] == {"train": len(train), "validation": len(validation)}


@pytest.mark.parametrize("name", ["citations", "neighbours", "coupling", "topic-pairs", "dpr"])
def test_triplets_of_a_held_out_positive_or_negative_are_counted(built, name):
    told, train, _ = built[name]
    lost = told["papers"]["left out: held-out paper beside the one it asks about"]
    # Of the triplets of a training paper, those without a held-out one are left: .7 x .7 of them.
    assert len(train) / (len(train) + lost) == pytest.approx((1 - SHARE) ** 2, abs=0.15)


def test_queries_of_training_papers_keep_their_candidates(built):
    for name, count in (("pseudo-queries", 4), ("distilled", 4), ("mined", 3)):
        _, train, validation = built[name]
        sizes = {len(one["candidates"]) for one in train if isinstance(one["query"], str)}
        assert sizes == {count}, name
        others = set().union(*(numbers_in(one["candidates"]) for one in validation))
        assert others - HELD, f"{name}: a query to validate on has all candidates"


def test_a_judged_query_loses_the_answers_that_are_held_out(built):
    told, train, _ = built["pseudo-queries"]
    answers = [sum(one["score"] for one in record["candidates"]) for record in train if "Only here" in str(record)]
    assert {1, 2} <= set(answers)
    assert told["papers"]["left out: its answers are held out"] > 0


def test_a_paper_of_a_larger_share_elsewhere_does_not_train(built):
    told, train, validation = built["labels"]
    lost = told["papers"]["left out: held-out paper of another task"]
    assert lost > 0
    assert len(train) + len(validation) + lost == PAPERS
    assert len(validation) == sum(drawn("validation", title_key(numbered(n)["title"])) < 0.1 for n in range(PAPERS))


def test_a_paper_is_the_same_in_every_file():
    title = "Müller & sons: on <i>E. coli</i>"
    forms = [
        {"id": "PMID:1", "title": title},
        {"doi": "10.1000/a", "title": "MULLER AND SONS &#8211; on E. coli.", "abstract": "x"},
        "Müller and sons: on E. coli",
    ]
    assert len({identity_of(one) for one in forms}) == 1
    bare = [{"id": "10.1000/A"}, {"externalIds": {"DOI": "https://doi.org/10.1000/a"}, "abstract": "y"}]
    assert {identity_of(one) for one in bare} == {"doi:10.1000/a"}
    assert identity_of({"text": "Some words."}) == identity_of("some WORDS")
