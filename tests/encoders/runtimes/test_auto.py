"""auto keeps the fastest for batches and for single texts, of runtimes whose speed the tests decide."""

from __future__ import annotations

import json
import logging
import time
from dataclasses import replace

import numpy as np
import pytest

from corpora.errors import InputError, UnavailableError
from encoders.encoder import load_encoder
from encoders.runtimes import auto
from encoders.runtimes.auto import race
from encoders.runtimes.registry import RUNTIMES, Runtime, RuntimeSource, Session, fastest_of
from encoders.tokens.batching import Batch
from tests.encoders.runtimes.kinds import PADDED_TOGETHER


def fake(name, *, bulk=0.001, single=0.001, error=None, precisions=("fp32",), packages=(), at_once=1, **options):
    """A runtime that takes so long, gives its name's first letter, and can fail to prepare."""

    def prepare(source, precision, folder):
        (folder / "made").write_text(f"{name} {precision}")
        if error:
            raise error

    def load(folder, threads):
        assert (folder / "made").exists()

        def run(ids, mask):
            time.sleep((single if len(ids) == 1 else bulk) * (ids.shape[1] > 2))
            return [np.full((len(ids), 1), ord(name[0]), np.float32)]

        return Session(run, at_once)

    return Runtime(name, precisions, packages, prepare, load, **options)


def ones(texts, tokens):
    return Batch(np.arange(texts), np.ones((texts, tokens), np.int64), np.ones((texts, tokens), np.int64))


SOURCE = RuntimeSource({}, None, (), [ones(8, 20), ones(8, 10), ones(3, 5)], threads=1)


def run_auto(runtimes, tmp_path, precision="fp32"):
    """The letters of who ran a batch and a single text, and what the race left."""
    fastest = fastest_of(runtimes)
    fastest.prepare(SOURCE, precision, tmp_path)
    session = fastest.load(tmp_path, 0)
    letters = [chr(int(session(*(np.ones((texts, 5), np.int64),) * 2)[0][0, 0])) for texts in (8, 1)]
    return "".join(letters), json.loads((tmp_path / "winners.json").read_text())


def test_it_takes_the_fastest_for_each_shape_and_deletes_the_others(tmp_path, caplog):
    with caplog.at_level(logging.WARNING, "ses"):
        letters, told = run_auto(
            [fake("slow", bulk=0.08, single=0.08), fake("big", single=0.02), fake("quick", bulk=0.02)], tmp_path
        )
    assert letters == "bq"
    assert told["winners"] == {"bulk": "big-fp32", "single": "quick-fp32"}
    assert list(told["seconds"]["bulk"]) == ["big-fp32", "quick-fp32", "slow-fp32"]
    assert told["seconds"]["bulk"]["slow-fp32"] > 0.07
    assert told["cpu"]
    assert {path.name for path in tmp_path.iterdir()} == {"big-fp32", "quick-fp32", "winners.json"}
    (line,) = caplog.messages
    assert line.startswith("The runtime auto takes big-fp32 for batches (")
    assert " times as fast as quick-fp32) and quick-fp32 for single texts (" in line


def test_as_many_batches_run_at_once_as_its_winner_for_batches_runs(tmp_path):
    runtimes = [fake("slow", bulk=0.05), fake("many", at_once=3)]
    run_auto(runtimes, tmp_path)
    assert fastest_of(runtimes).load(tmp_path, 0).at_once == 3
    told = json.loads((tmp_path / "winners.json").read_text())
    (tmp_path / "winners.json").write_text(json.dumps({**told, "at_once": None}))
    with pytest.raises(InputError, match="does not say which runtime won"):
        fastest_of(runtimes).load(tmp_path, 0)


def test_the_race_is_for_batches_that_run_at_once_where_a_runtime_can(tmp_path):
    source = replace(SOURCE, threads=4)
    fastest = fastest_of([fake("alone", bulk=0.1), fake("many", bulk=0.1, at_once=4)])
    fastest.prepare(source, "fp32", tmp_path)
    assert json.loads((tmp_path / "winners.json").read_text())["winners"]["bulk"] == "many-fp32"


def test_one_may_win_both(tmp_path, caplog):
    assert run_auto([fake("only")], tmp_path)[0] == "oo"
    assert caplog.messages == [
        "The runtime auto takes only-fp32 for batches and only-fp32 for single texts, from now on on this machine."
    ]


def test_who_fails_is_left_out_and_told(tmp_path, caplog):
    letters, told = run_auto([fake("dead", error=RuntimeError("no such instruction")), fake("well")], tmp_path)
    assert letters == "ww"
    assert told["skipped"] == {"dead-fp32": "no such instruction"}
    assert not (tmp_path / "dead-fp32").exists()
    assert caplog.messages[0] == "The runtime auto leaves out dead-fp32: no such instruction"


def test_if_all_fail_the_first_is_told(tmp_path):
    first = UnavailableError("install this")
    with pytest.raises(UnavailableError, match="install this"):
        run_auto([fake("a", error=first), fake("b", error=RuntimeError("else"))], tmp_path)
    with pytest.raises(UnavailableError, match="No runtime is installed; install onnxruntime"):
        run_auto([fake("c", packages=("no_such_package",))], tmp_path / "none")


@pytest.mark.parametrize(
    ("precision", "tried"),
    [("int8", {"a-int8", "a-bf16", "a-fp32", "b-int8"}), ("bf16", {"a-bf16", "a-fp32"}), ("fp32", {"a-fp32"})],
)
def test_all_that_are_as_precise_as_asked_take_part(precision, tried, tmp_path):
    runtimes = [fake("a", precisions=("int8", "bf16", "fp32")), fake("b", precisions=("int8",))]
    assert set(run_auto(runtimes, tmp_path, precision)[1]["seconds"]["single"]) == tried


def test_gpus_take_part_where_there_are_some(tmp_path, monkeypatch):
    runtimes = [fake("cpu"), fake("gpu", device="cuda")]
    for there, tried in ((False, {"cpu-fp32"}), (True, {"cpu-fp32", "gpu-fp32"})):
        monkeypatch.setattr(auto, "has_device", lambda there=there: there)
        (tmp_path / str(there)).mkdir()
        assert set(run_auto(runtimes, tmp_path / str(there))[1]["seconds"]["bulk"]) == tried


def test_a_burst_of_other_work_decides_nothing(tmp_path):
    """The better one is slow in its first and third round."""
    rounds = iter([0.03, 0.0, 0.03] + [0.0] * 100)
    burst = fake("burst")

    def load(folder, threads):
        def run(ids, mask):
            time.sleep((0.005 + next(rounds)) if len(ids) == 8 and ids.shape[1] == 10 and started else 0)
            return [np.full((len(ids), 1), ord("b"), np.float32)]

        started = True
        return Session(run)

    burst = replace(burst, load=load)
    assert run_auto([burst, fake("calm", bulk=0.02)], tmp_path)[1]["winners"]["bulk"] == "burst-fp32"


def test_its_files_are_made_anew_if_what_is_installed_changes(monkeypatch):
    def version(*runtimes, precision="fp32", threads=0):
        return fastest_of(runtimes).version(precision, threads)

    one, other = fake("one", packages=("onnxruntime",)), fake("other")
    first = version(one)
    assert first == version(one)
    assert len(first) == 8
    absent = fake("absent", packages=("no_such_package",))
    assert version(one, absent) == first
    seen = {first, version(one, other), version(one, threads=2)}
    monkeypatch.setattr(auto, "installed_version", lambda name: "99.0")
    seen.add(version(one))
    monkeypatch.setattr(auto, "processor", lambda: ("another", 4, "avx512"))
    seen.add(version(one))
    assert len(seen) == 5


@pytest.mark.parametrize("text", ["{", "{}", '{"cpu": "x", "winners": {"bulk": "../../x", "single": "a-fp32"}}'])
def test_damaged_winners_are_told(text, tmp_path):
    run_auto([fake("a")], tmp_path)
    (tmp_path / "winners.json").write_text(text)
    with pytest.raises(InputError, match="does not say which runtime won; delete it, and it is created again"):
        fastest_of([fake("a")]).load(tmp_path, 0)


def test_a_winner_that_is_no_runtime_is_told(tmp_path):
    told = run_auto([fake("a")], tmp_path)[1]
    told["winners"]["bulk"] = "../elsewhere"
    (tmp_path / "winners.json").write_text(json.dumps(told))
    with pytest.raises(InputError, match="does not say which runtime won"):
        fastest_of([fake("a")]).load(tmp_path, 0)


@pytest.mark.slow
def test_a_real_race_ends_with_a_runtime_that_works_and_is_run_once(models, tmp_path, caplog, monkeypatch):
    monkeypatch.setitem(RUNTIMES, "auto", fastest_of([RUNTIMES[name] for name in ("onnx", "openvino")]))
    options = {"cache_dir": tmp_path, "runtime": "auto", "precision": "fp32", "threads": 1}
    found = load_encoder(models["adapters"], **options).encode(PADDED_TOGETHER)
    expected = load_encoder(models["adapters"], cache_dir=tmp_path, precision="fp32").encode(PADDED_TOGETHER)
    np.testing.assert_allclose(found, expected, atol=1e-4)
    again = load_encoder(models["adapters"], **options)
    np.testing.assert_allclose(again.encode(PADDED_TOGETHER[1:2]), expected[1:2], atol=1e-4)
    assert sum("auto takes" in line for line in caplog.messages) == 1


WORK = [Batch(np.arange(4), np.ones((4, 6), np.int64), np.zeros((4, 6), np.int64))]


@pytest.fixture
def timed(monkeypatch):
    """Makes sessions that take given times, the last one for good, and notes who ran on what."""
    clock, ran = [0.0], []
    monkeypatch.setattr(auto.time, "perf_counter", lambda: clock[0])

    def make(name, *times):
        left = list(times)

        def session(ids, mask):
            ran.append((name, ids.shape, mask.shape))
            whole = ids.shape == (4, 6)
            clock[0] += (left.pop(0) if len(left) > 1 else left[0]) if whole else 100
            return []

        return Session(session)

    return make, ran


def test_they_take_turns_and_who_is_twice_as_slow_leaves(timed):
    make, ran = timed
    sessions = {"slow": make("slow", 4), "even": make("even", 3), "fast": make("fast", 2), "near": make("near", 3.5)}
    assert list(race(sessions, WORK, 2).items()) == [("fast", 2), ("even", 3), ("near", 3.5), ("slow", 4)]
    turns = ["slow", "even", "fast", "near", "fast", "even", "near"]
    assert ran == [(name, shape, shape) for name in turns for shape in ((1, 2), (4, 6))]


def test_the_median_decides(timed):
    make, _ = timed
    sessions = {"bursts": make("bursts", 3, 1, 3, 1, 1), "calm": make("calm", 2)}
    assert list(race(sessions, WORK, 5).items()) == [("bursts", 1), ("calm", 2)]


def test_those_who_left_come_last_in_their_order(timed):
    make, _ = timed
    sessions = {
        "last": make("last", 9),
        "third": make("third", 8),
        "second": make("second", 3, 9),
        "first": make("first", 2),
    }
    assert list(race(sessions, WORK, 1)) == ["first", "second", "third", "last"]
    assert race(sessions, WORK, 3)["last"] == 9
