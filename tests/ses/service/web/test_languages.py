"""The page in other languages: the catalogues, and the language that a reader gets."""

from __future__ import annotations

import dataclasses
import re
from string import Formatter

import pytest

import ses
from corpora.errors import InputError
from ses.service.settings import load_service_settings
from ses.service.web.languages import LOCALE, accepted, choose, languages, own_name, translations
from tests.ses.service.web.pages import PAGES
from tests.ses.service.web.test_browser import asked, browser, visit
from tests.texts import catalogue, extracted, update

__all__ = ["browser", "visit"]

pytestmark = pytest.mark.serve

CATALOGUES = sorted(LOCALE.glob("*.po"))
OTHERS = [path.stem for path in CATALOGUES]
PLURALS = {"de": (2, "(n != 1)"), "es": (2, "(n != 1)"), "fr": (2, "(n > 1)"), "zh": (1, "0")}
"""How many forms there are, and which one a number takes. Since Babel 2.19, Spanish and French have a form for millions
too, which no text of the page needs."""
_PYTHON = re.compile(r"%\((\w+)\)s")


def placeholders(text):
    return set(_PYTHON.findall(text)), {name for _, name, _, _ in Formatter().parse(text) if name}


def forms(text):
    return list(text) if isinstance(text, (list, tuple)) else [text]


@pytest.fixture(scope="module")
def texts():
    return extracted()


@pytest.mark.lint
def test_there_are_five_languages():
    assert languages() == ("en", "de", "es", "fr", "zh")
    assert [own_name(one) for one in languages()] == ["English", "Deutsch", "Español", "Français", "中文"]


@pytest.mark.lint
@pytest.mark.parametrize("path", CATALOGUES, ids=OTHERS)
def test_a_catalogue_has_every_text_of_the_sources_and_no_other(path, texts):
    held = catalogue(path)
    assert {one.id for one in held if one.id} == {one.id for one in texts if one.id}
    assert not held.obsolete
    assert not [one.id for one in held if one.id and one.fuzzy]


@pytest.mark.lint
@pytest.mark.parametrize("path", CATALOGUES, ids=OTHERS)
def test_a_translation_has_the_placeholders_and_plural_forms_of_its_text(path):
    held = catalogue(path)
    assert (held.num_plurals, held.plural_expr) == PLURALS[path.stem]
    for one in held:
        if not one.id:
            continue
        translated = forms(one.string)
        assert all(translated), one.id
        assert len(translated) == (held.num_plurals if one.pluralizable else 1)
        # The form for one thing may leave its number out.
        allowed, needed = placeholders(" ".join(forms(one.id))), placeholders(forms(one.id)[-1])
        for text in translated:
            found = placeholders(text)
            assert all(mine <= theirs for mine, theirs in zip(found, allowed, strict=True)), one.id
        assert placeholders(translated[-1]) == needed, one.id
        assert not re.search(r"[<>]|&\w+;", " ".join(translated)), one.id
        ends = [text.rstrip()[-1:] in ".。" for text in (forms(one.id)[-1], translated[-1])]
        assert ends[0] == ends[1], one.id


@pytest.mark.lint
def test_an_update_adds_new_texts_and_removes_old_ones(tmp_path, texts):
    path = tmp_path / "de.po"
    path.write_bytes((LOCALE / "de.po").read_bytes())
    before = path.read_bytes()
    assert update(path, texts) == []
    assert path.read_bytes() == before
    texts = extracted()
    texts.add("A text that is new")
    texts.delete("Search")
    assert update(path, texts) == ["A text that is new"]
    assert catalogue(path).get("Search") is None


@pytest.mark.parametrize(
    ("header", "preferred"),
    [
        ("de", ["de"]),
        ("fr;q=0.5, es, de;q=0.9", ["es", "de", "fr"]),
        ("de;q=0, en", ["en"]),
        ("de; Q=0.2,zh-CN ; q=0.8", ["zh-CN", "de"]),
        ("fr;q=much, es", ["es"]),
        ("", []),
        (",;q=1,", []),
        ("de," * 400, ["de"] * 333 + ["d"]),
    ],
)
def test_the_header_of_a_browser_is_read_by_its_quality_values(header, preferred):
    assert accepted(header) == preferred


@pytest.mark.parametrize(
    ("asked", "header", "language"),
    [
        ("", "", "en"),
        ("", "de-AT, en;q=0.5", "de"),
        ("", "en-GB, de", "en"),
        ("", "zh-CN", "zh"),
        ("", "it, ja", "en"),
        ("fr", "de", "fr"),
        ("xx", "de", "de"),
        ("../de", "", "en"),
    ],
)
def test_a_reader_gets_the_language_chosen_or_preferred(asked, header, language):
    assert choose(languages(), asked, header) == language


@pytest.mark.slow
@pytest.mark.parametrize("language", languages())
def test_each_page_is_in_each_language(client, language):
    for name, path in PAGES.items():
        if name == "map" and language != "de":  # takes long
            continue
        reply = client.get(f"{path}{'&' if '?' in path else '?'}lang={language}", headers={"Accept": "text/html"})
        assert f'<html lang="{language}">' in reply.text, name
        assert reply.headers["content-language"] == language
        assert "accept-language" in reply.headers["vary"].lower()
        assert f'href="#main">{translations(language).gettext("Skip to the content")}<' in reply.text
        chosen = re.findall(r'hreflang="([\w-]+)" aria-current="true">', reply.text)
        assert chosen == [language], name


def test_links_and_forms_keep_a_language_that_was_chosen(client):
    kept = re.compile(r'<a [^>]*href="(/(?!v1/|export|static)[^"#]*)"')
    for path in ("/?query=virus&lang=fr", "/help?lang=fr", "/papers/p00001?lang=fr", "/feeds?lang=fr", "/tags?lang=fr"):
        text = client.get(path).text
        found = [one for one in kept.findall(text) if ".json" not in one and ".atom" not in one]
        lost = [one for one in found if "lang=" not in one]
        assert [one for one in lost if not re.match(r"/(openapi|papers/[^?]*\.|unapi|search\.)", one)] == [], path
        assert '<input type="hidden" name="lang" value="fr">' in text
    text = client.get("/?query=virus", headers={"Accept-Language": "fr"}).text
    assert '<html lang="fr">' in text
    assert re.findall(r"lang=\w\w", text) == [f"lang={one}" for one in languages()]


def test_pages_name_their_other_languages_by_whole_addresses(client, library):
    from starlette.testclient import TestClient

    from ses.service.app import make_app
    from ses.service.service import Service
    from ses.service.settings import ServiceSettings

    assert '<link rel="alternate" hreflang' not in client.get("/help").text
    settings = ServiceSettings(public_url="https://library.example/ses/")
    with TestClient(make_app(Service(ses.Library(library._settings), settings))) as public:
        text = public.get("/help").text
        found = re.findall(r'<link rel="alternate" hreflang="(\w+)" href="([^"]*)">', text)
        assert found == [(one, f"https://library.example/ses/help?lang={one}") for one in languages()]
        assert '<link rel="alternate" hreflang' not in public.get("/?query=virus").text


def test_a_path_makes_no_link_to_another_host(client):
    reply = client.get("http://testserver//other.example/x", headers={"Accept": "text/html"})
    assert reply.status_code == 404
    assert 'href="/%2Fother.example%2Fx?lang=de"' in reply.text
    assert 'href="//' not in reply.text


def test_numbers_and_plurals_are_those_of_the_language(client):
    assert "61 Publikationen gefunden" in client.get("/?query=&lang=de").text
    assert "1 Publikation gefunden" in client.get("/?query=masks&mode=lexical&lang=de").text
    assert "找到 1 篇论文" in client.get("/?query=masks&mode=lexical&lang=zh").text
    from ses.service.web.render import environment

    shown = {one: environment(one).from_string("{{ 12345.5 | number }} {{ 0.5 | percent }}").render() for one in OTHERS}
    spaced = {one: re.sub(r"\s", " ", text) for one, text in shown.items()}  # of several widths
    assert spaced == {"de": "12.345,5 50 %", "es": "12.345,5 50 %", "fr": "12 345,5 50 %", "zh": "12,345.5 50%"}


def test_sentences_of_the_library_say_that_they_are_english(client):
    for path in ("/?query=virus&filter=yaer=2000&lang=de", "/?query=virus&nope=1&lang=de"):
        assert '<p class="note bad" lang="en">' in client.get(path, headers={"Accept": "text/html"}).text
    assert re.search(r'<p lang="en">[^<]*viruss', client.get("/?query=viruss+lung&lang=de").text)


def test_a_site_offers_fewer_languages_and_its_own_first(library):
    from starlette.testclient import TestClient

    from ses.service.app import make_app
    from ses.service.service import Service
    from ses.service.settings import ServiceSettings

    own = load_service_settings(site={"languages": ["de", "fr"]}).site
    settings = dataclasses.replace(ServiceSettings(), site=own)
    with TestClient(make_app(Service(ses.Library(library._settings), settings))) as client:
        text = client.get("/help", headers={"Accept-Language": "en, es"}).text
        assert '<html lang="de">' in text
        assert re.findall(r'<a [^>]*hreflang="(\w+)"', text) == ["de", "fr"]
        assert '<html lang="fr">' in client.get("/help", headers={"Accept-Language": "fr"}).text
        assert '<html lang="de">' in client.get("/help?lang=es").text
    with pytest.raises(InputError, match="give some of en, de, es, fr, zh"):
        load_service_settings(site={"languages": ["it"]})


@pytest.mark.browser
@pytest.mark.slow
def test_german_pages_fit_on_a_phone(visit, address):
    page = visit("/?lang=de", viewport={"width": 320, "height": 640})
    for name in ("filtered", "feed to build", "help", "map"):
        path = PAGES[name]
        page.goto(f"{address}{path}{'&' if '?' in path else '?'}lang=de")
        assert page.evaluate("document.documentElement.scrollWidth") <= 320, name
        assert page.evaluate("document.documentElement.lang") == "de"


@pytest.mark.browser
@pytest.mark.slow
def test_a_reader_chooses_a_language_that_later_pages_keep(visit):
    page = visit("/?query=virus", locale="fr-FR")
    assert page.locator("html").get_attribute("lang") == "fr"
    page.get_by_role("link", name="Deutsch").click()
    assert page.get_by_role("heading", level=1).text_content().endswith("mit ähnlicher Bedeutung")
    page.get_by_role("link", name="Hilfe zur Suche").last.click()
    assert page.locator("html").get_attribute("lang") == "de"
    page.get_by_role("searchbox").or_(page.get_by_role("combobox")).first.fill("virus")
    page.keyboard.press("Enter")
    page.wait_for_url("**query=virus**")
    assert asked(page) == [("query", "virus"), ("lang", "de")]
