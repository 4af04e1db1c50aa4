"""The model below adapters."""

from __future__ import annotations

import pytest

from tests.encoders.layouts.adapted import LAYERS
from tests.tiny import make_model


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("models") / "base", layers=LAYERS)
