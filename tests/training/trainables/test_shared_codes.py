"""Shared codes: rows that start as that of [CLS], and the folder that holds them."""

from __future__ import annotations

import json

import numpy as np
from safetensors.numpy import load_file

from encoders.models.formats import Format
from encoders.registry import find_model
from encoders.tokens.tokenizer import load_tokenizer
from tests.tiny import make_model
from training.trainables.codes import SHARED_CODES

WORDS = "embeddings.word_embeddings.weight"
FORMATS = (Format.RGN, Format.PRX)


def test_a_row_for_each_format_starts_as_that_of_cls_and_is_written_beside_the_bases_name(tmp_path):
    base = find_model(str(make_model(tmp_path / "base")))
    plain = base.read()[WORDS]
    (words,) = SHARED_CODES.start(base, FORMATS, {}, 1).values()
    first = load_tokenizer(base.folder, base.card).token_to_id("[CLS]")
    np.testing.assert_array_equal(words, np.concatenate([plain, plain[[first, first]]]))
    words[-1] = 7
    SHARED_CODES.write(base, FORMATS, {**base.read(), WORDS: words}, tmp_path / "codes")
    assert sorted(path.name for path in (tmp_path / "codes").iterdir()) == ["codes.safetensors", "ses_card.json"]
    card = json.loads((tmp_path / "codes" / "ses_card.json").read_text())
    assert card == {"architecture": "shared-codes", "base": str(tmp_path / "base")}
    rows = load_file(tmp_path / "codes" / "codes.safetensors")
    assert rows.keys() == {"codes.rgn", "codes.prx"}
    np.testing.assert_array_equal([rows["codes.rgn"], rows["codes.prx"]], words[-2:])
    model = find_model(str(tmp_path / "codes"))
    assert model.card.formats == FORMATS
    assert SHARED_CODES.trained(model.card, {}, model.read()) == {WORDS: len(plain)}
