"""Names are put together of a source's parts so that every citation divides them as the source does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.names import WrittenName, divided_names, parse_name, whole_name
from search_plugin.words.names import same_author

WORDS = st.text("abcdeéAÖMZ", min_size=2, max_size=6).map(str.capitalize).filter(lambda word: not word.isupper())
PARTS = st.lists(WORDS, min_size=1, max_size=3).map(" ".join)


@pytest.mark.parametrize(
    ("text", "family", "given", "suffix"),
    [
        ("Toth, Eric A.", "Toth", "Eric A.", ""),
        ("Eric A. Toth", "Toth", "Eric A.", ""),
        ("Toth EA", "Toth", "EA", ""),
        ("van der Berg L", "van der Berg", "L", ""),
        ("Ludwig van der Berg", "van der Berg", "Ludwig", ""),
        ("Maria De la Cruz", "De la Cruz", "Maria", ""),
        ("Mi-Na Kim", "Kim", "Mi-Na", ""),
        ("J. R. R. Tolkien", "Tolkien", "J. R. R.", ""),
        ("Martin Toth Jr.", "Toth", "Martin", "Jr."),
        ("Toth, Martin, III", "Toth", "Martin", "III"),
        ("Toth, Jr., Martin", "Toth", "Martin", "Jr."),
        ("Toth, Martin, Jr., III", "Toth", "Martin", "Jr. III"),
        ("Toth, Martin A., Bo", "Toth", "Martin A. Bo", ""),
        ("Toth II", "Toth", "II", ""),
        ("Toth MA Jr", "Toth", "MA", "Jr"),
        ("Toth M-A", "Toth", "M-A", ""),
        ("Toth M.-A.", "Toth", "M.-A.", ""),
        ("E A", "A", "E", ""),
        ("Toth EANM", "EANM", "Toth", ""),
        ("Martin, Toth Jr.", "Martin", "Toth Jr.", ""),
        (", Martin Toth Jr.", "Toth", "Martin", "Jr."),
        ("Van Morrison", "Morrison", "Van", ""),
        ("van Morrison", "Morrison", "van", ""),
        ("李 雷 Jr.", "李", "雷", "Jr."),
        ("  The   Group ", "The Group", "", ""),
        ("WHO", "WHO", "", ""),
        ("World Health Organization", "World Health Organization", "", ""),
        ("Department of Bees, Lyon", "Department of Bees, Lyon", "", ""),
        ("李 雷", "李", "雷", ""),
        (",", ",", "", ""),
    ],
)
def test_names_are_taken_apart(text, family, given, suffix):
    assert parse_name(text) == WrittenName(family, given, suffix)


@pytest.mark.parametrize("suffix", ["Jr", "Sr.", "II", "III", "iv", "2nd", "3rd", "4th"])
def test_what_follows_a_name_is_no_part_of_it(suffix):
    assert parse_name(f"Martin Toth {suffix}") == WrittenName("Toth", "Martin", suffix)


@pytest.mark.parametrize("particle", ["De", "Del", "Della", "Der", "Dos", "Von", "van", "zu"])
def test_small_words_before_a_family_name_belong_to_it(particle):
    assert parse_name(f"Maria {particle} Toth") == WrittenName(f"{particle} Toth", "Maria")


@pytest.mark.parametrize(
    "group",
    [
        *(
            "Bees and Wasps",
            "Friends of Bees",
            "Fund for Bees",
            "The Bees",
            "Bee Association",
            "Bee Center",
            "Bee Centre",
        ),
        *("Bee Centers", "Bee Collaboration", "Bee Collaborators", "Bee Committee", "Bee Consortium", "Bee Department"),
        *("Bee Group", "Bee Institute", "Bee Institutes", "Bee Investigators", "Bee Ministry", "Bee Network"),
        *(
            "Bee Organization",
            "Bee Organisation",
            "Bee Project",
            "Bee Society",
            "Bee Team",
            "Bee University",
            "bee team",
        ),
    ],
)
def test_groups_have_no_given_names(group):
    assert parse_name(group) == WrittenName(group)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Toth, Eric; Ono, Mi|x", ["Toth, Eric", " Ono, Mi|x"]),
        ("Toth, Eric|Ono, Mi", ["Toth, Eric", "Ono, Mi"]),
        ("Eric Toth and Mi Ono", ["Eric Toth", "Mi Ono"]),
        ("Toth, Eric & Ono, Mi", ["Toth, Eric", "Ono, Mi"]),
        ("Toth, E., Ono, M. and Kim, L.", ["Toth, E.", "Ono, M.", "Kim, L."]),
        ("Bees and Wasps", ["Bees and Wasps"]),
        ("Toth EA, de Vries K.", ["Toth EA", "de Vries K"]),
        ("Toth E.A., Ono M.", ["Toth E.A.", "Ono M."]),
        ("Toth EA Jr, Ono M, et al.", ["Toth EA Jr", "Ono M"]),
        ("Toth EA, et al", ["Toth EA, et al"]),
        ("Toth, E., Ono, M.", ["Toth, E.", "Ono, M."]),
        ("Toth, E., Ono", ["Toth, E., Ono"]),
        ("Toth, E.", ["Toth, E."]),
        ("Toth, Martin, Ono, Mi", ["Toth, Martin, Ono, Mi"]),
        ("Toth", ["Toth"]),
        ("", [""]),
    ],
)
def test_a_list_of_names_is_divided_where_its_separators_are_clear(text, names):
    assert divided_names(text) == names


@pytest.mark.parametrize(
    ("family", "given", "suffix", "whole"),
    [
        ("Toth", "Eric A.", "", "Eric A. Toth"),
        ("van den Berg", "Ludwig", "", "Ludwig van den Berg"),
        ("Rodríguez García", "José Ignacio", "", "Rodríguez García, José Ignacio"),
        ("Toth", "Martin", "Jr.", "Martin Toth Jr."),
        ("Rodríguez García", "José", "Jr.", "Rodríguez García, José, Jr."),
        ("WHO", "", "", "WHO"),
        ("", "Madonna", "", "Madonna"),
    ],
)
def test_a_whole_name_says_how_it_is_divided_where_its_words_do_not(family, given, suffix, whole):
    assert whole_name(family, given, suffix) == whole


@given(PARTS, PARTS, st.sampled_from(["", "Jr.", "III"]))
def test_a_name_is_divided_as_its_source_does(family, given, suffix):
    name = whole_name(family, given, suffix)
    assert parse_name(name) == (family, given, suffix)


@pytest.mark.parametrize("typed", ["Rodríguez García", "Garcia JI", "Rodriguez, José", "José Ignacio Rodríguez García"])
def test_an_author_with_two_family_names_is_found_by_either(typed):
    assert same_author(typed, whole_name("Rodríguez García", "José Ignacio"))
    assert not same_author("Ignacio, José", whole_name("Rodríguez García", "José Ignacio"))
