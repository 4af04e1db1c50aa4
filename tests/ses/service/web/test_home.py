"""What the first page says of a library."""

from __future__ import annotations

import re
from html import unescape

import pytest
from starlette.testclient import TestClient

import ses
from corpora.paper import Paper
from tests.serving import service_over

pytestmark = pytest.mark.serve

HELD = [
    Paper("a", "Do masks work?", year=2019, venue="Nature", fields=("Humans", "Masks")),
    Paper("b", "Of lungs", year=2021, venue="Nature", fields=("Humans", "Masks", "Lung")),
    Paper("c", "Of air", year=2021, venue="Cell", fields=("Humans",)),
]


@pytest.fixture(scope="module")
def library_of(tmp_path_factory, small_model):
    def made(held):
        folder = tmp_path_factory.mktemp("home")
        places = {"data_dir": folder / "data", "cache_dir": folder / "cache"}
        library = ses.open(folder / "indexes", model=small_model, index="mine", **places)
        library.index("mine", held)
        return library

    return made


@pytest.fixture(scope="module")
def mine(library_of):
    return library_of(HELD)


def page_of(library, path="/", **site):
    with TestClient(service_over(library, site=site)) as client:
        reply = client.get(path)
        assert reply.status_code == 200
        return reply.text


def texts(found):
    return [unescape(re.sub(r"<[^>]+>|\s+", " ", one)).split() for one in found]


def test_it_has_the_papers_years_subjects_and_newest(mine):
    text = page_of(mine)
    facts = re.search(r'<p class="held-facts">(.*?)</p>', text, re.DOTALL)[1]
    assert texts([facts]) == [["3", "papers", "2019\u20132021"]]
    shares = re.search(r'<ul class="shares">(.*?)</ul>', text, re.DOTALL)[1]
    # The check tag Humans says whom studies are about.
    assert texts(re.findall(r"<li>(.*?)</li>", shares, re.DOTALL)) == [["Masks", "2"], ["Lung", "1"]]
    assert re.findall(r'<rect class="bar chosen" width="([\d.]+)"', shares) == ["100.0", "50.0"]
    years = re.findall(r"<title>(\d+): (\d+)</title>", text)
    assert years == [("2019", "1"), ("2020", "0"), ("2021", "2")]


@pytest.mark.parametrize("linked", ["only=fields%3AMasks", "year_from=2021&amp;year_to=2021"])
def test_a_number_is_what_a_click_gives(mine, linked):
    with TestClient(service_over(mine)) as client:
        address = next(one for one in re.findall(r'href="([^"]*)"', client.get("/").text) if linked in one)
        assert "2 papers found" in client.get(unescape(address)).text


def test_examples_are_questions_and_subjects_or_those_of_the_site(mine):
    def examples(text):
        listed = re.search(r'<ul class="examples">(.*?)</ul>', text, re.DOTALL)[1]
        return [unescape(one) for one in re.findall(r"<a [^>]*>(.*?)</a>", listed)]

    assert examples(page_of(mine)) == ["Do masks work?", "Masks", "Lung"]
    own = ["Does <i>this</i> help?", "asthma, in children"]
    assert examples(page_of(mine, examples=own)) == own


def test_without_subjects_venues_are_shown(library_of):
    text = page_of(library_of([Paper("a", "Of air", year=2020, venue="Cell"), Paper("b", "Of lungs", venue="Cell")]))
    assert '<h3 id="held-subjects">Venues</h3>' in text
    assert "histogram" not in text  # of one year


def test_it_costs_one_search_until_the_index_changes(mine):
    app = service_over(mine)
    with TestClient(app) as client:
        searched = []
        opened = type(app.state.service.opened())
        search = opened.search
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(opened, "search", lambda *given, **more: searched.append(given) or search(*given, **more))
            for _ in range(3):
                client.get("/")
        assert [query for _, query in searched if query != "warm start"] == [""]


def test_the_collection_that_is_shown_is_the_one_chosen(mine):
    mine.index("other", HELD[:1])
    try:
        assert re.findall(r"<option selected>(.*?)</option>", page_of(mine)) == ["mine"]
        assert re.findall(r"<option selected>(.*?)</option>", page_of(mine, "/?index=other")) == ["other"]
    finally:
        mine.drop("other")
