"""SciRepEval's task file."""

from __future__ import annotations

import json

import pytest

from corpora.errors import InputError
from eval.scirepeval.task_file import HubTable, choose_tasks, key_of, known_metrics, ranking_measure, read_tasks
from tests.eval.scirepeval.worlds import a_task, write_jsonl

HUB = {
    "meta": {"name": "allenai/scirepeval", "config": "fos"},
    "test": {"name": "allenai/scirepeval_test", "config": "fos"},
}


def test_lines_of_the_original_are_read_as_they_are(tmp_path):
    lines = [
        {
            "name": "Fields of study", "type": "classification", "data": HUB, "metrics": ["f1_macro"],
            "few_shot": [{"sample_size": 10, "iterations": 50}], "multi_label": True,
        },
        {
            "name": "SciDocs Cite", "type": "proximity", "data": {"simple_format": True, **HUB},
            "embeddings": {"save": "embeddings/x.jsonl"}, "metrics": ["map", "ndcg"],
        },
        {
            "name": "Search", "type": "adhoc_search", "data": {"meta": "search.jsonl"}, "batch_size": 16,
            "fields": ["title", "abstract", "venue", "year"], "metrics": ["ndcg"],
        },
        {
            "name": "Paper-Reviewer Matching", "type": "proximity",
            "data": {**HUB, "reviewers": {"name": "allenai/scirepeval_test", "config": "reviewers"}},
            "metrics": ["P_5"],
        },
    ]  # fmt: skip
    fos, cite, search, matching = read_tasks(write_jsonl(tmp_path / "tasks.jsonl", lines))
    assert (fos.multi_label, fos.few_shot[0].iterations, fos.fields) == (True, 50, ("title", "abstract"))
    assert cite.data.simple_format
    assert cite.data.judged == HubTable("allenai/scirepeval_test", "fos")
    assert search.data.judged == "search.jsonl"
    assert matching.data.reviewers == HubTable("allenai/scirepeval_test", "reviewers")


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"kind": "clustering"}, "line 1: type: .*'classification', 'regression', 'proximity' or 'adhoc_search'"),
        ({"metrics": ["f2"]}, "no measure 'f2', only f1, precision, recall, accuracy, f1_macro"),
        ({"kind": "regression"}, "a regression task has no measure 'f1', only kendalltau, pearsonr, r2, mse"),
        ({"kind": "proximity", "metrics": ["P"]}, "no measure 'P', only .*P_N"),
        ({"kind": "proximity", "metrics": ["P_N"]}, "no measure 'P_N'"),
        ({"kind": "proximity", "metrics": ["P_0"]}, "no measure 'P_0'"),
        ({"metrics": []}, "metrics: "),
        ({"few_shots": []}, "few_shots is no member of a task"),
        (
            {"kind": "regression", "metrics": ["r2"], "few_shot": [{"sample_size": 1, "iterations": 1}]},
            "few_shot belongs",
        ),
        ({"data": {"meta": {"name": "a", "config": "../../etc"}}}, r"data\.meta\.config: "),
    ],
)
def test_what_isnt_known_is_told_with_what_is(tmp_path, members, message):
    with pytest.raises(InputError, match=message):
        a_task(tmp_path, **members)


def test_a_broken_line_a_repeated_name_and_an_empty_file_are_told(tmp_path):
    line = {"name": "A", "type": "regression", "data": HUB, "metrics": ["mse"]}
    path = tmp_path / "tasks.jsonl"
    for text, message in ((json.dumps(line) + "\n{", "line 2: this is no task"), ("\n", "holds no tasks")):
        path.write_text(text)
        with pytest.raises(InputError, match=message):
            read_tasks(path)
    with pytest.raises(InputError, match="line 2: the task A came before"):
        read_tasks(write_jsonl(path, [line, line]))


def test_tasks_are_chosen_by_name_in_any_spelling(tmp_path):
    lines = [
        {"name": name, "type": "regression", "data": HUB, "metrics": ["mse"]} for name in ("Feeds-1", "Max hIndex")
    ]
    tasks = read_tasks(write_jsonl(tmp_path / "tasks.jsonl", lines))
    assert choose_tasks(tasks, ()) == tasks
    assert [task.name for task in choose_tasks(tasks, ("max hindex", "feeds_1"))] == ["Max hIndex", "Feeds-1"]
    with pytest.raises(InputError, match="no task 'DRSM' in the file; it has: Feeds-1, Max hIndex"):
        choose_tasks(tasks, ("DRSM",))
    assert key_of("SciDocs MeSH") != key_of("MeSH")


def test_ranking_measures_are_trec_evals():
    from ir_measures import parse_trec_measure

    from eval.measures.metrics import parse_measure

    for name in (name.replace("_N", "_5") for name in known_metrics("proximity")):
        assert [parse_measure(ranking_measure(name)).definition] == parse_trec_measure(name)
