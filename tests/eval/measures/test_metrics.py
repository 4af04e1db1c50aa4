import sys
from math import log2

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.errors import InputError, UnavailableError
from eval.measures.metrics import MEASURES, Scores, evaluate, parse_measure
from eval.statistics.interval import mean_interval
from eval.trec.judgments import Qrels
from eval.trec.runs import Run

CUTS = (1, 2, 3, 10)
NAMES = ["nDCG", "MAP", "MRR", "Rprec"] + [
    f"{name}@{k}" for name in ("nDCG", "MAP", "MRR", "Recall", "P", "Success") for k in CUTS
]


def formula(name, ranking, judged):
    """The definition of a measure on one ranking (document ids, best first), written without trec_eval."""
    kind, _, cutoff = name.partition("@")
    k = int(cutoff) if cutoff else len(ranking)
    gains = [max(judged.get(document, 0), 0) for document in ranking]
    ideal = sorted((gain for gain in judged.values() if gain > 0), reverse=True)
    hits = [gain > 0 for gain in gains[:k]]
    if not ideal:
        return 0.0
    match kind:
        case "nDCG":
            dcg = sum(gain / log2(rank + 1) for rank, gain in enumerate(gains[:k], 1))
            best = ideal[:k] if cutoff else ideal
            return dcg / sum(gain / log2(rank + 1) for rank, gain in enumerate(best, 1))
        case "MAP":
            return sum(sum(hits[:rank]) / rank for rank, hit in enumerate(hits, 1) if hit) / len(ideal)
        case "MRR":
            return 1 / (hits.index(True) + 1) if any(hits) else 0.0
        case "Recall":
            return sum(hits) / len(ideal)
        case "P":
            return sum(hits) / k
        case "Success":
            return float(any(hits))
        case "Rprec":
            return sum(gain > 0 for gain in gains[: len(ideal)]) / len(ideal)


document = st.sampled_from([f"d{n}" for n in range(14)])
judgments = st.dictionaries(document, st.integers(-2, 4), max_size=10)
results = st.dictionaries(document, st.sampled_from([0.0, 0.5, 1.0, 1.0 + 1e-9, -3.0]), max_size=14)


@given(st.dictionaries(st.sampled_from("pqr"), judgments), judgments, st.dictionaries(st.sampled_from("qrs"), results))
@settings(deadline=None)
def test_every_measure_is_its_definition(gains, some, found):
    qrels, run = Qrels({**gains, "q": some}), Run("t", {"q": [], **{q: tuple(r.items()) for q, r in found.items()}})
    scores = evaluate(run, qrels, NAMES)
    assert list(scores.per_query) == NAMES
    for name, values in scores.per_query.items():
        assert list(values) == list(qrels.gains)
        for query, value in values.items():
            ranking = [document for document, _ in run.rankings.get(query, ())]
            assert value == pytest.approx(formula(name, ranking, qrels.gains[query]), abs=1e-9), (name, query)
        assert scores.means[name] == pytest.approx(sum(values.values()) / len(values))


def test_golden_values():
    qrels = Qrels({"q": {"a": 3, "b": 1, "c": 0, "d": -1, "e": 2}})
    run = Run("t", {"q": [("x", 9.0), ("a", 8.0), ("d", 7.0), ("b", 6.0), ("c", 5.0)]})
    scores = evaluate(run, qrels, ["ndcg@5", "ndcg@2", "map", "recall@4", "p@5", "mrr@10", "mrr@1", "Judged@3"])
    ideal = 3 + 2 / log2(3) + 1 / 2
    assert scores.means == pytest.approx(
        {
            "nDCG@5": (3 / log2(3) + 1 / log2(5)) / ideal,
            "nDCG@2": (3 / log2(3)) / (3 + 2 / log2(3)),
            "MAP": (1 / 2 + 2 / 4) / 3,
            "Recall@4": 2 / 3,
            "P@5": 2 / 5,
            "MRR@10": 1 / 2,
            "MRR@1": 0.0,
            "Judged@3": 2 / 3,
        }
    )


def preferences(ranking, judged):
    """Bpref and infAP of a ranking, as trec_eval defines them; below 0 is in the pool and unjudged."""
    relevant = sum(gain > 0 for gain in judged.values())
    bound = min(relevant, sum(gain == 0 for gain in judged.values()))
    bpref = inferred = good = bad = outside = 0.0
    for rank, document in enumerate(ranking):
        gain = judged.get(document, -1)
        if gain > 0:
            bpref += 1 - min(bad, relevant) / bound if bad else 1
            share = (good + 1e-5) / (good + bad + 2e-5)
            inferred += 1 / (rank + 1) + (rank - outside) / (rank + 1) * share if rank else 1
        good, bad, outside = good + (gain > 0), bad + (gain == 0), outside + (document not in judged)
    return (bpref / relevant, inferred / relevant) if relevant else (0.0, 0.0)


@given(st.dictionaries(st.sampled_from("pqr"), judgments, min_size=1), st.dictionaries(st.sampled_from("pqr"), results))
@settings(deadline=None)
def test_measures_tell_unjudged_papers_from_those_that_are_not_relevant(gains, found):
    run = Run("t", {min(gains): [], **{query: tuple(of.items()) for query, of in found.items()}})
    per_query = evaluate(run, Qrels(gains), ["Bpref", "infAP"]).per_query
    for query, judged in gains.items():
        ranking = [document for document, _ in run.rankings.get(query, ())]
        expected = preferences(ranking, judged)
        assert (per_query["Bpref"][query], per_query["infAP"][query]) == pytest.approx(expected, abs=1e-5)


COUNTED = ["AP", "Bpref", "Rprec", "infAP", "IPrec@0.1", "NumRet", "NumRel", "NumQ", "Accuracy"]


@pytest.mark.parametrize("first", COUNTED)
@pytest.mark.parametrize("second", ["Bpref", "NumRet"])
def test_queries_without_results_count_as_in_trec_eval(first, second):
    """`trec_eval -c` gives 0, and the numbers of judgments; pytrec_eval crashes where the first ranking is empty."""
    qrels = Qrels({"p": {"a": 1, "b": 2, "c": 0}, "q": {"a": 1, "b": 0}, "r": {"a": -1}})
    per_query = evaluate(Run("t", {"q": [("a", 2.0), ("b", 1.0)]}), qrels, [first, second]).per_query
    counts = {"NumRel": (2, 1, 0), "NumQ": (1, 1, 1), "NumRet": (0, 2, 0)}
    for name in (first, second):
        assert tuple(per_query[name].values()) == counts.get(name, (0, 1, 0))


def test_accuracy_of_a_ranking_with_relevant_papers_alone_is_whole():
    qrels = Qrels({"p": {"a": 1, "b": 2}, "q": {"a": 1, "b": 0}})
    run = Run("t", {"p": [("a", 2.0), ("b", 1.0)], "q": [("b", 2.0), ("a", 1.0)]})
    assert evaluate(run, qrels, ["Accuracy"]).per_query == {"Accuracy": {"p": 1, "q": 0}}


@given(st.dictionaries(document, st.integers(-1, 2), min_size=1), results)
@settings(deadline=None)
def test_accuracy_is_that_of_ir_measures_where_it_has_one(gains, found):
    run = Run("t", {"q": tuple(found.items())})
    relevant = [gains.get(document, 0) > 0 for document, _ in run.rankings["q"]]
    if 0 < sum(relevant) < len(relevant):
        scored = {"q": {document: -float(rank) for rank, (document, _) in enumerate(run.rankings["q"])}}
        value = ir_measures.calc_aggregate([ir_measures.Accuracy], {"q": gains}, scored)[ir_measures.Accuracy]
        assert evaluate(run, Qrels({"q": gains}), ["Accuracy"]).means["Accuracy"] == pytest.approx(value)


def test_mrr_cuts_in_trec_evals_order_of_ties():
    tied = [(f"d{n:02}", 1.0) for n in range(12)]
    scores = evaluate(Run("t", {"q": tied, "r": tied}), Qrels({"q": {"d02": 1}, "r": {"d01": 1}}), ["MRR@10", "MRR"])
    assert scores.per_query["MRR@10"] == pytest.approx({"q": 1 / 10, "r": 0.0})
    assert scores.per_query["MRR"] == pytest.approx({"q": 1 / 10, "r": 1 / 11})


def test_nothing_is_dropped_uncounted():
    qrels = Qrels({"hit": {"a": 1}, "empty": {"a": 1}, "absent": {"a": 1}, "zero": {"a": 0}, "bare": {}})
    run = Run("t", {"hit": [("a", 1.0)], "empty": [], "zero": [("a", 1.0)], "bare": [("a", 1.0)], "other": []})
    scores = evaluate(run, qrels, ["P@1", "nDCG@10"])
    assert scores.per_query["nDCG@10"] == {"hit": 1.0, "empty": 0.0, "absent": 0.0, "zero": 0.0, "bare": 0.0}
    assert scores.means == {"P@1": 1 / 5, "nDCG@10": 1 / 5}
    assert (scores.queries, scores.without_results, scores.without_relevant, scores.unjudged) == (5, 2, 2, 1)
    assert scores.same_id_dropped == 0


def test_what_is_counted_is_told_by_name_beside_intervals_of_the_level():
    values = {"P@1": {"a": 1.0, "b": 0.0, "c": 1.0}}
    scores = Scores(values, 1, 2, 3, 4, 5)
    assert scores.outcome().counts == {
        "queries": 3,
        "queries_without_results": 1,
        "queries_without_relevant": 2,
        "queries_unjudged": 3,
        "hits_of_same_id_dropped": 4,
        "judged_before_dropped": 5,
    }
    assert scores.outcome().cells == {"P@1": mean_interval([1.0, 0.0, 1.0])}
    assert scores.outcome(level=0.5).cells == {"P@1": mean_interval([1.0, 0.0, 1.0], level=0.5)}
    assert scores.outcome().per_unit == values
    assert Scores({}).queries == 0


def test_a_reciprocal_rank_counts_up_to_the_cut_off_of_any_size():
    found = {str(rank): 1 / rank for rank in (1, 2, 3, 7, 49, 999_998, 999_999)}
    for rank, value in found.items():
        assert parse_measure(f"MRR@{rank}").value(value) == value
        assert parse_measure(f"MRR@{max(1, int(rank) - 1)}").value(value) == (value == 1)


def test_same_id_pairs_are_dropped_only_when_asked():
    qrels = Qrels({"a": {"b": 1}, "c": {"d": 1}})
    run = Run("t", {"a": [("a", 2.0), ("b", 1.0)], "c": [("c", 1.0)]})
    kept, dropped = evaluate(run, qrels, ["MRR"]), evaluate(run, qrels, ["MRR"], drop_same_id=True)
    assert kept.per_query["MRR"] == {"a": 0.5, "c": 0.0}
    assert (kept.same_id_dropped, kept.without_results) == (0, 0)
    assert dropped.per_query["MRR"] == {"a": 1.0, "c": 0.0}
    assert (dropped.same_id_dropped, dropped.without_results) == (2, 1)


def test_a_run_of_other_queries_is_a_mistake():
    with pytest.raises(InputError, match="No query of the run has judgments"):
        evaluate(Run("t", {"x": []}), Qrels({"q": {"a": 1}}), ["MAP"])


CUT = ("nDCG", "AP", "RR", "R", "P", "Success", "Judged")


@given(st.sampled_from([*CUT, "MAP", "MRR", "Recall", "Precision", "Rprec"]), st.none() | st.integers(1, 999_999))
def test_measure_names_round_trip_in_any_case(name, cutoff):
    text = name if cutoff is None else f"{name}@{cutoff}"
    if (cutoff is None and name in ("R", "Recall", "P", "Precision", "Success")) or (cutoff and name == "Rprec"):
        with pytest.raises(InputError, match="cut-off"):
            parse_measure(text)
    else:
        measure = parse_measure(text)
        assert (measure.name, measure.cutoff) == (text, cutoff or 0)
        assert measure.definition == ir_measures.parse_measure(text)
        assert {parse_measure(text.upper()), parse_measure(f" {text.lower()} ")} == {measure}


def test_only_r_precision_takes_no_cut_off():
    with pytest.raises(InputError, match="Rprec takes no cut-off: write Rprec alone"):
        parse_measure("Rprec@5")
    assert [str(parse_measure(f"{name}@5")) for name in CUT] == [f"{name}@5" for name in CUT]
    with pytest.raises(InputError, match="P needs a cut-off: P@10, for example"):
        parse_measure("P")


@pytest.mark.parametrize(
    ("alias", "name"),
    [("MAP", "AP"), ("mrr@10", "RR@10"), ("Recall@100", "R@100"), ("precision@5", "P@5"), ("NDCG@5", "nDCG@5")],
)
def test_a_measure_keeps_the_name_it_was_asked_by(alias, name):
    asked, own = parse_measure(alias), parse_measure(name)
    assert asked.definition == own.definition
    assert str(asked).casefold() == alias.casefold()
    scores = evaluate(Run("t", {"q": [("a", 1.0)]}), Qrels({"q": {"a": 1, "b": 1}}), [alias, name])
    assert len({tuple(values.items()) for values in scores.per_query.values()}) == 1


def test_parameters_are_those_of_ir_measures():
    qrels = Qrels({"q": {"a": 1, "b": 2, "c": 0}, "r": {"a": 1}})
    run = Run("t", {"q": [("a", 3.0), ("b", 2.0), ("c", 1.0)]})
    names = ["P(rel=2)@1", "P(rel=2)@2", "RR(rel=2)@2", "rr(rel=2)@1", "IPrec@0.5", "NumRet", "nDCG(gains={1:0})@1"]
    found = evaluate(run, qrels, names).per_query
    assert list(found) == [*names[:3], "RR(rel=2)@1", *names[4:]]
    assert [values["q"] for values in found.values()] == [0, 0.5, 0.5, 0, 1, 3, 0]
    assert {values["r"] for values in found.values()} == {0}
    assert evaluate(run, qrels, ["NumRet"]).outcome().cells["NumRet"].high > 1
    for text, reason in (
        ("P(rel='a')@5", "rel"),
        ("P(x=1)@5", "its parameters are: cutoff, rel"),
        ("P(1@5", "no meas"),
    ):
        with pytest.raises(InputError, match=reason):
            parse_measure(text)


@given(st.dictionaries(st.sampled_from("pqr"), judgments, min_size=1), st.dictionaries(st.sampled_from("pqs"), results))
@settings(deadline=None, max_examples=30)
def test_other_libraries_measure_rankings_in_trec_evals_order(gains, found):
    qrels, run = Qrels(gains), Run("t", {next(iter(gains)): (), **{q: tuple(r.items()) for q, r in found.items()}})
    scores = evaluate(run, qrels, ["Judged@3", "P@3"])
    for query, value in scores.per_query["Judged@3"].items():
        first = [name for name, _ in run.rankings.get(query, ())][:3]
        assert value == pytest.approx(sum(name in gains[query] for name in first) / max(1, len(first)))


def test_a_measure_whose_library_is_missing_is_told_before_anything_is_done():
    reason = r"SDCG\(max_rel=2\)@10 is computed by cwl_eval.*pip install ir-measures"
    with pytest.raises(UnavailableError, match=reason):
        parse_measure("SDCG(max_rel=2)@10")
    with pytest.raises(InputError, match="No library computes"):
        parse_measure("nDCG(judged_only=True, dcg='exp-log2')@10")


def test_measures_of_any_library_take_any_ids():
    qrels, run = Qrels({"a topic": {"d": 2}, "b": {"d": 1}}), Run("t", {"a topic": [("d", 1.0)], "b": [("e", 1.0)]})
    values = evaluate(run, qrels, ["ERR@20", "Compat(p=0.8)", "nDCG@10"]).per_query
    assert values["ERR@20"] == pytest.approx({"a topic": 3 / 16, "b": 0})  # a gain of 2 of 4 is (2^2 - 1) / 2^4
    assert values["Compat(p=0.8)"] == pytest.approx({"a topic": 1, "b": 0})


@pytest.mark.parametrize(
    "text", ["", "nDCG@", "nDCG@0", "nDCG@-1", "nDCG@1000000", "nDCG@\u0661", "F1", "ndcg 10", "@5"]
)
def test_unknown_measures(text):
    with pytest.raises(InputError, match="There is no measure"):
        parse_measure(text)


def test_without_ir_measures_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(UnavailableError, match=r"pip install '.+\[eval\]'"):
        evaluate(Run("t", {"q": []}), Qrels({"q": {"a": 1}}), MEASURES)
