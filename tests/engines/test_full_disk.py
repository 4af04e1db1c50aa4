"""A disk that fills up in the middle of writing: told plainly, nothing lost, gone on with once there is room."""

from __future__ import annotations

import subprocess

import pytest

from corpora.errors import UnavailableError
from search_plugin.engines.registry import connect
from tests.engines.conftest import SCHEMA, documents


@pytest.fixture
def small_disk(tmp_path):
    """A disk of half a megabyte and a function that makes it larger; mounting one takes root."""
    disk = tmp_path / "disk"
    disk.mkdir()

    def mount(*options):
        return subprocess.run(["/bin/mount", *options, str(disk)], capture_output=True, check=False).returncode

    if mount("-t", "tmpfs", "-o", "size=512k", "tmpfs"):
        pytest.skip("only root may mount a small disk")
    yield disk, lambda: mount("-o", "remount,size=50m")
    subprocess.run(["/bin/umount", str(disk)], check=True)


def test_a_full_disk_is_told_and_loses_nothing(small_disk):
    disk, enlarge = small_disk
    engine = connect(f"embedded:{disk}")
    index = engine.build("papers", SCHEMA, "source")
    written = documents(3_000)
    index.upsert(written[:100])
    with pytest.raises(UnavailableError, match="is full; free some space and try again"):
        index.upsert(written[100:])
    assert engine.build("papers", SCHEMA, "source").count() == 100
    enlarge()
    index = engine.build("papers", SCHEMA, "source")
    index.upsert(written[100:])
    index.finish()
    engine.publish(index)
    assert engine.open("papers").count() == 3_000
