"""Venues in a query's words, and their abbreviations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.paper import Paper
from search_plugin.contract.engine import Document
from search_plugin.engines.registry import connect
from search_plugin.understanding.preferences.venues import abbreviates, distance, read_venue, venue_words
from search_plugin.words.terms import folded
from tests.search_plugin.understanding.preferences.conftest import SCHEMA

SERIALS = (
    *("acta", "annales", "annals", "archives", "archiv", "bulletin", "giornale", "journal", "proceedings"),
    *("revista", "revue", "rivista", "transactions", "zeitschrift"),
)


@pytest.mark.parametrize(
    ("short", "long", "step"),
    [
        ("virol", "virol", 0),
        ("virol", "virology", 1),
        ("j", "journal", 1),
        ("natl", "national", 2),
        ("dtsch", "deutsches", 2),
        ("jpn", "japanese", 2),
        ("virology", "virol", None),
        ("med", "virology", None),
        ("ntl", "entomological", None),
        ("tl", "total", None),
        ("ntl", "natal", 2),
        ("ntl", "natl", None),
        ("ntal", "inertial", None),
    ],
)
def test_abbreviations(short, long, step):
    assert abbreviates(short, long) == step


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("The New England journal of medicine", ("new", "england", "journal", "medicine")),
        ("Lancet (London, England)", ("lancet",)),
        ("Clinical infectious diseases : an official publication", ("clinical", "infectious", "diseases")),
        ("Alzheimer's & dementia", ("alzheimers", "dementia")),
        ("Deutsches \u00c4rzteblatt", ("deutsches", "arzteblatt")),
        ("J. Med. Virol.", ("j", "med", "virol")),
        ("Of", ("of",)),
        ("", ()),
    ],
)
def test_words_of_a_name(name, words):
    assert venue_words(name) == words


@pytest.mark.parametrize(
    "small",
    [
        "a an and at by for in of on the to",
        "de del e el en i la las los y",
        "der des die f\u00fcr im und zur",
        "de du en et la le les",
        "della di do dos e van voor",
    ],
)
def test_small_words_of_a_name_do_not_count(small):
    for word in small.split():
        assert venue_words(f"Annals {word} Medicine {word.upper()}") == ("annals", "medicine")
    assert venue_words(small) == tuple(folded(word) for word in small.split())  # it has no others


@given(st.lists(st.text("abcdefghij", min_size=4, max_size=9), min_size=1, max_size=6), st.data())
def test_every_abbreviation_by_beginnings_fits_its_name(words, data):
    cut = [word[: data.draw(st.integers(1, len(word)))] for word in words]
    expected = 0 if cut == words else 1
    assert distance(cut, words) == distance(words, cut) == expected
    assert distance(cut, [*words, "more"]) is None
    assert distance(["z" + word for word in cut], words) is None


def test_each_word_of_a_venue_counts():
    stored = ("journal", "medical", "virology")
    for at in range(3):
        assert distance([*stored[:at], "surgery", *stored[at + 1 :]], stored) is None
    assert distance(["j", "med", "virol"], stored) == 1
    assert distance(["jrnl", "medical", "virol"], stored) == 2


@pytest.mark.parametrize(
    ("query", "told", "topic"),
    [
        ("J Med Virol masks", "in Journal of medical virology", "masks"),
        ("j. med. virol. masks", "in Journal of medical virology", "masks"),
        ("masks J Med Virol", "in Journal of medical virology", "masks"),
        ("masks in J Med Virol", "in Journal of medical virology", "masks"),
        ("masks Published In J Med Virol", "in Journal of medical virology", "masks"),
        ("masks, J Med Virol", "in Journal of medical virology", "masks"),
        ("N Engl J Med hypertension", "in The New England journal of medicine", "hypertension"),
        ("New England Journal of Medicine hypertension", "in The New England journal of medicine", "hypertension"),
        ("Proc Natl Acad Sci folding", "in Proceedings of the National Academy of Sciences", "folding"),
        ("J Med Virol", "in Journal of medical virology", ""),
    ],
)
def test_a_venue_is_read_from_its_abbreviation_or_its_name(index, query, told, topic):
    read = read_venue(index, query, query)
    assert (read.preference.description, read.topic, read.note) == (told, topic, "")


@pytest.mark.parametrize(
    "query",
    [
        "lung cancer",
        "Lung Cancer",
        "nature",
        "lancet",
        "Nature of masks",
        "medical virus masks",
        "Lancet masks",
        "lung cance",
    ],
)
def test_ordinary_words_are_no_venue(index, query):
    assert read_venue(index, query, query) is None


@pytest.mark.parametrize("serial", sorted(SERIALS))
def test_a_word_of_journals_names_makes_a_name_of_ordinary_words(serial, tmp_path):
    """Each of these words alone tells the name of a venue, though papers say all of its words."""
    venue = f"{serial} lung cancer"
    index = connect(f"embedded:{tmp_path}").build("papers", SCHEMA, "s")
    vector = {"prx": np.array([1, 0], np.float32)}
    index.upsert(
        Document(Paper(f"{number}", f"{serial} of lung cancer", venue=venue), "h", vector) for number in range(20)
    )
    index.finish()
    read = read_venue(index, f"{venue} masks", f"{venue} masks")
    assert (read.preference.description, read.topic) == (f"in {venue}", "masks")


def test_a_single_word_is_a_venue_beside_a_year_if_papers_hardly_say_it(index):
    read = read_venue(index, "Lancet masks", "Lancet 2020 masks")
    assert (read.preference.description, read.topic) == ("in Lancet", "masks")
    assert read_venue(index, "lancet masks", "lancet 2020 masks") is None
    told = read_venue(index, "Nature fish", "Nature 2020 fish")
    assert (told.preference, told.topic) == (None, "Nature fish")
    assert 'journal:"Nature" year:2020' in told.note


def test_an_abbreviation_of_no_venue_is_told(index):
    read = read_venue(index, "J Xyzz Stud masks", "J Xyzz Stud masks")
    assert (read.preference, read.topic) == (None, "J Xyzz Stud masks")
    assert read.note == "The query seems to name a journal, but no venue of this index has such a name."
    assert read_venue(index, "xyzzy j masks", "xyzzy j masks") is None
    assert read_venue(index, "Xyzzy, J masks", "Xyzzy, J masks") is None


class Listing:
    """Stands for an index that holds other venues."""

    def __init__(self, index, venues):
        self._index, self._venues = index, venues
        self.schema = index.schema
        self.document_frequencies, self.count = index.document_frequencies, index.count

    @staticmethod
    def cached(_key, find):
        return find()

    def matching_values(self, _patterns):
        return {"venue": self._venues}


def test_several_venues_may_be_meant(index):
    two = Listing(index, ["Journal of medicinal virology", "Journal of medical virology"])
    read = read_venue(two, "J Med Virol masks", "J Med Virol masks")
    assert read.preference.description == "in Journal of medical virology or Journal of medicinal virology"
    assert set(read.preference.filter.values) == {"Journal of medicinal virology", "Journal of medical virology"}
    four = Listing(index, [f"Journal of medic{end} virology" for end in ("al", "ine", "inal", "o")])
    assert len(read_venue(four, "J Med Virol masks", "J Med Virol masks").preference.filter.values) == 4
    many = Listing(index, [f"Journal of medic{end} virology" for end in ("al", "ine", "inal", "o", "a")])
    told = read_venue(many, "J Med Virol masks", "J Med Virol masks")
    assert told.preference is None
    assert told.note.startswith("J Med Virol may be any of 5 venues, such as Journal of medica virology, ")


def test_a_beginning_counts_before_letters_in_order(index):
    both = Listing(index, ["Cancer virolology research", "Cancer virology reviews"])
    assert read_venue(both, "Cancer Virol Res masks", "").preference.description == "in Cancer virolology research"


@pytest.mark.parametrize(("words", "found"), [(9, True), (10, False)])
def test_a_venue_is_looked_for_in_up_to_twelve_words(index, words, found):
    query = " ".join(["J Med Virol", *["masks"] * words])
    assert (read_venue(index, query, query) is not None) == found


@pytest.mark.parametrize(("length", "found"), [(400, True), (401, False)])
def test_a_venue_is_looked_for_in_up_to_400_characters(index, length, found):
    query = "J Med Virol ".ljust(length, "x")
    assert (read_venue(index, query, query) is not None) == found


@pytest.mark.parametrize(("words", "found"), [(8, True), (9, False)])
def test_a_name_has_up_to_eight_words(index, words, found):
    venue = " ".join(["Journal", *(f"zzxy{letter}" for letter in "abcdefgh"[: words - 1])])
    read = read_venue(Listing(index, [venue]), f"{venue} masks", "")
    assert (read is not None and read.preference is not None) == found
