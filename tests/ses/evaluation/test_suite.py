"""Suites as they are run by names of models."""

from eval.outcome import Outcome
from eval.statistics.interval import Interval
from eval.suites.base import Entry
from ses.evaluation.suite import run_entries
from ses.settings import load_settings
from tests.tiny import make_model


def test_indexes_of_a_suite_are_apart_from_those_of_the_user(tmp_path):
    benches = []

    def run(bench):
        benches.append(bench)
        return Outcome({"m": Interval(0.1, 0.2, 0.3)}, {"m": {"q": 0.2}}, {"n": 1})

    settings = load_settings(data_dir=tmp_path / "own", cache_dir=tmp_path / "cache")
    model = str(make_model(tmp_path / "model"))
    found = run_entries("s", [Entry("one", "m", (), run, run)], tmp_path, [model], settings, lambda *_: None)
    assert len(found.found) == 2
    assert {bench.work for bench in benches} == {tmp_path / "own" / "suites"}
    assert {bench.data for bench in benches} == {tmp_path}
