import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.errors import InputError
from eval.reports.results import comparison_report, comparison_tables, query_tables
from eval.statistics.compare import compare_runs
from eval.statistics.interval import mean_interval
from eval.statistics.pairs import compare_values, holm, paired_bootstrap_p, randomization_p
from eval.trec.judgments import Qrels
from eval.trec.runs import Run
from tests.eval.reports.test_forms import PROVENANCE

QRELS = Qrels({"q1": {"a": 1}, "q2": {"a": 1, "b": 0}, "q3": {"c": 1, "gone": 2}, "q4": {"z": 0}, "q5": {"a": 1}})
# Ties rank by id, last first, as in trec_eval: in q1 "x" comes before "a".
FIRST = Run("first", {"q1": [("a", 1.0), ("x", 1.0)], "q2": [("b", 2.0), ("a", 1.0)], "q3": [("c", 1.0)]})
SECOND = Run("second", {"q1": [("a", 2.0)], "q2": [("a", 1.0)], "q5": [("y", 1.0), ("w", 0.5)], "other": [("a", 1.0)]})


def compared(**options):
    return compare_runs({"first": FIRST, "second": SECOND}, QRELS, ["MRR"], **options)


def test_who_changed_and_by_how_much_largest_first():
    (pair,) = compared().pairs
    assert [(c.query, c.baseline, c.run, c.difference) for c in pair.changes] == [
        ("q3", 1.0, 0.0, -1.0),
        ("q1", 0.5, 1.0, 0.5),
        ("q2", 0.5, 1.0, 0.5),
        ("q4", 0.0, 0.0, 0.0),
        ("q5", 0.0, 0.0, 0.0),
    ]
    assert (pair.better, pair.worse, len(pair.changed)) == (2, 1, 3)
    assert pair.difference.mean == pytest.approx(0.0)
    # 1 = 0.5 + 0.5: every assignment is at least as far apart as none at all.
    assert pair.p_randomization == pair.p_randomization_holm == 1.0


def test_what_either_lacks_is_counted():
    found = compared(texts={"q1": "virus"}, corpus_ids=iter(["a", "b", "c", "z", "x"]))
    first, second = found.coverage["first"], found.coverage["second"]
    assert (first.missing_queries, first.unjudged_queries) == (("q4", "q5"), ())
    assert (second.missing_queries, second.unjudged_queries) == (("q3", "q4"), ("other",))
    assert (first.documents, first.unjudged_documents) == (5, 1)
    assert (second.documents, second.unjudged_documents) == (4, 2)
    assert (first.relevant, first.relevant_not_found, second.relevant_not_found) == (5, 2, 3)
    assert (first.unknown_documents, second.unknown_documents) == (0, 2)
    assert found.counts == {
        "queries": 5,
        "queries_without_relevant": 1,
        "queries_without_text": 4,
        "judged_documents_not_in_the_corpus": 1,
    }
    assert compared().coverage["first"].unknown_documents is None


def test_tables_cut_texts_and_changes():
    found = compared(texts={"q1": "virus\x1b[31m", "q3": "x" * 99})
    changes = comparison_tables(found, top=2)[2]
    assert changes.rows == (
        ("q3", "x" * 59 + "…", "1.000", "0.000", "-1.000"),
        ("q1", "virus[31m", "0.500", "1.000", "+0.500"),
    )
    assert changes.notes == ("the 2 largest of 3 changes; 2 queries have the same value in both",)


def test_every_table_of_a_comparison_by_hand():
    def spread(found):
        return f"{found.mean:.3f} [{found.low:.3f}, {found.high:.3f}]"

    found = compared(corpus_ids=iter("abcz"))
    means, differences, changes, missing = comparison_tables(found)
    intervals = [mean_interval(list(found.values[name]["MRR"].values())) for name in ("first", "second")]
    assert (means.caption, means.header) == ("Means", ("run", "MRR"))
    assert means.rows == (("first", spread(intervals[0])), ("second", spread(intervals[1])))
    assert means.notes == ("[low, high]: 95% confidence interval over queries",)
    (pair,) = found.pairs
    low, high = (f"{value:+.4f}" for value in (pair.difference.low, pair.difference.high))
    # -1, .5, .5, 0, 0 have a mean of 0, so the effect is 0, and nothing is more extreme than what was observed.
    assert differences.rows == (
        ("MRR", "second - first", f"+0.0000 [{low}, {high}]", "+0.00", *["1.0000 (1.0000)"] * 2, "2/1/2"),
    )
    assert differences.header == (
        *("measure", "pair", "difference", "effect", "p randomization (Holm)", "p bootstrap (Holm)", "+/-/="),
    )
    assert (differences.caption, differences.text_columns, len(differences.notes)) == ("Differences", 2, 4)
    # Of three queries that differ, the least p-value is two of eight.
    assert "(3 differ): p randomization can't be below 0.2500 there" in differences.notes[3]
    assert (changes.caption, changes.text_columns) == ("Queries that changed: MRR, first to second", 1)
    assert changes.header == ("query", "first", "second", "difference")
    assert [row[0] for row in changes.rows] == ["q3", "q1", "q2"]
    assert missing.caption == "What was missing"
    assert missing.header == (
        *("run", "queries missing", "queries unjudged", "documents unjudged", "relevant not found", "same id dropped"),
        "not in the corpus",
    )
    assert missing.rows == (
        ("first", "2", "0", "1 of 5", "2 of 5", "0", "1"),
        ("second", "2", "1", "2 of 4", "3 of 5", "0", "2"),
    )
    assert missing.notes == (
        "queries: 5",
        "queries without relevant: 1",
        "judged documents not in the corpus: 1",
        "first lacks judged queries: q4, q5",
        "second lacks judged queries: q3, q4",
        "second has queries without judgments: other",
        "a judged query that a run lacks counts 0 in it",
    )
    assert comparison_tables(compared())[-1].rows[0] == ("first", "2", "0", "1 of 5", "2 of 5", "0")


def test_a_report_of_a_comparison_has_bars_and_points_and_all_values():
    found = compared(texts={"q1": "virus"}, level=0.5)
    report = comparison_report(found, PROVENANCE)
    assert report.title == "Comparison of first, second"
    assert [(plot.kind, plot.caption.partition(":")[0]) for plot in report.plots] == [
        ("Values", "Means with 50% confidence intervals over queries."),
        ("Query by query", "MRR of each query, a larger point for several alike"),
    ]
    assert report.tables == comparison_tables(found, top=10)
    assert report.tables[0].notes == ("[low, high]: 50% confidence interval over queries",)
    assert report.details == query_tables(found.values, {"q1": "virus"})
    assert report.values == found.as_dict()
    told = found.as_dict()
    assert list(told) == ["level", "counts", "coverage", "pairs"]
    assert told["counts"] == {"queries": 5, "queries_without_relevant": 1, "queries_without_text": 4}
    assert told["coverage"]["second"]["missing_queries"] == ("q3", "q4")
    (pair,) = told["pairs"]
    assert (pair["better"], len(changes := pair["changes"])) == (2, 5)
    assert changes[0] == {"query": "q3", "baseline": 1.0, "run": 0.0, "difference": -1.0}
    assert changes[1] == {"query": "q1", "baseline": 0.5, "run": 1.0, "difference": 0.5, "text": "virus"}


def test_same_id_results_are_dropped_when_asked_and_counted():
    qrels = Qrels({"a": {"b": 1}, "c": {"d": 1}})
    runs = {"x": Run("x", {"a": [("a", 2.0), ("b", 1.0)]}), "y": Run("y", {"c": [("d", 1.0)]})}
    found = compare_runs(runs, qrels, ["MRR"], drop_same_id=True)
    assert found.coverage["x"].same_id_dropped == 1
    assert found.values["x"]["MRR"]["a"] == 1.0


def test_three_runs_and_two_measures_are_corrected_together():
    values = {
        name: {m: {f"q{i}": (i * k % 7) / 7 for i in range(25)} for m in ("MAP", "P@5")}
        for name, k in (("a", 2), ("b", 3), ("c", 5))
    }
    pairs = compare_values(values, resamples=500)
    assert [(p.baseline, p.run, p.measure) for p in pairs] == [
        (a, b, m) for a, b in (("a", "b"), ("a", "c"), ("b", "c")) for m in ("MAP", "P@5")
    ]
    for pair in pairs:
        a, b = (list(values[name][pair.measure].values()) for name in (pair.baseline, pair.run))
        assert pair.p_randomization == randomization_p(np.subtract(b, a), resamples=500)
        assert pair.p_bootstrap == paired_bootstrap_p(np.subtract(b, a), resamples=500)
        differences = [y - x for x, y in zip(a, b, strict=True)]
        reach = max(map(abs, differences))
        assert pair.difference == mean_interval(differences, scale=(-reach, reach), resamples=500)
    assert [p.p_randomization_holm for p in pairs] == list(holm([p.p_randomization for p in pairs]))
    assert [p.p_bootstrap_holm for p in pairs] == list(holm([p.p_bootstrap for p in pairs]))


def test_a_run_that_was_better_on_every_query_may_be_worse_on_the_next():
    a, b = ({"m": {str(query): value for query in range(3)}} for value in (0.25, 0.5))
    (pair,) = compare_values({"a": a, "b": b}, resamples=20_000)
    # The weight w of one query beside three is beta(1, 3), whose quantile at .975 is .708; it may differ by -.25.
    assert (pair.difference.low, pair.difference.high) == pytest.approx((0.25 - 0.5 * 0.708, 0.25), abs=0.01)


def test_equal_runs_may_differ_on_the_next_query():
    same = {"m": {str(query): 0.25 for query in range(10)}}
    (pair,) = compare_values({"a": same, "b": same}, resamples=20_000)
    # The weight of one query beside ten is beta(1, 10), whose quantile at .975 is .308.
    assert (pair.difference.low, pair.difference.high) == pytest.approx((-0.308, 0.308), abs=0.01)
    nearly = {"m": {query: value + 1e-12 for query, value in same["m"].items()}}
    (pair,) = compare_values({"a": same, "b": nearly}, resamples=20_000)
    assert pair.difference.high == pytest.approx(0.308, abs=0.01), "rounding is no difference"


scores = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=8)


@given(scores)
@settings(max_examples=30)
def test_swapping_the_runs_turns_the_signs_and_nothing_else(rows):
    a, b = ({"m": {str(i): row[side] for i, row in enumerate(rows)}} for side in (0, 1))
    (there,), (back,) = (compare_values(both, resamples=100) for both in ({"a": a, "b": b}, {"b": b, "a": a}))
    assert there.difference.mean == -back.difference.mean
    assert (there.difference.low, there.difference.high) == pytest.approx((-back.difference.high, -back.difference.low))
    assert there.p_randomization == back.p_randomization
    assert 0 < there.p_randomization <= 1
    assert 0 < there.p_bootstrap <= 1
    assert {c.query: c.difference for c in there.changes} == {c.query: -c.difference for c in back.changes}


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"a": {"m": {"q": 1.0}}}, "two runs"),
        ({"a": {"m": {"q": 1.0}}, "b": {"n": {"q": 1.0}}}, "no measure in common"),
        ({"a": {"m": {"q": 1.0}}, "b": {"m": {"r": 1.0}}}, r"2 are only in one of them, such as q"),
        ({"a": {"m": {"q": 1.0}}, "b": {"m": {"q": 0.5}}}, "two queries"),
    ],
)
def test_what_can_not_be_compared(values, reason):
    with pytest.raises(InputError, match=reason):
        compare_values(values)


def test_a_run_of_other_queries_is_named():
    with pytest.raises(InputError, match="second: No query of the run has judgments"):
        compare_runs({"first": FIRST, "second": Run("s", {"other": []})}, QRELS)
