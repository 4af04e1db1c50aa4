"""What people come for, from the first page to a file, by what the pages show alone."""

from __future__ import annotations

import re

import pytest

from corpora.paper import Paper
from tests.serving import listening, service_over
from tests.ses.service.web.test_browser import browser, visit

__all__ = ["browser", "visit"]

pytestmark = [pytest.mark.serve, pytest.mark.browser, pytest.mark.slow]

PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
DESKTOP = {"viewport": {"width": 1280, "height": 900}}


PREFIX = "/papers-of-ours"
THESES = [Paper("t1", "A thesis on harbours", year=2019), Paper("t2", "A thesis on lighthouses", year=2021)]


def search(page, words):
    page.get_by_role("combobox").fill(words)
    page.keyboard.press("Enter")
    page.wait_for_selector(".hit")


def exported(page, button):
    with page.expect_download() as started:
        page.get_by_role("button", name=button, exact=True).click()
    return started.value.path().read_text(encoding="utf-8")


def number(text):
    return int(re.sub(r"\D", "", text))


@pytest.mark.parametrize("device", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_a_student_finds_filters_cites_and_exports_five_papers(visit, device):
    page = visit("/", **device)
    search(page, "virus lung")
    on_phone = page.get_by_role("link", name="Filters", exact=True)
    if on_phone.is_visible():
        on_phone.click()
    page.get_by_role("checkbox", name="Nature", exact=False).first.check()
    page.wait_for_selector(".chip")
    done = page.get_by_role("link", name=re.compile(r"^Show \d+ papers$"))
    if done.is_visible():
        done.click()
    titles = page.locator(".hit-title a").all_text_contents()[:5]
    for title in titles:
        page.get_by_role("checkbox", name=f"Select: {title}").first.check()
    assert page.locator("[data-picked]").text_content() == "5 selected"
    page.get_by_role("button", name="Cite", exact=True).click()
    page.get_by_role("heading", name="Cite 5 papers").wait_for()
    assert page.locator("#cite-APA p").count() == 5
    page.go_back()
    page.wait_for_selector(".hit")
    page.get_by_text("5 selected").wait_for()  # the selection was kept
    page.get_by_label("Export this page, or the selected papers, as").select_option(label="RIS")
    written = exported(page, "Export")
    assert sorted(re.findall(r"^TI  - (.*)$", written, re.MULTILINE)) == sorted(titles)


@pytest.mark.parametrize("device", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_a_reviewer_pastes_a_search_and_takes_all_papers(visit, device):
    page = visit("/", **device)
    search(page, "(virus[tiab] OR lung[tiab] OR protein[tiab]) NOT Nature[ta] AND 1900:2100[dp]")
    count = number(page.locator("#found").text_content())
    assert count > 20  # more than a page
    assert page.locator(".parts").get_by_role("button", name="lung").is_visible()
    page.get_by_label("Export this page, or the selected papers, as").select_option(label="RIS")
    written = exported(page, f"Export all {count}")
    assert len(re.findall(r"^TY  - ", written, re.MULTILINE)) == count
    assert "Nature" not in re.findall(r"^(?:JO|T2|JF)  - (.*)$", written, re.MULTILINE)
    page.get_by_role("link", name=re.compile("^Page")).last.click()
    page.wait_for_url("**offset=*")
    page.locator(f".hit[value='{count}']").wait_for()


@pytest.mark.parametrize("device", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_a_library_has_its_page_below_a_path_with_two_collections(browser, library, device):
    """Links, files and searches stay below the path that a proxy takes away and uvicorn puts before each again."""
    library.index("theses", THESES)
    site = {"name": "Library of Example", "intro": "Articles of our members.", "examples": ["harbours"]}
    try:
        app = service_over(library, site=site, root_path=PREFIX)

        async def below(scope, receive, send):
            await app({**scope, "root_path": PREFIX}, receive, send)

        with listening(below) as (host, port):
            context = browser.new_context(**device)
            page = context.new_page()
            wrong = []
            page.on("response", lambda reply: reply.status >= 400 and wrong.append(reply.url))
            page.on("request", lambda request: f"{PREFIX}/" in request.url or wrong.append(request.url))
            page.goto(f"http://{host}:{port}{PREFIX}/")
            assert page.get_by_role("heading", level=1).text_content() == "Library of Example"
            page.get_by_label("Collection").select_option("theses")
            page.get_by_role("button", name="Choose").click()
            page.get_by_role("link", name="harbours", exact=True).click()
            page.get_by_role("link", name="A thesis on harbours", exact=True).first.click()
            assert page.locator("h1").text_content() == "A thesis on harbours"
            search(page, "lighthouses")  # in the collection that was chosen
            assert page.locator(".hit-title").first.text_content().strip() == "A thesis on lighthouses"
            page.get_by_role("link", name="Library of Example").first.click()
            page.wait_for_url(f"**{PREFIX}/**")
            assert wrong == []
            context.close()
    finally:
        library.drop("theses")
