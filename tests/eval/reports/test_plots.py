"""What is drawn of which results, and what tables of queries hold."""

from eval.outcome import Outcome
from eval.reports.per_query import MOST_ROWS, query_tables, scatter_plots
from eval.reports.results import Results, groups_of, results_report
from eval.reports.svg import LIGHT, label
from tests.eval.reports.test_forms import PROVENANCE


def kinds(report):
    return [plot.kind for plot in report.plots]


def test_bars_are_grouped_by_measure_where_all_have_it_and_by_row_where_not():
    full = Results("mode", {"a": Outcome({"x": 0.1, "y": 0.2}), "b": Outcome({"x": 0.3, "y": 0.4})})
    assert groups_of(full) == [{"x": {"a": 0.1, "b": 0.3}, "y": {"a": 0.2, "b": 0.4}}]
    parts = Results("part", {"probe": Outcome({"F1": 0.5}), "pairs": Outcome({"AP": 0.2, "AUC": 0.6})})
    assert groups_of(parts) == [{"probe": {"F1": 0.5}, "pairs": {"AP": 0.2, "AUC": 0.6}}]


def test_values_of_another_size_and_many_series_get_plots_of_their_own():
    report = Results(
        "mode", {"a": Outcome({"nDCG": 0.1, "num_ret": 900.0}), "b": Outcome({"nDCG": 0.2, "num_ret": 800.0})}
    )
    assert [list(one) for one in groups_of(report)] == [["nDCG"], ["num_ret"]]
    rows = {f"r{i}": Outcome({f"m{i}": 0.5}) for i in range(17)}
    drawn = groups_of(Results("task", rows))
    assert [len(one) for one in drawn] == [8, 8, 1]
    assert [row for one in drawn for row in one] == list(rows)


def test_speed_is_set_against_quality_of_modes_and_not_of_one_alone():
    report = Results(
        "mode", {"a": Outcome({"AP": 0.5}), "b": Outcome({"AP": 0.7}), "never timed": Outcome({"AP": 0.9})}
    )
    drawn = results_report("t", report, PROVENANCE, seconds={"a": 2.0, "b": 30.0})
    plot = next(plot for plot in drawn.plots if plot.kind == "Speed against quality")
    assert 'aria-label="AP against time. a: 0.500 in 2 seconds; b: 0.700 in 30 seconds."' in plot.draw()
    for seconds in ({}, {"a": 1.0}, {"a": 1.0, "b": 0.0}):
        assert kinds(results_report("t", report, PROVENANCE, seconds=seconds)) == ["Values"]


def test_systems_are_the_bars_of_each_row_and_their_values_are_told_by_system():
    rows = {
        "one": Outcome({"A": 0.2, "B": 0.4}, {"A": {"q": 0.2}, "B": {"q": 0.4}}),
        "two": Outcome({"B": 0.1}, {"B": {"r": 0.1}}),
    }
    drawn = results_report("t", Results("entry", rows), PROVENANCE, by_system=True)
    assert "one, A: 0.200; one, B: 0.400; two, B: 0.100" in drawn.plots[0].draw()
    assert drawn.values["per_unit"] == {"A": {"one": {"q": 0.2}}, "B": {"one": {"q": 0.4}, "two": {"r": 0.1}}}


def test_systems_are_drawn_against_each_other_where_they_share_queries():
    alike = {"AP": {"q1": 0.1, "q2": 0.5, "q3": 0.5}, "AUC": {"q1": 0.2, "q2": 0.3, "q3": 0.4}}
    values = {"a": alike, "b": {"AP": {"q3": 0.5, "q1": 0.9, "q2": 0.1}}, "c": {"AP": {"r1": 0.1, "r2": 0.1}}}
    (plot,) = scatter_plots(values)
    told = "AP of 3 queries as points: b is better on 1, a on 1, and 1 are the same."
    assert f'aria-label="{told}"' in plot.draw()
    assert len(scatter_plots(dict.fromkeys("abcd", alike))) == 6
    assert len(scatter_plots(dict.fromkeys("abcdef", alike))) == 5


def test_tables_of_queries_are_sorted_cut_and_say_so():
    a, b = {f"q{i:03}": i / 1000 for i in range(600)}, {f"q{i:03}": 0.0 for i in range(600)}
    (table,) = query_tables({"a": {"AP": a}, "b": {"AP": b}}, {"q599": "lung " * 40})
    assert table.header == ("query", "text", "a", "b", "largest difference")
    assert len(table.rows) == MOST_ROWS
    assert table.rows[0][0] == "q599"
    assert table.rows[0][2:] == ("0.599", "0.000", "0.599")
    assert len(table.rows[0][1]) == 60
    assert f"the first {MOST_ROWS} of 600" in table.notes[1]
    (alone,) = query_tables({"a": {"AP": {"x": 0.5, "y": 0.1}}})
    assert [row[0] for row in alone.rows] == ["y", "x"], "the worst first"


def test_long_names_keep_both_ends_and_the_page_gives_the_colours():
    assert label("model-" + "x" * 60 + "-one") != label("model-" + "x" * 60 + "-two")
    assert len(label("y" * 90)) == 40
    report = Results("mode", {LIGHT[0]: Outcome({"AP": 0.5})})
    svg = results_report("t", report, PROVENANCE).plots[0].draw()
    assert f"var(--series-0, {LIGHT[0]})" in svg
    assert "currentColor" in svg
