"""What Zotero saves from the pages: its published translators read them, run by node in its translation server."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time

import httpx
import pytest

from tests.serving import served

pytestmark = [pytest.mark.serve, pytest.mark.zotero, pytest.mark.slow]


@pytest.fixture(scope="module")
def address(library):
    """The address of the service over a socket."""
    with served(library) as found:
        yield found


@pytest.fixture(scope="module")
def zotero(tmp_path_factory):
    """A function that saves the page at an address as Zotero does, and returns its answer."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = os.environ["SES_TEST_ZOTERO"]
    given = {**os.environ, "NODE_CONFIG": json.dumps({"port": port, "host": "127.0.0.1"})}
    log = (tmp_path_factory.mktemp("zotero") / "log").open("w")
    server = subprocess.Popen(
        [str(shutil.which("node")), "src/server.js"], cwd=folder, env=given, stdout=log, stderr=log
    )

    def save(content, kind="text/plain"):
        while True:
            try:
                return httpx.post(
                    f"http://127.0.0.1:{port}/web", content=content, headers={"Content-Type": kind}, timeout=60
                )
            except httpx.ConnectError:
                assert server.poll() is None, "the translation server has ended"
                time.sleep(0.05)

    yield save
    server.kill()
    server.wait()
    log.close()


def test_it_saves_a_paper_from_its_page(zotero, address):
    reply = zotero(f"{address}/papers/cited")
    assert reply.status_code == 200, reply.text
    (item,) = reply.json()
    assert item["itemType"] == "journalArticle"
    assert item["title"] == "A virus of the lung"
    assert [(one["lastName"], one["firstName"]) for one in item["creators"][:2]] == [
        ("Byron", "Ada"),
        ("van der Berg", "Ludwig"),
    ]
    assert (item["date"], item["publicationTitle"], item["language"]) == ("2021", "Nature", "en")
    assert (item["DOI"], item["extra"]) == ("10.1000/a(1)b", "PMID: 123")
    assert item["abstractNote"] == "The virus, the lung, and a mask."


def test_it_offers_the_papers_of_a_list_and_saves_those_chosen(zotero, address, library):
    place = f"{address}/similar/citing/1?size=60&index=papers"
    reply = zotero(place)
    assert reply.status_code == 300, reply.text
    offered = reply.json()
    page = library["papers"].similar("citing/1", size=60)
    assert len(offered["items"]) == len(page)
    titles = {title: key for key, title in offered["items"].items()}
    chosen = {titles["A virus of the lung"]: "A virus of the lung"}
    (item,) = zotero(json.dumps({**offered, "items": chosen}), "application/json").json()
    assert item["itemType"] == "journalArticle"
    assert (item["title"], item["DOI"]) == ("A virus of the lung", "10.1000/a(1)b")
    assert [one["tag"] for one in item["tags"]] == ["Medicine", "Lung & heart"]
    # A group is one name in RIS.
    assert item["creators"][2] == {"name": "World Health Organization", "creatorType": "author"}
