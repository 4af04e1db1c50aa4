"""What `ses.list_models` says of models on this machine."""

from __future__ import annotations

import json

import pytest
from safetensors.numpy import load_file

import encoders.models.hub
import ses
from encoders.models.known import KNOWN_MODELS
from encoders.registry import find_model
from ses.models.model_facts import count_parameters
from tests.encoders.every import MAKERS
from tests.tiny import make_model

COMMIT = "a" * 40


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """The cache of a hub with the repositories org/m and org/part, which were used before."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    lock = tmp_path / "ses-models.json"
    monkeypatch.setattr(encoders.models.hub, "lock_file", lambda: lock)
    used = {name: {"commit": COMMIT, "files": {}} for name in ("org/m", "org/part", "org/gone", "allenai/specter2")}
    lock.write_text(json.dumps(used))
    make_model(tmp_path / "models--org--m" / "snapshots" / COMMIT)
    part = make_model(tmp_path / "models--org--part" / "snapshots" / COMMIT)
    (part / "adapter_config.json").write_text("{}")
    return tmp_path


def size_of(folder):
    return sum(array.size for array in load_file(folder / "model.safetensors").values())


def test_known_models_come_first_and_the_default_is_counted(hub):
    found = ses.list_models()
    assert [one.name for one in found][: len(KNOWN_MODELS)] == list(KNOWN_MODELS)
    default = next(one for one in found if one.default)
    assert default.here
    positions = 512  # numbers of positions, which the file holds beside the weights
    assert default.parameters + positions == count_parameters(find_model("ses-minilm"))


def test_models_of_the_hub_that_were_used_are_listed(hub):
    (found,) = ses.list_models()[len(KNOWN_MODELS) :]
    assert (found.name, found.hub_id, found.here, found.dimension, found.layers) == ("org/m", "org/m", True, 64, 2)
    assert found.parameters == size_of(hub / "models--org--m" / "snapshots" / COMMIT)
    assert found.to_dict()["speed"] == "fast"


def test_folders_are_searched_and_their_parts_are_not(tmp_path, hub):
    model = MAKERS["plain"](tmp_path / "runs" / "x" / "model")
    (model / "1_Pooling").mkdir(exist_ok=True)
    (model / "1_Pooling" / "config.json").write_text("{}")
    broken = tmp_path / "runs" / "y"
    broken.mkdir()
    (broken / "ses_card.json").write_text("[]")
    both = ses.list_models([tmp_path / "runs", model])[len(KNOWN_MODELS) + 1 :]
    assert [one.name for one in both] == [str(model), str(broken)]
    assert "doesn't hold what a model folder's ses_card.json does" in both[1].problem
    assert both[0].problem == ""


def test_a_composed_model_counts_each_member_once(tmp_path):
    make_model(tmp_path / "a")
    (tmp_path / "twice").mkdir()
    own = {"architecture": "routes", "members": {"prx": "../a", "qry": "../a"}}
    (tmp_path / "twice" / "ses_card.json").write_text(json.dumps(own))
    assert count_parameters(find_model(str(tmp_path / "twice"))) == size_of(tmp_path / "a")


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(ses.InputError, match="There is no model in"):
        ses.list_models([tmp_path])
    with pytest.raises(ses.InputError, match="is not a folder; give one that holds models"):
        ses.list_models([tmp_path / "none"])
