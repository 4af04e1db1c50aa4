"""What a run tells of itself: its log, plots and events."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from tests.training.recipes import read_recipe, write_recipe
from training.log import Log, open_log, read_log, write_plots
from training.train import train


def entry(step, validation=None):
    told = {"step": step, "loss": 3.0 / step, "losses": {"a": 2.0 / step, "b": 1.0 / step}, "rate": 0.1, "seconds": 1.0}
    return told | ({"validation": validation} if validation else {})


def test_a_log_goes_on_after_the_last_state(tmp_path):
    with open_log(tmp_path, 0) as log:
        for step in range(1, 5):
            log.write(entry(step))
    # A kill may cut the last line short.
    with (tmp_path / "log.jsonl").open("a") as file:
        file.write('{"step": 5, "loss"')
    assert [one["step"] for one in read_log(tmp_path)] == [1, 2, 3, 4]
    with open_log(tmp_path, 2) as log:
        log.write(entry(3, {"a": 0.5}))
    assert [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()] == [
        entry(1),
        entry(2),
        entry(3, {"a": 0.5}),
    ]


def points(path, alt):
    """Return how many points each drawn series has."""
    drawing = ElementTree.fromstring(path.read_text())  # noqa: S314 - our own
    assert drawing.get("aria-label") == alt
    assert "background: #fff" in drawing.get("style")
    assert "var(" not in path.read_text()
    assert "currentColor" not in path.read_text()
    lines = [one.get("d") for one in drawing.iter("{http://www.w3.org/2000/svg}path") if one.get("clip-path")]
    return [line.count("L") + 1 for line in lines]


@pytest.mark.slow
def test_plots_of_losses_and_validation(tmp_path):
    with open_log(tmp_path, 0) as log:
        for step in range(1, 1001):
            zigzag = {"losses": {"a": step % 2, "b": 1 + step % 2}}
            log.write({**entry(step, {"a": step % 200 / 1000} if step % 100 == 0 else None), **zigzag})
    assert write_plots(tmp_path) == ["loss.svg", "validation.svg"]
    # Of a thousand losses, means of neighbours are drawn; of a few values each.
    losses = points(tmp_path / "loss.svg", "loss over steps. a: 0 at 1,000; b: 1 at 1,000.")
    assert len(losses) == 2
    assert max(losses) <= 300
    assert points(tmp_path / "validation.svg", "validation over steps. a: 0 at 1,000.") == [10]


def test_no_plot_of_nothing(tmp_path):
    with open_log(tmp_path, 0):
        pass
    assert write_plots(tmp_path) == []
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".svg"] == []


@pytest.mark.torch
def test_a_resumed_run_draws_all_its_steps(tmp_path):
    recipe = read_recipe(write_recipe(tmp_path, ("triplet",), epochs=2))
    train(recipe, tmp_path / "run", minutes=1e-9)
    before = (tmp_path / "run" / "loss.svg").read_text()
    done = train(recipe, tmp_path / "run", resume=True)
    assert done.plots == ["loss.svg", "validation.svg"]
    after = (tmp_path / "run" / "loss.svg").read_text()
    assert " at 1." in before
    assert f" at {done.total}." in after


@pytest.mark.tensorboard
def test_events_for_tensorboard(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    for done in (0, 2):
        with open_log(tmp_path, done) as log:
            for step in range(done + 1, 5):
                log.write(entry(step, {"a": step / 10 + done} if step == 4 else None))
    found = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert set(found.Tags()["scalars"]) == {"loss/all", "loss/a", "loss/b", "rate", "validation/a"}
    losses = [(one.step, one.value) for one in found.Scalars("loss/all")]
    # What the run told of steps after its last state is gone.
    assert losses == pytest.approx([(step, 3.0 / step) for step in range(1, 5)])
    assert [(one.step, one.value) for one in found.Scalars("validation/a")] == [(4, pytest.approx(2.4))]


class Events:
    """Stands for TensorBoard's writer: keeps what it is given."""

    def __init__(self):
        self.found = []

    def add_scalar(self, *given):
        self.found.append(given)

    def flush(self):
        self.found.append("flushed")


def test_what_events_are_told(tmp_path):
    events = Events()
    with (tmp_path / "log").open("w") as file:
        Log(file, events).write(entry(2, {"a": 0.5}))
        assert (tmp_path / "log").read_text() == json.dumps(entry(2, {"a": 0.5})) + "\n", "nothing waits to be written"
        Log(file, None).write(entry(3))
    assert events.found == [
        ("loss/all", 1.5, 2),
        ("loss/a", 1.0, 2),
        ("loss/b", 0.5, 2),
        ("validation/a", 0.5, 2),
        ("rate", 0.1, 2),
        "flushed",
    ]
    assert [json.loads(line)["step"] for line in (tmp_path / "log").read_text().splitlines()] == [2, 3]


def test_a_folder_without_a_log_has_no_entries(tmp_path):
    assert read_log(tmp_path) == []
