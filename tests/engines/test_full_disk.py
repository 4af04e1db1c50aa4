"""A disk that fills up in the middle of writing: told plainly, nothing lost, gone on with once there is room."""

from __future__ import annotations

import numpy as np
import pytest

from corpora.errors import UnavailableError
from corpora.paper import Paper
from search_plugin.contract.engine import Document
from search_plugin.contract.schema import IndexSchema, paper_vector
from search_plugin.engines.embedded import words
from search_plugin.engines.registry import connect
from tests.disks import mounted
from tests.engines.conftest import SCHEMA, documents


@pytest.fixture
def small_disk(tmp_path, request):
    """A disk of some kilobytes and a function that makes it larger."""
    disk = tmp_path / "disk"
    with mounted(disk, request.param) as remount:
        yield disk, lambda: remount("size=50m")


@pytest.mark.slow
@pytest.mark.parametrize("small_disk", [512, 1100, 1300], indirect=True)
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


@pytest.mark.slow
@pytest.mark.parametrize("small_disk", [800], indirect=True)
def test_a_disk_that_a_thread_of_tantivy_has_filled_is_told(small_disk, monkeypatch):
    disk, enlarge = small_disk
    monkeypatch.setattr(words, "_MEMORY", 15 << 20)  # the least that tantivy takes: it writes long before the commit
    texts = [" ".join(f"{number:09}" for number in range(at, at + 100)) for at in range(0, 1_200_000, 100)]
    vectors = {"prx": np.ones(2, np.float32)}
    written = [Document(Paper(text[:9], "t", text), "h", vectors) for text in texts]
    schema = IndexSchema("tiny", "0123", (paper_vector("prx", 2, "dot"),))
    index = connect(f"embedded:{disk}").build("papers", schema, "source")
    with pytest.raises(UnavailableError, match="is full; free some space and try again"):
        index.upsert(written)
    enlarge()
    index.upsert(written)
    assert index.count() == len(written)
