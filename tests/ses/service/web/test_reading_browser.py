"""The map, feeds, saved searches and history in a browser."""

import json
import re
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest

from tests.ses.service.web.test_browser import browser, visit

__all__ = ["browser", "visit"]

pytestmark = [pytest.mark.serve, pytest.mark.browser, pytest.mark.slow]


def test_the_map_is_zoomed_and_walked_by_keys(visit):
    from playwright.sync_api import expect

    page = visit("/map?query=virus&size=30")
    drawing = page.locator(".map-drawing")
    whole = drawing.get_attribute("viewBox")
    drawing.focus()
    for key in ("+", "+", "+"):
        page.keyboard.press(key)
    expect(drawing).to_have_attribute("data-zoom", re.compile(r"2\.[5-9]|[3-9]"))
    expect(page.locator("[data-titles] text").first).to_be_attached()
    before = drawing.get_attribute("viewBox")
    page.keyboard.press("ArrowRight")
    expect(drawing).not_to_have_attribute("viewBox", before)
    page.keyboard.press("0")
    expect(drawing).to_have_attribute("viewBox", whole)
    page.keyboard.press("Tab")
    first = page.evaluate("document.activeElement.getAttribute('href')")
    assert page.locator(".map-card strong").text_content() == page.locator("tbody a").first.text_content()
    moved = []
    for key in ("ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown"):
        page.keyboard.press(key)
        moved.append(page.evaluate("document.activeElement.getAttribute('href')"))
    assert set(moved) - {first}
    assert page.locator(".map-point[tabindex='0']").count() == 1
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.classList.contains('map-drawing')")


def test_a_topic_is_chosen_without_a_new_page(visit):
    page = visit("/map?query=virus&size=30")
    page.evaluate("window.same = true")
    page.locator(".map-legend a[data-topic='2']").click()
    rows = page.locator("tbody tr:visible")
    assert rows.count() == int(page.locator(".map-count").nth(1).text_content())
    assert page.locator(".map-point:not(.map-dim)").count() == rows.count()
    assert parse_qs(urlsplit(page.url).query)["topic"] == ["2"]
    assert page.evaluate("window.same")
    page.locator("[data-topic='all']").click()
    assert page.locator("tbody tr:visible").count() == 30


@pytest.mark.parametrize("scripts", [True, False])
def test_a_feed_is_built(visit, scripts):
    page = visit("/feeds/new", java_script_enabled=scripts)
    page.fill("#feed-query", "virus")
    page.press("#feed-query", "Enter")
    page.click("[data-found] li:nth-child(1) >> text=More like this")
    page.click("[data-found] li:nth-child(2) >> text=Less like this")
    assert page.locator("[data-liked] li").count() == 1
    assert page.locator("[data-disliked] li").count() == 1
    assert page.locator("[data-entries] li").count() == 10
    asked = parse_qs(urlsplit(page.input_value("#feed-atom")).query)
    assert len(asked["id"]) == len(asked["not"]) == 1


def test_the_history_is_kept_cleared_and_switched_off(visit, address):
    page = visit("/?query=virus")
    page.goto(f"{address}/?query=lung&only=venue:Nature")
    page.goto(f"{address}/history")
    links = page.locator("[data-kept] a")
    assert links.all_text_contents() == ["lung · venue:Nature", "virus"]
    assert links.nth(1).get_attribute("href") == "/?query=virus"
    page.click("[data-clear-history]")
    assert links.count() == 0
    page.uncheck("[data-on]")
    page.goto(f"{address}/?query=virus")
    page.goto(f"{address}/history")
    assert links.count() == 0
    assert not page.is_checked("[data-on]")
    assert page.context.cookies() == []


def test_saved_searches_are_renamed_followed_and_deleted(visit, address):
    page = visit("/saved")
    search = "?query=virus&only=venue%3Aa%22b&year_from=2000"
    page.evaluate("(search) => localStorage.setItem('ses::saved', JSON.stringify([{name: '<b>', search}]))", search)
    page.reload()
    assert page.locator("[data-open]").text_content() == "<b>"
    feed = urlsplit(page.locator("[data-follow]").get_attribute("href"))
    assert feed.path == "/search.atom"
    assert parse_qs(feed.query) == {"query": ["virus"], "only": ['venue:a"b'], "year_from": ["2000"]}
    assert page.request.get(f"{address}{feed.path}?{feed.query}").status == 200
    page.fill("[data-name]", "Mine")
    page.keyboard.press("Tab")
    page.reload()
    assert page.locator("[data-open]").text_content() == "Mine"
    page.click("[data-delete]")
    page.reload()
    assert page.locator("[data-kept] li").count() == 0


@pytest.mark.parametrize("width", [1280, 390])
def test_papers_are_kept_cited_and_taken_to_another_browser(visit, address, width, tmp_path):
    page = visit("/?query=virus", viewport={"width": width, "height": 800})
    titles = [one.text_content() for one in page.locator(".hit-title a").all()[:2]]
    for place in (0, 1):
        page.locator(".hit").nth(place).locator("[data-keep]").click()
    assert page.locator("[data-kept-count]").text_content() == "2"
    page.goto(f"{address}/saved")
    assert sorted(page.locator("[data-open-paper]").all_text_contents()) == sorted(titles)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as a file").click()
    download.value.save_as(tmp_path / "list.json")
    page.get_by_role("link", name="Cite or download all").click()
    assert page.locator("#cite-APA p").count() == 2
    page.go_back()
    page.get_by_role("button", name="Delete").first.click()
    assert page.locator("[data-kept-count]").text_content() == "1"

    other = visit("/saved", viewport={"width": width, "height": 800})
    assert other.locator("[data-open-paper]").count() == 0
    other.set_input_files("[data-load-list]", tmp_path / "list.json")
    other.get_by_text("2 papers were added.").wait_for()
    assert other.locator("[data-open-paper]").count() == 2
    (tmp_path / "wrong.json").write_text("[]")
    other.set_input_files("[data-load-list]", tmp_path / "wrong.json")
    other.get_by_text("This file is no reading list.").wait_for()
    other.goto(f"{address}/?query=virus")
    assert other.locator("[data-keep][aria-pressed=true]").count() == 2


def test_keys_lead_to_the_box_and_through_the_hits(visit):
    page = visit("/?query=virus")
    page.keyboard.press("j")
    page.keyboard.press("j")
    second = page.locator(".hit-title a").nth(1)
    assert second.evaluate("(one) => one === document.activeElement")
    page.keyboard.press("k")
    assert page.locator(".hit-title a").first.evaluate("(one) => one === document.activeElement")
    page.keyboard.press("/")
    page.keyboard.type("jk/")
    assert page.input_value("#query") == "jk/"


def test_a_title_that_is_suggested_opens_its_paper_and_a_name_puts_authors_first(visit):
    from playwright.sync_api import expect

    page = visit("/")
    page.route(
        "**/v1/suggest*",
        lambda route: route.fulfill(
            json={
                "titles": [{"text": "Virus in the garcia", "id": "p00001"}],
                "subjects": [{"text": "Telemedicine", "count": 2}, {"text": "telemedicine", "count": 1}],
                "authors": [{"text": "Garcia, Ana", "count": 3}],
                "venues": [],
            }
        ),
    )
    page.locator("#query").press_sequentially("garcia")
    options = page.locator("[role=option]")
    # On a busy machine, what is suggested for the first letters is shown before.
    expect(options).to_have_text(["Garcia, Ana", "Virus in the garcia", "Telemedicine"])
    options.nth(1).click()
    page.wait_for_url("**/papers/p00001")


@pytest.fixture
def typing(visit):
    """Opens a page of hits that measures no time but the one given, and returns it with the queries of its requests."""

    def opened(milliseconds, **settings):
        page = visit("/?query=ocean&size=20", **settings)
        page.add_init_script(
            "performance.getEntriesByType = () => [{ requestStart: 0, responseStart: 1 }];"
            f"let passed = 0; performance.now = () => (passed += {milliseconds});"
        )
        queries = []
        page.on("request", lambda request: "/?" in request.url and queries.append(asked(request)["query"]))
        page.reload(wait_until="networkidle")
        return page, queries

    return opened


@pytest.mark.parametrize("phone", [False, True])
def test_hits_follow_what_is_typed(typing, phone):
    from playwright.sync_api import expect

    page, queries = typing(1, **({"viewport": {"width": 390, "height": 844}, "has_touch": True} if phone else {}))
    before = page.locator(".hit-title").all_inner_texts()
    length = page.evaluate("history.length")
    page.locator("#query").fill("virus")
    page.wait_for_url("**query=virus**")
    expect(page.locator(".hit-title")).not_to_have_text(before)
    assert asked(page) == {"query": "virus", "size": "20"}
    assert (page.evaluate("history.length"), queries) == (length, ["ocean", "virus"])
    assert page.evaluate("document.activeElement.id") == "query"
    expect(page.locator("#status")).to_have_text(page.locator("#found").inner_text())
    # What is half a search changes nothing and says nothing, and few letters ask for nothing.
    shown = page.locator(".hit-title").all_inner_texts()
    page.route("**/?query=*", lambda route: route.fulfill(status=400, body="no"))
    with page.expect_response("**/?query=*"):
        page.locator("#query").fill('title:"')
    page.locator("#query").fill("vi")
    page.wait_for_timeout(500)
    assert page.locator(".hit-title").all_inner_texts() == shown
    assert not page.locator("#trouble").is_visible()
    assert len(queries) == 3
    # The searches between are none that somebody looked at.
    page.locator("#query").press("Escape")
    page.locator("#found").click()
    noted = page.evaluate(
        "Object.entries(localStorage).filter(([name]) => name.includes('history')).map(([, one]) => one)"
    )
    assert [one["search"] for one in json.loads(noted[0])] == ["?query=virus&size=20", "?query=ocean&size=20"]


def test_a_slow_service_is_not_asked_while_somebody_types(typing):
    page, queries = typing(101)
    page.locator("#query").fill("virus")
    page.wait_for_url("**query=virus**")
    page.locator("#query").fill("telemedicine")
    page.wait_for_timeout(700)
    assert queries == ["ocean", "virus"]
    page.locator("#query").press("Enter")
    page.wait_for_url("**query=telemedicine**")


def test_an_older_search_is_given_up_for_what_is_typed_now(typing):
    page, queries = typing(1)
    given_up = []
    page.on("requestfailed", lambda request: given_up.append(asked(request)["query"]))
    page.route("**/?query=virus*", lambda route: None)  # never answered
    with page.expect_request("**/?query=virus*"):
        page.locator("#query").fill("virus")
    page.locator("#query").fill("telemedicine")
    page.wait_for_url("**query=telemedicine**")
    assert (queries, given_up) == (["ocean", "virus", "telemedicine"], ["virus"])


def asked(place):
    return dict(parse_qsl(urlsplit(place.url).query))
