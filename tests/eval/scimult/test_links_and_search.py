"""Links and searches: nDCG with ties by hand, recall by the plain definition, the commands."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from corpora.errors import InputError
from encoders.models.formats import Format
from eval.scimult import evaluate_links, evaluate_searches, find_sets, read_links, read_searches
from tests.commands import ses
from tests.eval.scimult.worlds import paper
from tests.eval.vectors_by_hand import embedder, write_lines
from tests.tiny import make_model


def dcg(*gains):
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def test_recall_over_all_papers_with_the_query_among_them(tmp_path):
    rng = np.random.default_rng(0)
    names = [f"d{i:03d}" for i in range(160)]
    links = {name: rng.choice(names, 5, replace=False).tolist() for name in names[:30]}
    lines = [paper(name, cite=links.get(name, []), **{"co-cite": links[name][:1] if i < 4 else []})
             for i, name in enumerate(names)]  # fmt: skip
    write_lines(tmp_path / "SciDocs_papers_test.json", lines)
    vectors = {name: rng.integers(-2, 3, 3) for name in names}
    found = evaluate_links(read_links(tmp_path, "SciDocs"), embedder(vectors))
    assert list(found) == ["cite", "co-cite"]
    for cutoff in (20, 50, 100):
        wanted = {}
        for query, others in links.items():
            ranked = sorted(names, key=lambda name: (vectors[name] @ vectors[query], name), reverse=True)
            wanted[query] = len(set(ranked[:cutoff]) & set(others)) / 5
        assert found["cite"].per_unit[f"R@{cutoff}"] == pytest.approx(wanted)
        assert found["cite"].cells[f"R@{cutoff}"].mean == pytest.approx(np.mean(list(wanted.values())))
    assert found["co-cite"].counts["queries"] == 4
    del vectors["d000"]
    again = evaluate_links(read_links(tmp_path, "SciDocs"), embedder(vectors))["cite"]
    assert (again.per_unit["R@100"]["d000"], again.counts["queries_missing"], again.counts["candidates_missing"]) == (
        *(0.0, 1, 1),
    )


def test_reranking_by_grades_with_a_tie(tmp_path):
    lines = [
        paper("q", score={"a": 5, "b": 1, "c": 3, "lost": 2}),
        *(paper(name, score={}) for name in "abc"),
        paper("lost", score=None),
    ]
    write_lines(tmp_path / "Recommendation_papers_test.json", lines)
    vectors = {"q": (1.0, 0.0), "a": (2.0, 0.0), "b": (2.0, 9.0), "c": (3.0, 0.0)}
    found = evaluate_links(read_links(tmp_path, "Recommendation"), embedder(vectors))[""]
    # c, then b before a, which ties with it; `lost` has no vector, but its grade counts.
    wanted = dcg(3, 1, 5) / dcg(5, 3, 2, 1)
    assert {name: cell.mean for name, cell in found.cells.items()} == pytest.approx(
        {"nDCG@5": wanted, "nDCG@10": wanted, "nDCG": wanted}
    )
    assert found.counts["candidates_missing"] == 1
    assert found.counts["queries"] == 1
    # By cosine a and c tie, and b is last.
    found = evaluate_links(read_links(tmp_path, "Recommendation"), embedder(vectors), similarity="cosine")[""]
    assert found.cells["nDCG"].mean == pytest.approx(dcg(3, 5, 1) / dcg(5, 3, 2, 1))


def test_patients_are_queries_of_their_own(tmp_path):
    write_lines(tmp_path / "PPR_patients_test.json", [{**paper("x"), "patient": f"n{i}"} for i in range(30)])
    write_lines(tmp_path / "PPR_queries_test.json", [{**paper("x"), "query": "who", "patient": ["n3", "n25", "gone"]}])
    vectors = {f"n{i}": (float(-i), 0.0) for i in range(30)} | {"who": (1.0, 0.0)}
    found = evaluate_links(read_links(tmp_path, "PPR"), embedder(vectors))["patient"]
    assert [found.cells[f"R@{k}"].mean for k in (20, 50)] == pytest.approx([1 / 3, 2 / 3])
    assert found.counts["links_to_unknown_papers"] == 1


def test_all_counts_of_links_and_searches(tmp_path):
    lines = [
        paper("a", cite=["b", "b", "gone", ""]),
        paper("b", cite=["a"]),
        paper("c", **{"co-cite": ["a"]}),
        paper("d"),
    ]
    write_lines(tmp_path / "L_papers_test.json", lines)
    data = read_links(tmp_path, "L")
    assert [text.id for text in data.queries] == ["a", "b", "c"]
    assert data.linked == {"cite": {"a": {"b", "gone"}, "b": {"a"}}, "co-cite": {"c": {"a"}}}
    found = evaluate_links(data, embedder({"a": (1.0, 0.0), "b": (2.0, 0.0), "d": (0.5, 0.0)}))
    assert {relation: dict(outcome.counts) for relation, outcome in found.items()} == {
        "cite": {
            "queries": 2,
            "queries_missing": 0,
            "candidates": 4,
            "candidates_missing": 1,
            "links_to_unknown_papers": 1,
        },
        "co-cite": {
            "queries": 1,
            "queries_missing": 1,
            "candidates": 4,
            "candidates_missing": 1,
            "links_to_unknown_papers": 0,
        },
    }
    for name, rerank in (("SciFact", False), ("TRECCOVID_SciRepEval", True), ("Search", True)):
        searches = write_search(tmp_path, name)
        assert (searches.rerank, searches.ungraded) == (rerank, 1)
        known = {one: vector for one, vector in VECTORS.items() if one not in ("2", "x00")}
        assert evaluate_searches(searches, embedder(known)).counts == {
            "queries": 2,
            "queries_missing": 1,
            "queries_without_relevant": 0,
            "queries_without_grades": 1,
            "papers": 14,
            "papers_missing": 1,
            "judged_papers_missing": 1,
        }


def test_sets_are_found_by_the_names_of_their_files_also_packed(tmp_path):
    for name in ("B_papers_test.json", "A_patients_test.json.gz", "C_papers_test.json.xz", "C_label.json", "D_queries"):
        (tmp_path / name).write_text("")
    assert find_sets(tmp_path) == ("A", "B", "C")
    with pytest.raises(InputError, match=r"There is no A_papers_test\.json in .*; its sets are: A, B, C"):
        read_searches(tmp_path, "A")


def test_lines_without_ids_are_called_by_their_number(tmp_path):
    write_lines(tmp_path / "P_patients_test.json", [{"title": "x", "abstract": "y"}, paper("z")])
    write_lines(tmp_path / "P_queries_test.json", [{"title": "q", "abstract": None, "patient": ["line 1"]}])
    data = read_links(tmp_path, "P")
    assert [text.id for text in data.candidates] == ["line 1", "line 2"]
    assert data.linked == {"patient": {"line 1": {"line 1"}}}
    write_lines(tmp_path / "P_queries_test.json", [{"query": "q", "title": "q", "patient": []}])
    with pytest.raises(InputError, match='line 1: there are no ids under "patient"'):
        read_links(tmp_path, "P")


QUERIES = [
    {"query_id": 1, "query": "virus[SEP]lung", "score": {"a": 2, "b": 1}},
    {"query_id": "2", "query": "virus", "score": {"b": 1, "gone": 1}},
    {"query_id": "3", "query": "without grades", "score": {}},
]
VECTORS = {
    "1": (1.0, 0.0),
    "2": (0.0, 1.0),
    "a": (1.0, 0.0),
    "b": (2.0, 0.0),
    **{f"x{i:02d}": (1.5, -1.0) for i in range(12)},
}


def test_a_query_with_a_candidates_id_but_another_text_is_embedded_apart(tmp_path):
    write_lines(tmp_path / "P_patients_test.json", [{**paper(name), "patient": name} for name in "ab"])
    write_lines(tmp_path / "P_queries_test.json", [{**paper("other"), "query": "a", "patient": ["b"]}])
    asked = []

    def embed(texts, task_format):
        asked.append([text.title for text in texts])
        return embedder({"a": (1.0,), "b": (2.0,)})(texts, task_format)

    evaluate_links(read_links(tmp_path, "P"), embed)
    assert asked == [["title a", "title b"], ["title other"]]


def write_search(folder, name):
    folder.mkdir(exist_ok=True)
    write_lines(folder / f"{name}_papers_test.json", [paper(one) for one in VECTORS if one not in ("1", "2")])
    write_lines(folder / f"{name}_queries_test.json", QUERIES)
    return read_searches(folder, name)


def test_search_over_the_corpus_and_of_candidates(tmp_path):
    over_all = evaluate_searches(write_search(tmp_path, "SciFact"), embedder(VECTORS))
    # 1: b, then nine of the twelve; a comes after them. 2: b and a tie before the rest, b first.
    assert over_all.per_unit["nDCG@10"] == pytest.approx({"1": dcg(1) / dcg(2, 1), "2": dcg(1) / dcg(1, 1)})
    judged = evaluate_searches(write_search(tmp_path, "Search"), embedder(VECTORS))
    assert judged.per_unit["nDCG@10"] == pytest.approx({"1": dcg(1, 2) / dcg(2, 1), "2": dcg(1) / dcg(1, 1)})
    for outcome in (over_all, judged):
        assert (outcome.counts["queries"], outcome.counts["judged_papers_missing"]) == (2, 1)
    without = {name: vector for name, vector in VECTORS.items() if name != "2"}
    outcome = evaluate_searches(write_search(tmp_path, "SciFact"), embedder(without))
    assert (outcome.per_unit["nDCG@10"]["2"], outcome.counts["queries_missing"]) == (0.0, 1)
    with pytest.raises(InputError, match="none of the 2 wanted, such as '1'"):
        evaluate_searches(write_search(tmp_path, "SciFact"), embedder({"a": (1.0, 0.0)}))


def test_queries_and_papers_have_formats_of_their_own(tmp_path):
    asked = {}

    def embed(texts, task_format):
        asked[task_format] = [(text.title, text.abstract) for text in texts]
        return embedder(VECTORS)(texts, task_format)

    evaluate_searches(write_search(tmp_path, "SciFact"), embed)
    assert asked[Format.QRY] == [("virus", "lung"), ("virus", None)]
    assert asked[Format.PRX][0] == ("title a", "abstract a")
    asked.clear()
    write_lines(tmp_path / "P_patients_test.json", [{**paper("x"), "patient": "a"}])
    write_lines(tmp_path / "P_queries_test.json", [{**paper("y"), "query": "1", "patient": ["a"]}])
    evaluate_links(read_links(tmp_path, "P"), embed)
    assert asked == {Format.PRX: [("title y", "abstract y")]}  # the queries came last


@pytest.mark.parametrize(
    ("read", "lines", "message"),
    [
        (read_links, [paper("a")], "needs papers with"),
        (read_links, [paper("a", score={"b": 1}, cite=["b"])], "not both"),
        (read_links, [paper("a", score={"b": 1.5})], "whole numbers"),
        (read_links, [paper("a", score=[1])], "whole numbers"),
        (read_links, [paper("a", cite={"b": 1})], "must be a list of ids"),
        (read_searches, [{"query_id": "q", "query": "x", "score": {"a": "1"}}], "whole numbers"),
        (read_searches, [{"query_id": "q", "query": "x"}], "no query with judged papers"),
    ],
)
def test_damage_is_told(tmp_path, read, lines, message):
    write_lines(tmp_path / "X_papers_test.json", lines if read is read_links else [paper("a")])
    if read is read_searches:
        write_lines(tmp_path / "X_queries_test.json", lines)
    with pytest.raises(InputError, match=message):
        read(tmp_path, "X")


def test_the_commands(tmp_path):
    make_model(tmp_path / "model", codes=True)
    write_search(tmp_path / "search", "SciFact")
    write_search(tmp_path / "search", "Search")
    (tmp_path / "links").mkdir()
    write_lines(tmp_path / "links" / "S_papers_test.json", [paper("a", cite=["b"]), paper("b", cite=[])])
    for task, rows in (("search", ["SciFact", "Search"]), ("links", ["S cite"])):
        given = ("--data", tmp_path / task, "--task", task, "--model", tmp_path / "model", "--similarity", "dot")
        done = ses(tmp_path, "eval", "scimult", *given, "--json")
        assert done.returncode == 0, done.stderr
        assert [row["set"] for row in json.loads(done.stdout)["rows"]] == rows
    assert json.loads(done.stdout)["rows"][0]["measures"]["R@20"]["mean"] == 1.0
