"""References in each style: expected ones are written after the examples of the manuals."""

from __future__ import annotations

from dataclasses import replace

import pytest

from corpora.paper import Paper
from corpora.publication import Publication
from ses.service.web.styles import STYLES, apa, chicago, mla, vancouver

ARTICLE = Paper(
    "a",
    "Masks and the virus.",
    authors=("Byron, Ada", "Ludwig van der Berg", "Jean-Luc Picard"),
    year=2021,
    venue="Nature",
    publication=Publication(volume="12", issue="3", pages="45-51"),
    identifiers=("doi:10.1000/1",),
)
LINK = "https://doi.org/10.1000/1"
MANY = replace(ARTICLE, authors=tuple(f"Name{at:02}, Ann" for at in range(1, 26)))


def test_an_article_in_each_style():
    assert apa(ARTICLE) == (
        f"Byron, A., van der Berg, L., & Picard, J.-L. (2021). Masks and the virus. Nature, 12(3), 45\u201351. {LINK}"
    )
    assert (
        mla(ARTICLE)
        == f"Byron, Ada, et al. “Masks and the virus.” Nature, vol. 12, no. 3, 2021, pp. 45\u201351, {LINK}."
    )
    assert chicago(ARTICLE) == (
        "Byron, Ada, Ludwig van der Berg, and Jean-Luc Picard. “Masks and the virus.” "
        f"Nature 12, no. 3 (2021): 45\u201351. {LINK}."
    )
    assert vancouver(ARTICLE) == (
        f"Byron A, van der Berg L, Picard JL. Masks and the virus. Nature. 2021;12(3):45-51. {LINK}"
    )


def test_one_author_two_and_none():
    one = replace(ARTICLE, authors=("Byron, Ada",), publication=None)
    two = replace(one, authors=("Byron, Ada", "Toth, Eric A."))
    none = replace(one, authors=())
    assert apa(one) == f"Byron, A. (2021). Masks and the virus. Nature. {LINK}"
    assert apa(two) == f"Byron, A., & Toth, E. A. (2021). Masks and the virus. Nature. {LINK}"
    assert apa(none) == f"Masks and the virus. (2021). Nature. {LINK}"
    assert mla(two) == f"Byron, Ada, and Eric A. Toth. “Masks and the virus.” Nature, 2021, {LINK}."
    assert mla(none) == f"“Masks and the virus.” Nature, 2021, {LINK}."
    assert chicago(two) == f"Byron, Ada, and Eric A. Toth. “Masks and the virus.” Nature (2021). {LINK}."
    assert vancouver(two) == f"Byron A, Toth EA. Masks and the virus. Nature. 2021. {LINK}"


def test_long_lists_of_authors_are_cut_as_each_style_says():
    assert apa(MANY).count("Name") == 20
    assert "Name19, A., . . . Name25, A. (2021)" in apa(MANY)
    assert apa(replace(MANY, authors=MANY.authors[:20])).count("Name") == 20
    assert mla(MANY).startswith("Name01, Ann, et al. “")
    assert chicago(MANY).startswith(
        "Name01, Ann, Ann Name02, Ann Name03, Ann Name04, Ann Name05, Ann Name06, Ann Name07"
    )
    assert ", et al. “" in chicago(MANY)
    assert vancouver(MANY).startswith("Name01 A, Name02 A, Name03 A, Name04 A, Name05 A, Name06 A, et al. Masks")


def test_what_is_unknown_is_left_out():
    bare = Paper("b", "Is it so?")
    assert apa(bare) == "Is it so? (n.d.)."
    assert mla(bare) == "“Is it so?”"
    assert chicago(bare) == "“Is it so?”"
    assert vancouver(bare) == "Is it so?"
    group = Paper("c", "Report", authors=("World Health Organization",), year=2020)
    assert "Organization" in vancouver(group)


def test_a_number_of_an_article_is_no_range_of_pages():
    article = replace(ARTICLE, publication=Publication(volume="9", pages="e0123456"))
    assert "Nature, 9, Article e0123456." in apa(article)
    assert "vol. 9, 2021, e0123456," in mla(article)
    assert "Nature 9 (2021): e0123456." in chicago(article)
    assert "2021;9:e0123456." in vancouver(article)


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_a_reference_is_one_line_whatever_a_record_holds(style):
    odd = Paper("d", "A\ntitle", authors=("x\n, y", ""), venue="J\n", publication=Publication(volume="1\n2"))
    assert "\n" not in style(replace(odd, publication=None))
