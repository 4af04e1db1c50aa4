"""What is drawn of which results, and what tables of queries hold."""

from eval.reports.groups import groups_of
from eval.reports.per_query import MOST_ROWS, query_tables, scatter_plots
from eval.reports.report import Report, Row
from eval.reports.results import results_document
from eval.reports.svg import LIGHT, label
from tests.eval.reports.test_forms import PROVENANCE


def kinds(document):
    return [plot.kind for plot in document.plots]


def test_bars_are_grouped_by_measure_where_all_have_it_and_by_row_where_not():
    full = Report("mode", (Row("a", {"x": 0.1, "y": 0.2}), Row("b", {"x": 0.3, "y": 0.4})))
    assert groups_of(full) == [{"x": {"a": 0.1, "b": 0.3}, "y": {"a": 0.2, "b": 0.4}}]
    parts = Report("part", (Row("probe", {"F1": 0.5}), Row("pairs", {"AP": 0.2, "AUC": 0.6})))
    assert groups_of(parts) == [{"probe": {"F1": 0.5}, "pairs": {"AP": 0.2, "AUC": 0.6}}]


def test_values_of_another_size_and_many_series_get_plots_of_their_own():
    report = Report("mode", (Row("a", {"nDCG": 0.1, "num_ret": 900.0}), Row("b", {"nDCG": 0.2, "num_ret": 800.0})))
    assert [list(one) for one in groups_of(report)] == [["nDCG"], ["num_ret"]]
    rows = tuple(Row(f"r{i}", {f"m{i}": 0.5}) for i in range(17))
    drawn = groups_of(Report("task", rows))
    assert [len(one) for one in drawn] == [8, 8, 1]
    assert [row for one in drawn for row in one] == [row.label for row in rows]


def test_speed_is_set_against_quality_of_modes_and_not_of_one_alone():
    report = Report("mode", (Row("a", {"AP": 0.5}), Row("b", {"AP": 0.7}), Row("never timed", {"AP": 0.9})))
    drawn = results_document("t", report, PROVENANCE, seconds={"a": 2.0, "b": 30.0})
    plot = next(plot for plot in drawn.plots if plot.kind == "Speed against quality")
    assert 'aria-label="AP against time. a: 0.500 in 2 seconds; b: 0.700 in 30 seconds."' in plot.draw()
    for seconds in ({}, {"a": 1.0}, {"a": 1.0, "b": 0.0}):
        assert kinds(results_document("t", report, PROVENANCE, seconds=seconds)) == ["Values"]


def test_systems_are_compared_over_the_rows_all_of_them_have():
    rows = (Row("one", {"A": 0.2, "B": 0.4}), Row("two", {"A": 0.4, "B": 0.8}), Row("three", {"B": 0.1}))
    took = {"A": {"one": 1.0, "two": 2.0}, "B": {"one": 10.0, "two": 20.0, "three": 500.0}}
    drawn = results_document("t", Report("entry", rows), PROVENANCE, systems=took)
    assert kinds(drawn) == ["Values", "Speed against quality"]
    assert "one, A: 0.200; one, B: 0.400; two, A: 0.400" in drawn.plots[0].draw()
    assert "A: 0.300 in 3 seconds; B: 0.600 in 30 seconds." in drawn.plots[1].draw()
    assert "2 rows" in drawn.plots[1].caption
    assert drawn.values["seconds"] == took


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
    report = Report("mode", (Row(LIGHT[0], {"AP": 0.5}),))
    svg = results_document("t", report, PROVENANCE).plots[0].draw()
    assert f"var(--series-0, {LIGHT[0]})" in svg
    assert "currentColor" in svg
