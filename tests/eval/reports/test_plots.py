"""What is drawn of which results, and what tables of queries hold."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from eval.outcome import Outcome
from eval.reports import plots
from eval.reports.plots import DARK, GREY, INK, LIGHT, MARKERS, drawn, label, standalone, style
from eval.reports.report import SERIES
from eval.reports.results import MOST_ROWS, Results, groups_of, query_tables, results_report, scatter_plots
from eval.statistics.interval import Interval
from tests.eval.reports.test_forms import PROVENANCE


def kinds(report):
    return [plot.kind for plot in report.plots]


def test_each_series_of_a_plot_has_a_colour_and_a_marker():
    assert len(set(LIGHT)) == len(set(DARK)) == len(set(MARKERS)) == SERIES


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


@pytest.fixture
def axes_of(monkeypatch):
    """Draw a plot on axes that can be looked at."""

    def look(draw, *arguments):
        made = SimpleNamespace(axes=Figure().subplots())
        with monkeypatch.context() as patch:
            patch.setattr(plots, "drawn", lambda alt, on, *, height: (on(made.axes), vars(made).update(locals())))
            draw(*arguments)
        return made

    return look


def legend(axes):
    return axes.get_legend_handles_labels()[1]


def test_bars_stand_below_their_groups_name_with_the_reach_of_their_intervals(axes_of):
    groups = {"one": {"a": Interval(0.1, 0.3, 0.4), "b": 0.5}, "two": {"b": Interval(0.25, 0.2, 0.3)}}
    made = axes_of(plots.bars, groups)
    axes = made.axes
    # A group's name takes one line and its bars one each, with 0.4 of a line between groups.
    bars = [(bar.get_y() + 0.4, bar.get_height(), bar.get_width(), to_hex(bar.get_facecolor())) for bar in axes.patches]
    expected = [(1, 0.8, 0.3, LIGHT[0]), (2, 0.8, 0.5, LIGHT[1]), (4.4, 0.8, 0.2, LIGHT[1])]
    assert bars == [(pytest.approx(y), pytest.approx(thick), value, colour) for y, thick, value, colour in expected]
    reaches = [one.tolist() for lines in axes.collections for one in lines.get_segments()]
    # A value that is slightly outside its interval has no reach to that side.
    np.testing.assert_allclose(reaches, [[[0.1, 1], [0.4, 1]], [[0.2, 4.4], [0.3, 4.4]]])
    assert {to_hex(lines.get_color()[0]) for lines in axes.collections} == {INK}
    assert [(text.get_text(), text.get_position(), text.get_va()) for text in axes.texts] == [
        ("one", (0, 0), "center"),
        ("two", (0, pytest.approx(3.4)), "center"),
    ]
    assert not any(text.get_in_layout() for text in axes.texts)
    assert axes.get_ylim() == pytest.approx((5.2, -0.6))
    assert list(axes.get_yticks()) == []
    assert not axes.spines["left"].get_visible()
    assert (list(axes.lines[-1].get_xdata()), axes.lines[-1].get_color(), axes.lines[-1].get_linewidth()) == (
        [0, 0],
        GREY,
        0.8,
    )
    assert legend(axes) == [" a", " b"]
    assert made.height == pytest.approx(0.6 + 0.21 * 5.2)
    assert made.alt == "Bars. one, a: 0.300 [0.100, 0.400]; one, b: 0.500; two, b: 0.200 [0.250, 0.300]."


@pytest.mark.slow
def test_bars_of_one_series_have_no_legend_and_of_many_are_told_in_part(axes_of):
    made = axes_of(plots.bars, {f"group {number} {'x' * 60}": {"a": 0.5} for number in range(61)})
    assert legend(made.axes) == []
    assert {len(text.get_text()) for text in made.axes.texts} == {56}
    assert made.alt.count(", a: 0.500") == 60
    assert made.alt.endswith(", a: 0.500; and 1 more.")
    sixty = axes_of(plots.bars, {f"group {number}": {"a": 0.5} for number in range(60)})
    assert "more" not in sixty.alt
    nine = axes_of(plots.bars, {"g": {f"s{number}": 0.5 for number in range(9)}})
    assert [to_hex(bar.get_facecolor()) for bar in nine.axes.patches] == [*LIGHT, LIGHT[0]]


def test_points_are_queries_as_large_as_they_are_many(axes_of):
    made = axes_of(plots.scatter, [0.2, 0.2, 0.2, 0.2, 0.7], [0.5, 0.5, 0.5, 0.5, 0.6], ("a", "b" * 30), "AP")
    (points,) = made.axes.collections
    assert points.get_offsets().tolist() == [[0.2, 0.5], [0.7, 0.6]]
    assert points.get_sizes().tolist() == [36, 18], "the area grows with the root of the number"
    assert points.get_alpha() == 0.55
    assert to_hex(points.get_facecolor()[0]) == LIGHT[0]
    assert not points.get_edgecolor().size
    assert not points.get_rasterized()
    (diagonal,) = made.axes.lines
    assert (list(diagonal.get_xdata()), list(diagonal.get_ydata())) == ([0, 0.7], [0, 0.7])
    assert (diagonal.get_color(), diagonal.get_linewidth()) == (GREY, 1)
    assert made.axes.get_xlim() == made.axes.get_ylim() == pytest.approx((-0.028, 0.728))
    assert made.axes.get_aspect() == 1
    assert made.axes.get_xlabel() == "a: AP"
    assert made.axes.get_ylabel() == f"{'b' * 11}…{'b' * 10}: AP"
    told = f"AP of 5 queries as points: {'b' * 30} is better on 4, a on 1, and 0 are the same."
    assert (made.alt, made.height) == (told, 4.4)


def test_points_below_zero_and_at_zero_have_room_and_very_many_become_a_bitmap(axes_of):
    below = axes_of(plots.scatter, [-0.5, 0.5], [0.0, 0.25], ("a", "b"), "AP").axes
    assert below.get_xlim() == pytest.approx((-0.54, 0.54))
    zero = axes_of(plots.scatter, [0.0], [0.0], ("a", "b"), "AP").axes
    assert zero.get_xlim() == pytest.approx((-4e-11, 1.04e-9))
    for count, many in ((2000, False), (2001, True)):
        spread = [number / count for number in range(count)]
        (points,) = axes_of(plots.scatter, spread, spread, ("a", "b"), "AP").axes.collections
        assert bool(points.get_rasterized()) is many


def test_coverage_is_a_line_of_each_label_beside_what_is_promised(axes_of):
    held = {"a": {0.5: 0.4, 0.95: 0.91}, "b": {0.5: 0.6, 0.9: 0.8}}
    made = axes_of(plots.reliability, held)
    promised, *lines = made.axes.lines
    assert list(promised.get_xdata()) == list(promised.get_ydata()) == [0.5, 0.9, 0.95]
    assert (promised.get_color(), promised.get_linewidth(), promised.get_linestyle()) == (GREY, 1, "--")
    for line, (position, one) in zip(lines, enumerate(held.values()), strict=True):
        assert dict(zip(line.get_xdata(), line.get_ydata(), strict=True)) == one
        assert (line.get_color(), line.get_marker()) == (LIGHT[position], MARKERS[position])
        assert (line.get_markersize(), line.get_linewidth(), line.get_alpha()) == (5, 1.2, 0.85)
    assert legend(made.axes) == ["as promised", " a", " b"]
    assert (made.axes.get_xlabel(), made.axes.get_ylabel()) == ("level of the interval", "share that held the mean")
    assert made.alt == "Coverage of intervals by their level: a held 91% at 95%; b held 80% at 90%."
    assert made.height == 3.6


def test_quality_is_drawn_over_time_where_both_are_known(axes_of):
    cells = {"a": Interval(0.1, 0.3, 0.4), "no time": 0.2, "b": 0.5}
    made = axes_of(plots.speed_and_quality, {"a": 0.5, "b": 20.0, "no value": 3.0}, cells, "AP")
    first, second = made.axes.containers
    for container, colour, point in ((first, LIGHT[0], (0.5, 0.3)), (second, LIGHT[1], (20.0, 0.5))):
        line = container[0]
        assert (*line.get_xdata(), *line.get_ydata()) == point
        assert (line.get_color(), line.get_markersize(), line.get_linestyle()) == (colour, 8, "None")
    np.testing.assert_allclose(first[2][0].get_segments(), [[[0.5, 0.1], [0.5, 0.4]]])
    assert [cap.get_markersize() for cap in first[1]] == [6, 6]
    assert second[2] == ()
    axes = made.axes
    assert legend(axes) == [" a", " b"]
    assert (axes.get_xscale(), axes.get_xlabel(), axes.get_ylabel()) == ("log", "seconds (log scale)", "AP")
    assert axes.margins() == (0.1, 0.1)
    # Ticks are at 1, 2 and 5 of each power of ten, written plainly.
    ticks = set(axes.xaxis.get_major_locator().tick_values(0.5, 20).round(6).tolist())
    assert {0.5, 1, 2, 5, 10, 20} <= ticks
    assert not {3, 4, 6} & ticks
    assert axes.xaxis.get_major_formatter()(0.5) == "0.5"
    assert axes.xaxis.get_minor_formatter()(3.0) == ""
    assert made.alt == "AP against time. a: 0.300 [0.100, 0.400] in 0.5 seconds; b: 0.500 in 20 seconds."
    assert made.height == 3.4


def test_long_curves_are_means_of_neighbours_without_marks(axes_of):
    short = {step: 1 / step for step in range(30, 0, -1)}
    long = {step: float(step) for step in range(1, 602)}
    made = axes_of(plots.curves, {"short": short, "long": long, "none": {}}, "steps", "loss")
    first, second, none = made.axes.lines
    assert list(first.get_xdata()) == list(range(1, 31)), "in order"
    assert list(first.get_ydata()) == [1 / step for step in range(1, 31)]
    # 601 values become 201 means of 3 and less, since no more than 300 are drawn.
    assert (len(second.get_xdata()), second.get_xdata()[0], second.get_ydata()[-1]) == (201, 2, 601)
    assert [(line.get_color(), line.get_marker()) for line in (first, second)] == [(LIGHT[0], "o"), (LIGHT[1], "None")]
    assert [(line.get_linewidth(), line.get_markersize()) for line in (first, second)] == [(1.2, 4)] * 2
    assert none.get_xdata().size == 0
    (few,) = axes_of(plots.curves, {"few": dict.fromkeys(range(300), 1.0)}, "steps", "loss").axes.lines
    assert len(few.get_xdata()) == 300
    (more,) = axes_of(plots.curves, {"more": dict.fromkeys(range(31), 1.0)}, "steps", "loss").axes.lines
    assert more.get_marker() == "None"
    assert (made.axes.get_xlabel(), made.axes.get_ylabel()) == ("steps", "loss")
    assert legend(made.axes) == [" short", " long", " none"]
    assert made.alt == "loss over steps. short: 0.03333 at 30; long: 601 at 601."
    assert made.height == 3.0


def test_series_differ_in_colour_and_where_colours_repeat_in_mark():
    looks = [tuple(style(position).values()) for position in range(16)]
    assert looks[:8] == list(zip(LIGHT, "osD^vPXp", strict=True))
    assert looks[8:] == list(zip(LIGHT, "sD^vPXpo", strict=True))
    assert list(style(0)) == ["color", "marker"]


def luminance(colour):
    """WCAG 2's relative luminance."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_colours_can_be_seen_on_pages_of_either_kind():
    assert len({*LIGHT, *DARK, INK, GREY}) == 18
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in (*LIGHT, *DARK, INK, GREY))
    assert all(1.05 / (luminance(colour) + 0.05) >= 3 for colour in (*LIGHT, INK))
    assert all((luminance(colour) + 0.05) / 0.05 >= 6 for colour in DARK)


def points_of(series, name="s"):
    def draw(axes):
        for number in range(series):
            axes.plot([0, 1], [0, number], label=f"{name}{number}", **style(number))
        axes.set_xlabel("of $1$")

    return draw


def size_of(svg):
    return tuple(float(size) for size in re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg).groups())


@pytest.mark.parametrize(
    ("series", "name", "rows"),
    [
        *((1, "s", 1), (3, "s", 1), (4, "s", 2), (0, "s", 0)),
        *((2, "s" * 14, 1), (3, "s" * 14, 1), (3, "s" * 15, 2), (3, "s" * 24, 2), (3, "s" * 25, 3)),
    ],
)
def test_a_drawing_grows_by_the_rows_of_its_legend(series, name, rows):
    # An inch has 72 points.
    assert size_of(drawn("a", points_of(series, name), height=2.0)) == pytest.approx((4.8 * 72, (2 + 0.21 * rows) * 72))


def test_a_drawing_is_text_in_the_pages_colours_and_tells_no_time(monkeypatch):
    svg = drawn('a "b"\nc', points_of(2), height=2.0)
    assert svg.startswith('<svg role="img" aria-label="a &quot;b&quot; c" ')
    assert svg.endswith("</svg>")
    assert "of $1$" in svg, "a text as it is, and no formula"
    assert "<g id=" not in svg
    assert not re.search("<dc:(date|creator|format|type)", svg)
    assert drawn('a "b"\nc', points_of(2), height=2.0) == svg, "the ids are no random ones"
    assert "font: 9px" in svg.replace("font-size: 9px", "font: 9px"), "of the legend"
    assert "10px" in svg
    for place in (0, 1):
        assert f"var(--series-{place}, {LIGHT[place]})" in svg
    assert INK not in svg
    assert svg.count("currentColor") > 4
    alone = standalone(svg)
    assert alone.startswith('<svg style="background: #fff" role="img" ')
    assert "var(" not in alone
    assert "currentColor" not in alone
    assert {INK, *LIGHT[:2]} <= set(re.findall("#[0-9a-f]{6}", alone))
    assert alone.endswith("</svg>\n")


def test_a_long_label_is_cut_in_the_middle_to_its_length():
    assert label("x" * 40) == "x" * 40
    assert label("0123456789", 9) == "0123…6789"
    assert label("0123456789", 8) == "0123…789"
    assert label("abc 456 890", 9) == "abc…890", "no blanks at the cut"
    assert label("a\nb") == "a b"
