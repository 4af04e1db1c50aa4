"""Formats that keep the base's own vectors."""

from __future__ import annotations

import numpy as np
import pytest

from corpora.errors import InputError
from encoders.models.formats import Format
from tests.training.recipes import read_recipe, write_recipe
from tests.training.trainables.stepped import encoded
from training.train import train

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("trains", ["adapters", "lora"])
def test_queries_are_trained_against_papers_that_stay(trains, tmp_path):
    recipe = write_recipe(tmp_path, ("contrastive",), trains=trains, plain=["prx", "clf"], epochs=2)
    done = train(read_recipe(recipe), tmp_path / "run")
    base = encoded(tmp_path / "base", tmp_path, Format.PRX)
    for plain in (Format.PRX, Format.CLF):
        np.testing.assert_allclose(encoded(done.folder, tmp_path, plain), base, atol=1e-5)
    assert np.abs(encoded(done.folder, tmp_path, Format.QRY) - base).max() > 0.01


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"trains": "last"}, "plain needs what leaves a format as it is: adapters and lora, not last"),
        ({"plain": ["prx", "qry"]}, "the task contrastive would train nothing: its formats are plain"),
    ],
)
def test_formats_that_can_not_be_plain(values, told, tmp_path):
    path = write_recipe(tmp_path, ("contrastive",), **{"plain": ["prx"]} | values)
    with pytest.raises(InputError, match=told):
        read_recipe(path)
