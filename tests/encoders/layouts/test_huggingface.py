"""Folders of sentence-transformers against the library: vectors, how they are compared, and what folds their case."""

from __future__ import annotations

import json

import numpy as np
import pytest

from encoders.encoder import load_encoder
from eval.measures.similarity import SIMILARITIES
from tests.encoders.checkpoints import make_sentence_transformers

TEXTS = ["VIRUS [SEP] Lung cells", "virus", "Heart blood. Quantum ocean", "a Galaxy of stars"]

pytestmark = pytest.mark.mteb  # whose extra brings the library


@pytest.mark.parametrize("fold", [False, True])
@pytest.mark.parametrize("similarity", [None, "cosine", "dot", "euclidean"])
def test_vectors_and_their_similarities_are_the_librarys(similarity, fold, tmp_path):
    from sentence_transformers import SentenceTransformer

    folder = make_sentence_transformers(tmp_path / "m", seed=7, normalize=False)
    edit(folder / "config_sentence_transformers.json", lambda settings: settings | {"similarity_fn_name": similarity})
    edit(folder / "sentence_bert_config.json", lambda settings: settings | {"do_lower_case": fold})
    edit(folder / "tokenizer.json", keep_case)
    edit(folder / "tokenizer_config.json", lambda settings: settings | {"do_lower_case": False})
    encoder = load_encoder(str(folder), cache_dir=tmp_path, precision="fp32")
    theirs = SentenceTransformer(str(folder), device="cpu")
    expected, vectors = theirs.encode(TEXTS), encoder.encode(TEXTS)
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    compared = SIMILARITIES[encoder.card.similarity](vectors, vectors)
    np.testing.assert_allclose(compared, theirs.similarity(expected, expected).numpy(), atol=1e-3)


def edit(path, change):
    path.write_text(json.dumps(change(json.loads(path.read_text()))))


def keep_case(tokenizer):
    tokenizer["normalizer"]["lowercase"] = False
    return tokenizer
