"""Repositories of the hub: pinned, or what they were when they were first used."""

from __future__ import annotations

import json
import os
import re

import huggingface_hub
import pytest

from corpora.errors import InputError
from encoders.models.hub import cached, fetch, is_hub_id, used
from encoders.models.known import KNOWN_MODELS, PINNED

OLD, NEW = "a" * 40, "b" * 40


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """A hub with the repository org/m, in snapshots as the library keeps them; `main` is a commit of it."""
    asked, main = [], [OLD]
    snapshots = tmp_path / "snapshots"
    for commit in (OLD, NEW):
        (snapshots / commit / "1_Pooling").mkdir(parents=True)
        (snapshots / commit / "config.json").write_text(commit)
        (snapshots / commit / "1_Pooling" / "config.json").write_text("{}")
        (snapshots / commit / "weights.bin").write_text("not asked for")

    def snapshot_download(repository, *, revision, allow_patterns):
        asked.append((repository, revision))
        return str(snapshots / (main[0] if revision in (None, "main") else revision))

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    return asked, main, snapshots


def test_the_commit_of_the_first_use_is_asked_for_again(hub, hub_lock):
    asked, main, snapshots = hub
    assert fetch("org/m", ["*.json"]) == snapshots / OLD
    main[0] = NEW
    assert fetch("org/m", ["*.json"]) == snapshots / OLD
    assert asked == [("org/m", None), ("org/m", OLD)]
    locked = json.loads(hub_lock.read_text())["org/m"]
    assert (locked["commit"], sorted(locked["files"])) == (OLD, ["1_Pooling/config.json", "config.json"])


def test_a_branch_that_has_moved_is_refused_until_its_entry_is_deleted(hub, hub_lock):
    _, main, snapshots = hub
    fetch("org/m@main", ["*.json"])
    main[0] = NEW
    with pytest.raises(InputError) as refused:
        fetch("org/m@main", ["*.json"])
    told = str(refused.value)
    assert "its commit is bbbbbbbbbbbb, and it was aaaaaaaaaaaa; if you trust the new one, delete the entry" in told
    assert f"'org/m@main' from {hub_lock}." in told
    assert fetch(f"org/m@{NEW}", ["*.json"]) == snapshots / NEW
    hub_lock.write_text("{}")
    assert fetch("org/m@main", ["*.json"]) == snapshots / NEW


def test_a_file_with_another_content_is_refused(hub):
    _, _, snapshots = hub
    fetch("org/m", ["*.json"])
    path = snapshots / OLD / "config.json"
    os.utime(path, ns=(1, 1))  # fetched again, and the same
    fetch("org/m", ["*.json"])
    path.write_text("evil")
    with pytest.raises(InputError, match=r"config\.json has the SHA-256 [0-9a-f]{64}, and it had [0-9a-f]{64}; if you"):
        fetch("org/m", ["*.json"])


def test_an_unchanged_file_is_read_once(hub, monkeypatch):
    read = []
    monkeypatch.setattr("encoders.models.hub.sha256_of", lambda path: read.append(path.name) or "x")
    for _ in range(3):
        fetch("org/m", ["config.json"])
    assert len(read) == 2
    fetch("org/m", ["config.json", "weights.bin"])
    assert read[2:] == ["weights.bin"]


@pytest.mark.parametrize(
    "content", ["[", "[]", '{"org/m": {}}', '{"org/m": {"commit": "", "files": {"a": {"sha256": 1}}}}']
)
def test_a_damaged_lock_is_not_taken_for_an_empty_one(hub, hub_lock, content):
    hub_lock.parent.mkdir()
    hub_lock.write_text(content)
    with pytest.raises(InputError, match=f"{re.escape(str(hub_lock))} can't be read .*restore it, or delete it"):
        fetch("org/m", ["*.json"])


def test_a_lock_that_can_not_be_written_is_said(hub, hub_lock, caplog):
    hub_lock.parent.write_text("a file")
    fetch("org/m", ["*.json"])
    assert "so later downloads of models can't be compared with this one" in caplog.text


def test_the_folder_of_the_lock_is_made(hub, tmp_path, monkeypatch):
    path = tmp_path / "not" / "there" / "ses-models.json"
    monkeypatch.setattr("encoders.models.hub.lock_file", lambda: path)
    fetch("org/m", ["*.json"])
    assert json.loads(path.read_text())["org/m"]["commit"] == OLD


def test_known_repositories_are_asked_for_by_their_commits(hub, monkeypatch):
    asked, _, snapshots = hub
    for repository, commit in PINNED.items():
        assert re.fullmatch("[0-9a-f]{40}", commit)
        (snapshots / commit).mkdir()
        fetch(repository, ["*.json"])
    assert asked == list(PINNED.items())
    named = {known.hub_id for known in KNOWN_MODELS.values()} - {""}
    assert named <= PINNED.keys()


def test_the_cache_is_looked_at_without_the_hub(tmp_path, monkeypatch, hub_lock):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    place = tmp_path / "models--org--m" / "snapshots" / OLD
    place.mkdir(parents=True)
    (tmp_path / "models--org--m" / "refs").mkdir()
    (tmp_path / "models--org--m" / "refs" / "main").write_text(OLD)
    assert (cached("org/m"), cached("org/none"), used()) == (None, None, ())
    (place / "config.json").write_text("{}")
    assert cached("org/m") == cached(f"org/m@{OLD}") == place
    assert cached("org/m", "adapter_config.json") is None
    assert cached(f"org/m@{NEW}") is None
    hub_lock.parent.mkdir(exist_ok=True)
    hub_lock.write_text(json.dumps({"org/m": {"commit": NEW, "files": {}}}))
    assert used() == ("org/m",)
    assert cached("org/m") is None  # it is the commit of the first use that counts


@pytest.mark.parametrize("name", ["org/m", "org/m@main", "org.x/m~1"])
def test_names_of_the_hub(name):
    assert is_hub_id(name)


@pytest.mark.parametrize("name", ["m", "", "/m", "./m", "../m", "~/m", "org/deep/m", "org/m/"])
def test_names_of_other_places(name):
    assert not is_hub_id(name)
