import pytest

from training.own.budget import TrainingSpeed


def test_half_of_the_time_is_for_reading():
    speed = TrainingSpeed(text=0.01, step=0.5, validation=2.0)
    # 100 s: 50 of reading, of which 10 others take 0.2; a paper takes 0.01 for its states and 0.02 for the report.
    assert speed.fitting(10_000, 10, 100) == pytest.approx(49.8 / 0.03, abs=1)
    assert speed.fitting(100, 10, 100) == 100
    assert speed.fitting(10_000, 10_000, 100) == 500
    assert speed.fitting(100, 10_000, 100) == 100


def test_steps_take_what_reading_and_validation_leave():
    speed = TrainingSpeed(text=0.01, step=0.5, validation=2.0)
    assert speed.steps(1_000, 10, 100, validations=5) == int((100 - 30 - 0.2 - 10) / 0.5)
    assert speed.steps(10_000, 10, 100, validations=5) == 20
