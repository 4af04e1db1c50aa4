"""Papers of a feed, and feeds as Atom and HTML."""

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from lxml.html import document_fromstring

from corpora.errors import InputError
from corpora.identifiers import link_of
from corpora.paper import Paper
from products.feeds.feed import Feed, FeedEntry, LikedNear, add_seeds, held_words, remove_seeds, wanted_vector
from products.feeds.formats import FORMATS, entry_html, feed_format

FEED = Feed("papers", "embedded:/x", ("a", "b"), ("c",))
MOMENT = datetime(2026, 11, 22, 18, 30, tzinfo=UTC)
ATOM = {"a": "http://www.w3.org/2005/Atom"}


def test_papers_are_added_once_and_change_sides():
    changed = add_seeds(FEED, ["c", "d", "a"], ["b", "e", "e"])
    assert (changed.liked, changed.disliked) == (("a", "c", "d"), ("b", "e"))


def test_papers_are_taken_out():
    assert remove_seeds(FEED, ["a", "c"]) == Feed("papers", "embedded:/x", ("b",))
    with pytest.raises(InputError, match="The paper 'x' is not in the feed"):
        remove_seeds(FEED, ["a", "x"])


def test_what_contradicts_itself_is_refused():
    with pytest.raises(InputError, match="The paper 'd' is both liked and disliked; give it once"):
        add_seeds(FEED, ["d", "e"], ["d"])
    with pytest.raises(InputError, match="This feed is a saved query"):
        add_seeds(Feed("papers", "", query="virus"), ["a"], [])
    with pytest.raises(InputError, match="learns from up to 1,000 papers"):
        add_seeds(FEED, [f"p{n}" for n in range(1000)], [])


def test_the_search_goes_to_what_is_liked_and_away_from_what_is_disliked():
    liked, disliked = [np.array([9.0, 0, 0]), np.array([0, 0.1, 0])], [np.array([0, 0, 4.0]), np.zeros(3)]
    np.testing.assert_allclose(wanted_vector(liked, disliked), [0.5, 0.5, -0.25], atol=1e-6)
    np.testing.assert_allclose(wanted_vector(liked, []), [0.5, 0.5, 0], atol=1e-6)


EVIL = '<script>alert("1")</script> & \x00\x0b'


def entries(text=EVIL, url="javascript:alert(1)"):
    paper = Paper("<id>", text, text, (text,) * 7, 2020, text, url=url)
    return [FeedEntry(1, paper, 0.5, (LikedNear("n", text, 0.61234),))]


def test_atom_is_well_formed_whatever_a_paper_says():
    document = feed_format("atom")("my feed", EVIL, entries(), MOMENT)
    root = etree.fromstring(document.encode())
    assert root.tag == "{http://www.w3.org/2005/Atom}feed"
    assert root.findtext("a:updated", namespaces=ATOM) == "2026-11-22T18:30:00Z"
    assert root.findtext("a:id", namespaces=ATOM) == "urn:ses:feed:my%20feed"
    (entry,) = root.findall("a:entry", ATOM)
    assert entry.findtext("a:title", namespaces=ATOM) == EVIL.replace("\x00", " ").replace("\x0b", " ")
    assert entry.findtext("a:id", namespaces=ATOM) == "urn:ses:paper:%3Cid%3E"
    assert entry.findtext("a:updated", namespaces=ATOM)
    assert len(entry.findall("a:author", ATOM)) == 7
    assert entry.find("a:link", ATOM) is None
    assert "Near what you liked" in entry.findtext("a:content", namespaces=ATOM)
    assert not document_fromstring(entry.findtext("a:content", namespaces=ATOM)).xpath("//script | //a")


def test_html_has_no_markup_of_a_paper():
    document = feed_format("html")("mine", EVIL, entries(), MOMENT)
    tree = document_fromstring(document)
    allowed = {"html", "head", "meta", "title", "body", "h1", "p", "ol", "li", "b", "i"}
    assert {element.tag for element in tree.iter()} <= allowed
    assert "(0.61)" in document
    assert "et al." in document
    assert "2026-11-22" in document
    assert "No new papers." in feed_format("html")("mine", "t", [], MOMENT)


def test_links_go_to_the_web_alone():
    assert link_of(Paper("a", "t", url="javascript:alert(1)")) == ""
    assert link_of(Paper("a", "t", url="https://example.org/?a=1&b=2")) == "https://example.org/?a=1&b=2"
    assert (
        link_of(Paper("a", "t", url="https://x.org", identifiers=("doi:10.1/<x>",))) == "https://doi.org/10.1/%3Cx%3E"
    )
    html = feed_format("html")("mine", "t", entries("t", "https://example.org/?a=1&b=2"), MOMENT)
    assert document_fromstring(html).xpath("//a/@href") == ["https://example.org/?a=1&b=2"]


@given(st.text(max_size=30))
def test_any_text_can_be_in_a_feed(text):
    for render in FORMATS.values():
        document = render("mine", text, entries(text, text), MOMENT)
        if document.startswith("<?xml"):
            etree.fromstring(document.encode("utf-8", "surrogatepass").decode().encode())


def test_other_formats_are_named():
    with pytest.raises(InputError, match="There is no format 'pdf' of feeds; choose one of atom, html"):
        feed_format("pdf")


def test_words_of_a_query_are_given_as_they_stand_first_in_a_paper():
    paper = Paper("p", "Masked Viruses", "A virus, a MASK and a lung; the masks.")
    assert held_words("the virus masks of stars, lungs", paper, "english") == ("masked", "viruses", "lung")
    assert held_words("stars", paper, "english") == ()
    near = FeedEntry(1, paper, 0.5, (LikedNear("n", "N", 0.625), LikedNear("m", "M", 0.5)), ("a",))
    assert near.why == ("near N (0.62)", "near M (0.50)")
    assert FeedEntry(1, paper, 0.5, words=("a", "b")).why == ("holds a, b",)


@pytest.mark.parametrize(("authors", "abstract"), [(5, 600), (6, 601)])
def test_an_entry_shows_five_authors_and_600_characters(authors, abstract):
    paper = Paper("p", "T", "x" * abstract, tuple("ABCDEF"[:authors]), 2020, "V", url="https://x.org")
    near = (LikedNear("n", "N", 0.625), LikedNear("m", "M", 0.5))
    more = authors > 5
    assert entry_html(FeedEntry(1, paper, 0.5, near)) == (
        '<p><b><a href="https://x.org">T</a></b></p>'
        f"<p>A, B, C, D, E{' et al.' if more else ''} · V · 2020</p><p>{'x' * 600}{'…' if more else ''}</p>"
        "<p><i>Near what you liked: N (0.62); M (0.50)</i></p>"
    )
    assert entry_html(FeedEntry(1, Paper("p", "T"), 0.5)) == "<p><b>T</b></p>"


def test_atom_has_what_rfc_4287_asks_for():
    papers = [Paper("a/b", "T", "S", ("A",), url="https://x.org"), Paper("c", "U")]
    moment = MOMENT.astimezone(timezone(timedelta(hours=2)))
    document = feed_format("atom")("m/e", "Mine", [FeedEntry(n, paper, 0.5) for n, paper in enumerate(papers)], moment)
    assert document.startswith("<?xml version='1.0' encoding=")
    assert document.endswith("</feed>\n")
    root = etree.fromstring(document.encode())
    told = [(etree.QName(one).localname, (one.text or "").strip(), dict(one.attrib)) for one in root.iter()]
    update = ("updated", "2026-11-22T18:30:00Z", {})
    assert told == [
        ("feed", "", {}), ("id", "urn:ses:feed:m%2Fe", {}), ("title", "Mine", {}), update, ("generator", "ses", {}),
        ("author", "", {}), ("name", "ses", {}),
        ("entry", "", {}), ("id", "urn:ses:paper:a%2Fb", {}), ("title", "T", {}), update, ("author", "", {}),
        ("name", "A", {}), ("link", "", {"rel": "alternate", "href": "https://x.org"}), ("summary", "S", {}),
        ("content", '<p><b><a href="https://x.org">T</a></b></p><p>A</p><p>S</p>', {"type": "html"}),
        ("entry", "", {}), ("id", "urn:ses:paper:c", {}), ("title", "U", {}), update,
        ("content", "<p><b>U</b></p>", {"type": "html"}),
    ]  # fmt: skip


def test_a_feed_has_room_for_1000_papers():
    assert len(add_seeds(FEED, [f"p{n}" for n in range(997)], []).seeds) == 1000
