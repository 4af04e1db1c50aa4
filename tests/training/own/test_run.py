"""How often a format is trained in a time, and the models that come of it; training itself is a stand-in here."""

from __future__ import annotations

import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from encoders.encoder import load_encoder
from encoders.models.formats import Format
from encoders.registry import find_model
from tests.encoders.layouts.adapted import brought, four, write_card
from tests.tiny import make_model
from training.own import run
from training.own.papers import PAPERS, TEST, FieldPapers
from training.own.run import TrainingSpeed, fitted, together, write_beside

TEXTS = ["virus lung", "star galaxy quantum"]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("models") / "base", layers=4)


class Clock:
    """A clock that only the work itself moves."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now


@pytest.fixture
def trained(monkeypatch, tmp_path, base):
    """A function that trains with so many seconds, and returns the result and the recipes that were trained."""
    clock = Clock()
    monkeypatch.setattr(run, "time", clock)

    def timed(seconds, *, trial=10.0, before=20.0, each=(100.0,) * 9):
        recipes, read = [], []
        left = list(each)

        def measured(*_):
            clock.now += trial
            return TrainingSpeed(text=0.01, step=0.5, validation=1.0)

        def train(recipe, folder, say):
            clock.now += left.pop(0)
            recipes.append((recipe, folder))
            return SimpleNamespace(folder=folder / "model")

        def learn(papers):
            clock.now += before
            read.append(papers)

        monkeypatch.setattr(run, "measured_speed", measured)
        monkeypatch.setattr(run, "train", train)
        for name in (PAPERS, TEST):
            (tmp_path / name).touch()
        papers = FieldPapers("venue", "label", Format.CLF, 4_000, 500, 0)
        runs, papers_read = fitted("own", papers, find_model(str(base)), tmp_path, seconds, before=learn)
        assert read == [papers_read]
        return runs, papers_read, recipes

    return timed


def test_three_runs_have_the_time_that_reading_and_the_report_leave(trained, tmp_path):
    runs, read, recipes = trained(400.0)
    # Half of the 390 s after the trial is for reading. Three runs share two of four layers, so a text takes two passes
    # for the report, each of twice 0.01 s: 500 others take 20 s, and a paper 0.05 s.
    limit = int((195 - 20) / 0.05)
    assert read == round(limit / (1 - 0.125))
    # What is left of 370 s is for three runs, each with 20 s of the report and 11 validations.
    steps = int(((370 - limit * 0.01 - (limit + 500) * 0.04) / 3 - 20 - 11) / 0.5)
    assert [(one.seed, one.steps, one.tasks[0].limit) for one, _ in recipes] == [
        (seed, steps, limit) for seed in (42, 43, 44)
    ]
    assert [folder for _, folder in recipes] == [tmp_path, tmp_path / "runs" / "1", tmp_path / "runs" / "2"]
    assert [one.folder.parent for one in runs] == [folder for _, folder in recipes]


@pytest.mark.parametrize(("spare", "count"), [(-0.5, 3), (0.5, 4)])
def test_a_fourth_run_needs_the_time_of_the_longest_and_of_all_reports(trained, spare, count):
    # All 4,000 papers are read: the report encodes 4,500 texts, in 180 s. Each run takes 20 s of the report.
    each = (500.0, 60.0, 90.0, 80.0)
    runs, read, _ = trained(10 + 20 + 650 + 180 + 4 * 20 + 90 + spare, each=each)
    assert (len(runs), read) == (count, 4_000)


def test_no_more_runs_than_a_model_has_formats(trained):
    assert len(trained(1e6)[0]) == 4


@pytest.mark.slow
def test_the_runs_are_formats_of_one_model(base, tmp_path):
    for number in range(3):
        folders = four(tmp_path / f"made {number}", base, reduction=8 + number)
        shutil.copytree(folders["clf"], tmp_path / str(number) / "adapters" / "[CLF]")
        write_card(tmp_path / str(number), base=str(base), adapters={"clf": "adapters/[CLF]"})
    runs = [SimpleNamespace(folder=tmp_path / str(number)) for number in range(3)]
    whole = load_encoder(together(find_model(str(base)), Format.CLF, runs, tmp_path / "all"), cache_dir=tmp_path)
    assert len(whole.card.formats) == 3
    for one, task_format in zip(runs, Format, strict=False):
        alone = load_encoder(str(one.folder), cache_dir=tmp_path)
        np.testing.assert_allclose(whole.encode(TEXTS, task_format), alone.encode(TEXTS, Format.CLF), atol=1e-3)


def test_the_runs_read_the_prompt_of_their_format(tmp_path):
    base = make_model(tmp_path / "base", layers=2)
    (base / "ses_card.json").write_text('{"prompts": {"clf": "tag ", "qry": "ask "}}')
    folder = four(tmp_path, base)["clf"]
    shutil.copytree(folder, tmp_path / "run" / "adapters" / "[CLF]")
    runs = [SimpleNamespace(folder=tmp_path / "run")] * 2
    card = together(find_model(str(base)), Format.CLF, runs, tmp_path / "all").card
    assert card.prompts == {Format.CLF: "tag ", Format.RGN: "tag "}


def test_what_is_trained_stands_beside_the_formats_of_the_model(base, tmp_path):
    index_model = brought(tmp_path / "specter2", layers=4)
    folder = four(tmp_path / "other", index_model)["clf"]
    write_card(tmp_path / "model", base=str(index_model), adapters={"clf": str(folder)})
    made = write_beside(find_model(str(index_model)), Format.CLF, tmp_path / "model", tmp_path / "complete")
    assert (made.folder, made.card.papers_by) == (tmp_path / "complete", find_model(str(index_model)).card.fingerprint)
    assert {key: one.folder.name for key, one in made.members.items()} == dict.fromkeys(
        ("clf", "rgn", "prx", "qry"), "specter2"
    )
    assert {key: one.card.name for key, one in made.members.items()} == {
        **dict.fromkeys(("rgn", "prx", "qry"), str(index_model)),
        "clf": str(tmp_path / "model"),
    }


def test_half_of_the_time_is_for_reading():
    speed = TrainingSpeed(text=0.01, step=0.5, validation=2.0)
    # 100 s: 50 of reading, of which 10 others take 0.3; a paper takes 0.01 for its states and 0.03 for the report.
    assert speed.fitting(10_000, 10, 100, passes=1.5) == pytest.approx(49.7 / 0.04, abs=1)
    assert speed.fitting(100, 10, 100, passes=1.5) == 100
    assert speed.fitting(10_000, 10_000, 100, passes=1.5) == 500
    assert speed.fitting(100, 10_000, 100, passes=1.5) == 100


def test_papers_are_read_to_learn_from_and_encoded_for_the_report():
    speed = TrainingSpeed(text=0.01, step=0.5, validation=2.0)
    assert speed.reading(1_000, 10, passes=1.5) == pytest.approx(10 + 1_010 * 0.03)


def test_steps_take_what_validation_leaves():
    speed = TrainingSpeed(text=0.01, step=0.5, validation=2.0)
    assert speed.steps(59.8, validations=5) == int((59.8 - 10) / 0.5)
    assert speed.steps(10, validations=5) == 20
