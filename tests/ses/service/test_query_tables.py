"""`ses serve` as a process whose queries a table encodes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

import ses
from tests.tiny import papers

pytestmark = [pytest.mark.serve, pytest.mark.slow]

QUERY = "the spread of a virus"


def test_it_answers_as_a_search_by_the_table_and_loads_no_runtime_until_the_model_is_asked_for(tmp_path):
    place, url = {"data_dir": tmp_path / "data", "cache_dir": tmp_path / "cache"}, f"embedded:{tmp_path / 'indexes'}"
    with ses.open(url, **place) as library:
        library.index("papers", papers(12))
        wanted = {
            kind: [(hit.id, hit.score) for hit in library["papers"].search(QUERY, mode="vector", query_encoder=kind)]
            for kind in ("table", "model")
        }
    assert wanted["table"] != wanted["model"]
    given = {f"SES_{name.upper()}": str(folder) for name, folder in place.items()}
    # Else the vector by the model would be found on disk.
    given |= {"SES_QUERY_ENCODER": "table", "SES_EMBEDDING_CACHE": "false"}
    command = [sys.executable, "-m", "ses", "serve", "--engine", url, "--port", "0"]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, env={**os.environ, **given}, text=True, **streams)
    try:
        address = process.stdout.readline().split()[-1]
        for kind, asked in {"table": {}, "model": {"query_encoder": "model"}}.items():
            reply = httpx.get(f"{address}v1/search", params={"query": QUERY, "mode": "vector", **asked}, timeout=120)
            found = [(hit["paper"]["id"], hit["score"]) for hit in reply.raise_for_status().json()["hits"]]
            assert [id_ for id_, _ in found] == [id_ for id_, _ in wanted[kind]]
            assert [score for _, score in found] == pytest.approx([score for _, score in wanted[kind]], abs=1e-6)
            if (maps := Path(f"/proc/{process.pid}/maps")).exists():  # of Linux
                assert ("onnxruntime" in maps.read_text()) is (kind == "model")
    finally:
        process.kill()
        process.communicate()
