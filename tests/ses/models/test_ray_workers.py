"""Workers on a Ray cluster of two nodes give the index of one process, whatever is killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

import ses
from corpora.errors import InputError, UnavailableError
from tests.disks import mounted
from tests.failing import counted, make_failing
from tests.tiny import make_model, papers, write_jsonl

pytestmark = [pytest.mark.ray, pytest.mark.slow]

BLOCK = 512
BLOCKS = 6
STORE = 80_000_000
"""Bytes of a node's object store: the least that Ray takes."""

_DRIVER = """
import sys, ses
data, cache, model, corpus, shards, workers = sys.argv[1:]
library = ses.open(data_dir=data, cache_dir=cache, model=model, embedding_cache=False)
library.index("worked", corpus, corpus="jsonl", workers=workers, shards=shards)
"""


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    """Where workers note what they encode; see `tests.failing`."""
    return tmp_path_factory.mktemp("failing")


@pytest.fixture(scope="module")
def cluster(failing, tmp_path_factory):
    """A head without cores, so that it outlives the nodes with workers; two of these."""
    from ray.cluster_utils import Cluster

    kept = dict(os.environ)
    # A busy machine is no failure; and the paths of its sockets may have 107 bytes.
    patient = {"RAY_agent_register_timeout_ms": "300000", "RAY_worker_register_timeout_seconds": "300"}
    patient["RAY_worker_niceness"] = "0"  # else workers wait for all else that runs
    os.environ |= {**make_failing(failing), **patient, "RAY_TMPDIR": tempfile.gettempdir()}
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    cluster = Cluster()
    try:
        add_node(cluster, num_cpus=0, include_dashboard=False)
        for _ in range(2):
            add_node(cluster, num_cpus=1)
        yield cluster
    finally:
        cluster.shutdown()
        os.environ.clear()
        os.environ |= kept


def add_node(cluster, **given):
    """Start a node; Ray gives up after 30 seconds, and on a busy machine the next trial is quicker."""
    for _ in range(3):
        with contextlib.suppress(Exception):
            node = cluster.add_node(object_store_memory=STORE, **given)
            cluster.wait_for_nodes()
            return node
    pytest.fail("Ray could not start a node in three trials")


@pytest.fixture
def library(tmp_path):
    make_model(tmp_path / "model")
    given = {"data_dir": tmp_path / "data", "cache_dir": tmp_path / "cache", "model": str(tmp_path / "model")}
    with ses.open(**given, embedding_cache=False) as library:
        yield library


@pytest.fixture
def corpus(tmp_path, library, failing):
    """Papers of six blocks, of which every second one is slow, in an index that one process has made: `whole`."""
    written = papers(BLOCK * BLOCKS - 100)
    for place in range(BLOCKS):
        written[place * BLOCK] = replace(written[place * BLOCK], title=f"block {place} {'slow' if place % 2 else ''}")
    corpus = write_jsonl(tmp_path / "corpus.jsonl", written)
    library.index("whole", corpus, corpus="jsonl")
    (failing / "encoded").unlink(missing_ok=True)
    return corpus


def index(library, corpus, cluster, folder):
    return library.index("worked", corpus, corpus="jsonl", workers=f"ray:{cluster.address}", shards=folder / "shards")


def check(library, failing, lost=0):
    """Compare with the undisturbed index; at most so many blocks were encoded twice."""
    assert contents(library, "worked") == contents(library, "whole")
    assert BLOCKS <= sum(counted(failing).values()) <= BLOCKS + lost


def contents(library, name):
    """Hash and vector of each paper of an index."""
    index = library[name].index
    ids = sorted(index.ids())
    hashes, vectors = index.hashes(ids), index.vectors(ids, "prx")
    return {id_: (hashes[id_], vectors[id_].tobytes()) for id_ in ids}


def once_one_is_encoded(failing, act):
    """Start a thread that acts when the first block was encoded."""

    def wait():
        while not counted(failing):
            time.sleep(0.02)
        act()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def encoding_workers():
    """Process ids of Ray's workers that encode."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            name = (place / "cmdline").read_bytes().partition(b"\0")[0]
            # Ray names a process by what it runs.
            if name.startswith(b"ray::_work"):
                found.append(int(place.name))
        except OSError:
            continue
    return found


def test_two_nodes_make_the_index_of_one_process_with_an_empty_object_store(
    tmp_path, library, corpus, cluster, failing
):
    import ray
    from ray._private.internal_api import memory_summary

    ray.init(cluster.address, log_to_driver=False, logging_level="ERROR")
    try:
        report = index(library, corpus, cluster, tmp_path)
        assert "0 MiB, 0 objects" in memory_summary(cluster.address, stats_only=True)
        assert ray.is_initialized()
    finally:
        ray.shutdown()
    assert (report.papers, report.rejected) == (BLOCK * BLOCKS - 100, 0)
    check(library, failing)


def test_a_killed_worker_costs_a_block(tmp_path, library, corpus, cluster, failing):
    def kill():
        # Between two blocks, a worker bears another name.
        workers = next(found for _ in range(1_000) if (found := encoding_workers()) or time.sleep(0.005))
        os.kill(workers[0], signal.SIGKILL)

    killing = once_one_is_encoded(failing, kill)
    index(library, corpus, cluster, tmp_path)
    killing.join()
    check(library, failing, lost=1)


def test_a_killed_node_costs_a_block_of_each_of_its_workers(tmp_path, library, corpus, cluster, failing):
    victim = add_node(cluster, num_cpus=1)
    killing = once_one_is_encoded(failing, lambda: cluster.remove_node(victim, allow_graceful=False))
    report = index(library, corpus, cluster, tmp_path)
    killing.join()
    assert report.rejected == 0
    check(library, failing, lost=1)


def test_a_killed_driver_resumes(tmp_path, library, corpus, cluster, failing):
    given = (tmp_path / "data", tmp_path / "cache", tmp_path / "model", corpus, tmp_path / "shards")
    command = [sys.executable, "-c", _DRIVER, *map(str, given), f"ray:{cluster.address}"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as driver:
        once_one_is_encoded(failing, driver.kill).join()
    assert driver.returncode == -signal.SIGKILL
    assert "worked" not in library
    index(library, corpus, cluster, tmp_path)
    check(library, failing, lost=2)


def test_a_node_with_a_full_disk_leaves_its_blocks_to_others(tmp_path, library, corpus, cluster, failing):
    with mounted(tmp_path / "disk", 4):
        (tmp_path / "disk" / "filled").write_bytes(b"." * 4096)
        full = {"SES_CACHE_DIR": str(tmp_path / "disk"), "TMPDIR": str(tmp_path / "disk")}
        node = add_node(cluster, num_cpus=1, env_vars=full)
        try:
            index(library, corpus, cluster, tmp_path)
        finally:
            cluster.remove_node(node, allow_graceful=False)
    check(library, failing)


def test_a_slow_machine_gets_fewer_blocks(tmp_path, library, corpus, cluster, failing):
    node = add_node(cluster, num_cpus=1, env_vars={"SES_TEST_LATE": "6"})
    try:
        index(library, corpus, cluster, tmp_path)
    finally:
        cluster.remove_node(node, allow_graceful=False)
    check(library, failing)
    assert sum(counted(failing, "late").values()) < BLOCKS / 2


def test_a_paper_that_ends_processes_is_a_dead_letter(tmp_path, library, cluster, failing):
    written = papers(60)
    corpus = write_jsonl(
        tmp_path / "corpus.jsonl", [*written[:30], replace(written[30], title="deadly"), *written[31:]]
    )
    report = index(library, corpus, cluster, tmp_path)
    assert (report.new, report.rejected) == (59, 1)
    assert "Workers ended whenever they encoded it." in report.dead_letter.read_text()


def test_where_there_is_no_cluster_the_message_says_so(tmp_path, library):
    corpus = write_jsonl(tmp_path / "corpus.jsonl", papers(3))
    with pytest.raises(
        UnavailableError, match=r"There is no Ray cluster at 127\.0\.0\.1:1 .*; start one by `ray start"
    ):
        library.index("worked", corpus, corpus="jsonl", workers="ray:127.0.0.1:1")
    for workers in ("ray:ray://127.0.0.1:1", "ray://127.0.0.1:1"):
        with pytest.raises(InputError, match=r"Workers can't be reached by ray://127\.0\.0\.1:1, since Ray Client"):
            library.index("worked", corpus, corpus="jsonl", workers=workers)
