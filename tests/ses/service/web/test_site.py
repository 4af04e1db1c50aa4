"""What `[serve.site]` of `ses.toml` makes of the page."""

from __future__ import annotations

import dataclasses
import re

import pytest

import ses
from corpora.errors import InputError
from ses.service.settings import SiteSettings, load_service_settings

pytestmark = pytest.mark.serve

PICTURE = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


def site(**values):
    return load_service_settings(site=values).site


@pytest.mark.slow
def test_a_site_has_its_name_colour_texts_links_and_logo(library, tmp_path):
    from starlette.testclient import TestClient

    from ses.service.app import make_app
    from ses.service.service import Service
    from ses.service.settings import ServiceSettings

    (tmp_path / "logo.svg").write_text(PICTURE)
    own = site(
        name="<b>Library</b>",
        intro="Ask & find",
        footer="<i>foot",
        accent="#AA0000",
        logo=str(tmp_path / "logo.svg"),
        links={"About <us>": "https://library.example/?a=1&b=2"},
    )
    settings = dataclasses.replace(ServiceSettings(), site=own)
    with TestClient(make_app(Service(ses.Library(library._settings), settings))) as client:
        text = client.get("/").text
        for shown in ("&lt;b&gt;Library&lt;/b&gt;", "Ask &amp; find", "&lt;i&gt;foot", "About &lt;us&gt;"):
            assert shown in text
        assert 'href="https://library.example/?a=1&amp;b=2"' in text
        style = client.get(re.findall(r'"([^"]*/page\.css)"', text)[0]).text
        assert "--accent: #aa0000" in style
        logo = client.get(re.findall(r'"([^"]*/logo\.svg)"', text)[0])
        assert (logo.text, logo.headers["content-type"]) == (PICTURE, "image/svg+xml")
        assert "sandbox" in logo.headers["content-security-policy"]
        assert client.get("/static/x/logo.png").status_code == 404
        assert not re.search(r"<[^>]*\s(style|on\w+)=|<script>|<style", text)


@pytest.mark.parametrize(
    "wrong",
    [
        {"accent": "red"},
        {"logo": "no-such-file.svg"},
        {"logo": __file__},
        {"links": {"a": "javascript:alert(1)"}},
        {"links": {"a": "//elsewhere.example"}},
        {"links": {"a": "https:"}},
        {"links": ["https://a.example"]},
        {"colour": "#000000"},
    ],
)
def test_a_wrong_setting_is_refused(wrong):
    with pytest.raises(InputError):
        site(**wrong)


def test_links_lead_to_this_site_to_others_and_to_mail():
    links = {"a": "/help", "b": "https://a.example", "c": "mailto:a@b.example"}
    assert site(links=links).links == links
    assert SiteSettings().logo is site(logo="").logo is None


def test_a_page_escapes_what_papers_and_queries_hold(client):
    reply = client.get("/", params={"query": "<script>alert(1)</script> masks", "mode": "lexical"})
    assert reply.status_code == 200
    assert "<script>alert" not in reply.text
    assert "Masks &amp; &lt;script&gt;" in reply.text


def test_a_browser_keeps_the_style_sheet_and_the_script(client):
    page = client.get("/").text
    for name in ("page.css", "page.js"):
        (place,) = re.findall(rf'"(/static/\w+/{name})"', page)
        reply = client.get(place)
        assert reply.status_code == 200
        assert "immutable" in reply.headers["cache-control"]
    assert client.get("/static/x/page.py").status_code == 404
