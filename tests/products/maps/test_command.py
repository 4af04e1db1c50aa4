"""`ses maps`."""

import csv
import json

import pytest

from tests.commands import fails, ses
from tests.tiny import make_model, papers, write_jsonl


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("maps")
    written = write_jsonl(home / "p.jsonl", papers(30))
    done = ses(
        home, "index", "--corpus", "jsonl", "--path", written, "--index", "mine", "--model", make_model(home / "m")
    )
    assert done.returncode == 0, done.stderr
    return home


def test_topics_are_shown_and_places_written(home, tmp_path):
    done = ses(home, "maps", "virus", "--topics", 3, "--size", 20, "--out", tmp_path / "m.csv")
    assert done.returncode == 0, done.stderr
    *lines, last = done.stdout.splitlines()
    assert last == "20 papers in 3 topics, from index mine"
    assert sum(int(line.split()[0]) for line in lines) == 20
    with (tmp_path / "m.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["topic"] for row in rows} == {line.split(maxsplit=1)[1].split(": ")[0] for line in lines}
    assert max(abs(float(row[axis])) for row in rows for axis in "xy") == 1
    told = json.loads(ses(home, "maps", "virus", "--topics", 3, "--size", 20, "--json").stdout)
    assert [(one["id"], one["x"], one["y"]) for one in told["points"]] == [
        (row["id"], float(row["x"]), float(row["y"])) for row in rows
    ]
    assert [one["number"] for one in told["topics"]] == [1, 2, 3]


def test_wrong_requests_are_told(home):
    fails(ses(home, "maps", "--size", 501), 2, "501")
    fails(ses(home, "maps", "virus", "--filter", "yeer=2020"), 2, "yeer")
