"""SciRepEval's training tree, with its base and without, and with fusions."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from corpora.errors import InputError
from encoders.models.formats import Format
from encoders.registry import find_model
from encoders.tokens.tokenizer import load_tokenizer
from tests.encoders import checkpoints
from tests.encoders.exact import encoder_of
from tests.encoders.formulas.adapters import adapter_vector, fusion_vector
from tests.encoders.oracle import Oracle
from tests.tiny import CODES, make_model, papers

TEXTS = ["virus", "", *(f"{paper.title} [SEP] {paper.abstract}" for paper in papers(9))]

# Adapters and PALs are as their libraries write them by default: in torch files.
pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    return checkpoints.make_scirepeval_tree(tmp_path_factory.mktemp("trees") / "tree", seed=3, layers=3)


@pytest.fixture(scope="module")
def fused(tmp_path_factory):
    return checkpoints.make_scirepeval_tree(tmp_path_factory.mktemp("trees") / "fused", seed=3, fusion=True)


def adapters_of(tree):
    folders = {one.code: tree / "model" / "adapters" / one.code for one in Format}
    return {code: checkpoints.read_weights(folder / "pytorch_adapter.bin") for code, folder in folders.items()}


def ids_of(tree):
    found = find_model(str(tree))
    tokenizer = load_tokenizer(found.folder, found.card)
    return [tokenizer.encode(text).ids for text in TEXTS]


def moved_base(tree, folder):
    """A copy of the tree as training leaves it: its base is elsewhere, beside it."""
    copy = shutil.copytree(tree, folder / "copy")
    base = folder / "base"
    base.mkdir()
    for name in ("config.json", "model.safetensors"):
        (copy / "model" / name).rename(base / name)
    shutil.copytree(copy / "tokenizer", base, dirs_exist_ok=True)
    return copy


def test_a_tree_has_the_vectors_of_its_adapters(tree, tmp_path):
    weights = adapters_of(tree)
    for path in (tree, tree / "model"):
        encoder = encoder_of(path, tmp_path)
        assert (encoder.card.architecture, encoder.card.formats) == ("adapters", tuple(Format))
        made = encoder.encode_formats(TEXTS, list(Format))
        for one in Format:
            own = [adapter_vector(Oracle(tree / "model"), weights[one.code], one.code, ids) for ids in ids_of(tree)]
            np.testing.assert_allclose(made[one], np.array(own), atol=1e-4)
            np.testing.assert_allclose(encoder.encode(TEXTS, one), np.array(own), atol=1e-4)
    assert find_model(str(tree)).card.fingerprint == find_model(str(tree / "model")).card.fingerprint


def test_a_tree_with_fusions_has_their_vectors(fused, tmp_path):
    encoder, weights = encoder_of(fused, tmp_path), adapters_of(fused)
    assert (encoder.card.architecture, encoder.card.formats) == ("fusion", tuple(Format))
    made = encoder.encode_formats(TEXTS, list(Format))
    for one in Format:
        folder = fused / "model" / f"{one.code}_fusion"
        names = json.loads((folder / "adapter_fusion_config.json").read_text())["adapter_names"]
        fusion = checkpoints.read_weights(folder / "pytorch_model_adapter_fusion.bin")
        own = [fusion_vector(Oracle(fused / "model"), weights, fusion, names, ids) for ids in ids_of(fused)]
        np.testing.assert_allclose(made[one], np.array(own), atol=1e-4)


def test_a_tree_without_its_base_needs_one_named(tree, tmp_path):
    copy = moved_base(tree, tmp_path)
    for path in (copy, copy / "model"):
        with pytest.raises(InputError, match="holds adapters and no network: put the one that they were trained on"):
            find_model(str(path))
    (copy / "ses_card.json").write_text(json.dumps({"base": "../base", "max_tokens": 64}))
    encoder = encoder_of(copy, tmp_path)
    assert encoder.card.max_tokens == 64
    assert encoder.card.weights_sha256 == find_model(str(tree)).card.weights_sha256
    short = [text for text in TEXTS if len(text.split()) < 60]
    np.testing.assert_array_equal(encoder.encode(short), encoder_of(tree, tmp_path).encode(short))
    (copy / "ses_card.json").write_text(json.dumps({"base": "../copy"}))
    with pytest.raises(InputError, match="is made of itself"):
        find_model(str(copy))


def test_the_tokenizer_beside_the_model_is_used(tree, tmp_path):
    copy = shutil.copytree(tree, tmp_path / "copy")
    card = find_model(str(copy)).card
    assert (card.separator, card.lowercase) == ("[SEP]", True)
    settings = {"sep_token": {"content": "[END]"}, "do_lower_case": False}
    (copy / "tokenizer" / "tokenizer_config.json").write_text(json.dumps(settings))
    changed = find_model(str(copy)).card
    assert (changed.separator, changed.lowercase) == ("[END]", False)
    assert changed.fingerprint != card.fingerprint
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(tree / "tokenizer" / name, copy / "model" / name)
    shutil.rmtree(copy / "tokenizer")
    assert find_model(str(copy)).folder == copy / "model"


def test_formats_whose_adapter_is_not_there_are_left_out(tree, tmp_path):
    copy = shutil.copytree(tree, tmp_path / "copy")
    shutil.rmtree(copy / "model" / "adapters" / "[RGN]")
    assert find_model(str(copy)).card.formats == (Format.CLF, Format.PRX, Format.QRY)


def test_fusions_without_what_they_fuse_are_refused(fused, tmp_path):
    copy = shutil.copytree(fused, tmp_path / "copy")
    shutil.rmtree(copy / "model" / "adapters" / "[RGN]")
    with pytest.raises(InputError, match=r"_fusion fuses \[CLF\], \[PRX\], \[QRY\], \[RGN\], and the model has"):
        find_model(str(copy))
    shutil.rmtree(copy / "model" / "adapters")
    with pytest.raises(InputError, match="holds fusions and not the adapters that they fuse"):
        find_model(str(copy))


def test_a_folder_of_other_adapters_is_read_as_what_it_is(tmp_path):
    model = make_model(tmp_path / "m")
    (model / "adapters" / "other").mkdir(parents=True)
    assert find_model(str(model)).card.architecture == "plain"


TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "added_tokens.json", "special_tokens_map.json")


def as_tree(folder, tree):
    """A model's folder, as SciRepEval's training saves it: network and tokenizer apart."""
    shutil.copytree(folder, tree / "model")
    (tree / "tokenizer").mkdir()
    for path in [tree / "model" / name for name in TOKENIZER if (folder / name).is_file()]:
        path.rename(tree / "tokenizer" / path.name)
    return tree


def slow_codes(folder):
    """A control-code model whose codes stand beside its vocabulary, in the files of a slow tokenizer."""
    make_model(folder, codes=True)
    vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    (folder / "tokenizer.json").unlink()
    words = sorted(set(vocabulary) - set(CODES), key=vocabulary.__getitem__)
    (folder / "vocab.txt").write_text("\n".join(words))
    ids = {code: len(words) + i for i, code in enumerate(CODES)}
    (folder / "added_tokens.json").write_text(json.dumps(ids))
    (folder / "special_tokens_map.json").write_text(json.dumps({"additional_special_tokens": list(CODES)}))
    return folder


def test_codes_beside_a_vocabulary_make_a_vector_a_format(tmp_path):
    folder = slow_codes(tmp_path / "codes")
    encoder, oracle = encoder_of(folder, tmp_path), Oracle(folder)
    assert (encoder.card.network.pooling, encoder.card.formats) == ("code", tuple(Format))
    ids = json.loads((folder / "added_tokens.json").read_text())
    made = encoder.encode_formats(TEXTS, list(Format))
    for one in Format:
        rows = [encoder.tokenizer.encode(f"{one.code} {text}").ids for text in TEXTS]
        assert {row[1] for row in rows} == {ids[one.code]}
        # SciRepEval section 4.2: the vector is the state of the code's own token.
        np.testing.assert_allclose(made[one], [oracle.hidden(row)[1] for row in rows], atol=1e-4)


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: make_model(folder, codes=True),
        slow_codes,
        make_model,
        lambda folder: checkpoints.make_pals(folder, seed=2),
    ],
    ids=["codes", "codes beside a vocabulary", "one vector", "PALs"],
)
def test_a_tree_of_a_network_and_its_tokenizer_is_that_network(make, tmp_path):
    whole = make(tmp_path / "whole")
    tree = as_tree(whole, tmp_path / "tree")
    expected = encoder_of(whole, tmp_path).encode_formats(TEXTS, list(Format))
    for path in (tree, tree / "model"):
        encoder = encoder_of(path, tmp_path)
        assert encoder.card.fingerprint == find_model(str(whole)).card.fingerprint
        for one, vectors in encoder.encode_formats(TEXTS, list(Format)).items():
            np.testing.assert_array_equal(vectors, expected[one])
