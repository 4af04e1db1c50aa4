"""Papers of a feed, and feeds as Atom and HTML."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from lxml.html import document_fromstring

from corpora.errors import InputError
from corpora.links import link_of
from corpora.paper import Paper
from products.feeds.feed import Feed, add_seeds, remove_seeds
from products.feeds.formats import FORMATS, feed_format
from products.feeds.ranking import FeedEntry, LikedNear

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
