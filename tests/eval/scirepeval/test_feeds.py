"""What the published task file leaves out: Feeds-1, Feeds-M and Feeds Title as task lines, and S2AND's figure.

The data are invented, in the form that docs/evaluation.md names; MAP is compared with scikit-learn's average precision.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from tests.commands import fails, ses
from tests.eval.scirepeval.worlds import write_jsonl
from tests.eval.vectors_by_hand import write_vectors

PAGE = Path(__file__).parents[3] / "docs" / "evaluation.md"


def lines():
    """The task lines that the page gives."""
    (block,) = re.findall(r"```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return [json.loads(line) for line in block.splitlines()]


def draw(folder):
    """Write the three tasks, and return the vectors and, by task, the judgments of each query."""
    rng = np.random.default_rng(9)
    vectors, judged = {}, {}
    for line in lines():
        config, queries, table = line["data"]["meta"]["config"], [], []
        judged[line["name"]] = {}
        for number in range(12):
            query = f"{config}-q{number}"
            names = [f"{query}-c{place}" for place in range(10)]
            scores = [int(place < 5) for place in range(10)]
            vectors |= {name: rng.standard_normal(6) for name in (query, *names)}
            pairs = list(zip(names, scores, strict=True))
            candidates = [{"doc_id": name, "title": name, "score": score} for name, score in pairs]
            is_paper = line["type"] == "proximity"
            asked = {"query": {"doc_id": query, "title": query} if is_paper else f"words {number}"}
            queries.append({"doc_id": query, **asked, "candidates": candidates})
            table += [{"query_id": query, "cand_id": name, "score": score} for name, score in pairs]
            judged[line["name"]][query] = dict(pairs)
        write_jsonl(folder / "scirepeval" / config / "metadata.jsonl", queries)
        write_jsonl(folder / "scirepeval_test" / config / "test_qrel.jsonl", table)
    return vectors, judged


@pytest.fixture
def feeds(tmp_path):
    vectors, judged = draw(tmp_path / "data")
    write_jsonl(tmp_path / "tasks.jsonl", lines())
    files = ("--data", tmp_path / "data", "--embeddings", write_vectors(tmp_path / "v.jsonl", vectors))
    return ("eval", "task", tmp_path / "tasks.jsonl", *files), vectors, judged


def test_feeds_are_run_by_the_lines_of_the_page(feeds, tmp_path):
    given, vectors, judged = feeds
    told = json.loads(ses(tmp_path, *given, "--json").stdout)
    found = {row["task"]: row["measures"]["measured"]["mean"] for row in told["rows"]}
    wanted = {}
    for name, queries in judged.items():
        of_each = [
            average_precision_score(
                list(scores.values()), [-np.linalg.norm(vectors[one] - vectors[query]) for one in scores]
            )
            for query, scores in queries.items()
        ]
        wanted[f"{name}, map"] = pytest.approx(np.mean(of_each), abs=1e-6)
    assert found == wanted
    assert told["averages"]["groups"]["Out-of-Train"] == pytest.approx(np.mean(list(found.values())))
    assert not {"Feeds-1", "Feeds-M", "Feeds Title"} & set(told["averages"]["missing"])


def test_a_figure_of_another_program_joins_the_averages(feeds, tmp_path):
    given, _, _ = feeds
    told = json.loads(ses(tmp_path, *given, "--figure", "s2and=0.93", "--json").stdout)
    found = [row["measures"]["measured"]["mean"] for row in told["rows"]]
    assert told["averages"]["groups"]["Out-of-Train"] == pytest.approx(np.mean([*found, 0.93]))
    assert told["measured_elsewhere"] == {"S2AND": 0.93}
    assert "S2AND" not in told["averages"]["missing"]


@pytest.mark.parametrize(
    ("figure", "told"),
    [
        ("S2AND", "--figure S2AND has no number: write it as in --figure S2AND=0.93."),
        ("S2AND=93", "The figure of S2AND is 93; give one from 0 to 1."),
        ("Feeds-1=0.8", "The task Feeds-1 is run here: leave its figure out."),
        ("SciDocs Cite=0.8", "'SciDocs Cite' has no single figure in SciRepEval's averages; correct its name."),
    ],
)
def test_figures_that_can_not_be_taken(feeds, tmp_path, figure, told):
    fails(ses(tmp_path, *feeds[0], "--figure", figure), 2, told)
