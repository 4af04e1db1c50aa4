"""Other spellings of a query's words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_plugin.contract.plan import TermGroup, TermVariant
from search_plugin.understanding.expansion import (
    GREEK,
    MOST_SPELLINGS,
    MOST_WORDS,
    compounds,
    expand,
    plurals,
    transatlantic,
)
from search_plugin.words.terms import TOKEN


def others(text, **options):
    """The spellings of each part of a query that has some."""
    return {one.typed: {other.text for other in one.others} for one in expand(text, **options).groups}


def test_greek_letters_have_their_names():
    import unicodedata

    assert len(GREEK) == 24
    # Unicode calls one of them lamda.
    named = {name: unicodedata.name(letter).split()[-1].lower() for name, letter in GREEK.items()}
    assert named == {**{name: name for name in GREEK}, "lambda": "lamda"}


@pytest.mark.parametrize(
    ("typed", "among"),
    [
        ("TNF\u03b1", {"tnf alpha", "tnf \u03b1", "tnfalpha"}),
        ("TNF-alpha", {"tnf \u03b1", "tnf\u03b1", "tnfalpha"}),
        ("TNF alpha", {"tnf \u03b1", "tnf\u03b1", "tnfalpha"}),
        ("tnfalpha", {"tnf alpha", "tnf\u03b1"}),
        ("IFNgamma2", {"ifn gamma 2", "ifn\u03b32"}),
        ("NF-\u03baB", {"nf kappa b", "nfkappab", "nf kb", "nfkb"}),
        ("NF-kB", {"nf kappa b", "nf \u03bab", "nfkb"}),
        ("NFkB", {"nf kappa b", "nf kb"}),
        ("IL-6", {"il6"}),
        ("IL 6", {"il6"}),
        ("IL6", {"il 6"}),
        ("5-HT2A", {"5ht2a", "5 ht 2a"}),
        ("miR-155", {"mir155"}),
        ("\u03b2-catenin", {"beta catenin", "betacatenin"}),
        ("\u00b5-opioid", {"mu opioid", "\u03bc opioid"}),
        ("\u03d5-catenin", {"phi catenin", "\u03c6 catenin"}),
        ("\u03c2-catenin", {"sigma catenin", "\u03c3 catenin"}),
        ("non-smokers", {"nonsmokers"}),
        ("COVID 19", {"covid19"}),
        ("N-acetyl-L-cysteine-amide-x", {"nacetyllcysteineamidex"}),
    ],
)
def test_compounds(typed, among):
    assert among <= others(typed)[typed]


def test_parts_that_are_names_of_no_letter_stand_together_or_apart():
    assert compounds(["stem", "cell", "line"]) == ("stem cell line", "stemcellline")
    assert compounds(["IL", "6", "Ra"]) == ("il 6 ra", "il 6ra", "il6 ra", "il6ra")
    assert compounds(["A", "1", "alpha", "2", "B"]) == ("a 1 alpha 2 b", "a1alpha2b")
    assert len(compounds(["A", "1", "alpha", "2"])) == 16
    assert compounds(["cell"]) == compounds([]) == ()


@pytest.mark.parametrize("hyphen", ["-", "\u2010", "\u2011", "\u2012", "\u2013", "\u2212", "/-", "-/"])
def test_every_hyphen_joins_parts(hyphen):
    assert "tnfalpha" in others(f"TNF{hyphen}alpha")[f"TNF{hyphen}alpha"]


@pytest.mark.parametrize(
    ("text", "together"),
    [
        ("kappa B", True),
        ("kappa b", False),
        ("kappa BC", False),
        ("x alpha", False),
        ("xy alpha", True),
        ("ABCDE 19", True),
        ("ABCDEF 19", False),
        ("AB1 19", False),
        ("AB  19", False),
        ("AB/19", False),
    ],
)
def test_words_beside_letters_and_numbers_may_be_parts_of_one(text, together):
    assert (text in others(text)) == together


@pytest.mark.parametrize("text", ["type 2 diabetes", "alphabet", "stem cells", "in 2019", "a \u03b2"])
def test_words_side_by_side_are_no_compounds(text):
    assert others(text) == {}


@pytest.mark.parametrize(
    ("british", "american"),
    [
        ("tumour", "tumor"),
        ("anaemia", "anemia"),
        ("haemorrhage", "hemorrhage"),
        ("oestrogen", "estrogen"),
        ("leukaemic", "leukemic"),
        ("randomised", "randomized"),
        ("analyse", "analyze"),
        ("foetal", "fetal"),
        ("paediatric", "pediatric"),
        ("centre", "center"),
        ("sulphate", "sulfate"),
        ("diarrhoea", "diarrhea"),
        ("oedema", "edema"),
        ("labelled", "labeled"),
        ("grey", "gray"),
        ("analyses", "analyzes"),
        ("dyspnoea", "dyspnea"),
    ],
)
def test_continents(british, american):
    assert american in transatlantic(british)
    assert british in transatlantic(american)


@pytest.mark.parametrize("word", ["four", "hour", "does", "wise", "rise", "poet", "x", "p53", "virus", "cell"])
def test_words_with_one_spelling(word):
    assert transatlantic(word) == ()


@pytest.mark.parametrize(
    ("one", "many"),
    [
        ("virus", "viruses"),
        ("metastasis", "metastases"),
        ("mouse", "mice"),
        ("nucleus", "nuclei"),
        ("larva", "larvae"),
        ("serum", "sera"),
        ("criterion", "criteria"),
        ("appendix", "appendices"),
    ],
)
def test_plurals(one, many):
    assert many in plurals(one)
    assert one in plurals(many)


@pytest.mark.parametrize(
    ("word", "forms"),
    [
        ("statistics", ("statistic",)),
        ("statistical", ("statistic",)),
        ("statistically", ("statistic",)),
        ("music", ()),
        ("topics", ()),
        ("bus", ()),
        ("opus", ()),
        ("focus", ("focuses", "foci")),
        ("uses", ()),
        ("pi", ()),
        ("sofa", ()),
        ("flora", ("florae",)),
        ("p53us", ()),
    ],
)
def test_forms_that_stemmers_tell_apart(word, forms):
    assert plurals(word) == forms


def test_plain_words_stay_as_they_are():
    text = "Stem  cells, of the lung"
    assert expand(text) == (text, ())
    assert expand("") == ("", ())
    plain, groups = expand("growth of tumour cells")
    assert plain == "growth of cells"
    assert groups == (TermGroup("tumour", (TermVariant("tumor"),)),)


def test_words_of_other_languages_have_compounds_alone():
    assert others("tumour of TNF-alpha", language="german").keys() == {"TNF-alpha"}
    assert others("tumour TNF-alpha", kinds=()) == {}


def test_synonyms_are_found_by_the_most_words_and_weigh_as_the_typed_ones():
    synonyms = {("heart", "attack"): ("myocardial infarction", "MI"), ("heart",): ("cardiac",), ("mi",): ("a b c",)}
    assert others("Heart-attack risk", synonyms=synonyms) == {
        "Heart-attack": {"myocardial infarction", "mi", "heart attack", "heartattack"}
    }
    assert others("heart risk", synonyms=synonyms) == {"heart": {"cardiac"}}
    for text in ("heart attack", "risk of heart attack", "heart attack risk of men"):
        assert others(text, synonyms=synonyms)["heart attack"] >= {"myocardial infarction", "mi"}
    assert "attack heart" not in others("attack heart", synonyms=synonyms)
    (group,) = expand("MI", synonyms=synonyms).groups
    assert group.others == (TermVariant("a b c", pytest.approx(1 / 3)),)
    (group,) = expand("heart attack", synonyms=synonyms).groups
    assert {one.weight for one in group.others} == {1.0}  # two words are worth no more than themselves
    # A part of a compound is another word.
    assert others("heart-lung", synonyms=synonyms)["heart-lung"] == {"heart lung", "heartlung"}


def test_long_texts_get_few_spellings():
    assert expand("tumour " * MOST_WORDS).groups
    long = "tumour " * (MOST_WORDS + 1)
    assert expand(long) == (long, ())
    many = expand(" ".join(["A-1-alpha-2"] * MOST_WORDS)).groups
    assert sum(len(one.others) for one in many) == MOST_SPELLINGS


@given(st.text(max_size=200))
def test_no_word_is_lost(text):
    plain, groups = expand(text)
    kept = TOKEN.findall(" ".join([plain, *(one.typed for one in groups)]))
    assert sorted(kept) == sorted(TOKEN.findall(text)) or not groups
    assert all(one.others and all(other.text for other in one.others) for one in groups)
    assert all(compounds([word[0]]) is not None for word in TOKEN.finditer(text))
