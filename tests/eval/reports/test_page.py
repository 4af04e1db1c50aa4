"""The page of a report as a browser shows it."""

from __future__ import annotations

import json
import re

import pytest

from eval.reports.forms import write_report
from eval.reports.report import Provenance
from eval.reports.results import Results, comparison_report, results_report
from eval.statistics.compare import compare_runs
from eval.statistics.pairs import compare_values
from eval.trec.judgments import read_qrels
from eval.trec.runs import read_run
from tests.browsing import started_browser

pytestmark = pytest.mark.browser

HARM = '<script>document.title="taken"</script><img src=x onerror=alert(1)> "q" & \'a\' ' + "long" * 20
QUERY = '"><b>q</b>'
PROVENANCE = Provenance(
    command=f"ses eval compare {HARM}",
    date="2024-05-06T07:08:09+00:00",
    data={"/data/" + "deep" * 30: "ab" * 32},
    models={HARM: "0123456789abcdef"},
    engine="LanceDB 0.40.0",
    runtime="onnx-int8",
    python="3.11.9",
    platform="Linux x86_64",
    packages={f"package-{i}": "1.0" for i in range(20)},
    settings={"seed": "0"},
)


@pytest.fixture(scope="module")
def browser():
    with started_browser() as browser:
        yield browser


@pytest.fixture(scope="module", params=["results", "comparison"])
def files(request, tmp_path_factory):
    """One report as a page and as JSON."""
    folder = tmp_path_factory.mktemp("report")
    names = [QUERY, *(f"q{i}" for i in range(1, 30))]
    (folder / "qrels").write_text("".join(f"{name.replace(' ', '')} 0 d1 1\n" for name in names))
    qrels = read_qrels(folder / "qrels")
    runs = {}
    for label, step in ((HARM, 3), ("plain", 4)):
        # The one relevant report is found at ranks 1 to `step`.
        lines = [f"{name} Q0 d{(j - i) % step + 1} {j} {-j} t\n" for i, name in enumerate(names) for j in range(step)]
        (folder / "run").write_text("".join(lines))
        runs[label] = read_run(folder / "run")
    comparison = compare_runs(runs, qrels, ("nDCG@10", "MAP"), texts={QUERY: HARM}, resamples=200)
    if request.param == "comparison":
        report = comparison_report(comparison, PROVENANCE)
    else:
        from eval.measures.metrics import evaluate

        scores = {label: evaluate(run, qrels, ("nDCG@10", "MAP")) for label, run in runs.items()}
        values = {label: one.per_query for label, one in scores.items()}
        pairs = compare_values(values, resamples=200)
        seconds = {HARM: 0.25, "plain": 8.0}
        results = Results("mode", {label: one.outcome() for label, one in scores.items()})
        report = results_report(f"Retrieval of {HARM}", results, PROVENANCE, pairs=pairs, seconds=seconds)
    for ending in (".html", ".json"):
        write_report(report, folder / f"report{ending}")
    return folder / "report.html", json.loads((folder / "report.json").read_text()), report


@pytest.fixture
def open_page(browser, files):
    """Opens the page; also returns what it asked for and what went wrong."""
    contexts = []

    def opened(**settings):
        contexts.append(browser.new_context(**settings))
        page = contexts[-1].new_page()
        asked, wrong = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
        page.goto(files[0].as_uri(), wait_until="networkidle")
        return page, asked, wrong

    yield opened
    for context in contexts:
        context.close()


def test_it_asks_for_nothing_but_itself_and_nothing_goes_wrong(open_page, files):
    page, asked, wrong = open_page()
    assert asked == [files[0].as_uri()]
    assert wrong == []
    assert page.evaluate("performance.getEntriesByType('resource').length") == 0


def test_harmful_names_are_text(open_page, files):
    page, _, _ = open_page()
    assert page.title() == files[2].title
    assert page.locator("h1").inner_text() == files[2].title
    assert page.locator("script, img, b, [onerror]").count() == 0
    heads = page.locator("tbody th[scope=row]").all_text_contents()
    assert HARM in heads
    assert QUERY in heads
    assert any("<script>" in text for text in page.locator("svg text").all_text_contents())


def test_every_plot_is_drawn_and_says_what_it_shows(open_page, files):
    page, _, _ = open_page()
    plots = page.locator("figure > svg[role=img]")
    assert plots.count() == len(files[2].plots)
    kinds = {plot.kind for plot in files[2].plots}
    more = {"Reliability of the intervals", "Speed against quality"} if "seconds" in files[1] else set()
    assert kinds == {"Values", "Query by query"} | more
    for plot in plots.all():
        box = plot.bounding_box()
        assert min(box["width"], box["height"]) > 100
        assert plot.locator("path").count() > 5
        assert re.search(r"\d", plot.get_attribute("aria-label")), "the numbers, not just a name"
    assert page.locator("figure > figcaption").count() == plots.count()
    assert page.evaluate("[...document.images].every(image => image.naturalWidth > 0)")


@pytest.mark.parametrize("width", [360, 1200])
def test_the_page_never_scrolls_sideways_but_its_wide_tables_do(open_page, width):
    page, _, _ = open_page(viewport={"width": width, "height": 800})
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.evaluate("window.scrollTo(500, 0)")
    assert page.evaluate("window.scrollX") == 0
    cut = page.evaluate(
        "[...document.querySelectorAll('svg, h1, h2, figcaption, li, summary, .scroll')]"
        ".filter(one => one.getBoundingClientRect().right > innerWidth + 1).length"
    )
    assert cut == 0
    boxes = page.locator(".scroll")
    scrolls = [box.evaluate("box => box.scrollWidth > box.clientWidth") for box in boxes.all()]
    assert any(scrolls) or width > 360
    assert all(box.get_attribute("tabindex") == "0" and box.get_attribute("aria-label") for box in boxes.all())


def _channels(page, expression):
    """A colour as it is computed, from 0 to 255."""
    return [float(part) for part in re.findall(r"[\d.]+", page.evaluate(expression))[:3]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_plots_stand_out_by_day_and_by_night(open_page, scheme):
    page, _, _ = open_page(color_scheme=scheme)
    ground = sum(_channels(page, "getComputedStyle(document.body).backgroundColor")) / 3
    assert ground > 200 if scheme == "light" else ground < 60
    for seen in (
        "getComputedStyle(document.querySelector('td')).color",
        "getComputedStyle(document.querySelector('svg text')).fill",
        "getComputedStyle(document.querySelector('figcaption')).color",
    ):
        assert abs(sum(_channels(page, seen)) / 3 - ground) > 100, seen
    series = (
        "getComputedStyle([...document.querySelectorAll('svg path')].find(one => /series/.test(one.style.fill))).fill"
    )
    assert max(abs(a - ground) for a in _channels(page, series)) > 100


def test_night_is_not_printed(open_page):
    page, _, _ = open_page(color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert _channels(page, "getComputedStyle(document.body).backgroundColor") == [255, 255, 255]
    assert page.locator("nav").is_hidden()


def test_cells_hold_the_numbers_of_the_json_report(open_page, files):
    page, _, _ = open_page()
    told, shown = files[1], page.locator("section").first.locator("tbody tr")
    if "rows" in told:
        cells = [[shown.nth(i).locator("td").nth(j).inner_text() for j in range(2)] for i in range(shown.count())]
        wanted = [
            [f"{cell['mean']:.3f} [{cell['low']:.3f}, {cell['high']:.3f}]" for cell in row["measures"].values()]
            for row in told["rows"]
        ]
        assert cells == wanted
    body = page.locator("table", has=page.locator("th", has_text="p randomization")).locator("tbody tr")
    assert body.count() == len(told["pairs"]) == 2
    for row, pair in zip(body.all(), told["pairs"], strict=True):
        texts = row.locator("td").all_inner_texts()
        difference = pair["difference"]
        assert texts[1].startswith(f"{difference['mean']:+.4f} [{difference['low']:+.4f}, ")
        assert texts[3].startswith(f"{pair['p_randomization']:.4f} (")
        assert texts[5].startswith(f"{pair['better']}/{pair['worse']}/")


def test_every_query_can_be_looked_up_sorted_by_difference(open_page, files):
    page, _, _ = open_page()
    folds = page.locator("details")
    assert folds.count() == 2
    fold = folds.first
    assert not fold.locator("table").is_visible()
    fold.locator("summary").click()
    assert fold.locator("table").is_visible()
    rows = fold.locator("tbody tr")
    assert rows.count() == 30
    last = [float(row.locator("td").last.inner_text()) for row in rows.all()]
    assert last == sorted(last, reverse=True)
    assert last[0] > last[-1]
    if "per_unit" in files[1]:
        numbers = {row.locator("th").inner_text(): row.locator("td").all_inner_texts()[:2] for row in rows.all()}
        by_label = files[1]["per_unit"]
        assert numbers == {
            query: [f"{by_label[label]['nDCG@10'][query]:.3f}" for label in (HARM, "plain")] for query in numbers
        }


def test_heads_have_scopes_and_the_contents_lead_to_the_sections(open_page):
    page, _, _ = open_page()
    assert page.locator("th").count() == page.locator("thead th[scope=col], tbody th[scope=row]").count() > 10
    links = page.locator("nav a")
    headings = page.locator("h2").all_inner_texts()
    assert links.all_inner_texts() == headings
    assert headings[-1] == "How this was made"
    links.last.click()
    target = page.evaluate("document.querySelector('section:target, h2:target').innerText")
    assert target.startswith("How this was made")
    made = page.locator("section").last.inner_text()
    for part in ("ses eval compare", "0123456789abcdef", "LanceDB 0.40.0", "SHA-256 abab", "package-3 1.0", "3.11.9"):
        assert part in made
