"""Disks on which nothing can be written: a search answers all the same."""

from __future__ import annotations

import json
import os

import pytest

from tests.commands import ses
from tests.disks import mounted
from tests.tiny import make_model, papers, write_jsonl


@pytest.fixture
def home(tmp_path):
    make_model(tmp_path / "model")
    write_jsonl(tmp_path / "corpus.jsonl", papers(60))
    with mounted(tmp_path / "data", 20_000) as remount, mounted(tmp_path / "cache", 8_000) as remount_cache:
        done = ses(
            tmp_path, "index", "--corpus", "jsonl", "--path", tmp_path / "corpus.jsonl", "--model", tmp_path / "model"
        )
        assert done.returncode == 0, done.stderr
        yield tmp_path, remount, remount_cache


def found(home, *arguments):
    done = ses(home, *arguments, SES_MODEL=str(home / "model"))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


@pytest.mark.slow
def test_read_only_disks_serve_searches(home):
    home, remount, remount_cache = home
    commands = (
        ("search", "virus lung", "--json"),
        ("search", "virus", "--json", "--filter", "year>=2000", "--facet", "year"),
        ("similar", papers(1)[0].id, "--json"),
        ("show", papers(1)[0].id, "--json"),
        ("indexes", "list", "--json"),
    )
    before = [found(home, *command)[0] for command in commands]
    remount("ro")
    assert [hits(found(home, *command)[0]) for command in commands] == list(map(hits, before))
    remount_cache("ro")
    for command, expected in zip(commands, before, strict=True):
        page, told = found(home, *command)
        assert hits(page) == hits(expected)
        assert told.count("so vectors are computed and not kept") == (command[0] == "search")


def hits(page):
    """What a page shows, without the time that it took."""
    return page["hits"] if isinstance(page, dict) and "hits" in page else page


def test_a_full_cache_disk_serves_searches(home):
    home, *_ = home
    expected, _ = found(home, "search", "virus lung", "--json")
    for path in sorted((home / "cache").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    with (home / "cache" / "full").open("wb") as file:
        file.write(b"\0" * (os.statvfs(home / "cache").f_bavail * 4096))
    page, told = found(home, "search", "virus lung", "--json")
    assert hits(page) == hits(expected)
    assert "so each run builds it again; free some disk, or set SES_CACHE_DIR" in told
    assert "so vectors are computed and not kept; free some disk, or set SES_CACHE_DIR" in told
