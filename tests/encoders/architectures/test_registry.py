"""Every architecture is found by its name."""

from __future__ import annotations

from importlib import import_module

import pytest

from encoders.architectures.registry import ARCHITECTURES

MODULES = {"transformers": "foreign"}
"""Those that are not named like their modules."""


def test_these_are_known():
    assert set(ARCHITECTURES) == {
        *("plain", "mpnet", "modernbert", "adapters", "fusion", "pals", "experts", "instructions"),
        *("instruction-encoder", "shared-codes", "transformers"),
    }


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_it_is_that_of_its_module(name):
    module = import_module(f"encoders.architectures.{MODULES.get(name, name.replace('-', '_'))}")
    assert ARCHITECTURES[name] is module.vectors
