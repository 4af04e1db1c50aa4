"""Table 7 of UniPR on invented data in its form, against scipy's ranks."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import rankdata

from corpora.errors import InputError
from encoders.layouts.unipr import factor_models
from encoders.models.formats import Format
from encoders.registry import find_model
from eval.reviewers.factor_ranks import evaluate_factor_ranks, read_factor_tasks
from ses.terminal.commands.eval import eval_
from tests.encoders.checkpoints import make_unipr
from tests.eval.vectors_by_hand import embedder, write_lines, write_vectors
from tests.tiny import WORDS

FACTORS = ("semantic", "topic", "citation")


def paper(name):
    return {"paper": name, "title": f"title {name}", "abstract": f"abstract {name}"}


def draw(folder, queries=30, among=100):
    """Write the three tasks, and return vectors by factor, of small numbers, so that many scores are equal."""
    folder.mkdir()
    rng = np.random.default_rng(7)
    vectors = {}
    for factor in FACTORS:
        lines = []
        for number in range(queries):
            names = [f"{factor} {number} {place}" for place in range(among)]
            scored = [(paper(name) if factor == "citation" else {"title": name}) | {"score": 0} for name in names]
            scored[int(rng.integers(among))]["score"] = 1
            lines.append({"query": f"query {factor} {number}", "candidates": scored})
            vectors.setdefault(factor, {}).update({name: rng.integers(-2, 3, 3) for name in names})
            vectors[factor][f"query {factor} {number}"] = rng.integers(-2, 3, 3)
        write_lines(folder / f"{factor}.jsonl", lines)
    return vectors


def by_scipy(folder, factor, vectors):
    ranks = []
    for line in (folder / f"{factor}.jsonl").read_text().splitlines():
        read = json.loads(line)
        names = [one.get("paper") or one["title"] for one in read["candidates"]]
        scores = np.array([vectors[name] @ vectors[read["query"]] for name in names])
        place = [one["score"] for one in read["candidates"]].index(1)
        ranks.append(rankdata(-scores)[place])
    return ranks


def measured(task, vectors):
    return evaluate_factor_ranks(task, partial(embedder(vectors), task_format=Format.PRX))


def test_mean_ranks_are_those_of_scipy(tmp_path):
    vectors = draw(tmp_path / "KDD")
    tasks = read_factor_tasks(tmp_path / "KDD", FACTORS)
    for factor, task in tasks.items():
        ranks = by_scipy(tmp_path / "KDD", factor, vectors[factor])
        found = measured(task, vectors[factor])
        assert list(found.per_unit["mean rank"].values()) == ranks
        assert found.cells["mean rank"].mean == pytest.approx(np.mean(ranks))
        assert found.cells["mean rank"].low > 1


def test_equal_scores_have_the_expected_rank_of_chance(tmp_path):
    vectors = draw(tmp_path / "KDD")["topic"]
    task = read_factor_tasks(tmp_path / "KDD", ["topic"])["topic"]
    assert measured(task, dict.fromkeys(vectors, np.ones(3))).cells["mean rank"].mean == 50.5


def test_what_has_no_vector_is_counted(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    others = [paper(name) | {"score": 0} for name in ("x", "y", "z")]
    line = {"candidates": [*others, paper("right") | {"score": 1}]}
    write_lines(folder / "citation.jsonl", [line | {"query": name} for name in ("a", "b")])
    task = read_factor_tasks(folder, FACTORS)["citation"]
    found = measured(task, {"a": [1.0, 0.0], "x": [2.0, 0.0], "right": [1.0, 0.0]})
    assert found.per_unit["mean rank"] == {"1": 2.0}
    assert found.counts == {"queries": 1, "queries_missing": 1, "relevant_missing": 0, "candidates_missing": 2}
    found = measured(task, {"a": [1.0, 0.0], "x": [-2.0, 0.0]})
    assert (found.per_unit["mean rank"], found.counts["relevant_missing"]) == ({"1": 4.0}, 1)


def test_the_command_takes_files_of_vectors_by_factor(tmp_path):
    vectors = draw(tmp_path / "KDD", queries=6, among=20)
    files = [f"--embeddings={name}={write_vectors(tmp_path / name, given)}" for name, given in vectors.items()]
    done = CliRunner().invoke(eval_, ["factors", "--data", str(tmp_path / "KDD"), *files, "--json"])
    assert done.exit_code == 0, done.output
    found = {row["factor"]: row["measures"]["mean rank"]["mean"] for row in json.loads(done.stdout)["rows"]}
    assert found == {name: pytest.approx(np.mean(by_scipy(tmp_path / "KDD", name, vectors[name]))) for name in FACTORS}


@pytest.mark.torch
def test_a_checkpoint_reads_each_factor_under_its_instruction(tmp_path):
    folder = tmp_path / "NIPS"
    folder.mkdir()
    for factor in FACTORS:
        candidates = [{"title": word, "score": int(word == "virus")} for word in WORDS[:10]]
        write_lines(folder / f"{factor}.jsonl", [{"query": "a virus", "candidates": candidates}])
    model = make_unipr(tmp_path / "cof.ckpt", seed=1, layers=2)
    given = ["factors", "--data", str(folder), "--model", str(model), "--json"]
    done = CliRunner().invoke(eval_, given, env={"SES_CACHE_DIR": str(tmp_path / "cache")})
    assert done.exit_code == 0, done.exception or done.output
    told = json.loads(done.stdout)
    assert "cited by the query" in told["factors"]["citation"]["instruction"]
    # Section 4.4: that of pairs of papers is not suitable to find names of topics.
    tag = "Tag a scientific paper with relevant scientific topic classes."
    topic = told["factors"]["topic"]
    assert topic["instruction"] == tag
    assert topic["fingerprint"] == factor_models(find_model(str(model)), {"topic": tag})["topic"].card.fingerprint
    assert [row["factor"] for row in told["rows"]] == list(FACTORS)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ({"query": "a"}, "a line holds a query and a list of candidates"),
        ({"candidates": []}, "a line holds a query and a list of candidates"),
        ({"query": "a", "candidates": [3]}, "a line holds a query and a list of candidates"),
        ({"query": "a", "candidates": [{"title": "x", "score": 0}]}, "one candidate has the score 1"),
        ({"query": "a", "candidates": [{"score": 1}]}, "has no text"),
        ({"query": "", "candidates": [{"title": "x", "score": 1}]}, "has no text"),
        ({"query": {"paper": "p", "title": "a"}, "candidates": [paper("p") | {"score": 1}]}, "the id p has two texts"),
        ({"query": "a", "candidates": [{"title": "x", "score": 1}, {"title": "x"}]}, "a candidate comes twice"),
    ],
)
def test_mistakes(tmp_path, line, told):
    write_lines(tmp_path / "topic.jsonl", [line])
    with pytest.raises(InputError, match=rf"topic\.jsonl, line 1: .*{told}"):
        read_factor_tasks(tmp_path, FACTORS)


def test_a_folder_without_tasks(tmp_path):
    with pytest.raises(InputError, match=r"holds none of semantic\.jsonl, topic\.jsonl, citation\.jsonl"):
        read_factor_tasks(tmp_path, FACTORS)
