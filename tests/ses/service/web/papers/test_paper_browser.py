"""The pages of papers in a real browser: nothing that a corpus holds runs there, and a selection survives paging."""

from __future__ import annotations

import json

import pytest

from tests.browsing import started_browser
from tests.serving import listening, service_over
from tests.ses.service.web.papers.conftest import HARM, HOSTILE

pytestmark = [pytest.mark.serve, pytest.mark.browser, pytest.mark.slow]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""The strictest policy under which the pages have to work."""


def strict(app):
    """Return an application whose responses have the policy."""

    async def answer(scope, receive, send):
        async def sent(message):
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"content-security-policy", POLICY.encode())]
            await send(message)

        await app(scope, receive, sent)

    return answer


@pytest.fixture(scope="module")
def address(library):
    """The address of the service under the policy."""
    with listening(strict(service_over(library))) as (host, port):
        yield f"http://{host}:{port}"


@pytest.fixture(scope="module")
def browser():
    with started_browser() as browser:
        yield browser


@pytest.fixture
def tab(browser, address):
    """A tab that notes what went wrong: broken policies, errors of scripts, dialogs and requests to other hosts."""
    context = browser.new_context(base_url=address, accept_downloads=True)
    page = context.new_page()
    page.wrong = []
    page.on("console", lambda message: page.wrong.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.on("dialog", lambda dialog: (page.wrong.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda one: None if one.url.startswith((address, "data:")) else page.wrong.append(one.url))
    yield page
    context.close()


def places():
    """Return the pages that show what the hostile paper holds."""
    from ses.service.web.address import address as of

    return {
        "its page": of("/papers/", name=HOSTILE.id),
        "a paper that it cites": "/papers/cited",
        "papers like it": of("/similar/", name=HOSTILE.id, filter=["year>=1000"]),
        "papers like another": "/similar/cited?size=60",
        "a manuscript": of("/similar", text=HARM),
        "a search": of("/", query=HARM, mode="lexical"),
        "a filter": of("/", filter='title says "virus"'),
    }


@pytest.mark.parametrize("place", places().values(), ids=places())
def test_nothing_of_a_corpus_runs(tab, place):
    reply = tab.goto(place)
    assert reply.status == 200
    assert tab.evaluate("window.taken") is None
    assert tab.wrong == []
    assert tab.locator("img[src='x'], [onerror], iframe, object, embed").count() == 0
    hrefs = tab.eval_on_selector_all(
        "a[href]", "all => all.map(one => new URL(one.getAttribute('href'), location).protocol)"
    )
    assert set(hrefs) <= {"http:", "https:"}
    for script in tab.eval_on_selector_all("script:not([src])", "all => all.map(one => one.textContent)"):
        json.loads(script)


def test_json_ld_is_data_for_the_policy(tab):
    tab.goto("/papers/cited")
    found = json.loads(tab.locator("script[type='application/ld+json']").text_content())
    assert found["name"] == "A virus of the lung"
    assert tab.wrong == []


def test_a_selection_survives_paging_and_is_exported_in_its_order(tab):
    tab.goto("/similar/p00001?size=5")
    boxes = tab.locator("[data-pick]")
    wanted = [boxes.nth(at).get_attribute("value") for at in (3, 0)]
    boxes.nth(3).check()
    boxes.nth(0).check()
    assert tab.locator("[data-picked]").text_content() == "2 selected"
    tab.get_by_role("link", name="Next page").click()
    tab.wait_for_url("**offset=5*")
    assert tab.locator("[data-picked]").text_content() == "2 selected"
    wanted.append(boxes.nth(1).get_attribute("value"))
    boxes.nth(1).check()
    tab.locator("#export-format").select_option("jsonl")
    with tab.expect_download() as download:
        tab.get_by_role("button", name="Export", exact=True).click()
    lines = download.value.path().read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["id"] for line in lines] == wanted
    tab.go_back()
    assert boxes.nth(3).is_checked()
    boxes.nth(3).uncheck()
    assert tab.locator("[data-picked]").text_content() == "2 selected"
    tab.get_by_role("button", name="Clear the selection").click()
    assert not boxes.nth(0).is_checked()
    assert tab.locator("[data-picked]").text_content() == ""
    assert tab.wrong == []


def test_hits_are_selected_and_exported_too(tab):
    tab.goto("/?query=virus&mode=lexical&size=5")
    tab.locator("[data-pick]").nth(1).check()
    assert tab.locator("[data-picked]").text_content() == "1 selected"
    wanted = tab.locator("[data-pick]").nth(1).get_attribute("value")
    tab.locator("#export-format").select_option("jsonl")
    with tab.expect_download() as download:
        tab.get_by_role("button", name="Export", exact=True).click()
    assert json.loads(download.value.path().read_text(encoding="utf-8"))["id"] == wanted
    atom = tab.locator("link[type='application/atom+xml']").get_attribute("href")
    assert tab.request.get(atom).text().count("<entry>") == 5
    assert tab.wrong == []


def test_export_works_without_scripts(browser, address):
    context = browser.new_context(base_url=address, java_script_enabled=False, accept_downloads=True)
    page = context.new_page()
    page.goto("/similar/p00001?size=5")
    page.locator("#export-format").select_option("ris")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export", exact=True).click()
    assert download.value.path().read_text(encoding="utf-8").count("ER  -") == 5
    assert page.get_by_role("button", name="Copy the link to this page").count() == 0
    page.locator("[data-pick]").nth(2).check()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export", exact=True).click()
    assert download.value.path().read_text(encoding="utf-8").count("ER  -") == 1
    context.close()


def test_the_link_and_the_citation_are_copied(tab, browser, address):
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.goto("/papers/cited")
    tab.locator("#cite summary").click()
    tab.get_by_role("button", name="Copy APA").click()
    tab.get_by_role("button", name="Copied").wait_for()
    assert tab.evaluate("navigator.clipboard.readText()").startswith("Byron, A., van der Berg, L., & World")
    tab.get_by_role("button", name="Copy the link").click()
    assert tab.evaluate("navigator.clipboard.readText()") == f"{address}/papers/cited"


@pytest.mark.parametrize("width", [1280, 390])
def test_what_goes_with_a_paper_stands_beside_it_or_below(tab, width):
    tab.set_viewport_size({"width": width, "height": 800})
    tab.goto("/papers/cited")
    main, rest = tab.locator(".beside-main").bounding_box(), tab.locator(".beside-rest").bounding_box()
    assert (rest["x"] > main["x"] + main["width"]) == (width > 960)
    assert tab.locator("#cite").bounding_box()["y"] < tab.locator("#abstract").bounding_box()["y"]
    tab.locator("#cite summary").click()
    assert tab.locator("#cite h3").all_text_contents() == ["APA", "MLA", "Chicago", "Vancouver"]
    tab.get_by_role("link", name="Nature").first.click()
    assert tab.locator("h1").text_content() == "Nature"
