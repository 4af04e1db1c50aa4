import pytest

from training.own.budget import TrainingSpeed


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
