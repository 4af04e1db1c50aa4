"""The ten minutes of docs/front-ends.md, played literally by a shell with curl on each server."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from search_plugin.engines.registry import connect
from tests.conftest import server_url
from tests.engines.conftest import NEWEST_CLUSTERS, empty
from tests.guide import ENVIRONMENT, PAGES, SERVER

BLOCK = re.compile(r'^```(?P<kind>sh|text)(?: title="(?P<product>\w+)")?\n(?P<text>.*?)^```$', re.DOTALL | re.MULTILINE)
PRODUCT = re.compile(r"# (OpenSearch|Elasticsearch)\b")
SHOWN = "shown after block {}"


def blocks(product):
    """The commands of the page for a product, each with what it shows, or nothing."""
    text = (PAGES / "front-ends.md").read_text(encoding="utf-8")
    section = text.partition("## From a cluster to hybrid search in ten minutes\n")[2].partition("\n## ")[0]
    found = []
    for block in BLOCK.finditer(section):
        named = PRODUCT.match(block["text"])
        if (block["product"] or (named[1] if named else product)) != product:
            continue
        if block["kind"] == "sh":
            found.append([block["text"], ""])
        else:
            found[-1][1] = block["text"]
    return found


@pytest.fixture(params=NEWEST_CLUSTERS)
def cluster(request):
    """The URL of a server without indexes of ses and without the catalogue."""
    engine = connect(server_url(request.param))

    def clean():
        empty(engine)
        engine.cluster.call("DELETE", "/catalogue?ignore_unavailable=true")

    clean()
    yield engine
    clean()


@pytest.mark.slow
def test_the_ten_minutes_give_what_the_page_shows(cluster, tmp_path, shared_cache, monkeypatch):
    played = blocks({"opensearch": "OpenSearch", "elasticsearch": "Elasticsearch"}[cluster.cluster.product.kind])
    assert sum(bool(shown) for _, shown in played) >= 4
    settings = {"SES_DATA_DIR": str(tmp_path / "data"), "SES_CACHE_DIR": str(shared_cache), **ENVIRONMENT}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    command = tmp_path / "ses"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ses "$@"\n')
    command.chmod(0o755)
    script = "set -e\n" + "".join(f"{text}\nprintf '\\n{SHOWN.format(n)}\\n'\n" for n, (text, _) in enumerate(played))
    done = subprocess.run(
        ["/bin/sh", "-c", script.replace(SERVER, cluster.url)],
        cwd=tmp_path,
        env={**os.environ, "PATH": os.pathsep.join([str(tmp_path), os.environ["PATH"]])},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    parts = re.split(SHOWN.format(r"\d+"), done.stdout)
    printed = [part.strip() if shown else "" for (_, shown), part in zip(played, parts, strict=False)]
    assert printed == [shown.strip() for _, shown in played]
