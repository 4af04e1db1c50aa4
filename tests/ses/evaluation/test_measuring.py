"""`ses.measure`, `ses.experiment` and `evaluate` of an open index; measuring and comparing run files."""

from __future__ import annotations

from math import log2
from types import SimpleNamespace

import ir_measures
import pandas as pd
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

import ses
from corpora.errors import InputError, UnavailableError
from eval.statistics.compare import compare_runs
from eval.statistics.pairs import compare_values
from eval.trec.judgments import read_qrels
from eval.trec.runs import read_run
from ses.evaluation.measuring import compare_files, score_files
from tests.beir_folders import write_beir
from tests.tiny import make_model, papers

QRELS = {"q1": {"a": 2, "b": 1}, "q2": {"c": 1}, "q3": {"d": 1}}
RUN = {"q1": {"b": 3.0, "a": 2.0, "x": 1.0}, "q2": {"x": 2.0, "c": 1.0}}
TOPICS = {"q1": "masks", "q2": "viruses", "q3": "lungs"}

documents = st.sampled_from([f"d{n}" for n in range(12)])
gains = st.dictionaries(st.sampled_from("pqr"), st.dictionaries(documents, st.integers(0, 3), min_size=1), min_size=1)
rankings = st.dictionaries(documents, st.floats(-5, 5, width=16), min_size=1)
runs = st.dictionaries(st.sampled_from("pqrs"), rankings)


def frame(columns, rows):
    return pd.DataFrame(rows, columns=columns)


def flat(nested):
    return [(query, document, value) for query, of in nested.items() for document, value in of.items()]


@pytest.mark.slow
@given(gains, runs, rankings)
@settings(deadline=None, max_examples=40)
def test_measures_are_trec_evals(qrels, run, some):
    run = {**run, next(iter(qrels)): some}
    names = {"nDCG@5": "ndcg_cut_5", "AP": "map", "RR": "recip_rank", "R@3": "recall_3", "P@2": "P_2", "Bpref": "bpref"}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, set(names.values())).evaluate(run)
    found = ses.measure(run, qrels, list(names))
    for name, trec in names.items():
        expected = {query: theirs.get(query, {}).get(trec, 0.0) for query in qrels}
        assert found.per_query["run"][name] == pytest.approx(expected)
        assert found.mean(name) == pytest.approx(sum(expected.values()) / len(expected))


def test_measures_by_hand_and_without_results():
    found = ses.measure(RUN, QRELS, ["nDCG@10", ir_measures.RR @ 10, "Judged@2"])
    assert found.measures == ("nDCG@10", "RR@10", "Judged@2")
    ndcg = (1 + 2 / log2(3)) / (2 + 1 / log2(3))
    assert found.per_query["run"]["nDCG@10"] == pytest.approx({"q1": ndcg, "q2": 1 / log2(3), "q3": 0})
    assert found.mean("RR@10", "run") == pytest.approx((1 + 1 / 2 + 0) / 3)
    assert found.mean("Judged@2") == pytest.approx((1 + 1 / 2 + 0) / 3)
    low, high = found.interval("RR@10")
    assert 0 <= low < 0.5 < high <= 1
    assert "run: 3 queries, 1 query without results" in str(found)
    assert found.pairs == ()
    assert ses.measure(RUN, QRELS, "AP").measures == ("AP",)
    assert ses.measure({"a": {"a": 2.0, "b": 1.0}}, {"a": {"b": 1}}, "RR", drop_same_id=True).mean("RR") == 1


def test_files_dictionaries_tables_and_rows_give_the_same(tmp_path):
    (tmp_path / "run").write_text("".join(f"{q} Q0 {d} 1 {s} run\n" for q, d, s in flat(RUN)))
    (tmp_path / "qrels").write_text("".join(f"{q} 0 {d} {g}\n" for q, d, g in flat(QRELS)))
    tsv = "query-id\tcorpus-id\tscore\n" + "".join(f"{q}\t{d}\t{g}\n" for q, d, g in flat(QRELS))
    (tmp_path / "test.tsv").write_text(tsv)
    ordered = {query: list(of) for query, of in RUN.items()}
    all_runs = [
        RUN,
        {query: list(of.items()) for query, of in RUN.items()},
        ordered,
        tmp_path / "run",
        str(tmp_path / "run"),
        read_run(tmp_path / "run"),
        frame(("query_id", "doc_id", "score"), flat(RUN)),
        frame(("qid", "docno", "score"), flat(RUN)).assign(rank=1, name="BM25"),
        [ir_measures.ScoredDoc(*row) for row in flat(RUN)],
    ]
    all_qrels = [
        QRELS,
        tmp_path / "qrels",
        tmp_path / "test.tsv",
        frame(("query_id", "doc_id", "relevance"), flat(QRELS)),
        frame(("qid", "docno", "label"), flat(QRELS)),
        [ir_measures.Qrel(*row) for row in flat(QRELS)],
    ]
    names = ["nDCG@10", "AP", "Judged@1"]
    expected = ses.measure(RUN, QRELS, names).per_query["run"]
    for run in all_runs:
        assert ses.measure(run, QRELS, names).per_query["run"] == expected
    for qrels in all_qrels:
        assert ses.measure(RUN, qrels, names).per_query["run"] == expected
    numbered = frame(("qid", "docno", "score"), [(1, 7, 2.5), (1, 8, 2)])
    assert ses.measure(numbered, {"1": {"8": 1}}, "RR").mean("RR") == 0.5
    assert ses.measure({1: [7, 8]}, {1: {8: 1}}, "RR").mean("RR") == 0.5
    assert ses.measure({"q": [["a", 1.0], ["b", 2]]}, {"q": {"b": 1}}, "RR").mean("RR") == 1
    # A query of which nothing was judged counts as one without relevant documents.
    assert ses.measure({"q": ["a"]}, {"q": {"a": 1}, "r": {}}, "RR").mean("RR") == 0.5


@pytest.mark.mteb  # which brings polars
def test_tables_of_polars():
    import polars

    run = polars.DataFrame(flat(RUN), schema=["qid", "docno", "score"], orient="row")
    qrels = polars.DataFrame(flat(QRELS), schema=["qid", "docno", "label"], orient="row")
    assert ses.measure(run, qrels, ["AP"]).per_query == ses.measure(RUN, QRELS, ["AP"]).per_query


@pytest.mark.parametrize(
    ("run", "qrels", "reason"),
    [
        (RUN, {"q1": {"a": 0.5}}, "whole number"),
        (RUN, {"q1": ["a"]}, "dictionaries"),
        (RUN, [("q1", "a", 1), ("q1", "a", 2)], "judged twice"),
        (RUN, {}, "no judgments"),
        (RUN, 5, "can't be int"),
        (RUN, frame(("qid", "docno"), []), "no column relevance or label; it has: qid, docno"),
        ({"q1": [("a", "high")]}, QRELS, "can't be 'high'"),
        ({"q1": "abc"}, QRELS, "A ranking can't be str"),
        ({"q1": [1.5]}, QRELS, "An id can't be 1.5"),
        ({"q1": ["a", "a"]}, QRELS, "twice"),
        # Truth values are whole numbers to Python.
        ({"q1": [("a", True)]}, QRELS, "A score or gain can't be True"),
        ({"q1": [True]}, QRELS, "An id can't be True"),
        (RUN, {"q1": {"a": True}}, "A score or gain can't be True"),
        ({"q1": [("a", 1, 2)]}, QRELS, "An id can't be"),
        ({"q1": b"abc"}, QRELS, "A ranking can't be bytes"),
        (b"abc", QRELS, "A run can't be bytes; give a file"),
        (frame((), []), QRELS, "has no column query_id or qid"),
        ([("q1", "a")], QRELS, "A row of a run has 3 values"),
        (frame(("qid", "docno", "score"), [(None, "a", 1.0)]), QRELS, "An id can't be"),
        ("absent.trec", QRELS, "absent.trec"),
    ],
)
def test_what_can_not_be_read_is_told(run, qrels, reason):
    with pytest.raises(InputError, match=reason):
        ses.measure(run, qrels, ["AP"])


def test_wrong_measures_are_told():
    for measures, reason in ((["F1"], "There is no measure 'F1'"), ([], "There are no measures")):
        with pytest.raises(InputError, match=reason):
            ses.measure(RUN, QRELS, measures)
    with pytest.raises(UnavailableError, match="computed by cwl_eval"):
        ses.measure(RUN, QRELS, ["BPM(max_rel=2)@10"])


def test_systems_of_all_kinds_are_compared(tmp_path):
    found = {TOPICS[query]: of for query, of in RUN.items()}

    class Transformer:
        """As those of PyTerrier."""

        def transform(self, topics):
            assert list(topics.columns) == ["qid", "query"]
            rows = [(qid, d, s) for qid, text in topics.itertuples(index=False) for d, s in found.get(text, {}).items()]
            return frame(("qid", "docno", "score"), rows)

    systems = {
        "scores": lambda text: found.get(text, {}),
        "ids": lambda text: list(found.get(text, {})),
        "pairs": lambda text: list(found.get(text, {}).items()),
        "table": lambda text: frame(("docno", "score"), list(found.get(text, {}).items())),
        "batch": lambda texts: [found.get(text, {}) for text in texts],
        "pyterrier": Transformer(),
        "run": RUN,
        "rows of a run": frame(("qid", "docno", "score"), flat(RUN)),
        "nothing": lambda text: ["y"],
    }
    compared = ses.experiment(systems, TOPICS, QRELS, ["RR@10", "AP"], batched=["batch"])
    assert compared.systems == tuple(systems)
    expected = ses.measure(RUN, QRELS, ["RR@10", "AP"]).per_query["run"]
    assert all(compared.per_query[name] == expected for name in systems if name != "nothing")
    assert compared.pairs == compare_values(compared.per_query)
    assert len(compared.pairs) == 2 * 9 * 8 / 2
    frame_of = frame(("qid", "query"), list(TOPICS.items()))
    (tmp_path / "topics.tsv").write_text("".join(f"{query}\t{text}\n" for query, text in TOPICS.items()))
    for topics in (frame_of, tmp_path / "topics.tsv", list(TOPICS.items())):
        assert ses.experiment({"ids": systems["ids"]}, topics, QRELS, "RR@10").mean("RR@10") == 0.5


@pytest.mark.parametrize(
    ("systems", "more", "reason"),
    [
        ({}, {}, "no systems"),
        ({"a": 5}, {}, "The system a can't be int"),
        ({"a": lambda text: 5}, {}, "A ranking can't be int"),
        ({"a": lambda texts: [[]]}, {"batched": ["a"]}, "returned 1 rankings of 3 queries"),
        ({"a": RUN}, {"batched": ["b"]}, "no system 'b'"),
        ({"a": RUN}, {"topics": {"z": "other"}}, "No query has both a text and judgments"),
        ({"a": RUN}, {"topics": {"q1": 5}}, "a query id and a text"),
    ],
)
def test_systems_that_can_not_be_measured_are_told(systems, more, reason):
    with pytest.raises(InputError, match=reason):
        ses.experiment(systems, **{"topics": TOPICS, "qrels": QRELS, "measures": ["AP"], **more})


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A library with an index of 30 papers, and queries that want the paper whose title they are."""
    folder = tmp_path_factory.mktemp("library")
    make_model(folder / "model")
    settings_ = {f"{name}_dir": folder / name for name in ("data", "cache")}
    library = ses.open(folder / "indexes", model=str(folder / "model"), **settings_)
    written = papers(30)
    library.index("mine", written)
    topics = {f"q{n}": paper.title for n, paper in enumerate(written[:12])}
    qrels = {f"q{n}": {paper.id: 1} for n, paper in enumerate(written[:12])}
    return SimpleNamespace(folder=folder, library=library, papers=written, topics=topics, qrels=qrels)


@pytest.mark.slow
def test_an_index_is_evaluated_in_several_modes(home, tmp_path):
    asked = {"topics": home.topics, "qrels": home.qrels, "measures": ["nDCG@10", "R@100"]}
    found = home.library["mine"].evaluate(modes=["lexical", "hybrid"], **asked)
    assert found.systems == ("lexical", "hybrid")
    assert (found.results.heading, found.facts["index"]) == ("mode", "mine")
    assert {(pair.measure, pair.baseline, pair.run) for pair in found.pairs} == {
        ("nDCG@10", "lexical", "hybrid"),
        ("R@100", "lexical", "hybrid"),
    }
    found.write_run(tmp_path / "lexical.trec", "lexical")
    again = ses.measure(tmp_path / "lexical.trec", home.qrels, asked["measures"])
    assert again.per_query["ses-lexical"] == found.per_query["lexical"]
    index = home.library["mine"]
    words = {"page": lambda text: index.search(text, mode="lexical", size=100, window=100, literal=True), "ses": index}
    compared = ses.experiment(words, home.topics, home.qrels, asked["measures"])
    assert compared.mean("R@100", "page") == found.mean("R@100", "lexical")
    assert compared.per_query["ses"] == found.per_query["hybrid"]
    shallow = ses.experiment({"ses": index}, home.topics, home.qrels, "R@2", depth=3).runs["ses"].rankings
    assert {len(ranking) for ranking in shallow.values()} == {3}
    both = index.evaluate(modes=["hybrid"], fusions=["rrf", "minmax"], **asked)
    assert both.systems == ("hybrid-rrf", "hybrid-minmax")


def test_a_folder_in_beirs_form_is_evaluated_by_words_without_the_model(home, tmp_path, monkeypatch):
    judged = {**home.qrels, "q0": {**home.qrels["q0"], "absent": 1}}
    write_beir(tmp_path, home.papers, home.topics, test=judged)
    monkeypatch.setattr("ses.models.loaded_model.make_encoder", lambda *_: pytest.fail("words need no model"))
    found = home.library["mine"].evaluate(tmp_path, modes=["lexical"], measures="R@5")
    assert found.mean("R@5") < 1
    assert found.left_out["judged_documents_absent"] == 1
    with pytest.raises(InputError, match="no split 'dev'"):
        home.library["mine"].evaluate(tmp_path, split="dev")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, "give either data, or topics with qrels"),
        ({"topics": TOPICS}, "give either data, or topics with qrels"),
        ({"data": "x", "topics": TOPICS, "qrels": QRELS}, "give either data"),
        (
            {"topics": TOPICS, "qrels": QRELS, "measures": ["P@9"], "depth": 5},
            "A measure at 9 needs more than the 5 hits",
        ),
        ({"topics": TOPICS, "qrels": QRELS, "depth": 0}, "hits of a query can't be taken"),
        ({"topics": TOPICS, "qrels": QRELS, "modes": ["exact"]}, "modes can't be"),
        ({"topics": TOPICS, "qrels": QRELS, "fusions": ["borda"]}, "no fusion 'borda'"),
    ],
)
def test_evaluations_that_can_not_be_made_are_told(home, options, reason):
    with pytest.raises(InputError, match=reason):
        home.library["mine"].evaluate(**options)


WRITTEN_QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 c 1\n"
FIRST, SECOND = "q1 Q0 a 1 2 x\nq1 Q0 b 2 1 x\nq2 Q0 c 1 1 x\n", "q1 Q0 b 1 2 x\nq1 Q0 a 2 1 x\nq2 Q0 c 1 1 x\n"


@pytest.fixture
def run_files(tmp_path):
    """Two run files of one name, and their judgments."""
    (tmp_path / "qrels").write_text(WRITTEN_QRELS)
    for folder, run in (("one", FIRST), ("two", SECOND)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "run.trec").write_text(run)
    return tmp_path


def test_files_of_one_name_are_told_apart_by_their_paths(run_files):
    first, second = run_files / "one/run.trec", run_files / "two/run.trec"
    scores = score_files([first, second], run_files / "qrels", ["RR"])
    assert {label: list(found.per_query["RR"].values()) for label, found in scores.items()} == {
        str(first): [1.0, 1.0],
        str(second): [0.5, 1.0],
    }
    assert list(score_files([first], run_files / "qrels", ["RR"])) == ["run.trec"]
    with pytest.raises(InputError, match="A run file is given twice; give each once"):
        score_files([first, first], run_files / "qrels", ["RR"])


def test_only_judgments_of_the_rounds_count_and_earlier_documents_are_left_out(run_files):
    # TREC's iteration is the round: a was judged in round 1, c in round 2.
    (run_files / "qrels").write_text("q1 1 a 1\nq1 2 b 1\nq2 2 c 1\n")
    run = run_files / "one/run.trec"
    assert list(score_files([run], run_files / "qrels", ["AP"])["run.trec"].per_query["AP"].values()) == [1.0, 1.0]
    later = score_files([run], run_files / "qrels", ["P@1", "AP"], rounds="2")["run.trec"].per_query
    assert later["P@1"] == {"q1": 1.0, "q2": 1.0}  # a, at rank 1, was seen in round 1
    first = score_files([run], run_files / "qrels", ["AP"], rounds="1")["run.trec"].per_query
    assert first["AP"] == {"q1": 1.0}


def test_a_run_is_named_in_its_error(run_files):
    (run_files / "two/other.trec").write_text("q9 Q0 a 1 1 x\n")
    with pytest.raises(InputError, match=r"^other\.trec: No query of the run has judgments"):
        score_files([run_files / "two/other.trec"], run_files / "qrels", ["RR"])


def test_the_first_run_is_the_baseline(run_files):
    first, second = run_files / "one/run.trec", run_files / "two/run.trec"
    comparison, files = compare_files([first, second], ["RR"], qrels=run_files / "qrels")
    (pair,) = comparison.pairs
    assert (pair.baseline, pair.run, pair.better, pair.worse) == (str(first), str(second), 0, 1)
    assert files == [run_files / "qrels"]
    with pytest.raises(InputError, match="Give two run files or more to compare"):
        compare_files([first], ["RR"], qrels=run_files / "qrels")


def test_a_query_may_be_a_paper_that_its_run_finds_first(run_files):
    (run_files / "qrels").write_text("a 0 b 1\nc 0 d 1\n")
    runs = []
    for name, run in (("x", "a Q0 a 1 2 x\na Q0 b 2 1 x\nc Q0 d 1 1 x\n"), ("y", "a Q0 b 1 2 x\nc Q0 d 1 1 x\n")):
        runs.append(run_files / name)
        runs[-1].write_text(run)
    for drop, reached in ((False, 0.5), (True, 1.0)):
        scores = score_files(runs, run_files / "qrels", ["RR"], drop_same_id=drop)["x"].per_query["RR"]
        assert scores == {"a": reached, "c": 1.0}
        (pair,) = compare_files(runs, ["RR"], qrels=run_files / "qrels", drop_same_id=drop)[0].pairs
        assert pair.better == int(reached < 1)


def test_the_ids_of_a_data_set_are_also_those_of_documents_that_are_no_papers(run_files):
    (run_files / "beir/qrels").mkdir(parents=True)
    (run_files / "beir/corpus.jsonl").write_text('{"_id": "a", "title": "A"}\n{"_id": "b"}\n\n{"_id": 3}\n')
    (run_files / "beir/queries.jsonl").write_text('{"_id": "q1", "text": "virus"}\n{"_id": "q2", "text": "lung"}\n')
    (run_files / "beir/qrels/dev.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq1\ta\t1\nq1\tb\t1\nq2\t3\t1\nq2\tc\t1\n"
    )
    runs = [run_files / "one/run.trec", run_files / "two/run.trec"]
    found, files = compare_files(runs, ["RR"], data=run_files / "beir", split="dev")
    assert found.counts["judged_documents_not_in_the_corpus"] == 1
    assert [one.unknown_documents for one in found.coverage.values()] == [1, 1]
    assert found.texts == {"q1": "virus", "q2": "lung"}
    assert run_files / "beir/qrels/dev.tsv" in files


def test_a_query_that_is_a_paper_is_left_out_of_its_hits_in_experiments_too():
    runs = {"papers": lambda text: [text, "b"]}
    for drop, reached in ((False, 0.5), (True, 1.0)):
        found = ses.experiment(runs, {"a": "a"}, {"a": {"b": 1}}, "RR", drop_same_id=drop)
        assert found.mean("RR") == reached
    assert found.left_out == {"queries_without_text": 0}


def test_a_comparison_takes_the_options_of_its_statistics(run_files):
    runs = [run_files / "one/run.trec", run_files / "two/run.trec"]
    read = {str(path): read_run(path) for path in runs}
    for options in ({}, {"level": 0.5, "resamples": 100, "seed": 3}):
        found, _ = compare_files(runs, ["RR"], qrels=run_files / "qrels", **options)
        assert found.pairs == compare_runs(read, read_qrels(run_files / "qrels"), ["RR"], **options).pairs


def test_judgments_come_from_one_place(run_files):
    runs = [run_files / "one/run.trec", run_files / "two/run.trec"]
    with pytest.raises(InputError, match="There are no judgments") as absent:
        compare_files(runs, ["RR"])
    assert absent.value.hint == "give them as <qrels>, or with their papers as <data>"
    with pytest.raises(InputError, match="The judgments are given twice"):
        compare_files(runs, ["RR"], qrels=run_files / "qrels", data=run_files)
