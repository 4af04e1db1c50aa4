"""Averages of results, by the figures that SciMult's paper prints."""

from __future__ import annotations

import json

import pytest

from corpora.errors import InputError
from eval.averages import average, change, read_figures
from tests.commands import fails, ses

# Tables 7 and 8 of the paper. The last number of a variant is its average there.
RERANKING = {
    "Vanilla": (83.99, 91.68, 86.66, 93.67, 91.37, 96.26, 91.50, 96.45, 87.32, 89.32, 94.88, 91.19),
    "MHAExpert": (83.92, 91.60, 86.45, 93.55, 92.58, 96.92, 91.47, 96.36, 86.68, 89.45, 94.77, 91.25),
    "FFNExpert": (83.23, 91.26, 85.61, 93.20, 93.77, 97.42, 90.39, 95.94, 85.75, 88.45, 94.29, 90.85),
    "Prefix": (83.43, 91.48, 85.89, 93.27, 94.28, 97.60, 90.73, 96.09, 86.05, 88.85, 94.66, 91.12),
    "Instruction": (82.13, 90.88, 84.14, 92.36, 92.63, 96.91, 89.27, 95.43, 86.49, 88.81, 94.51, 90.32),
}
REVIEWERS = {
    "UniPR on SciRepEval": (69.16, 55.89, 34.95, 25.42, 46.36),
    "UniPR on KDD": (37.47, 30.75, 15.98, 13.28, 24.37),
}
"""Soft and hard P@5 and P@10 of UniPR's table 5, and their average there."""
SEARCH = {
    "Vanilla": (76.44, 86.76, 67.22, 70.76, 31.20, 66.48),
    "MHAExpert": (76.33, 86.29, 71.18, 70.67, 30.79, 67.05),
    "FFNExpert": (76.02, 82.32, 52.15, 63.57, 27.48, 60.31),
    "Prefix": (76.55, 82.83, 68.15, 70.70, 30.02, 65.65),
    "Instruction": (75.86, 83.59, 61.05, 70.62, 30.25, 64.27),
}
TABLE_9 = {
    "reranking": {"MHAExpert": 0.07, "FFNExpert": -0.37, "Prefix": -0.08, "Instruction": -0.95},
    "search": {"MHAExpert": 0.86, "FFNExpert": -9.28, "Prefix": -1.25, "Instruction": -3.32},
}


def write(path, values, measure="nDCG@10"):
    """Results of a command: a row for each value."""
    rows = [
        {"set": f"set {at}", "measures": {measure: {"mean": value}}, "counts": {}} for at, value in enumerate(values)
    ]
    path.write_text(json.dumps({"data": "d", "level": 0.95, "rows": rows}))
    return path


@pytest.mark.parametrize(("task", "table"), [("reranking", RERANKING), ("search", SEARCH)])
def test_averages_and_changes_are_those_of_the_paper(tmp_path, task, table):
    figures = {name: read_figures([write(tmp_path / name, row[:-1])]) for name, row in table.items()}
    assert {name: round(average(one), 2) for name, one in figures.items()} == {
        name: row[-1] for name, row in table.items()
    }
    changes = {name: 100 * change(figures[name], figures["Vanilla"]) for name in TABLE_9[task]}
    # The paper divides averages that are rounded already.
    assert changes == pytest.approx(TABLE_9[task], abs=0.02)


def test_the_average_of_reviewers_is_that_of_unipr(tmp_path):
    for *row, published in REVIEWERS.values():
        assert average(read_figures([write(tmp_path / "r.json", row)])) == pytest.approx(published, abs=0.006)


def test_the_command_averages_results_of_several_commands(tmp_path):
    scidocs, scimult = write(tmp_path / "a.json", [0.5, 0.7], "MAP"), write(tmp_path / "b.json", [0.6], "nDCG")
    baseline = [write(tmp_path / "c.json", [0.5, 0.5], "MAP"), write(tmp_path / "d.json", [0.5], "nDCG")]
    given = [scidocs, scimult, *(part for path in baseline for part in ("--baseline", path))]
    told = json.loads(ses(tmp_path, "eval", "average", *given, "--json").stdout)
    assert told == {"figures": 3, "average": pytest.approx(0.6), "change": pytest.approx(0.2), "baseline": 0.5}
    printed = ses(tmp_path, "eval", "average", *given, "--measure", "MAP").stdout
    assert printed.splitlines() == ["average of 2 figures: 0.6000", "baseline: 0.5000, change +20.00%"]
    assert ses(tmp_path, "eval", "average", scidocs).stdout == "average of 2 figures: 0.6000\n"


def test_mistakes(tmp_path):
    one, other = write(tmp_path / "a.json", [0.5, 0.7]), write(tmp_path / "b.json", [0.5])
    fails(ses(tmp_path, "eval", "average", one, "--baseline", other), 2, "Only the results have nDCG@10 of 'set 1'")
    with pytest.raises(InputError, match="Only the baseline has nDCG@10 of 'set 1': measure both on the same sets"):
        change(read_figures([other]), read_figures([one]))
    with pytest.raises(InputError, match=r"b.json has nDCG@10 of 'set 0', as a file before it: name one"):
        read_figures([one, other])
    with pytest.raises(InputError, match="no measure 'MAP'; they have: nDCG@10"):
        read_figures([one], ["MAP"])
    with pytest.raises(InputError, match="average of the baseline is 0"):
        change(read_figures([other]), read_figures([write(tmp_path / "c.json", [0])]))
    with pytest.raises(InputError, match=r"There is no file .*d\.json: check its name"):
        read_figures([tmp_path / "d.json"])
    with pytest.raises(InputError, match="hold no figures"):
        read_figures([write(tmp_path / "c.json", [])])


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"rows": 3}', '{"rows": [{"measures": {}}]}', '{"rows": [3]}'])
def test_files_without_results(tmp_path, content):
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(InputError, match=r"x\.json can't be read as results: name a file that"):
        read_figures([tmp_path / "x.json"])
