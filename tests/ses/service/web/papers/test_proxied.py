"""Every link of every page, as readers meet it behind nginx, which serves ses under a path."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urljoin, urlsplit

import httpx
import pytest
from lxml import etree, html

from ses.service.web.address import address
from tests.front_ends.clusters import free_port
from tests.proxying import nginx, nginx_lines
from tests.serving import listening, service_over
from tests.ses.service.web.pages import PAGES
from tests.ses.service.web.papers.conftest import HOSTILE

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.serve, pytest.mark.slow, pytest.mark.nginx]

PREFIX = "/papers"
"""Also the beginning of a page's own path, which may not be mistaken for it."""

FURTHER = ("/papers/cited", "/papers/citing/1", "/papers/twin-a", "/similar/cited", "/feeds/air", "/v1/feeds/air.atom")
FURTHER += (
    "/search.atom?query=virus",
    "/feeds/like.atom?id=cited",
    "/opensearch.xml",
    "/help?lang=de",
    "/?lang=fr&query=a",
    address("/papers/", name=HOSTILE.id),
    address("/similar/", name=HOSTILE.id),
)


@pytest.fixture(params=["prefix of the proxy", "setting"])
def site(request, library, tmp_path, monkeypatch) -> Iterator[str]:
    """The address of the site, whose path the proxy says, or a setting."""
    lines = nginx_lines(PREFIX)
    if "air" not in library.feeds:
        library.feeds.create("air", index="papers", liked=["cited"])
    port = free_port()
    settings = {"public_url": f"http://127.0.0.1:{port}{PREFIX}"}
    if request.param == "setting":
        assert lines.count("X-Forwarded-Prefix") == 1
        lines = re.sub(r".*X-Forwarded-Prefix.*\n", "", lines)
        monkeypatch.setenv("SES_SERVE_ROOT_PATH", f"{PREFIX}/")
    else:
        settings["proxies"] = ["127.0.0.1"]
    app = service_over(library, **settings)
    root_path = app.state.service.settings.root_path
    with (
        listening(app, root_path=root_path, proxy_headers=False) as (host, inner),
        nginx(tmp_path, lines, f"{host}:{inner}", port),
    ):
        yield settings["public_url"]


def links_of(answer: httpx.Response) -> Iterator[str]:
    """Yield the addresses in a page or a feed, also those that its scripts read."""
    kind = answer.headers["content-type"].partition(";")[0]
    if kind == "text/html":
        page = html.fromstring(answer.content)
        # The address of a form stands for a page where it is sent by GET.
        yield from (link for element, _, link, _ in page.iterlinks() if element.get("method", "get") == "get")
        for element in page.iter(etree.Element):
            yield from (
                value
                for name, value in element.items()
                if name.startswith("data-") and name != "data-base" and value[:1] == "/"
            )
    elif kind.endswith("xml"):
        document = etree.fromstring(answer.content)
        yield from (value for one in document.iter(etree.Element) if (value := one.get("href") or one.get("template")))
    yield from re.findall(r"<([^>]*)>", answer.headers.get("link", ""))


def shape(address: str) -> tuple[str, ...]:
    """Return what a link has in common with those that differ in values only."""
    parts = urlsplit(address)
    return (parts.path, *sorted({f"{name}={value}" if name in ("lang", "format", "view") else name
                                 for name, value in parse_qsl(parts.query, keep_blank_values=True)}))  # fmt: skip


def test_every_link_of_every_page_leads_somewhere(site):
    own, seen, wrong = urlsplit(site), set(), []
    with httpx.Client(timeout=60) as client:
        for page in (*PAGES.values(), *FURTHER):
            answer = client.get(site + page, headers={"Accept": "text/html"})
            failed = answer.status_code
            for link in links_of(answer):
                place = urljoin(str(answer.url), link.replace("{searchTerms}", "virus")).partition("#")[0]
                parts = urlsplit(place)
                if parts.netloc != own.netloc or shape(place) in seen:
                    continue
                seen.add(shape(place))
                if not parts.path.startswith(f"{PREFIX}/"):
                    wrong.append((page, link, "outside"))
                # The links of a page that failed to another language fail as it did.
                elif (status := client.get(place).status_code) not in (200, 300, *([failed] if failed != 200 else [])):
                    wrong.append((page, link, status))
    assert not wrong, "\n".join(map(str, wrong))
    assert len(seen) > 150
    languages = {one for path, *names in seen for one in names if one.startswith("lang=") and path == f"{PREFIX}/help"}
    assert languages == {"lang=de", "lang=en", "lang=es", "lang=fr", "lang=zh"}


@pytest.mark.parametrize("path", ["/v1/nosuch", "/v1/search?size=x", "/v1/papers/none", "/v2/rerank", "/mcp"])
def test_problems_of_the_api_are_json_also_for_a_browser(site, path):
    answer = httpx.get(site + path, headers={"Accept": "text/html"})
    assert answer.status_code >= 400
    assert answer.headers["content-type"] == "application/problem+json"
    assert httpx.get(f"{site}/nosuch", headers={"Accept": "text/html"}).headers["content-type"].startswith("text/html")
