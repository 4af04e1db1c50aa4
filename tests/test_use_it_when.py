"""Whoever chooses among objectives, architectures, fusions or rerankers finds in each docstring when to use it."""

import inspect
from importlib import import_module
from pathlib import Path

import pytest

from encoders.architectures import registry
from encoders.rerankers.cross_encoder import CrossEncoder
from encoders.rerankers.late_interaction import LateInteraction
from search_plugin.fusion.fusions import minmax, rrf, zscore
from search_plugin.ranking.stages import RERANKERS
from training.objectives import OBJECTIVES

pytestmark = pytest.mark.lint

MODULES = [import_module(f"encoders.architectures.{path.stem}") for path in Path(registry.__file__).parent.glob("*.py")]
ARCHITECTURES = [
    function
    for module in MODULES
    for name in ("vectors", "scores", "fused_vectors", "vectors_with_instructor")
    if (function := getattr(module, name, None))
]
CHOICES = [
    *(objective.loss for objective in OBJECTIVES.values()),
    *ARCHITECTURES,
    *(minmax, zscore, rrf),
    *RERANKERS.values(),
    *(CrossEncoder, LateInteraction),
]


@pytest.mark.parametrize("choice", CHOICES, ids=lambda one: f"{one.__module__}.{one.__name__}")
def test_a_choice_says_when_to_use_it(choice):
    assert "Use it when " in inspect.getdoc(choice)


def test_every_architecture_is_looked_at():
    elsewhere = {registry.TRANSFORMERS}
    assert len(ARCHITECTURES) == len(registry.ARCHITECTURES.keys() - elsewhere)
