"""The page of `examples/page` in a browser, behind the proxy of its nginx.conf, on real clusters."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from corpora.paper import Paper
from encoders.query_tables import table_for
from encoders.static import load_static
from encoders.table_file import write_table_file
from encoders.word_vectors import WordVectors
from tests.browsing import started_browser
from tests.conftest import server_url
from tests.front_ends.clusters import free_port, lanes, on_cluster, product, wait_for

pytestmark = [pytest.mark.serve, pytest.mark.browser, pytest.mark.nginx, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "examples" / "page"
ODD = Paper(
    "<b>", "Index & <i>transcription</i>", abstract="Galaxies. " * 30, venue="A:<b>", year=2024, authors=("Zoë",)
)
ORIGIN = "https://library.example"


def start_nginx(folder: Path, lane: str, service: str, measure: str) -> tuple[subprocess.Popen[bytes], str]:
    """Start nginx with the example's configuration, on a free port and before this cluster."""
    port = free_port()
    site = folder / "site"
    shutil.copytree(PAGE, site)
    home = site / "index.html"
    text = home.read_text().replace('data-cluster="opensearch"', f'data-cluster="{product(lane)}"')
    home.write_text(text.replace('data-measure="cosine"', f'data-measure="{measure}"'))
    for name in ("query-vector.js", "ranking.js"):
        shutil.copy(ROOT / "javascript" / name, site)
    written = (PAGE / "nginx.conf").read_text()
    for before, after in (
        ("127.0.0.1:9200", server_url(lane).removeprefix("http://")),
        ("listen 8080", f"listen 127.0.0.1:{port}"),
        ("/usr/share/ses/page", str(site)),
        ("rate=20r/s", "rate=1000r/s"),
        ("127.0.0.1:8765", service),
    ):
        assert before in written
        written = written.replace(before, after)
    (folder / "papers.conf").write_text(written)
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {folder}/pid; error_log {folder}/errors; events {{}}"
        f"http {{ include /etc/nginx/mime.types; access_log off; {temporary} include {folder}/papers.conf; }}"
    )
    nginx = subprocess.Popen([str(shutil.which("nginx")), "-p", str(folder), "-c", str(folder / "nginx.conf")])
    wait_for(port)
    return nginx, f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module", params=lanes("opensearch", "elasticsearch9"))
def site(request, tmp_path_factory):
    """The index, and the address of its page."""
    folder = tmp_path_factory.mktemp("page")
    with on_cluster(request.param, folder, ODD) as (index, service):
        nginx, address = start_nginx(folder, request.param, service.removeprefix("http://"), "l2")
        yield index, address
        nginx.terminate()
        nginx.wait()


@pytest.fixture(scope="module", params=lanes("opensearch", "elasticsearch9"))
def own_site(request, tmp_path_factory):
    """The index with vectors of the default model, and the address of its page, without a service."""
    folder = tmp_path_factory.mktemp("meaning")
    with on_cluster(request.param, folder, has_table=True) as (index, _):
        cluster = index.index.cluster
        nginx, address = start_nginx(folder, request.param, "127.0.0.1:9", "cosine")
        encoder = load_static(table_for(index.index.schema.fingerprint), folder / "cache")
        write_table_file(encoder, folder / "site" / "query-table.safetensors")
        cluster.call("PUT", "/ses-papers-words", {"mappings": {"enabled": False}})
        pieces = ["galaxy", "virus", "mice", "[UNK]", "z", "##z", "##q", "##x", "##xin", "##e"]
        for word, vector in zip(pieces, WordVectors(encoder).of(pieces).tolist(), strict=True):
            place = f"/ses-papers-words/_doc/{quote(word, safe='')}"
            cluster.call(
                "PUT", place, {"vector": vector, "piece": True, "spellings": ["mouse"] if word == "mice" else []}
            )
        yield index, address
        cluster.call("DELETE", "/ses-papers-words")
        nginx.terminate()
        nginx.wait()


@pytest.fixture(scope="module")
def browser():
    with started_browser() as browser:
        yield browser


@pytest.fixture
def visit(browser, site):
    """Opens the page of `site`."""
    yield from visiting(browser, site[1])


@pytest.fixture
def visit_own(browser, own_site):
    """Opens the page of `own_site`."""
    yield from visiting(browser, own_site[1])


def visiting(browser, address):
    """Yield a function that opens the page with parameters; a test fails by what goes wrong, or leaves the site."""
    wrong = []
    page = browser.new_page()
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if "Content Security" in message.text else None)
    page.on("request", lambda request: request.url.startswith(address) or wrong.append(request.url))

    def opened(parameters="", *, meaning=""):
        """Open the page with one of its ways to the vector of a query, such as `encode="/encode"`."""

        def with_meaning(route):
            answer, name = route.fetch(), meaning.partition("=")[0]
            route.fulfill(response=answer, body=answer.text().replace(f'data-{name}=""', f"data-{meaning}"))

        if meaning:
            page.route(re.compile(r"/(\?.*)?$"), with_meaning)
        page.goto(f"{address}/{parameters}")
        return shown(page)

    yield opened
    page.close()
    assert wrong == []


def shown(page):
    """Wait until the page shows what was found."""
    page.locator("#status:not(:empty)").wait_for()
    return page


def go(page, role, name):
    """Use a link or a button, and wait for the page to which it leads."""
    with page.expect_navigation():
        page.get_by_role(role, name=name).first.click()
    shown(page)


def ids(page):
    return page.eval_on_selector_all("#hits > li", "items => items.map((item) => item.id)")


def test_a_reader_searches_narrows_pages_and_finds_similar_papers(site, visit):
    index, _ = site
    page = visit()
    assert page.locator("#status").text_content() == "61 papers"
    page.locator("input").fill("galaxy")
    go(page, "button", "Search")
    found = index.search("galaxy", mode="lexical", size=10, verbatim=True, literal=True)
    assert ids(page) == [hit.id for hit in found]
    assert page.locator("#status").text_content() == f"{found.candidates} papers"
    assert page.locator("mark").first.text_content().lower().startswith("galax")
    go(page, "link", "Next")
    later = index.search("galaxy", mode="lexical", size=10, offset=10, verbatim=True, literal=True)
    assert ids(page) == [hit.id for hit in later]
    go(page, "link", re.compile(r"^Nature \(\d+\)$"))
    nature = index.search("galaxy", mode="lexical", size=10, filter="venue == Nature", verbatim=True, literal=True)
    assert ids(page) == [hit.id for hit in nature]
    assert page.locator("[aria-current]").text_content() == f"✓ Nature ({nature.candidates})"
    go(page, "link", "Similar papers")
    assert ids(page) == [hit.id for hit in index.similar(nature[0].id, size=10, mode="vector")]


def test_texts_of_papers_stay_texts(visit):
    page = visit("?q=transcription")
    assert ids(page) == ["<b>"]
    assert page.locator("#hits strong").text_content() == "Index & <i>transcription</i>"
    assert page.locator("mark").count() == 1
    go(page, "link", "A:<b> (1)")
    assert ids(page) == ["<b>"]
    assert visit("?q=xyzzy").locator("#status").text_content() == "0 papers"
    assert "no such paper" in visit("?like=nothing").locator("#status").text_content()


def test_meaning_ranks_with_a_vector_of_the_service(site, visit):
    index, _ = site
    page = visit(meaning='encode="/encode"')
    page.locator("input").fill("galaxy")
    go(page, "button", "Search")
    assert page.locator("#status").text_content() == "61 papers"
    asked = {"size": 10, "verbatim": True, "literal": True}
    assert ids(page) == [hit.id for hit in index.search("galaxy", **asked)]
    assert ids(page) != [hit.id for hit in index.search("galaxy", neighbours=0, **asked)]
    go(page, "link", re.compile(r"^Nature \(\d+\)$"))
    found = index.search("galaxy", filter="venue == Nature", **asked)
    assert ids(page) == [hit.id for hit in found]
    assert page.locator("mark").count() > 0


@pytest.mark.parametrize("way", ['words="/words"', 'table="query-table.safetensors"'])
def test_meaning_ranks_with_the_cluster_alone(own_site, visit_own, way):
    index, _ = own_site
    query = "galaxy virus mice Zzqxiné"  # the last word is one of pieces; papers say mouse
    page = visit_own(f"?q={quote(query)}", meaning=way)
    assert page.locator("#status").text_content() == "60 papers"
    # The cluster holds other spellings with its words, and a table does not.
    asked = {"query_encoder": "table", "literal": True}
    found, typed = ([hit.id for hit in index.search(query, size=30, verbatim=one, **asked)] for one in (False, True))
    assert found != typed
    found = found if "words" in way else typed
    assert ids(page) == found[:10]
    go(page, "link", "Next")
    go(page, "link", "Next")
    assert ids(page) == found[20:]
    assert visit_own("?q=xyzzy", meaning=way).locator("#hits > li").count() == (0 if "words" in way else 10)


def test_the_proxy_gives_vectors_of_words_and_nothing_else(own_site):
    _, address = own_site
    with httpx.Client(base_url=address, trust_env=False) as client:
        found = client.post("/words", json={"ids": ["galaxy", "nothing"]}).json()
        assert [len(word["_source"]["vector"]) for word in found["docs"] if "_source" in word] == [384]
        for body in ({"docs": [{"_index": "papers", "_id": "p00001"}]}, {"docs": [{"index": "papers", "_id": "a"}]}):
            assert client.post("/words", json=body).status_code == 400
        assert client.get("/words").status_code == 403


def test_the_proxy_lets_searches_of_the_index_through_and_nothing_else(site):
    _, address = site
    with httpx.Client(base_url=address, trust_env=False) as client:

        def status(body, **more):
            content = body if isinstance(body, str) else json.dumps(body)
            return client.post("/search", content=content, **more).status_code

        everything = {"query": {"match_all": {}}}
        assert status(everything) == 200
        for words in ("index", "script regexp pit", "transcription", '"script" "index"'):
            assert status({"query": {"match": {"title_abstract": words}}}) == 200, words
        scripted = {"script_score": {"query": {"match_all": {}}, "script": {"source": "1"}}}
        for body in (
            {"query": scripted},
            json.dumps({"query": scripted}).replace("script", "\\u0073cript"),
            json.dumps({"query": scripted}).replace('":', '"/**/ :'),
            {"query": {"terms": {"venue": {"index": "ses.locks", "id": "1", "path": "x"}}}},
            {"runtime_mappings": {"x": {"type": "long"}}},
            {"query": {"match_all": {}}, "_source": ["x" * 70_000]},
        ):
            assert status(body) in (400, 413), body
        assert client.post("/search?size=0", json=everything).json()["hits"]["hits"]
        assert client.delete("/search").status_code == 403
        assert client.put("/search", json={}).status_code == 403
        for path in ("/papers/_search", "/_cat/indices", "/search/../_cat/indices", "/search/_doc/1", "/cluster"):
            assert client.get(path).status_code == 404, path
        asked = {"Origin": ORIGIN, "Access-Control-Request-Method": "POST"}
        before = client.options("/search", headers=asked)
        assert (before.status_code, before.headers["Access-Control-Allow-Origin"]) == (204, ORIGIN)
        assert client.post("/search", json=everything, headers=asked).headers["Access-Control-Allow-Origin"] == ORIGIN
        other = client.post("/search", json=everything, headers={"Origin": "https://elsewhere.example"})
        assert "Access-Control-Allow-Origin" not in other.headers
