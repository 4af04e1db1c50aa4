"""The largest sizes that are believed, and the first that are not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from corpora.errors import InputError
from encoders.models.folder import check_dimensions, check_limits

LIMITS = {
    "num_hidden_layers": 1_000,
    "max_position_embeddings": 131_072,
    "hidden_size": 16_777_216,
    "vocab_size": 16_777_216,
}


@pytest.mark.parametrize(("name", "most"), LIMITS.items())
@pytest.mark.parametrize("inner", [False, True])
def test_no_number_is_beyond_its_limit(name, most, inner):
    def config(number):
        return {"text_config": {name: number}} if inner else {"model_type": "bert", "old": True, name: number}

    check_limits(Path("config.json"), config(most))
    with pytest.raises(InputError) as refused:
        check_limits(Path("config.json"), config(most + 1))
    assert str(refused.value) == (
        f"config.json gives {most + 1:.6g} for {name}, and no encoder has more than {most:,}; "
        "fetch the model from a source you trust."
    )


WEIGHTS = {"a": np.zeros((30, 8)), "b": np.zeros((8, 12)), "c": np.zeros(())}


@pytest.mark.parametrize(
    ("key", "most", "what"),
    [
        *((key, 30, "their largest dimension is 30") for key in ("hidden_size", "dim", "n_inner", "hidden", "embed")),
        *((key, 30, "their largest dimension is 30") for key in ("ffn", "d_model")),
        ("num_hidden_layers", 3, "there are 3 of them"),
        ("n_layers", 3, "there are 3 of them"),
    ],
)
def test_no_dimension_is_larger_than_those_of_the_weights(key, most, what):
    check_dimensions("m", {"inner": {key: most}}, WEIGHTS)
    with pytest.raises(InputError) as refused:
        check_dimensions("m", {"inner": {key: most + 1}}, WEIGHTS)
    assert str(refused.value) == (
        f"The config.json of m gives {most + 1:,} for {key}, and its weights don't fit: {what}; fetch the model again."
    )


@pytest.mark.parametrize("key", ["max_position_embeddings", "bos_token_id", "num_attention_heads", "window"])
def test_numbers_that_are_no_dimensions_may_be_larger(key):
    check_dimensions("m", {key: 1000}, WEIGHTS)


def test_without_weights_there_is_no_dimension():
    with pytest.raises(InputError, match="their largest dimension is 0; "):
        check_dimensions("m", {"hidden_size": 1}, {})
