"""The pages as a browser shows them."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, parse_qsl, quote, urlsplit

import pytest

from corpora.paper import Paper
from tests.browsing import started_browser
from tests.ses.service.web.pages import PAGES

pytestmark = [pytest.mark.serve, pytest.mark.browser]


@pytest.fixture(scope="module")
def library(library):
    """The library, with so many venues that some are folded away."""
    library.index("papers", [Paper(f"venue-{name}", f"Of {name}", venue=f"Annals {name}") for name in "ABCDEFG"])
    return library


@pytest.fixture(scope="module")
def browser():
    with started_browser() as browser:
        yield browser


@pytest.fixture
def visit(browser, address):
    """Opens a page under the policy of the service; whatever goes wrong in it fails the test."""
    contexts, wrong = [], []

    def opened(path, **settings):
        contexts.append(browser.new_context(**settings))
        page = contexts[-1].new_page()

        page.on("console", lambda message: wrong.append(message.text) if "Content Security" in message.text else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: request.url.startswith((address, "data:")) or wrong.append(request.url))
        page.goto(address + path, wait_until="networkidle")
        return page

    yield opened
    for context in contexts:
        context.pages[0].unroute_all(behavior="ignoreErrors")
        context.close()
    assert wrong == []


def asked(page):
    return parse_qsl(urlsplit(page.url).query)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing(visit, name):
    from axe_playwright_python.sync_playwright import Axe

    page = visit(PAGES[name], color_scheme="light", reduced_motion="reduce")
    rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
    found = Axe().run(page, options={"runOnly": {"type": "tag", "values": rules}}).response["violations"]
    page.emulate_media(color_scheme="dark")  # of the rules, only that of contrast sees colours
    found += Axe().run(page, options={"runOnly": {"type": "rule", "values": ["color-contrast"]}}).response["violations"]
    grave = [one for one in found if one["impact"] in ("serious", "critical")]
    assert [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in grave] == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_on_a_phone(visit, name):
    page = visit(PAGES[name], viewport={"width": 320, "height": 640})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_the_first_paint_is_three_requests_and_100_kb(visit, address):
    page = visit("/?query=virus")
    loaded = page.evaluate("performance.getEntriesByType('resource').map((one) => one.name)")
    assert len(loaded) == 2
    kinds = "['navigation', 'resource'].flatMap((kind) => performance.getEntriesByType(kind))"
    sizes = page.evaluate(f"{kinds}.map((one) => one.transferSize)")
    assert all(sizes)
    assert sum(sizes) <= 100_000


@pytest.mark.parametrize(("answer", "said"), [(503, "not available"), (429, "busy"), (None, "connection was lost")])
def test_an_update_that_fails_is_said_and_the_page_stays(visit, answer, said):
    page = visit("/?query=virus")
    page.route("**only=*", lambda route: route.fulfill(status=answer) if answer else route.abort())
    nature = page.get_by_role("checkbox", name="Nature")
    nature.click()
    page.get_by_role("alert").filter(has_text=said).wait_for()
    assert asked(page) == [("query", "virus")]
    assert page.locator(".hit").count() == 10
    assert not nature.is_checked()
    page.unroute("**only=*")
    nature.click()
    page.wait_for_selector(".chip")
    assert page.get_by_role("alert").count() == 0


@pytest.mark.slow
def test_a_keyboard_is_enough(visit):
    page = visit("/")

    def go(key, wanted):
        for _ in range(300):
            page.keyboard.press(key)
            if page.evaluate("(wanted) => document.activeElement.matches(wanted)", wanted):
                return
        pytest.fail(f"{wanted} was not reached")

    page.keyboard.type("virus")
    page.keyboard.press("Enter")
    page.wait_for_url("**/?query=virus")
    go("Tab", "[value='venue:Nature']")
    page.keyboard.press("Space")
    page.wait_for_selector(".chip")
    go("Shift+Tab", ".hit-title a")
    title = page.evaluate("document.activeElement.textContent")
    page.keyboard.press("Enter")
    page.wait_for_url("**/papers/*")
    assert page.locator("h1").text_content() == title
    page.go_back()
    page.wait_for_selector(".chip")
    assert page.get_by_role("checkbox", name="Nature").is_checked()


@pytest.mark.slow
def test_papers_are_chosen_for_a_feed_and_searches_saved(visit, address):
    page = visit("/?query=virus")
    page.get_by_role("checkbox", name="Nature").check()
    page.wait_for_selector(".chip")
    page.get_by_role("button", name="Save this search").click()
    for at, side in enumerate(("more", "less")):
        hit = page.locator(".hit").nth(at)
        hit.locator(".like summary").click()
        hit.locator(f".like-{side}").click()
    assert page.locator("[data-count]").text_content() == "2"
    page.get_by_role("link", name="Build the feed").click()
    page.wait_for_url("**/feeds/new?id=*&not=*")
    page.goto(f"{address}/saved")
    feed = page.locator("[data-follow]").get_attribute("href")
    assert feed == "/search.atom?query=virus&only=venue%3ANature"
    assert page.request.get(address + feed).status == 200


@pytest.mark.slow
def test_suggestions_and_values_come_from_the_service(visit, address):
    page = visit("/")
    page.get_by_role("combobox").press_sequentially("natu")
    page.get_by_role("option", name="Nature", exact=True).click()
    page.wait_for_url("**/?query=venue*")
    assert page.locator(".hit").count() > 0
    page.goto(f"{address}/?query=")
    field = page.locator("[data-field]", has=page.locator(".within")).first
    name, value = field.get_attribute("data-field"), field.locator(".facet-value").last.text_content()
    field.locator("summary").click()
    with page.expect_response("**/v1/facets/*") as reply:
        field.locator(".within").fill(value)
    assert value in [one["value"] for one in reply.value.json()["values"]]
    field.locator("details .facet-value").get_by_text(value, exact=True).click()
    page.wait_for_selector(".chip")
    assert ("only", f"{name}:{value}") in asked(page)


def test_a_facet_is_chosen_and_removed_without_a_new_page(visit):
    page = visit("/?query=virus")
    page.evaluate("window.same = true")
    page.get_by_role("checkbox", name="Nature").check()
    page.wait_for_url("**only=venue%3ANature*")
    page.wait_for_selector(".chip")
    assert asked(page) == [("query", "virus"), ("only", "venue:Nature")]
    assert page.evaluate("document.activeElement.value") == "venue:Nature"
    assert page.locator("#status").text_content() == page.locator("#found").text_content() != ""
    page.get_by_role("link", name="Venue: Nature").click()
    page.wait_for_selector(".chip", state="detached")
    assert asked(page) == [("query", "virus")]
    assert page.evaluate("window.same")
    page.go_back()
    page.wait_for_selector(".chip")
    assert page.get_by_role("checkbox", name="Nature").is_checked()


def test_years_are_chosen_by_a_brush(visit):
    page = visit("/?query=")
    bars = page.locator("[data-brush] a")
    years = [(bars.nth(at).get_attribute("data-first"), bars.nth(at).get_attribute("data-last")) for at in (3, 8)]
    boxes = [bars.nth(at).locator(".bar-back").bounding_box() for at in (8, 3)]
    for step, box in enumerate(boxes):
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.mouse.up() if step else page.mouse.down()
    page.wait_for_selector(".chip")
    assert asked(page) == [("year_from", years[0][0]), ("year_to", years[1][1])]


def test_suggestions_are_reached_by_keyboard(visit, address):
    page = visit("/")
    found = '{"titles": [{"text": "<img src=x onerror=alert(1)>"}], "authors": [{"text": "Byron, Ada", "count": 2}]}'
    page.route("**/v1/suggest?*", lambda route: route.fulfill(body=found, content_type="application/json"))
    box = page.get_by_role("combobox")
    box.press_sequentially("by")
    page.wait_for_selector("[role=option]")
    assert box.get_attribute("aria-expanded") == "true"
    box.press("ArrowUp")
    chosen = page.locator(f"#{box.get_attribute('aria-activedescendant')}")
    assert chosen.text_content() == "Byron, Ada"
    assert box.input_value() == 'author:"Byron, Ada"'
    box.press("Escape")
    assert box.input_value() == "by"
    assert page.locator("[role=listbox]").is_hidden()
    box.press("ArrowDown")
    page.wait_for_selector("[role=option]")
    for _ in range(2):
        box.press("ArrowDown")
    box.press("Enter")
    page.wait_for_url("**/?query=author*")


def test_the_values_of_a_facet_are_searched(visit):
    page = visit("/?query=&filter=retracted%3Dfalse")
    page.evaluate("document.querySelectorAll('details[id^=more]').forEach((one) => { one.open = true; })")
    field = page.locator("[data-field]", has=page.locator(".within")).first
    name = field.get_attribute("data-field")
    found = '{"values": [{"value": "<img src=x onerror=alert(1)>", "count": 7}]}'
    asked_for = []
    page.route("**/v1/facets/*", lambda route: (asked_for.append(route.request.url), route.fulfill(body=found)))
    field.locator(".within").press_sequentially("im")
    field.locator("details .facet-value", has_text="<img src=x onerror=alert(1)>").wait_for()
    sent = dict(parse_qsl(urlsplit(asked_for[-1]).query))
    assert sent["value"] == "im"
    assert sent["filter"] == "retracted=false"
    field.locator("details li input[type=checkbox]").first.check()
    page.wait_for_url(f"**only={name}%3A%3Cimg*")


def test_a_box_without_suggestions_is_a_box(visit):
    page = visit("/")
    page.route("**/v1/suggest?*", lambda route: route.fulfill(status=404))
    page.get_by_role("combobox").press_sequentially("virus")
    page.get_by_role("combobox").press("Enter")
    page.wait_for_url("**/?query=virus")
    assert page.locator(".hit").count() == 10


@pytest.mark.slow
def test_it_works_without_javascript(visit):
    page = visit("/", java_script_enabled=False)
    page.get_by_role("searchbox").fill("virus")
    page.get_by_role("button", name="Search").click()
    page.get_by_role("checkbox", name="Nature").check()
    page.locator("#year_from").fill("1991")
    page.get_by_role("button", name="Apply").last.click()
    assert ("only", "venue:Nature") in asked(page)
    assert page.locator(".chip").count() >= 2
    page.get_by_text("View", exact=True).click()
    page.locator("#size").select_option("20")
    page.locator(".toolbar").get_by_role("button", name="Apply").click()
    assert ("year_from", "1991") in asked(page)
    assert ("size", "20") in asked(page)
    page.get_by_role("link", name="Remove all").click()
    assert page.locator(".hit").count() == 20
    page.get_by_role("link", name="Next").click()
    assert ("offset", "20") in asked(page)


def test_a_keyboard_skips_to_the_content_and_sees_where_it_is(visit):
    page = visit("/?query=virus")
    page.keyboard.press("Tab")
    page.locator(".skip:focus").wait_for()
    assert page.locator(".skip").bounding_box()["y"] >= 0
    page.keyboard.press("Enter")
    page.locator("#main:focus").wait_for()


def test_what_is_pressed_is_large_enough(visit):
    page = visit("/?query=virus")
    small = """() => [...document.querySelectorAll("button, select, input, .chip, .tag, summary, nav a, .hit-links a")]
      .filter((one) => one.checkVisibility() && one.type !== "checkbox")
      .filter((one) => one.getBoundingClientRect().height < 24).map((one) => one.outerHTML)"""
    assert page.evaluate(small) == []


def found_by(page):
    """Return the numbers of the heading: papers by words, and papers near in meaning."""
    return [int(one.replace(",", "")) for one in re.findall(r"[\d,]*\d", page.locator("#found").text_content())]


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_the_number_beside_a_value_is_what_a_click_gives(visit, width):
    page = visit("/?query=virus&window=20", viewport={"width": width, "height": 800})
    said, near = found_by(page)
    assert said > 20
    assert near > 0
    if width < 960:
        page.get_by_role("link", name="Filters").click()
    facet = page.locator("[data-field='venue'] li", has_text="Nature")
    count = int(facet.locator(".facet-count").text_content())
    facet.locator("input").check()
    page.wait_for_selector(".chip")
    assert sum(found_by(page)) == count
    assert int(facet.locator(".facet-count").text_content()) == count


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_all_pages_are_reached_by_their_numbers_and_no_count_changes(visit, width):
    page = visit("/?query=virus&window=10", viewport={"width": width, "height": 800})
    counts, ids = found_by(page), []
    for number in range(1, -(-sum(counts) // 10) + 1):
        if number > 1:
            page.get_by_role("link", name=f"Page {number}", exact=True).click()
            page.locator("[aria-current=page]", has_text=re.compile(f"^{number}$")).wait_for()
        assert found_by(page) == counts
        ids += page.locator(".pick").evaluate_all("all => all.map((one) => one.value)")
    assert len(ids) == len(set(ids)) == sum(counts)
    assert page.get_by_role("link", name="Next").count() == 0
    assert page.get_by_role("button", name=f"Export all {counts[0]}").is_visible()


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_a_paper_is_cited_from_the_list(visit, width):
    page = visit("/?query=virus", viewport={"width": width, "height": 800})
    hit = page.locator(".hit").first
    title = hit.locator(".hit-title a").text_content()
    hit.locator("[data-cite]").click()
    styles = hit.locator(".style")
    styles.first.wait_for()
    assert styles.locator("h3").all_text_contents() == ["APA", "MLA", "Chicago", "Vancouver", "BibTeX"]
    assert all(title.rstrip(".") in one for one in styles.locator(".citation").all_text_contents())
    hit.get_by_role("button", name="Copy APA").click()
    hit.get_by_role("button", name="Copied").wait_for()
    page.locator(".hit").nth(1).locator("[data-cite]").click()
    page.locator(".hit").nth(1).locator(".style").first.wait_for()
    assert styles.count() == 0  # one at a time
    page.locator(".hit").nth(1).locator("[data-cite]").click()
    assert page.locator(".style").count() == 0


@pytest.mark.slow
@pytest.mark.parametrize("scripts", [True, False])
def test_selected_papers_are_cited_together(visit, scripts):
    page = visit("/?query=virus", java_script_enabled=scripts)
    for box in page.locator(".pick").all()[:3]:
        box.check()
    page.locator("#export").get_by_role("button", name="Cite").click()
    assert page.get_by_role("heading", level=1).text_content() == "Cite 3 papers"
    assert page.locator("#cite-APA p").count() == 3


@pytest.mark.slow
def test_filters_of_a_phone_are_a_sheet_that_stays_while_values_are_chosen(visit):
    page = visit("/?query=virus", viewport={"width": 390, "height": 700})
    assert page.locator(".hit").first.bounding_box()["y"] < 330  # one row of controls before it
    assert not page.locator("#filters").is_visible()
    page.get_by_role("link", name="Filters").click()
    lancet = page.locator("[data-field='venue'] li", has_text="The Lancet")
    count = lancet.locator(".facet-count").text_content()
    lancet.locator("input").check()
    shown = page.get_by_role("link", name=f"Show {count} papers")
    shown.click()
    assert not page.locator("#filters").is_visible()
    assert page.locator(".chip").count() == 1
    assert asked(page) == [("query", "virus"), ("only", "venue:The Lancet")]


@pytest.mark.slow
def test_filters_are_kept_when_the_words_change_and_said_in_words(visit):
    page = visit(
        "/?query=virus&only=venue:Nature&filter=year%3E%3D1990&year_to=2015", viewport={"width": 390, "height": 700}
    )
    page.fill("#query", "lung")
    page.keyboard.press("Enter")
    page.wait_for_url("**query=lung**")
    assert sorted(asked(page)) == [
        ("filter", "year>=1990"),
        ("only", "venue:Nature"),
        ("query", "lung"),
        ("year_to", "2015"),
    ]
    chips = [" ".join(one.split()) for one in page.locator(".chip").all_text_contents()]
    assert [one.partition("\xd7")[0] for one in chips][:3] == ["Venue: Nature", "Year: until 2015", "Year: from 1990"]


@pytest.mark.slow
def test_without_scripts_the_sheet_of_filters_opens_and_closes(visit):
    page = visit("/?query=virus", viewport={"width": 390, "height": 700}, java_script_enabled=False)
    page.get_by_role("link", name="Filters").click()
    page.locator("[data-field='venue'] li", has_text="Nature").locator("input").check()
    page.locator("[data-field='venue']").get_by_role("button", name="Apply").first.click()
    assert ("only", "venue:Nature") in asked(page)
    assert not page.locator("#filters").is_visible()


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_an_author_and_a_venue_have_pages(visit, width):
    page = visit("/?query=virus&only=venue:Nature", viewport={"width": width, "height": 800})
    page.locator(".hit-where a").first.click()
    assert page.locator("h1").text_content() == "Nature"
    count = int(re.sub(r"\D", "", page.locator("h1 + p").text_content()))
    assert page.locator(".hit").count() == min(20, count)
    page.get_by_role("link", name=f"All {count} papers").or_(page.locator(".hit-meta a").first).first.click()
    assert page.locator("h1").text_content()


PASTE = """(input, text) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", text);
    input.setSelectionRange(0, input.value.length);
    input.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
}"""


def test_a_search_history_that_is_pasted_keeps_its_lines(visit):
    page = visit("/?query=galaxy")
    box = page.locator("#query")
    box.evaluate(PASTE, "1. virus[tiab]\r\n2. lung[tiab]\n3. protein[tiab]\n4. (1 or 2) and 3\n")
    box.press("Enter")
    page.wait_for_url("**/?query=1*")
    parts = page.locator(".parts .chip").all_inner_texts()
    assert [part.split("\n")[0] for part in parts] == ["virus", "lung", "protein"]
    box.evaluate(PASTE, "\u2028 virus ")  # one line, which the browser pastes itself
    assert box.input_value().startswith("1. virus")


@pytest.mark.parametrize("scripts", [True, False])
def test_a_part_of_a_pasted_search_is_taken_away(visit, scripts):
    searched = quote("(virus[tiab] OR lung[tiab] OR protein[tiab]) AND Nature[ta]")
    page = visit(f"/?query={searched}", java_script_enabled=scripts)
    parts = page.locator(".parts")
    assert parts.get_attribute("open") is not None
    assert [part.inner_text().split("\n")[0] for part in parts.locator(".chip").all()] == [
        "virus",
        "lung",
        "protein",
        "venue:Nature",
    ]
    assert "was read as" not in page.content()
    parts.locator(".chip", has_text="lung").click()
    page.wait_for_load_state()
    assert parse_qs(urlsplit(page.url).query) == {"query": ["(virus OR protein) AND venue:Nature"]}
    page.locator(".parts summary").click()
    page.locator(".parts button", has_text="remove all").click()
    page.wait_for_load_state()
    assert parse_qs(urlsplit(page.url).query) == {"query": ["venue:Nature"]}
    assert page.locator(".parts").count() == 0
