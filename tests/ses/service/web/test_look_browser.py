"""The look of the pages in a browser: rows that stay rows in each language, and errors that are said once."""

from __future__ import annotations

import pytest

from tests.serving import listening, service_over
from tests.ses.service.web.test_browser import browser, visit

__all__ = ["browser", "visit"]

pytestmark = [pytest.mark.serve, pytest.mark.browser]

LINKS = {f"Of the library {number}": f"/{number}" for number in range(4)}


def height(page, selector):
    return page.locator(selector).bounding_box()["height"]


@pytest.mark.parametrize("language", ["en", "de", "es", "fr", "zh"])
def test_the_controls_of_a_search_are_one_row_in_each_language(visit, language):
    page = visit(f"/?query=virus&lang={language}", viewport={"width": 1200, "height": 800})
    assert height(page, ".controls") < 60
    page.set_viewport_size({"width": 390, "height": 800})
    assert height(page, ".toolbar") < 60


def test_a_selection_takes_the_place_of_the_order(visit):
    page = visit("/?query=virus&lang=de", viewport={"width": 1200, "height": 800})
    page.locator("[data-pick]").first.check()
    page.get_by_role("button", name="Auswahl aufheben").wait_for()
    assert page.locator(".toolbar").is_hidden()
    assert height(page, ".controls") < 60


@pytest.mark.parametrize(("width", "most"), [(1200, 75), (1000, 75), (390, 130)])
@pytest.mark.parametrize("language", ["de", "zh"])
def test_links_of_the_site_do_not_make_the_head_higher(browser, library, width, most, language):
    site = {"name": "Library of Example", "links": LINKS}
    with listening(service_over(library, site=site)) as (host, port):
        context = browser.new_context(viewport={"width": width, "height": 800})
        page = context.new_page()
        page.goto(f"http://{host}:{port}/?query=virus&lang={language}")
        assert height(page, ".site-header") < most
        page.locator(".site-menu summary").click()
        last = page.get_by_role("link", name="Of the library 3").bounding_box()
        assert last["x"] >= 0
        assert last["x"] + last["width"] <= width
        context.close()


def test_a_paper_that_is_gone_is_said_once_and_searched_for(visit):
    page = visit("/papers/nobody")
    assert page.locator("h1").text_content() == "This paper is not here"
    assert page.locator("main").text_content().count("search for it") == 1
    page.get_by_role("link", name="Search for nobody").click()
    page.wait_for_url("**/?query=nobody")
    assert visit("/nowhere").locator("h1").text_content() == "There is no such page"


@pytest.mark.parametrize("path", ["/?query=virus&filter=yaer=2000", "/?query=virus&size=-1", "/similar/nobody"])
def test_an_error_says_a_thing_once(visit, path):
    text = visit(path).locator("main").text_content()
    said = [one.strip() for one in text.replace(";", ".").split(".") if one.strip()]
    assert len(said) == len(set(said))


def test_sizes_and_faces_are_those_of_the_scale(visit):
    """Title, source and text of a hit differ: in size, and in face or colour."""
    page = visit("/?query=virus")
    style = "(one) => { const is = getComputedStyle(one); return [parseFloat(is.fontSize), is.fontFamily, is.color]; }"
    title, source, text = (
        page.locator(f".hit {one}").first.evaluate(style) for one in (".hit-title", ".hit-meta", ".hit-text")
    )
    assert title[0] > text[0] > source[0]
    assert title[1] != text[1]
    assert source[2] != text[2]
