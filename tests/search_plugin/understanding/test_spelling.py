"""Corrections of misspelled words, and queries in other languages."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.paper import Paper
from search_plugin.contract.engine import Document
from search_plugin.contract.schema import IndexSchema, paper_vector
from search_plugin.engines.registry import connect
from search_plugin.request import SearchRequest
from search_plugin.search import search
from search_plugin.understanding.foreign import foreign_language
from search_plugin.understanding.spelling import Corrected, correct, look_up_words
from search_plugin.words.terms import TOKEN, distinct_words, edits, folded

TEXTS = (
    *["Aspirin prevents a heart attack; treatment and prevention of diabetes."] * 3,
    *["Metastases of a tumour, and Alzheimer's disease in trials."] * 3,
    "The hert of a rare word, asparin.",
    *["Doses of hydroxychloroquine and of opium."] * 2,
)


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    schema = IndexSchema("tiny", "f", (paper_vector("prx", 2, "cosine"),))
    opened = connect(f"embedded:{tmp_path_factory.mktemp('indexes')}").build("papers", schema, "s")
    vector = {"prx": np.array([1, 0], np.float32)}
    opened.upsert([Document(Paper(str(at), "Of trials", text), str(at), vector) for at, text in enumerate(TEXTS)])
    opened.finish()
    return opened


def corrected(index, text):
    return correct(index, look_up_words(index, text)).words


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("asprin heart atack prevntion", "aspirin heart attack prevention"),
        ("diabeties tretment", "diabetes treatment"),
        ("Alzeimer", "alzheimer"),
        ("heartattack risk", "heart attack risk"),
        ("matastases", "metastases"),
        ("treatmnet, (aspirn)", "treatment, (aspirin)"),
        # Nothing is near, the word is short, written as a name or a gene, or usual in questions.
        ("qwertyuiop", "qwertyuiop"),
        ("hart", "hart"),
        ("ASPRIN AsprIn asprin1", "ASPRIN AsprIn asprin1"),
        ("about", "about"),
        # A consonant is another one, or the word that is near is rare.
        ("attach", "attach"),
        ("asparn", "asparn"),
        # Two papers are enough for a long word, and too few for a short one.
        ("Hydroxychloroquinee", "hydroxychloroquine"),
        ("opiumm", "opiumm"),
        # Papers say it, in another spelling or by its stem.
        ("tumor hearts", "tumor hearts"),
        # Two mistakes are corrected in a word of nine letters, and one in shorter ones.
        ("hydroxchloroqine", "hydroxychloroquine"),
        ("prvntion", "prvntion"),
        # Four unknown words may be misspellings, and five are not.
        ("asprin atack tretment prevntion", "aspirin attack treatment prevention"),
        ("asprin atack tretment prevntion diabeties", "asprin atack tretment prevntion diabeties"),
    ],
)
def test_words_are_corrected_by_those_of_the_index(index, typed, words):
    assert corrected(index, typed) == words


def test_what_was_looked_up(index):
    looked = look_up_words(index, "the asprin of hearts and tumors")
    assert looked.unknown == ("asprin",)
    assert look_up_words(index, "asprin " * 41).unknown == ("asprin",)
    pasted = " ".join(f"asprin{chr(97 + at % 26)}{chr(97 + at // 26)}" for at in range(41))
    assert look_up_words(index, pasted) == Corrected(pasted)
    assert look_up_words(index, "\u4e73\u817a\u764c").unknown == ()


def test_a_correction_is_told_and_can_be_undone(index):
    page = search(index, SearchRequest("asprin trial", mode="lexical"))
    assert page.notes == (
        'No paper says "asprin": searched for "aspirin trial". Search verbatim for the words as typed.',
    )
    assert page.query == "asprin trial"
    hit = next(hit for hit in page if hit.id == "0")
    assert any(snippet.text[start:end] == "Aspirin" for snippet in hit.snippets for start, end in snippet.spans)
    page = search(index, SearchRequest("asprin", mode="lexical", verbatim=True))
    assert (page.hits, page.notes) == ((), ())


@given(st.text("aB1 ._-\n", max_size=30) | st.text("aB\u00e9\u0301 ._1\u75c5\u0e01\u00df\u0130", max_size=30))
def test_distinct_words_are_those_of_the_pattern(text):
    assert distinct_words(text) == {folded(token[0]) for token in TOKEN.finditer(text)}


@pytest.mark.parametrize(
    ("one", "other", "cost"),
    [("atack", "attack", 1), ("casues", "causes", 1), ("colin", "colon", 1), ("wages", "wales", 1.5), ("a", "", 1)],
)
def test_edits(one, other, cost):
    assert edits(one, other) == edits(other, one) == cost


@given(st.text("abcxyz", max_size=8), st.text("abcxyz", max_size=8))
def test_edits_are_a_distance(one, other):
    assert (edits(one, other) == 0) == (one == other)
    assert edits(one, other) == edits(other, one)
    assert abs(len(one) - len(other)) <= edits(one, other) <= 1.5 * max(len(one), len(other))


@pytest.mark.parametrize(
    ("text", "unknown", "language"),
    [
        ("Krebs bei Kindern Behandlung", ("Kindern", "Behandlung"), "german"),
        ("traitement du cancer du sein", ("traitement", "sein"), "french"),
        ("ventilacion mecanica", ("ventilacion", "mecanica"), "spanish"),
        ("trattamento del cancro nella donna", ("trattamento", "cancro", "donna"), "italian"),
        ("tratamento do cancer em mulheres", ("tratamento", "mulheres"), "portuguese"),
        # The index knows the words; one word may be a name; English has its own small words.
        ("traitement du cancer du sein", (), ""),
        ("traitement du cancer du sein", ("sein",), ""),
        ("de novo synthesis of lipids", (), ""),
        ("Behandlung", ("Behandlung",), ""),
        ("the effect of xyz on the abcung", ("xyz", "abcung"), ""),
        ("stem cells", ("stem", "cells"), ""),
        # Few words may have an ending or a small word of another language by chance, or be part of a name.
        ("robot grasping", ("robot", "grasping"), ""),
        ("lung cancer", ("lung", "cancer"), ""),
        ("management strategies", ("management", "strategies"), ""),
        ("van der Waals forces", ("Waals", "forces"), ""),
        ("von der Leyen curve", ("Leyen", "curve"), ""),
        ("Bildung und Gesundheit", ("Bildung", "Gesundheit"), "german"),
        ("Wirkung neuer Medikamente auf Patienten", ("neuer", "Medikamente", "Patienten"), "german"),
        ("Kosten neuer Medikamente von Patienten", ("Kosten", "neuer", "Medikamente", "Patienten"), "german"),
        # One sign is too few for three words; half of the other words must be unknown.
        ("Kosten neuer auf Medikamente", ("Kosten", "neuer", "Medikamente"), ""),
        ("Krebs bei Kindern mit Asthma oder Diabetes", ("Krebs", "Kindern"), "german"),
        ("Krebs bei Kindern mit Asthma oder Diabetes", ("Kindern",), ""),
    ],
)
def test_other_languages(text, unknown, language):
    assert foreign_language(Corrected(text, unknown=unknown), "english") == language


LETTERS = {
    "german": "\u00df",
    "french": "\u00e8\u00eb\u00f9\u0153",
    "spanish": "\u00f1",
    "portuguese": "\u00e3\u00f5",
    "italian": "\u00ec\u00f2",
    "swedish": "\u00e5",
    "danish": "\u00f8",
    "polish": "\u0105\u0107\u0119\u0142\u0144\u015b\u017a\u017c",
    "turkish": "\u011f\u0131\u015f",
}


@pytest.mark.parametrize(("language", "letter"), [(name, one) for name, letters in LETTERS.items() for one in letters])
def test_letters_tell_a_language(language, letter):
    unknown = tuple(f"{first}{letter}mbr" for first in "bdgkp")
    assert foreign_language(Corrected(" ".join(unknown), unknown=unknown), "english") == language


ENDINGS = {
    "german": "ung ungen heit keit lich ische ischen krankheit schaft",
    "french": "ement aux euse eux ique iques ée ées",
    "spanish": "ción cion ciones miento dades",
    "portuguese": "ção cao ções coes",
    "italian": "zione zioni ità iche",
    "dutch": "lijk lijke ziekte",
    "polish": "owy owa owe nia nie ego ych",
    "swedish": "ning ningar het lig",
}


@pytest.mark.parametrize(
    ("language", "ending"), [(name, one) for name, endings in ENDINGS.items() for one in endings.split()]
)
def test_endings_tell_a_language(language, ending):
    unknown = tuple(f"{first}rtz{ending}" for first in "bdgkp")
    assert foreign_language(Corrected(" ".join(unknown), unknown=unknown), "english") == language


def test_the_language_of_the_index_is_no_other():
    typed = Corrected("Krebs bei Kindern Behandlung", unknown=("Kindern", "Behandlung"))
    assert foreign_language(typed, "german") == ""
    english = Corrected("the treatment of cancer in children", unknown=("treatment", "children"))
    assert foreign_language(english, "german") == "english"


def test_a_page_says_that_the_query_is_in_another_language(index):
    page = search(index, SearchRequest("Krebs bei Kindern Behandlung", mode="lexical"))
    assert page.notes == (
        "The query seems to be in German. This index analyses words as english, and its model may not know the "
        "language either.",
    )
