"""Known models: the file of them, and what it adds to a folder."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import huggingface_hub
import pytest

from corpora.errors import InputError
from encoders.models.formats import Format
from encoders.models.known import KNOWN_MODELS, PINNED, KnownModel, speed_of, work
from encoders.registry import DEFAULT_MODEL, find_model, is_here
from tests.encoders.checkpoints import make_sentence_transformers
from tests.encoders.checkpoints.huggingface import add_dense
from tests.tiny import make_model

ENGLISH_WORDS = 30_522
"""Of BERT's vocabulary in lower case, which all of these models have but those of science and of many languages."""


@pytest.fixture
def hub(monkeypatch):
    """A hub whose repositories are folders, by their ids; records which files it was asked for."""
    folders, asked = {}, []

    def snapshot_download(repository, *, revision, allow_patterns):
        asked.append((repository, revision, tuple(allow_patterns)))
        return str(folders[repository])

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    return folders, asked


def bert_weights(layers, width, words):
    """Weights of BERT with 512 positions (Devlin et al. 2019): tables, layers, and the pooler."""
    tables = (words + 512 + 2) * width + 2 * width
    layer = 4 * (width * width + width) + 2 * (4 * width * width) + 5 * width + 4 * width
    return tables + layers * layer + width * width + width


@pytest.mark.parametrize("name", KNOWN_MODELS)
def test_each_says_what_people_choose_by(name):
    known = KNOWN_MODELS[name]
    assert known.languages
    assert known.parameters > 20_000_000
    assert (known.layers, known.width) in {(6, 384), (12, 384), (12, 768)}
    assert known.dimension == (768 if name == "mdbr-leaf-ir" else known.width)
    assert (known.scifact is None) == (not known.source)
    assert known.scifact is None or 0.6 < known.scifact < 0.8
    assert known.licence in {"Apache-2.0", "MIT"} or name == "scincl-adapters"
    assert known.hub_id
    assert re.fullmatch("([0-9a-f]{40})?", known.revision)
    assert re.fullmatch("([0-9a-f]{64})?", known.sha256)
    assert set(known.adapters) in (set(), set(Format))
    assert PINNED.get(known.hub_id, "") == known.revision


@pytest.mark.parametrize("name", [name for name in KNOWN_MODELS if KNOWN_MODELS[name].parameters % 100_000])
def test_sizes_are_those_of_their_networks(name):
    known = KNOWN_MODELS[name]
    words = 250_037 if known.languages == "about 100" else ENGLISH_WORDS
    assert known.parameters == bert_weights(known.layers, known.width, words)


def test_a_second_name_is_of_the_same_files():
    known, same = KNOWN_MODELS["ses-minilm"], KNOWN_MODELS["all-MiniLM-L6-v2"]
    assert known == replace(same, same_as="all-MiniLM-L6-v2")
    assert {one.same_as for one in KNOWN_MODELS.values()} == {"", "all-MiniLM-L6-v2"}
    default, base = find_model("ses-minilm").card, find_model("all-MiniLM-L6-v2").card
    assert default == replace(base, name="ses-minilm")
    assert default.fingerprint == base.fingerprint
    assert DEFAULT_MODEL == "ses-minilm"


def test_speed_is_relative_to_the_default():
    assert [work(6, 384), work(12, 384), work(12, 768)] == [1, 2, 8]
    assert [speed_of(*one) for one in ((6, 384), (3, 384), (12, 384), (24, 384), (12, 768))] == [
        *("fast", "fast", "medium", "medium", "slow")
    ]


def test_prompts_of_the_families():
    asked = "Represent this sentence for searching relevant passages: "
    for name, known in KNOWN_MODELS.items():
        if name.startswith(("bge", "snowflake", "mdbr")):
            assert known.prompts == {Format.QRY: asked}
        elif "e5" in name:
            assert (known.prompts[Format.QRY], known.prompts[Format.PRX]) == ("query: ", "passage: ")
        else:
            assert known.prompts == {}


def test_what_the_folder_lacks_is_added(tmp_path, hub):
    folders, asked = hub
    folders["intfloat/e5-small-v2"] = make_sentence_transformers(tmp_path / "m", seed=1)
    card = find_model("e5-small-v2").card
    assert (card.name, card.licence, card.network.pooling) == ("e5-small-v2", "MIT", "mean")
    assert card.prompts == KNOWN_MODELS["e5-small-v2"].prompts
    assert asked[0][:2] == ("intfloat/e5-small-v2", KNOWN_MODELS["e5-small-v2"].revision)
    plain = find_model(str(tmp_path / "m")).card
    assert plain.fingerprint != card.fingerprint
    assert plain.prompts == {}


def test_what_the_folder_says_wins(tmp_path, hub):
    folder = make_sentence_transformers(
        tmp_path / "m", seed=1, pooling="mean", normalize=False, prompts={"query": "Q: ", "document": "D: "}
    )
    hub[0]["BAAI/bge-small-en-v1.5"] = folder
    card = find_model("bge-small-en-v1.5").card
    assert (card.network.pooling, card.network.normalize) == ("mean", False)
    assert (card.prompts[Format.QRY], card.prompts[Format.PRX]) == ("Q: ", "D: ")


def test_a_folder_without_modules_is_pooled_as_the_authors_do(tmp_path, hub):
    hub[0]["thenlper/gte-base"] = make_model(tmp_path / "m")
    card = find_model("gte-base").card
    assert (card.network.pooling, card.network.normalize, card.similarity) == ("mean", True, "cosine")
    hub[0]["malteos/scincl"] = tmp_path / "m"
    own = KnownModel("", hub_id="malteos/scincl").completed(find_model(str(tmp_path / "m")).card, tmp_path / "m")
    assert (own.network.pooling, own.network.normalize, own.similarity) == ("cls", False, "l2")


def test_linear_layers_are_fetched_too(tmp_path, hub):
    folder = make_sentence_transformers(tmp_path / "m", seed=1)
    add_dense(folder, 768)
    hub[0]["MongoDB/mdbr-leaf-ir"] = folder
    assert find_model("mdbr-leaf-ir").card.dimension == 768
    assert "*_Dense/model.safetensors" in hub[1][0][2]


def test_other_weights_than_published_are_refused(tmp_path, hub):
    hub[0]["thenlper/gte-small"] = make_model(tmp_path / "m")
    with pytest.raises(InputError, match="is not the published gte-small: its SHA-256 is"):
        find_model("gte-small")


def test_changed_weights_of_a_model_without_a_published_hash_are_refused(tmp_path, hub, hub_lock):
    hub[0]["BAAI/bge-small-en-v1.5"] = make_model(tmp_path / "m")
    find_model("bge-small-en-v1.5")
    assert "model.safetensors" in json.loads(hub_lock.read_text())["BAAI/bge-small-en-v1.5"]["files"]
    make_model(tmp_path / "m", seed=1)
    with pytest.raises(InputError, match=r"bge-small-en-v1\.5 on the hub is not what it was when it was first used"):
        find_model("bge-small-en-v1.5")


def test_what_is_here(tmp_path, monkeypatch):
    held = set()
    monkeypatch.setattr("encoders.registry.cached", lambda hub_id, _="": hub_id if hub_id in held else None)
    assert is_here("ses-minilm")
    assert not is_here("specter2")
    held |= {"allenai/specter2_base", *list(KNOWN_MODELS["specter2"].adapters.values())[1:]}
    assert not is_here("specter2")
    held |= set(KNOWN_MODELS["specter2"].adapters.values())
    assert is_here("specter2")
