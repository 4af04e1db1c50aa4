"""What typed queries mean, and which texts are words alone."""

from __future__ import annotations

import pytest

from corpora.errors import InputError
from search_plugin.contract.schema import PAPER_FIELDS, Field
from search_plugin.contract.tree import Alike, And, Says
from search_plugin.filters.parse import as_query, parse_filter
from search_plugin.request import SearchRequest, make_request
from search_plugin.understanding.queries import TypedQuery, read_query
from tests.search_plugin.filters.written import to_text

FIELDS = (*PAPER_FIELDS, Field("published", "date"), Field("impact", "number"), Field("summary", "text"))
BRACKETS = "Brackets that don't pair or hold nothing were left out."
EMBRYONIC = 'not text says "embryonic"'


def of(query):
    """The words and the filter of a query, which has no notes."""
    assert query.notes == ()
    return query.words, query.filter and to_text(query.filter)


@pytest.mark.parametrize(
    ("text", "words", "where"),
    [
        ('"exact phrase" mice', "exact phrase mice", 'text says "exact phrase"'),
        ("\u201cexact phrase\u201d", "exact phrase", 'text says "exact phrase"'),
        ("\u201eexact phrase\u201c", "exact phrase", 'text says "exact phrase"'),
        ("\u00abexact phrase\u00bb", "exact phrase", 'text says "exact phrase"'),
        ("stem cells -embryonic", "stem cells", EMBRYONIC),
        ("stem cells \u2212embryonic", "stem cells", EMBRYONIC),
        ("stem cells NOT embryonic", "stem cells", EMBRYONIC),
        ("stem cells AND NOT embryonic", "stem cells", f'text says "stem" and text says "cells" and {EMBRYONIC}'),
        ('cells -"stem cell line"', "cells", 'not text says "stem cell line"'),
        ("cells -5-HT2A", "cells", 'not text says "5-HT2A"'),
        ("cells -(mice OR rats)", "cells", 'not (text says "mice" or text says "rats")'),
        ("cells -(mice rats)", "cells", 'not (text says "mice" and text says "rats")'),
        ("cells -NOT mice OR x", "cells mice x", 'text says "cells" and text says "mice" or text says "x"'),
        ("tumor AND (mice OR rats)", "tumor mice rats", 'text says "tumor" and (text says "mice" or text says "rats")'),
        ("tumor (mice OR rats), therapy", "tumor mice rats therapy", 'text says "mice" or text says "rats"'),
        (
            "heart attack OR stroke AND aspirin",
            "heart attack stroke aspirin",
            'text says "heart" and text says "attack" or text says "stroke" and text says "aspirin"',
        ),
        ("(heart (attack)) AND x", "heart attack x", 'text says "heart" and text says "attack" and text says "x"'),
        ("mice OR -rats", "mice", 'text says "mice" or not text says "rats"'),
        ("the OR cancer of bones", "the cancer of bones", 'text says "cancer" and text says "bones"'),
        ("(Ca(2+) OR Mg) cells", "Ca(2+) Mg cells", 'text says "Ca(2+)" or text says "Mg"'),
        ("title:cancer lungs", "cancer lungs", 'title says "cancer"'),
        ('TITLE:"lung cancer"', "lung cancer", 'title says "lung cancer"'),
        ('cells -title:"lung cancer"', "cells", 'not title says "lung cancer"'),
        ("masks year:2019", "masks", "year = 2019"),
        ("masks year:2019..2021", "masks", "year >= 2019 and year <= 2021"),
        ("masks year:2019-2021", "masks", "year >= 2019 and year <= 2021"),
        ("masks year:2019..", "masks", "year >= 2019"),
        ("masks year:..2021,", "masks", "year <= 2021"),
        ("masks year:>2019", "masks", "year > 2019"),
        ("masks (year:2019 OR year:<=2001)", "masks", "year = 2019 or year <= 2001"),
        ("masks impact:0.5..1", "masks", "impact >= 0.5 and impact <= 1"),
        ("masks published:2020-03..2020-06", "masks", 'published >= "2020-03-01" and published <= "2020-06-30"'),
        ("masks author:Fauci", "masks", 'authors = "Fauci"'),
        ('masks author:"Toth, Eric A."', "masks", 'authors = "Toth, Eric A."'),
        ('masks author:"2019..2021"', "masks", 'authors = "2019..2021"'),
        (r"masks author:x\"", "masks", r'authors = "x\\\""'),
        ("masks journal:Nature venue:Science", "masks", 'venue = "Nature" and venue = "Science"'),
        ("masks -retracted:true", "masks", "not retracted = true"),
        # What follows without a space is words.
        ('author:"Kim"year:2020 masks', "year:2020 masks", 'authors = "Kim"'),
        ('author:"Kim"-x masks', "-x masks", 'authors = "Kim"'),
        ('"stem cells"-x masks', "stem cells -x masks", 'text says "stem cells"'),
        ('"stem cells""of mice" masks', 'stem cells "of mice" masks', 'text says "stem cells"'),
        ('"a b c d e" AND (x)', "a b c d e x", 'text says "a b c d e" and text says "x"'),
        ("HIV AND (HCV OR HBV)", "HIV HCV HBV", 'text says "HIV" and (text says "HCV" or text says "HBV")'),
        ("HIV AND HCV AND HBV AND HDV NOT HEV", "HIV HCV HBV HDV", None),
        ('("stem cells" OR a), b -c', "stem cells a b", None),
        ("病毒 -疫苗", "病毒", 'not text says "疫苗"'),
    ],
)
def test_reads(text, words, where):
    read, found = of(read_query(text, FIELDS))
    assert read == words
    assert where is None or found == to_text(parse_filter(where, FIELDS))


@pytest.mark.parametrize(
    ("text", "words", "where", "told"),
    [
        ("jurnal:Nature masks", "masks", 'venue = "Nature"', "There is no field jurnal, so journal was searched."),
        ("masks yaer:2019", "masks", "year = 2019", "There is no field yaer, so year was searched."),
        ("titel:lungs", "lungs", 'title says "lungs"', "There is no field titel, so title was searched."),
        ("masks YAER:2019", "masks", "year = 2019", "There is no field YAER, so year was searched."),
    ],
)
def test_a_misspelled_field_is_read_and_told(text, words, where, told):
    read = read_query(text, FIELDS)
    assert (read.words, to_text(read.filter), read.notes) == (words, to_text(parse_filter(where, FIELDS)), (told,))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "masks in schools kids",
        "lung cancer in non-smokers TNF-alpha p<0.05 5-HT2A IL-6 C++ DNA/RNA CD4+ T cells",
        "COVID-19: http://example.org/x?y=1 Re: a reply",
        "Aspirin: a review",
        "summary:x text:x 16S:x",
        "stored at -80 °C or -20°C or -80C, -1.5 and -10% (-5)",
        "masks - a review -- and more -",
        "a 5\" tube of 3' length",
        "cats and dogs or mice not rats And Or Not",
        "(CI 95%) a) b( (c d) Ca(2+) (+)-catechin ))",
        "Does vitamin D prevent cancer?",
        "10.1016/j.cell.2009.01.001",
        "and/or AND/OR ANDROID NOTCH ORF",
        "di:x ids:x yaers:2019 sumary:x",  # too short for a misspelling, two mistakes, or a field of text
    ],
)
def test_plain_words_stay_as_they_are(text):
    assert read_query(text, FIELDS) == TypedQuery(text)
    if text:
        assert make_request(text, fields=FIELDS) == SearchRequest(text)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ('the "missing heritability', "A quote is not closed, so the words after it were taken as plain words."),
        ("risk (OR 1.5, 95% CI)", "OR lacks words that it applies to, so it was taken as a word."),
        ("cats AND", "AND lacks words that it applies to, so it was taken as a word."),
        ("cats NOT", "NOT lacks words that it applies to, so it was taken as a word."),
        ("(cats NOT) x", "NOT lacks words that it applies to, so it was taken as a word."),
        ("(((covid", BRACKETS),
        ("( ) covid", BRACKETS),
        ("title: masks", 'title: was taken as a word; write title:word or title:"some words", without a space.'),
        ("Year:(a b)", 'Year: was taken as a word; write Year:word or Year:"some words", without a space.'),
        ('author:"x', 'author: was taken as a word; write author:word or author:"some words", without a space.'),
        (
            "year:soon",
            "The value in year:soon can't be read, so it was taken as words; write year:2019 or year:2019..2021.",
        ),
        (
            "year:..",
            "The value in year:.. can't be read, so it was taken as words; write year:2019 or year:2019..2021.",
        ),
        (
            'author:"" x',
            'The value in author:"" can\'t be read, so it was taken as words; '
            'write author:value or author:"some value".',
        ),
        (
            "published:May",
            "The value in published:May can't be read, so it was taken as words; write published:2019-03 or "
            "published:2019-03..2020.",
        ),
        (
            '"to be or not to be"',
            '"to be or not to be" has no word that can be searched for, so it does not restrict the search.',
        ),
        ("x -the", '"the" has no word that can be searched for, so it does not restrict the search.'),
        ("x title:!", '"!" has no word that can be searched for, so it does not restrict the search.'),
        (
            "TGF-beta 1, -beta 2 and more",
            "-beta seems to continue a list, so it was taken as a word; to leave it out, write NOT before it.",
        ),
        (
            "alpha and -beta",
            "-beta seems to continue a list, so it was taken as a word; to leave it out, write NOT before it.",
        ),
        *(
            (text, "-beta seems to continue a list, so it was taken as a word; to leave it out, write NOT before it.")
            for text in ("TGF-alpha; -beta", "alpha/ -beta", "alpha or -beta", "alpha to -beta", "alpha & -beta")
        ),
        ("(" * 16 + "a OR b" + ")" * 16, "Brackets nest deeper than 15, so the query was taken as words."),
        ("ASPIRIN DOES NOT PREVENT STROKE", "The query is all in capitals, so AND, OR and NOT were taken as words."),
        ("EFFECTS OF A AND B", "The query is all in capitals, so AND, OR and NOT were taken as words."),
    ],
)
def test_what_cannot_be_read_is_taken_as_words_and_said(text, note):
    assert read_query(text, FIELDS) == TypedQuery(text, notes=(note,))


def test_brackets_that_do_not_pair_are_left_out():
    for text in ("(cats -dogs", "cats) -dogs", "cats () -dogs", "((cats) -dogs"):
        query = read_query(text)
        assert (query.words, to_text(query.filter)) == ("cats", 'not text says "dogs"'), text
        assert query.notes == (BRACKETS,)


def test_a_pasted_abstract_is_words():
    abstract = 'We studied "stem cells" AND mice, -80 degrees, year:2019 (OR 1.5). ' * 6
    query = read_query(abstract)
    assert query.words == abstract
    assert query.filter is None
    assert query.notes == ("The text has several sentences, so all of it was taken as words, without operators.",)
    assert read_query("We studied mice, -rats etc. (OR 1.5). " * 9) == TypedQuery(
        "We studied mice, -rats etc. (OR 1.5). " * 9
    )
    search = " OR ".join(f'"heart disease no. {number}"' for number in range(30))
    assert len(read_query(search).filter.parts) == 30


@pytest.mark.parametrize(("words", "read"), [(40, True), (41, False)])
def test_a_text_of_more_than_forty_words_with_sentences_is_no_query(words, read):
    text = " ".join(["One. Two", *["masks"] * (words - 3), "-mice"])
    assert (read_query(text).filter is not None) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("LUNG CANCER AND MICE", True),
        ("LUNG CANCER CELLS AND MICE", False),
        ("LUNG AND CANCER AND CELLS AND MICE", True),
        ('LUNG CANCER CELLS AND "MICE"', True),
        ("LUNG CANCER CELLS AND (MICE)", True),
        ("LUNG CANCER CELLS AND mice", True),
        ("THE LUNG AND MICE", False),
    ],
)
def test_words_in_capitals_may_be_a_title(text, read):
    assert (read_query(text).filter is not None) == read


@pytest.mark.parametrize(("depth", "read"), [(15, True), (16, False)])
def test_brackets_nest_up_to_fifteen_deep(depth, read):
    query = read_query("(" * depth + "a b OR c" + ")" * depth + " d e")
    assert (query.filter is not None) == read


def test_stop_words_are_those_of_the_language():
    assert read_query("x -nicht", language="german").filter is None
    assert read_query("x -nicht").filter == parse_filter("not text says nicht")


def test_a_request_keeps_the_query_and_adds_its_filter_to_the_given_one():
    made = make_request("stem cells -embryonic a OR", filter="year>=2000", size=3)
    assert (made.query, made.words, made.searched) == (
        "stem cells -embryonic a OR",
        "stem cells a OR",
        "stem cells a OR",
    )
    assert made.filter == And((parse_filter(EMBRYONIC), parse_filter("year>=2000")))
    assert made.notes == ("OR lacks words that it applies to, so it was taken as a word.",)
    assert made.size == 3
    assert make_request("x -y").filter == parse_filter("not text says y")
    plain = make_request("x y", filter="year>=2000")
    assert (plain.words, plain.searched, plain.filter) == (None, "x y", parse_filter("year>=2000"))


def test_a_literal_query_is_plain_words():
    assert make_request("stem -cells author:x", literal=True) == SearchRequest("stem -cells author:x")
    assert SearchRequest("stem -cells").filter is None


def test_a_query_of_constraints_lists_what_matches_them():
    made = make_request('author:"Kim Mi-Na" year:2020 journal:Nature -author:x')
    assert made.searched == ""
    assert made.filter is not None
    assert make_request("title:masks year:2020").searched == "masks"


def test_words_and_notes_are_no_options():
    for name in ("words", "notes", "query"):
        with pytest.raises((InputError, TypeError), match=name):
            make_request("x", **{name: "y"})


def test_a_star_after_the_value_of_a_field_stands_for_any_end():
    for typed in ("venue:ann* AND mice", 'venue:"ann*" AND mice'):
        read = read_query(typed).filter
        assert read == And((Alike("venue", "prefix", ("ann",)), Says("text", "mice")))
        assert read_query(as_query(read)).filter == read
    assert read_query("venue:* AND mice").filter == And((Alike("venue", "same", ("*",)), Says("text", "mice")))
