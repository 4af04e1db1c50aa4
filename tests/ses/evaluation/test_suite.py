"""Suites as they are run by names of models."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from corpora.checksums import sha256_of
from corpora.errors import InputError
from encoders.registry import find_model
from eval.outcome import Outcome
from eval.statistics.interval import Interval
from eval.suites.base import Entry, Found
from ses.evaluation.suite import SuiteResults, choose_entries, run_entries
from ses.settings import load_settings
from tests.tiny import make_model


def outcome(value, count):
    return Outcome({"m": Interval(0.1, value, 0.9), "other": 0.5}, {"m": {"q": value}}, {"queries": count})


@pytest.fixture
def suite(tmp_path):
    """Two entries, one of which words can do, and the benches that they were run with."""
    benches = []

    def by(value, count):
        return lambda bench: benches.append(bench) or outcome(value, count)

    (tmp_path / "papers").write_text("x")
    entries = [Entry("Known items", "m", ("papers",), by(0.4, 3), by(0.2, 2)), Entry("Topics", "m", (), by(0.6, 5))]
    settings = load_settings(data_dir=tmp_path / "own", cache_dir=tmp_path / "cache")
    return SimpleNamespace(entries=entries, benches=benches, settings=settings)


def test_models_and_words_are_run_with_indexes_apart_from_those_of_the_user(suite, tmp_path):
    models, told = [str(make_model(tmp_path / name, seed=seed)) for seed, name in enumerate(("first", "second"))], []

    def run(data=tmp_path, entries=suite.entries):
        return run_entries(
            "s", entries, data, models, suite.settings, lambda label, one: told.append((label, one.entry.name))
        )

    found = run()
    first, second = (find_model(model).card for model in models)
    assert list(found.found) == ["BM25", first.name, second.name]
    assert told == [
        ("BM25", "Known items"),
        *((card.name, name) for card in (first, second) for name in ("Known items", "Topics")),
    ]
    assert [card.fingerprint for card in found.cards] == [first.fingerprint, second.fingerprint]
    assert {bench.work for bench in suite.benches} == {tmp_path / "own" / "suites"}
    assert {bench.data for bench in suite.benches} == {tmp_path}
    assert [bench.encoder.card for bench in suite.benches] == [first, first, first, second, second]
    assert found.data == [tmp_path / "papers"]
    rows = found.to_dict()["rows"]
    assert (found.to_dict()["suite"], [row["entry"] for row in rows]) == ("s", ["Known items: m", "Topics: m"])
    assert [{name: cell["mean"] for name, cell in row["measures"].items()} for row in rows] == [
        {"BM25": 0.2, first.name: 0.4, second.name: 0.4},
        {first.name: 0.6, second.name: 0.6},
    ]
    assert found.results.outcomes["Known items: m"].per_unit["BM25"] == {"q": 0.2}
    assert [row["counts"] for row in rows] == [{"queries": 3}, {"queries": 5}]
    assert found.results.unit == "queries, papers, reviews or reviewers"
    # Once more, all comes from the cache.
    again = run()
    assert (len(suite.benches), again.seconds) == (5, 0)
    assert again.to_dict() == found.to_dict()
    assert len([*(tmp_path / "cache" / "eval").iterdir()]) == 5
    # These are the defaults, so the vectors are the same.
    suite.settings = replace(suite.settings, runtime="onnx", precision="int8")
    assert run().seconds == 0
    free = run(data=None, entries=suite.entries[1:])
    assert (free.data, {bench.data for bench in suite.benches[5:]}) == ([], set())


def test_a_report_says_how_long_each_system_took(suite, tmp_path):
    model = str(make_model(tmp_path / "model"))
    found = run_entries("s", suite.entries, tmp_path, [model], suite.settings, lambda *_: None)
    card = found.cards[0]
    timed = {
        "BM25": [Found(suite.entries[0], outcome(0.2, 2), 1_200.4, cached=False)],
        card.name: [
            Found(suite.entries[0], outcome(0.4, 3), 3.0, cached=True),
            Found(suite.entries[1], outcome(0.6, 5), 4.0, cached=False),
        ],
    }
    told = SuiteResults("s", found.results, timed, found.cards, found.data, suite.settings)
    assert told.seconds == pytest.approx(1_204.4)
    told.write_report(tmp_path / "r.json")
    report = json.loads((tmp_path / "r.json").read_text())
    made = report["provenance"]
    assert report["title"] == "The suite s"
    assert made["data"] == {str(tmp_path / "papers"): sha256_of(tmp_path / "papers")}
    assert made["models"] == {card.name: card.fingerprint}
    assert (made["runtime"], made["engine"].partition(" ")[0]) == ("onnx-int8", "tantivy")
    assert made["engine"].endswith(", embedded")
    assert made["settings"] == {"seconds of BM25": "1,200", f"seconds of {card.name}": "7"}


def test_entries_are_chosen_by_parts_of_their_names(suite):
    for parts, names in (
        ((), ["Known items", "Topics"]),
        (("TOP",), ["Topics"]),
        (("o",), ["Known items", "Topics"]),
        (("topics", "items"), ["Known items", "Topics"]),
    ):
        assert [entry.name for entry in choose_entries(suite.entries, parts)] == names
    told = "No entry of the suite has 'x' in its name; its entries are: Known items; Topics."
    with pytest.raises(InputError, match=told):
        choose_entries(suite.entries, ("topics", "x"))
