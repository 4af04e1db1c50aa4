import html
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.markup import LONGEST_TEXT, plain_members, plain_text, with_accents


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("Uptake of H<sub>2</sub>O by <i>E. coli</i>", "Uptake of H2O by E. coli"),
        ("&lt;i&gt;In vivo&lt;/i&gt; &amp; in vitro", "In vivo & in vitro"),
        ("&amp;lt;sup&amp;gt;2&amp;lt;/sup&amp;gt;", "2"),
        ("<jats:p>A <jats:italic>trial</jats:italic></jats:p>", " A trial "),
        ("<h3>Importance</h3>None<br/>Some", " Importance None Some"),
        ('<a href="https://a.org/?q=1">A link</a> <span class=x>here</span>', "A link here"),
        ("<mml:math><mml:msub><mml:mi>x</mml:mi><mml:mn>1</mml:mn></mml:msub></mml:math>", "x1"),
        ("M&uuml;ller, TNF-&beta;, &#946;1, &#x3b2;1", "Müller, TNF-β, β1, β1"),
    ],
)
def test_markup_becomes_text(written, plain):
    assert plain_text(written) == plain


@pytest.mark.parametrize(
    ("names", "plain"),
    [
        # Of HTML, of JATS, and of MathML.
        ("a b i s u big code del em font ins kbd q small span strike strong sub sup tt var", "xyz"),
        (
            "italic bold sc scp monospace roman underline xref ext-link email named-content inline-formula "
            "inline-graphic tex-math",
            "xyz",
        ),
        (
            "math mi mn mo mtext mrow msub msup msubsup mfrac msqrt mover munder munderover mfenced mstyle mspace "
            "mmultiscripts mprescripts mpadded mphantom semantics annotation",
            "xyz",
        ),
        (
            "p br hr div h1 h2 h3 h4 h5 h6 ul ol li dl dt dd table tbody thead tr td th blockquote pre center abstract "
            "sec title label list list-item disp-formula break alternatives",
            "x y z",
        ),
    ],
)
def test_tags_within_a_line_go_and_those_of_blocks_are_blanks(names, plain):
    for name in names.split():
        for opened in (name, name.upper(), f"jats:{name}", f"mml:{name} id=\"1\" x:y='2' z=3"):
            closed = opened.partition(" ")[0]
            assert plain_text(f"x<{opened}>y</{closed}>z") == plain, opened
            empty = plain_text(f"x<{opened}/>y")
            assert empty == (f"x<{opened}/>y" if len(name) == 1 else plain.removesuffix("z").rstrip()), opened


@pytest.mark.parametrize(
    "text",
    [
        *(
            "p < 0.05 and q > 3",
            "a<b and c>d",
            "if a<b>c",
            "1<i<n, j>2",
            "x<p and p>y",
            "<p_T> = 3",
            "the mean <i> of it",
        ),
        *("a <think> token", "AT&T", "R&D;", "?a=1&copy=2", "&unknown;", "<18 years", "E[X|Y<y]", "<https://a.org>"),
        *("List<String> types", "<b", "a < b / c >"),
    ],
)
def test_what_only_looks_like_markup_stays(text):
    assert plain_text(text) == text


def test_an_escaped_comparison_is_read_as_one():
    assert plain_text("p &lt; 0.05, a&lt;b&gt;c, &lt;i&gt;n&lt;/i&gt; &gt; 3") == "p < 0.05, a<b>c, n > 3"


WORDS = st.text(st.characters(exclude_characters="<>&", exclude_categories=["C"]), max_size=20)


@given(WORDS, st.sampled_from(["i", "b", "sub", "sup", "em", "jats:italic", "mml:mi", "scp"]), WORDS, st.integers(0, 2))
def test_any_text_comes_back_from_its_markup(before, tag, within, times):
    written = f"{before}<{tag}>{within}</{tag}>"
    for _ in range(times):
        written = html.escape(written, quote=False)
    assert plain_text(written) == before + within


@given(st.text(st.sampled_from("ab<>=/&;\"' ilp0.5#"), max_size=60))
def test_text_without_closed_tags_loses_nothing_but_tags_and_entities(text):
    plain = plain_text(text)
    assert len(plain) <= len(text)
    if "</" not in text and "&" not in text and "/>" not in text:
        assert plain.replace(" ", "") == text.replace("<p>", "<p>").replace(" ", "") or "<p" in text or "<li" in text


@given(st.text(max_size=80))
def test_it_never_fails(text):
    assert isinstance(plain_text(text), str)


def test_a_text_too_long_for_a_paper_is_left_alone():
    text = "<i>x</i>" * (LONGEST_TEXT // 8 + 1)
    assert plain_text(text) is text


def test_only_texts_of_the_named_members_change():
    record = {"title": "<i>a</i>", "abstract": None, "other": "<i>a</i>", "authors": ["<i>b</i>"]}
    assert plain_members(record, ("title", "abstract", "authors")) == {**record, "title": "a"}


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (r"Schr\"odinger, Schr{\"o}dinger and Schr\"{o}dinger", "Schrödinger, Schrödinger and Schrödinger"),
        (r"Erd\H{o}s, \v{S}koda, \v Skoda, Poincar\'{e}", "Erdős, Škoda, Škoda, Poincaré"),
        (r"na\"{\i}ve, Stra{\ss}e, {\O}re, \L{}odz, \aa", "naïve, Straße, Øre, Łodz, å"),
        (r"{\'E}cole {a \'e b}", "École {a é b}"),
    ],
)
def test_accents(written, text):
    assert with_accents(written) == text


def test_each_letter_and_accent_of_tex():
    listed = (
        "ss ß o ø O Ø l ł L Ł ae æ AE Æ oe œ OE Œ aa å AA Å i \u0131 j \u0237 'e é `e è ^e ê \"e ë ~n ñ =e ē .z ż "
        r"u{g} ğ v{c} č H{o} ő c{s} ş k{e} ę r{u} ů d{a} ạ '\i í v{\j} ǰ"
    )
    pairs = listed.split()
    for written, letter in zip(pairs[::2], pairs[1::2], strict=True):
        assert with_accents(f"a{{\\{written}}}b") == f"a{letter}b"


@pytest.mark.parametrize(
    "text", [r"$\'a + \o$", r"\alpha \vec x \left( \cite{a} \over", r"\dot x", "no macro", r"\'x", r"50\% \& more"]
)
def test_mathematics_and_other_macros_stay(text):
    assert with_accents(text) == text


@given(
    st.sampled_from("aceinouyAEIOU"), st.sampled_from(["'", "`", "^", '"']), st.sampled_from(["{0}{1}", "{0}{{{1}}}"])
)
def test_each_accent_is_what_unicode_says(letter, accent, form):
    combining = {"'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308"}[accent]
    whole = unicodedata.normalize("NFC", letter + combining)
    if len(whole) == 1:
        assert with_accents("\\" + form.format(accent, letter)) == whole


@given(st.text(st.sampled_from("\\{}'\"ovHc $i"), max_size=40))
def test_accents_never_fail(text):
    assert isinstance(with_accents(text), str)
