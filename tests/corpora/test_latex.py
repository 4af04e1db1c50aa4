"""Expected values are what LaTeX prints; the macros are those of pylatexenc's tables."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pylatexenc.latex2text import LatexNodes2Text, get_default_latex_context_db
from pylatexenc.latexwalker import get_default_latex_context_db as known_macros

from corpora.latex import latex_name, latex_text

MACROS = sorted(
    {
        spec.macroname
        for database in (get_default_latex_context_db(), known_macros())
        for spec in database.iter_macro_specs()
    }
)
ACCENTS = set("'`^\"~=.uvHckrdb")
WITHOUT_TEXT = re.compile(
    "[cC]ite.*|.*[cC]?ref|RequirePackage|add(counter|length)|set(counter|length)|.*color|f?colorbox|documentclass|"
    "usepackage|[hv](phantom|space)|href|includegraphics|label|newcommand|selectlanguage|texorpdfstring"
)
"""Macros whose first argument is no text."""


def harmful(name):
    """Yield the texts with a macro that are not read to their end, or lose words of its argument."""
    argument = rf"One \{name}{{b}}{{c}} two"
    for latex in (argument, rf"One {{\{name}}} two", rf"One \{name}{{}} two", rf"One {{\{name} x}} two"):
        if not re.fullmatch("One .*two", latex_text(latex), re.DOTALL):
            yield latex
    if not latex_text(rf"One \{name}").startswith("One"):
        yield rf"One \{name}"
    if not WITHOUT_TEXT.fullmatch(name) and name not in ACCENTS and "b" not in latex_text(argument):
        yield argument


def test_no_macro_stops_the_reading_or_takes_words_away():
    assert len(MACROS) > 900
    assert [latex for name in MACROS for latex in harmful(name)] == []


SYMBOLS = [
    (spec.macroname, spec.simplify_repl)
    for spec in get_default_latex_context_db().iter_macro_specs(categories=["latex-base", "advanced-symbols"])
    if isinstance(spec.simplify_repl, str) and "%" not in spec.simplify_repl and spec.macroname.isalpha()
]
OTHERWISE = {"textasciicircum": "^", "textasciigrave": "`", "textperiodcentered": "·", "today": ""}
"""The tables have accents without a letter for these, and the day on which they are read."""


def test_symbols_are_those_of_the_tables():
    assert len(SYMBOLS) > 500
    read = [latex_text(rf"a{{\{name}}}b").split() for name, _ in SYMBOLS]
    assert read == [f"a{OTHERWISE.get(name, symbol)}b".split() for name, symbol in SYMBOLS]


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"{\textless}i{\textgreater}Homo{\textless}/i{\textgreater}", "<i>Homo</i>"),
        (r"\mbox{DNA} {\textbar} \LaTeX{} and \TeX", "DNA | LaTeX and TeX"),
        (r"see \href{https://x.example/a_b%20c}{the {\em page}} now", "see the page now"),
        (r"\url{https://x.example/~a_b%20c}", "https://x.example/~a_b%20c"),
        (r"50% of 5\% and 10{\%}", "50% of 5% and 10%"),
        (r"Stra\ss e, Erd\H os, \'{\i}, \v{s}\'\j, \c{c}\r a \"{U}", "Straße, Erdős, í, šj\u0301, çå Ü"),
        (r"$\alpha$ and \alpha waves, 5 \textmu m, \ae on", "$\\alpha$ and \u03b1 waves, 5 µ m, æon"),
        (r"costs $5 and $10, {US$6} and {A$7}", "costs $5 and $10, US$6 and A$7"),
        (r"$a_{1}<b$, \(x\%\), \[y\] and $$z$$", r"$a_{1}<b$, \(x\%\), \[y\] and $$z$$"),
        (r"an open \( and \[ and $", "an open ( and [ and $"),
        (r"a~b -- c --- ``d'' `e' ?`f !`g", "a b – c — “d” `e' ¿f ¡g"),  # noqa: RUF001
        (r"-{}-{}- '{}' `{}`", "--- '' ``"),
        (r"\textcolor[rgb]{1,0,0}{red} \fcolorbox{a}{b}{c}\hspace*{2cm}x", "red cx"),
        (r"\frac{1}{2}, \frac12, \sqrt[3]{x}, CO\textsubscript{2}", "1/2, 1/2, √x, CO2"),
        (r"\verb|a_b| \verb", "a_b "),
        (r"word\footnote[2]{a note} \cite[p.~3]{key}end", "word [a note] end"),
        (
            r"\unknown stays, \unknown{its text} too, {\it this} \textbf {and} \\[2pt]",
            r"\unknown stays, its text too, this and  [2pt]",
        ),
        (r"\{a\} \# \_ \& \$ \^{} \~{} \textbackslash a\-b\/c\,d", r"{a} # _ & $ ^ ~ \ abc d"),
        (r"\foreignlanguage{german}{gut} \enquote{so} \texorpdfstring{$x$}{x}", "gut “so” x"),
        (r"$a\$b---c$ \$--- $y{---}$ 5$--- 6$7", r"$a\$b---c$ $— $y{---}$ 5$— 6$7"),
        ("unclosed {brace \\textbf{and", "unclosed brace and"),
        ("stray } brace and \\", "stray  brace and \\"),
    ],
)
def test_what_latex_prints(latex, text):
    assert latex_text(latex) == text


@pytest.mark.parametrize(
    ("names", "latex", "text"),
    [
        (
            "bf em it rm sc sf sl tt bfseries itshape mdseries rmfamily scshape sffamily slshape ttfamily upshape "
            "normalfont tiny scriptsize footnotesize small normalsize large Large LARGE huge Huge centering noindent "
            "protect relax unskip ignorespaces xspace displaystyle textstyle limits nolimits left right bgroup egroup "
            "begingroup endgroup allowbreak nobreak null strut leavevmode maketitle upright boldmath today selectfont "
            "raggedright sloppy hfill",
            r"{a\%s b}",
            "ab",
        ),
        ("space nobreakspace quad qquad thinspace enspace newline break par item newblock", r"a\%s b", "a  b"),
        (
            "href textcolor colorbox color pagecolor foreignlanguage bibinfo label ref autoref cref Cref eqref pageref "
            "hspace vspace includegraphics selectlanguage begin end noopsort SortNoop fontsize documentclass "
            "usepackage RequirePackage phantom hphantom vphantom texorpdfstring",
            r"\%s{no}[no]{yes} \%s yes",
            "yes yes",
        ),
        ("fcolorbox setlength addlength setcounter addcounter newcommand", r"\%s{no}[no]{no}{yes} \%s yes", "yes yes"),
        ("url path nolinkurl doi", r"\%s{a_b%20{c}~} \%s", r"a_b%20{c}~ \%s"),
        ("frac nicefrac textfrac sfrac tfrac dfrac", r"\%s{1}{2}\%s3\beta", "1/23/\u03b2"),
        ("enquote mkbibquote", r"\%s{a}", "“a”"),
        ("cite Cite citep", r"a\%s{b}", "a"),
        ("' ` ^", r"\%s{} \%s", "%s %s"),
        ("u v H c k r d b", r"\%s{}a", "a"),
        (", ; : > \\", r"a\%sb", "a b"),
        ("- / ! @ ) ]", r"a\%sb", "ab"),
        ("_ & # $ % { }", r"a\%sb", "a%sb"),
    ],
)
def test_what_macros_of_a_kind_print(names, latex, text):
    for name in names.split():
        assert latex_text(latex.replace("%s", name)) == text.replace("%s", name), name


@pytest.mark.parametrize(
    ("begin", "end", "most"),
    [("$", "$", 1997), ("$$", "$$", 1996), (r"\(", r"\)", 1996), (r"\[", r"\]", 1996), (r"\verb|", "|", 1996)],
)
def test_mathematics_and_what_is_verbatim_end_within_2000_characters(begin, end, most):
    for length in (most, most + 1):
        inside = f"--{'a' * length}"
        text = latex_text(f"{begin}{inside}{end}")
        assert ("--" in text) == (length == most)
    assert latex_text(rf"\unknown[{'a' * 200}]{{x}}") == "x"
    assert latex_text(rf"\unknown[{'a' * 201}]{{x}}") == rf"\unknown[{'a' * 201}]x"


@pytest.mark.parametrize(
    ("latex", "name"),
    [
        (r"10.5555/x-6\_12", "10.5555/x-6_12"),
        (r"{10.5555/a{\_}b--c~d}", "10.5555/a_b--c~d"),
        (r"10.1/1{\textless}2{\textgreater}3", "10.1/1<2>3"),
        (r"\url{https://x.example/a\_b~c%20d\#e}", "https://x.example/a_b~c%20d#e"),
        (r"\\server\unknown", r"\\server\unknown"),
    ],
)
def test_addresses_and_identifiers(latex, name):
    assert latex_name(latex) == name


@pytest.mark.parametrize("piece", ["\\'", "{", "}", "$1", r"\(", r"\[", r"\verb|", r"\frac", r"\href{", r"\url", "\\"])
def test_long_texts_take_time_in_proportion(piece):
    assert len(latex_text(piece * 20_000)) <= len(piece) * 20_000


@given(st.text(st.sampled_from("\\{}$%~`'-\"^ ab[]()*|frc"), max_size=40))
def test_any_text_is_read(latex):
    assert isinstance(latex_text(latex), str)


@given(st.text(st.sampled_from("abÄé 0."), max_size=30))
def test_a_text_without_macros_stays(text):
    assert latex_text(text) == text == LatexNodes2Text().latex_to_text(text)
