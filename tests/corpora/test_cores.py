"""Cores of the machine, of the process, and of a container."""

from __future__ import annotations

import os

import pytest

from corpora import cores as module
from corpora.cores import cores


@pytest.fixture
def four(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    monkeypatch.setattr(module, "QUOTA", tmp_path / "cpu.max")
    return tmp_path / "cpu.max"


@pytest.mark.parametrize(
    ("quota", "count"),
    [
        ("max 100000\n", 4),
        ("200000 100000\n", 2),
        ("150000 100000\n", 2),
        ("10000 100000\n", 1),
        ("900000 100000\n", 4),
        ("0 100000\n", 1),
        ("", 4),
        ("two 100000\n", 4),
    ],
)
def test_a_container_may_have_fewer_cores_than_its_machine(four, quota, count):
    four.write_text(quota, encoding="ascii")
    assert cores() == count


def test_without_a_quota_the_process_has_those_it_may_run_on(four):
    assert cores() == 4


def test_a_system_that_does_not_tell_which_has_all_of_its_cores(four, monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert cores() == 6
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert cores() == 1
