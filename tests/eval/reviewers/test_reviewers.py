"""Paper-reviewer matching: each paper's rule by hand, both layouts, what is missing, and the command."""

from __future__ import annotations

import gzip
import json
from functools import partial

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import InputError
from eval.embedder import Text, Vectors
from eval.reviewers.data import read_reviewers
from eval.reviewers.protocol import evaluate_reviewers, rank_reviewers
from products.reviewers.rules import MATCHINGS, chain_of_factors, mean_of_top, openreview, reciprocal_ranks
from ses.terminal.commands.eval import eval_


def vectors(**rows: list[float]) -> Vectors:
    return Vectors({name: n for n, name in enumerate(rows)}, np.array(list(rows.values()), np.float32))


def scores(ranked, submission: str = "s") -> dict[str, float]:
    return {reviewer: pytest.approx(score) for reviewer, score in ranked.run.rankings[submission]}


SPACE = vectors(s=[2, 0], a=[3, 0], b=[0, 5], c=[3, 4], d=[-1, 0])
"""Cosines to s: a 1, b 0, c .6, d -1."""


def test_scirepeval_means_the_three_nearest_or_fewer():
    profiles = {"four": ["a", "b", "c", "d"], "two": ["a", "c"], "one": ["b"], "none": [], "other": ["a"]}
    ranked = rank_reviewers({"proximity": SPACE}, profiles, {"s": ["four", "two", "one", "none", "unknown"]})
    assert scores(ranked) == {"two": 0.8, "four": 1.6 / 3, "one": 0.0}
    assert ranked.counts["reviewers_without_papers"] == 2


def test_what_has_no_vector_is_left_out_and_counted():
    ranked = rank_reviewers({"proximity": SPACE}, {"r": ["a", "gone"], "q": ["lost"]}, {"s": ["r", "q"], "t": ["r"]})
    assert scores(ranked) == {"r": 1.0}
    assert list(ranked.run.rankings["t"]) == []
    assert ranked.counts == {
        "submissions": 2,
        "submissions_without_vector": 1,
        "reviewer_papers": 1,
        "reviewer_papers_without_vector": 2,
        "reviewers_without_papers": 1,
    }
    with pytest.raises(InputError, match="No paper of any reviewer has a vector"):
        rank_reviewers({"proximity": SPACE}, {"r": ["gone"]}, {"s": ["r"]})


@pytest.mark.parametrize(("aggregate", "expected"), [("max", 1.0), ("average", 0.2), ("p50", 0.0), ("p75", 0.5)])
def test_openreview_aggregates_all_papers(aggregate, expected):
    rows = vectors(s=[1, 0], a=[1, 0], b=[0, 1], c=[0, 1], d=[0.5, 0.75**0.5], e=[-0.5, 0.75**0.5])
    ranked = rank_reviewers({"proximity": rows}, {"r": ["a", "b", "c", "d", "e"]}, {"s": ["r"]}, openreview(aggregate))
    assert scores(ranked) == {"r": expected}


def test_openreview_knows_no_other_aggregate():
    with pytest.raises(InputError, match="max, average or a percentile such as p75"):
        openreview("p101")


def test_cof_keeps_by_meaning_then_by_citation_and_divides_by_three():
    # 250 papers: 5 are kept by meaning (0 to 4), and 2 of those by citation (1 and 3).
    semantic, topic, citation = np.zeros((3, 250))
    semantic[:5] = [5, 4, 3, 2, 1]
    citation[[1, 3, 200]] = [7, 6, 99]
    topic[[0, 1, 3]] = [50, 1, 10]
    profiles = {"x": np.array([0, 1, 1]), "y": np.array([1, 3, 5]), "z": np.array([200])}
    factors = {"semantic": semantic, "topic": topic, "citation": citation}
    assert chain_of_factors(factors, profiles) == pytest.approx({"x": 12 / 3, "y": (12 + 18) / 3, "z": 0})
    # Without citation all five stay, and it adds nothing; without meaning the two of 250 most cited stay.
    fewer = chain_of_factors({"semantic": semantic, "topic": topic}, profiles)
    assert fewer == pytest.approx({"x": (55 + 5) / 3, "y": (5 + 12) / 3, "z": 0})
    fewer = chain_of_factors({"topic": topic, "citation": citation}, profiles)
    assert fewer == pytest.approx({"x": 8 / 3, "y": 8 / 3, "z": 99 / 3})


@pytest.mark.parametrize("count", [1, 49, 99])
def test_cof_says_that_so_few_papers_leave_none(count):
    with pytest.raises(InputError, match=f"none of {count}"):
        chain_of_factors(dict.fromkeys(MATCHINGS["cof"].factors, np.ones(count)), {"r": np.array([0])})


def test_cof_takes_dot_products_and_gives_unkept_reviewers_zero():
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(201, 4)).astype(np.float32)
    space = Vectors({str(n): n for n in range(201)}, matrix)
    profiles = {f"r{n}": [str(n)] for n in range(200)}
    factors = dict.fromkeys(MATCHINGS["cof"].factors, space)
    ranked = rank_reviewers(factors, profiles, {"200": [*profiles, "unknown"]}, MATCHINGS["cof"])
    dots = matrix[:200].astype(float) @ matrix[200].astype(float)
    two_best = np.argsort(-dots)[:2]  # the first filter keeps 4, the second 2 of them, by the same vectors
    positive = {f"r{n}": pytest.approx(3 * dots[n] / 3, rel=1e-6) for n in two_best}
    found = dict(ranked.run.rankings["200"])
    assert {name: score for name, score in found.items() if score} == positive
    assert found["unknown"] == 0
    assert len(found) == 201


def test_unipr_adds_reciprocal_ranks_among_all_reviewers():
    # Means of the top three: semantic a 3, b 2, c 2; topic a 0, b 1, c 5; citation all the same.
    profiles = {"a": np.array([0, 1, 2, 3]), "b": np.array([4]), "c": np.array([5, 5])}
    rows = np.array([[4, 3, 2, -9, 2, 2], [0, 0, 0, -1, 1, 5], [1, 1, 1, 1, 1, 1]], float)
    by_factor = dict(zip(MATCHINGS["unipr"].factors, rows, strict=True))
    assert reciprocal_ranks(by_factor, profiles) == pytest.approx(
        {"a": 1 + 1 / 3 + 1, "b": 1 / 2 + 1 / 2 + 1, "c": 2.5}
    )
    space = vectors(s=[1], p=[3], q=[2], r=[1])
    # Unjudged reviewers take ranks too.
    factors = dict.fromkeys(MATCHINGS["unipr"].factors, space)
    ranked = rank_reviewers(factors, {"x": ["p"], "y": ["q"], "z": ["r"]}, {"s": ["z"]}, MATCHINGS["unipr"])
    assert scores(ranked) == {"z": 1.0}


@pytest.mark.parametrize("given", [[], ["semantic"], ["semantic", "topic", "citation", "proximity"]])
def test_every_factor_has_vectors_of_its_own(given):
    with pytest.raises(InputError, match="semantic, topic, citation"):
        rank_reviewers(dict.fromkeys(given, SPACE), {"r": ["a"]}, {"s": ["r"]}, MATCHINGS["unipr"])


def test_fewer_factors_are_kept_in_their_order_and_others_refused():
    assert MATCHINGS["cof"].only(["citation", "semantic"]).factors == ("semantic", "citation")
    for wrong in ([], ["proximity"]):
        with pytest.raises(InputError, match="one or more of the factors semantic, topic, citation"):
            MATCHINGS["cof"].only(wrong)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=9))
def test_the_top_three_are_a_mean_between_the_mean_of_all_and_the_largest(values):
    found = mean_of_top(np.array(values))
    assert np.mean(values) - 1e-9 <= found <= max(values) + 1e-9
    assert found == pytest.approx(sum(sorted(values, reverse=True)[:3]) / min(3, len(values)))


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def scirepeval(tmp_path):
    """Six reviewers for one submission: r1 is nearest, r2 to r5 tie, r6 has no papers."""
    folder = tmp_path / "matching"
    folder.mkdir()
    near = {"r1": 3, "r2": 2, "r3": 2, "r4": 1, "r5": 1, "r6": 3}
    for kind, least in (("hard", 3), ("soft", 2)):
        rows = [{"query_id": 7, "cand_id": r, "score": int(grade >= least)} for r, grade in near.items()]
        lines(folder / f"test_{kind}_qrel.jsonl", [*rows, rows[0] | {"score": 0}])
    lines(folder / "reviewer_metadata.jsonl", [{"r_id": f"r{n}", "papers": [f"p{n}"]} for n in range(1, 6)])
    embedded = {"7": [1, 0], "p1": [1, 0], **{f"p{n}": [1, 1] for n in range(2, 6)}}
    lines(tmp_path / "vectors.jsonl", [{"doc_id": name, "embedding": row} for name, row in embedded.items()])
    return folder


@pytest.fixture
def cof(tmp_path):
    """A submission and two reviewers with a paper each, in CoF's layout."""
    folder = tmp_path / "cof"
    folder.mkdir()
    papers = [{"paper": name, "title": name, "abstract": ""} for name in ("s", "p", "q")]
    lines(folder / "KDD_papers_test.json", papers)
    lines(folder / "KDD_reviewers_test.json", [{"reviewer": "x", "papers": ["p"]}, {"reviewer": "y", "papers": ["q"]}])
    lines(folder / "KDD_queries_test_soft.json", [{"query_id": "s", "score": {"x": 1, "y": 0}}])
    lines(folder / "KDD_queries_test_hard.json", [{"query_id": "s", "score": {"x": 1, "y": 0}}])
    return folder


def test_the_command_scores_scirepevals_files(scirepeval, tmp_path):
    run = CliRunner().invoke(
        eval_, ["reviewers", "--data", str(scirepeval), "--embeddings", str(tmp_path / "vectors.jsonl"), "--json"]
    )
    assert run.exit_code == 0, run.output
    told = json.loads(run.stdout)
    assert (told["data"], told["protocol"]) == (str(scirepeval), "scirepeval")
    means = {name: cell["mean"] for name, cell in told["rows"][0]["measures"].items()}
    # The five ranked are r1, r2 and r3 (soft), r4, r5; r6 isn't there, and a shorter ranking is still divided by k.
    assert means == {"soft P@5": 0.6, "soft P@10": 0.3, "hard P@5": 0.2, "hard P@10": 0.1}
    assert told["rows"][0]["counts"]["reviewers_without_papers"] == 1
    assert told["rows"][0]["counts"]["judgments_repeated"] == 2
    assert told["per_unit"]["scirepeval"]["soft P@5"] == {"7": 0.6}


def test_a_file_of_vectors_and_a_model_are_not_taken_together(scirepeval):
    run = CliRunner().invoke(
        eval_, ["reviewers", "--data", str(scirepeval), "--embeddings", "v.jsonl", "--model", "minilm"]
    )
    assert isinstance(run.exception, InputError)


def test_by_scirepevals_rules_one_run_is_measured_on_both_sets_and_all_is_counted(scirepeval):
    soft = [("7", "r1", 1), ("7", "r2", 1), ("8", "r1", 1)]
    lines(
        scirepeval / "test_soft_qrel.jsonl",
        [{"query_id": query, "cand_id": name, "score": grade} for query, name, grade in soft],
    )
    embedded = vectors(**{"7": [1, 0], **{f"p{n}": [1, n] for n in range(1, 5)}})
    rule = MATCHINGS["scirepeval"]
    found = evaluate_reviewers(read_reviewers(scirepeval), dict.fromkeys(rule.factors, lambda _: embedded), rule)
    # r1 to r4 are ranked in this order; r5 has no vector, and r6 no papers.
    assert found.per_unit == {
        "soft P@5": {"7": 2 / 5},
        "soft P@10": {"7": 2 / 10},
        "hard P@5": {"7": 1 / 5},
        "hard P@10": {"7": 1 / 10},
    }
    assert found.counts == {
        "submissions": 1,
        "submissions_without_vector": 0,
        "reviewer_papers": 4,
        "reviewer_papers_without_vector": 1,
        "reviewers_without_papers": 2,
        "soft_submissions_left_out": 1,
        "judgments_repeated": 1,
        "reviewers_repeated": 0,
    }
    elsewhere = vectors(p1=[1, 0])
    with pytest.raises(InputError, match="No submission has a vector"):
        evaluate_reviewers(read_reviewers(scirepeval), dict.fromkeys(rule.factors, lambda _: elsewhere), rule)


def test_what_a_folder_in_cofs_layout_holds(cof):
    read = read_reviewers(cof)
    assert (read.name, read.profiles) == ("KDD", {"x": ("p",), "y": ("q",)})
    assert read.hard.gains == read.soft.gains == {"s": {"x": 1, "y": 0}}
    assert [text.id for text in read.texts()] == ["s", "p", "q"]
    lines(cof / "KDD_queries_test_soft.json", [{"query_id": "s", "score": {"x": 2}}, {"query_id": "t", "score": {}}])
    papers = [
        {"paper": "p", "title": "", "abstract": " "},
        {"paper": "q", "abstract": "A"},
        {"paper": "q", "title": "T"},
    ]
    lines(cof / "KDD_papers_test.json", papers)
    read = read_reviewers(cof)
    assert (read.hard.gains, read.soft.gains) == ({"s": {"x": 1, "y": 0}}, {"s": {"x": 2}})
    assert {name: count for name, count in read.counts.items() if count} == {
        "submissions_without_judgments": 1,
        "papers_repeated": 1,
    }
    assert read.papers == {"q": Text("q", "T", "")}
    assert read.texts() == [Text("q", "T", "")]
    lines(cof / "KDD_queries_test_soft.json", [{"query_id": "s", "score": {"x": 1}}, {"query_id": "s", "score": {}}])
    with pytest.raises(InputError, match='line 2: a "query_id" comes once'):
        read_reviewers(cof)
    lines(cof / "KDD_queries_test_soft.json", [{"query_id": "s", "score": {}}])
    with pytest.raises(InputError, match="holds no judgments"):
        read_reviewers(cof)
    lines(cof / "ABC_queries_test_hard.json", [])
    with pytest.raises(InputError, match=r"several data sets \(ABC, KDD\)"):
        read_reviewers(cof)


def test_without_texts_ids_are_asked_for(scirepeval):
    read = read_reviewers(scirepeval)
    assert read.texts() == [Text(name, "") for name in ("7", "p1", "p2", "p3", "p4", "p5")]
    assert (read.name, read.papers) == ("", {})


def test_ties_at_the_cut_go_by_id_as_in_trec_eval(scirepeval):
    embedded = vectors(**{"7": [1, 0], **{f"p{n}": [1, 1] for n in range(1, 6)}})
    data = read_reviewers(scirepeval)
    ranked = rank_reviewers({"proximity": embedded}, data.profiles, data.hard.gains)
    assert [name for name, _ in ranked.run.rankings["7"]] == ["r5", "r4", "r3", "r2", "r1"]


def test_texts_are_asked_for_where_neither_they_nor_vectors_are_there(scirepeval):
    run = CliRunner().invoke(eval_, ["reviewers", "--data", str(scirepeval)])
    assert isinstance(run.exception, InputError)
    assert "metadata.jsonl" in str(run.exception)


def test_every_factor_is_asked_for_its_vectors(cof):
    asked = []

    def embed(factor, texts):
        asked.append((factor, sorted(text.title for text in texts)))
        return vectors(s=[1, 0], p=[1, 0], q=[0, 1])

    embedders = {factor: partial(embed, factor) for factor in MATCHINGS["unipr"].factors}
    outcome = evaluate_reviewers(read_reviewers(cof), embedders, MATCHINGS["unipr"])
    assert outcome.cells["hard P@5"].mean == pytest.approx(0.2)
    assert asked == [(factor, ["p", "q", "s"]) for factor in ("semantic", "topic", "citation")]
    with pytest.raises(InputError, match="none of 2"):
        evaluate_reviewers(read_reviewers(cof), embedders, MATCHINGS["cof"])


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        (
            "test_hard_qrel.jsonl",
            '{"query_id": "7", "cand_id": "r", "score": 0.5}',
            "the judgment needs .* a whole number",
        ),
        ("test_soft_qrel.jsonl", "[1]", "isn't a JSON object"),
        ("test_soft_qrel.jsonl", "{", "isn't JSON"),
        ("reviewer_metadata.jsonl", '{"r_id": "r1", "papers": "p1"}', "the reviewer needs .* papers as a list of ids"),
        ("reviewer_metadata.jsonl", '{"r_id": null, "papers": []}', "the reviewer needs r_id"),
    ],
)
def test_malformed_lines_are_named(scirepeval, name, line, message):
    (scirepeval / name).write_text(line + "\n")
    with pytest.raises(InputError, match=f"{name}, line 1: .*{message}"):
        read_reviewers(scirepeval)


def test_a_reviewer_that_comes_twice_is_an_error(scirepeval, cof):
    for file, key in ((scirepeval / "reviewer_metadata.jsonl", "r_id"), (cof / "KDD_reviewers_test.json", "reviewer")):
        lines(file, [{key: name, "papers": []} for name in ("y", 7, "7")])
        with pytest.raises(InputError, match=f"{file.name}, line 3: the reviewer 7 came before"):
            read_reviewers(file.parent)


def test_another_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="no data set of reviewers"):
        read_reviewers(tmp_path)


def test_compressed_files_and_papers_that_come_again(scirepeval):
    papers = b'{"doc_id": "p1", "title": "x"}\n'
    (scirepeval / "metadata.jsonl").write_bytes(papers)
    read = read_reviewers(scirepeval)
    assert read.papers.keys() == {"p1"}
    for file in list(scirepeval.glob("*.jsonl")):
        file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    assert read_reviewers(scirepeval) == read
    (scirepeval / "metadata.jsonl").write_bytes(papers * 2)
    assert read_reviewers(scirepeval).counts["papers_repeated"] == 1


def test_an_aggregate_that_would_not_be_heeded_is_refused(scirepeval):
    run = CliRunner().invoke(eval_, ["reviewers", "--data", str(scirepeval), "--aggregate", "p75"])
    assert run.exit_code != 0
    assert "The protocol scirepeval has one way to join papers" in str(run.exception)
