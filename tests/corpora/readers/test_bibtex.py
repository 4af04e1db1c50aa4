r"""Entries are written by hand after the BibTeX and BibLaTeX manuals."""

import sys

import bibtexparser
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.custom import CustomField
from corpora.errors import InputError, UnavailableError
from corpora.identifiers import identifier_of
from corpora.paper import Accepted, Paper, Rejected
from corpora.publication import Publication
from corpora.readers import bibtex

FULL = r"""% An export
@string{jmed = "Journal of {\"O}kologie"}
@comment{not read}
@article{sample2014,
  author    = {Sample, Zo{\"e} and Mari{\'a} de la Example and {World Health Organization} and others},
  title     = {The {SARS} virus: $a<b$ \& <i>more</i> from {\O}rsted},
  journal   = jmed,
  year      = 2014,
  month     = may,
  abstract  = {Costs rose by 5\% --- in
               {\ss}},
  keywords  = {masks, schools; Kinder},
  publisher = {A Press},
  volume = 12, number = {3}, pages = {45--51}, issn = {1234-5679}, eissn = {2345-678X},
  doi       = {10.1000/A_b},
  url       = {https://example.org/a_b},
  eprint    = {2004.07180}, archivePrefix = {arXiv},
  langid    = {english},
}
"""


def read(folder, text, custom=()):
    path = folder / "library.bib"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return list(bibtex.read(path, {}, custom))


def key_of(paper):
    return identifier_of(paper, "key")


def test_an_entry_with_everything(tmp_path):
    assert read(
        tmp_path,
        FULL,
        [CustomField("publisher", "keyword"), CustomField("month", "keyword"), CustomField("key", "keyword")],
    ) == [
        Accepted(
            4,
            Paper(
                id="10.1000/a_b",
                title="The SARS virus: $a<b$ & more from Ørsted",
                abstract="Costs rose by 5% — in ß",
                authors=("Zoë Sample", "Mariá de la Example", "World Health Organization"),
                year=2014,
                venue="Journal of Ökologie",
                types=("article",),
                language="english",
                fields=("masks, schools", "Kinder"),
                identifiers=("doi:10.1000/a_b", "arxiv:2004.07180", "key:sample2014"),
                url="https://example.org/a_b",
                extra={"publisher": "A Press", "month": "may", "key": "sample2014"},
                publication=Publication("12", "3", "45-51", "A Press", ("1234-5679", "2345-678X")),
            ),
        )
    ]


def test_biblatex_and_books(tmp_path):
    (record,) = read(
        tmp_path, "@InProceedings{x, title={T}, editor={Ed, A.}, date={2019-05-01}, booktitle={Proc. of X}, eprint={1}}"
    )
    assert (record.paper.year, record.paper.venue, record.paper.authors) == (2019, "Proc. of X", ("A. Ed",))
    assert (record.paper.types, record.paper.identifiers) == (("inproceedings",), ("key:x",))


VENUES = ("journal", "journaltitle", "booktitle", "maintitle", "school", "institution", "organization")
ADDRESSES = ("url", "doi", "ee", "howpublished", "file", "eprint", "pmid", "pmcid", "crossref")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        *(({name: name for name in VENUES[at:]}, {"venue": name}) for at, name in enumerate(VENUES)),
        ({"langid": "german", "language": "en"}, {"language": "german"}),
        ({"language": "en"}, {"language": "en"}),
        ({"url": "https://x.example/u", "ee": "https://x.example/e"}, {"url": "https://x.example/u"}),
        ({"ee": "https://x.example/e--f"}, {"url": "https://x.example/e--f"}),
        ({"number": "1", "issue": "2"}, {"publication": Publication(issue="1")}),
        ({"issue": "2"}, {"publication": Publication(issue="2")}),
        ({"eid": "e1", "articleno": "e2", "article-number": "e3"}, {"publication": Publication(pages="e1")}),
        ({"articleno": "e2", "article-number": "e3"}, {"publication": Publication(pages="e2")}),
        ({"article-number": "e3"}, {"publication": Publication(pages="e3")}),
        ({"pmcid": "PMC1", "pmc": "PMC2"}, {"identifiers": ("pmc:PMC1", "key:k")}),
        ({"pmc": "PMC2"}, {"identifiers": ("pmc:PMC2", "key:k")}),
        ({"ee": "https://doi.org/10.5555/ee"}, {"identifiers": ("doi:10.5555/ee", "key:k")}),
        ({"eprint": "2004.07180", "eprinttype": "arXiv"}, {"identifiers": ("arxiv:2004.07180", "key:k")}),
        ({"eprint": "2004.07180", "eprinttype": "jstor"}, {"identifiers": ("key:k",)}),
        ({"note": "Retracted"}, {"retracted": True}),
        ({"note": "Not retracted"}, {"retracted": False}),
        ({"author": "A, B.", "editor": "C, D."}, {"authors": ("B. A",)}),
        ({"abstract": "a <i>b</i>", "booktitle": "<b>P</b>"}, {"abstract": "a b", "venue": "P"}),
        # Addresses and identifiers keep what LaTeX prints otherwise.
        *(({name: r"a\_b--c~d"}, {"extra": {name: "a_b--c~d"}}) for name in ADDRESSES),
        ({"annote": r"a\_b--c~d"}, {"extra": {"annote": "a_b\u2013c d"}}),
    ],
)
def test_which_field_gives_what(tmp_path, fields, expected):
    written = "".join(f", {name} = {{{value}}}" for name, value in fields.items())
    custom = [CustomField(name, "keyword") for name in fields]
    (record,) = read(tmp_path, f"@misc{{k, title = {{T}}{written}}}", custom if "extra" in expected else ())
    assert {name: getattr(record.paper, name) for name in expected} == expected


def test_what_is_no_paper_is_none(tmp_path):
    kinds = ("xdata", "set", "bibnote", "Control", "misc", "comment", "preamble")
    records = read(tmp_path, "".join(f"@{kind}{{{kind}, title = {{T}}}}\n" for kind in kinds))
    assert [key_of(record.paper) for record in records] == ["misc"]


def test_a_paper_has_no_text_name_or_number_of_its_proceedings(tmp_path):
    own = (
        *("title", "subtitle", "abstract", "keywords", "doi", "url", "ee", "eprint", "pmid", "pmcid", "note", "file"),
        *("crossref", "xdata", "author", "shorttitle", "langid", "isbn", "ids", "type"),
    )
    given = (*own, "publisher", "series")
    parent = "".join(f", {name} = {{P-{name}}}" for name in given)
    children = "@incollection{c, title={C}, crossref={p}}\n@article{a, title={A}, crossref={P}}\n"
    custom = [CustomField(name, "keyword") for name in (*given, "booktitle", "journaltitle")]
    chapter, article, _ = (record.paper.extra for record in read(tmp_path, f"{children}@book{{p{parent}}}", custom))
    inherited = {"publisher": "P-publisher", "series": "P-series"}
    assert chapter == {"title": "C", "crossref": "p", "booktitle": "P-title"} | inherited
    assert article == {"title": "A", "crossref": "P", "journaltitle": "P-title"} | inherited


def test_broken_entries_cost_themselves(tmp_path):
    text = (
        "@article{a, title={A}}\n@article{b, title={B\n@article{c, title={C}}\n@misc{d, title={D}, title={E}}\n"
        "@article{a, title={A2}}\n@book{e, year=2000}\n@article{f, title={F"
    )
    records = read(tmp_path, text)
    assert [(record.line, type(record)) for record in records] == [
        *((1, Accepted), (2, Rejected), (3, Accepted), (4, Accepted), (5, Accepted), (6, Rejected), (7, Rejected))
    ]
    assert records[4].paper.title == "A2"
    assert records[3].paper.title == "D"
    assert records[1] == Rejected(2, "The entry is broken: a brace, a quote or a comma of it is missing.")
    assert records[5] == Rejected(6, "The record has neither title nor abstract.", "e")


PERCENT = """@article{p, title = {A trial in 50% of wards, and what came next}, keywords = {5% rule; birds, and bees},
  abstract = {First 10% of a line is kept
second 20% of a line
and 5\\% too}, year = 2019}
"""


def test_a_percent_sign_is_data(tmp_path):
    (record,) = read(tmp_path, PERCENT)
    assert record.paper.title == "A trial in 50% of wards, and what came next"
    assert record.paper.abstract == "First 10% of a line is kept second 20% of a line and 5% too"
    assert record.paper.fields == ("5% rule", "birds, and bees")


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        ('"One " # {two} # " three"', "One two three"),
        ('"A " # short # { and "quoted"}', 'A Short Name and "quoted"'),
        ('"A {"}brace{"}" # "#" # {#1}', 'A "brace"##1'),
        ("short", "Short Name"),
        ("SHORT", "Short Name"),
        ("other", "Short Name, 2nd"),
        ("unknown", "unknown"),
        ("2020", "2020"),
    ],
)
def test_parts_of_a_value_are_joined_in_every_field(tmp_path, written, read_as):
    text = (
        '@string{short = "Short " # {Name}}\n@string(other = short # ", 2nd")\n'
        f'@article{{k, title = {written}, journal = {written}, author = {written} # " and M. Ono"}}'
    )
    (record,) = read(tmp_path, text)
    assert (record.paper.title, record.paper.venue) == (read_as, read_as)
    assert record.paper.authors[-1] == "M. Ono"


PARENTS = """@inproceedings{c, title={A chapter}, author={Toth, E.}, crossref={P1}}
@inproceedings{own, title={Its own}, crossref={p1}, year=2012, booktitle={Other}}
@inbook{part, title={A part}, crossref={book}}
@article{loop, title={A loop}, crossref={loop}}
@article{lost, title={Lost}, crossref={nowhere}, xdata={more}}
@xdata{more, publisher={Press}, year=1999}
@proceedings{p1, title={Proceedings of X}, year=2011, editor={Boss, B.}, doi={10.5555/p}, crossref={series}}
@collection{series, title={Series}, publisher={Far Press}}
@book{book, title={Whole book}, author={Author, A.}, date={2001}}
"""


def test_what_is_missing_comes_from_the_parent_but_not_its_identity(tmp_path):
    records = read(tmp_path, PARENTS, [CustomField("publisher", "keyword")])
    papers = {key_of(record.paper): record.paper for record in records}
    assert set(papers) == {"c", "own", "part", "loop", "lost", "p1", "series", "book"}
    chapter = papers["c"]
    assert (chapter.title, chapter.venue, chapter.year) == ("A chapter", "Proceedings of X", 2011)
    assert (chapter.authors, chapter.identifiers, chapter.extra) == (
        ("E. Toth",),
        ("key:c",),
        {"publisher": "Far Press"},
    )
    assert (papers["own"].venue, papers["own"].year) == ("Other", 2012)
    assert (papers["part"].venue, papers["part"].authors, papers["part"].year) == ("Whole book", ("A. Author",), 2001)
    assert (papers["lost"].year, papers["lost"].extra, papers["loop"].year) == (1999, {"publisher": "Press"}, None)


def test_an_entry_without_a_key_is_the_parent_of_none(tmp_path):
    records = read(tmp_path, "@book{, title={Without a key}, year=1999}\n@article{a, title={A}, xdata={,}}\n")
    assert [(record.paper.title, record.paper.venue, record.paper.year) for record in records] == [
        ("Without a key", "", 1999),
        ("A", "", None),
    ]


@pytest.mark.parametrize(
    ("author", "names"),
    [
        ("Smith J., Doe J., Kowalski A.B.", ("Smith J.", "Doe J.", "Kowalski A.B.")),
        ("Smith, J., de la Cruz, A.-B.", ("J. Smith", "A.-B. de la Cruz")),
        ("Smith, John; Doe, Jane", ("John Smith", "Jane Doe")),
        ("Rodríguez García, José", ("Rodríguez García, José",)),
        ("van den Berg, Jr., Jan", ("Jan van den Berg Jr.",)),
        ("family=Berg, given=Jan, prefix=van den, useprefix=true", ("Jan van den Berg",)),
        ("family=Berg, suffix=III, given={J.}", ("J. Berg III",)),
        ("Family=Berg, family-i=B, given=Jan, given-i=J, prefix=van, prefix-i=v, suffix-i=X", ("Jan van Berg",)),
        ("{Smith, Jones and Co}", ("Smith, Jones and Co",)),
        ("{Centers for X} and {\\'A}lvarez, Ana and others", ("Centers for X", "Ana Álvarez")),
        (r"Toth, E. AND \'Alvarez, Ana and {Sands and Anders}", ("E. Toth", "Ana Álvarez", "Sands and Anders")),
        ("Toth, ,", ("Toth, ,",)),
        ("", ()),
    ],
)
def test_names_of_authors(tmp_path, author, names):
    (record,) = read(tmp_path, f"@misc{{x, title={{T}}, author={{{author}}}}}")
    assert record.paper.authors == names


@pytest.mark.parametrize(
    ("fields", "identifiers"),
    [
        (r"doi = {10.5555/x-6\_12}", ["doi:10.5555/x-6_12"]),
        (r"doi = {10.5555/x-6{\_}12--a~b}", ["doi:10.5555/x-6_12--a~b"]),
        (r"doi = {10.5555/(s)1{\textless}2::a{\textgreater}3}", ["doi:10.5555/(s)1<2::a>3"]),
        ("doi = {10.5555/a%7Bb%7D%5C}", ["doi:10.5555/a{b}\\"]),
        (r"url = {https://doi.org/10.5555/in\_url}", ["doi:10.5555/in_url"]),
        (r"howpublished = {\url{https://x.example/doi/abs/10.5555/pub?x=1}}", ["doi:10.5555/pub"]),
        ("note = {PMID: 99000001; cited by 3}", ["pmid:99000001"]),
        ("note = {doi:10.5555/one; doi:10.5555/two}", []),
        ("doi = {10.5555/own}, url = {https://doi.org/10.5555/other}", ["doi:10.5555/own"]),
        ("eprint = {99000002}, eprinttype = {pubmed}, pmid = 0", ["pmid:99000002"]),
        ("pmid = 0", []),
        ("journal = {arXiv preprint arXiv:2004.07180}", ["arxiv:2004.07180"]),
        ("pmcid = {PMC99}", ["pmc:PMC99"]),
    ],
)
def test_identifiers_and_ids_of_them(tmp_path, fields, identifiers):
    (record,) = read(tmp_path, f"@article{{k1, title={{T}}, {fields}}}")
    assert list(record.paper.identifiers) == [*identifiers, "key:k1"]
    value = identifiers[0].partition(":")[2] if identifiers else "hash-"
    assert record.paper.id.startswith(value)


def test_a_key_is_never_an_id_by_itself(tmp_path):
    same = "@article{%s, title={Bees}, author={Toth, E.}, year=2001}\n"
    first, again, other = read(tmp_path, same % "k1" + same % "k2" + same.replace("2001", "2002") % "k1")
    assert first.paper.id == again.paper.id != other.paper.id
    # A title alone may be that of many papers.
    (one, two) = read(tmp_path, "@misc{a, title={Editorial}, year=2001}\n@misc{b, title={Editorial}, year=2001}")
    assert one.paper.id != two.paper.id


@pytest.mark.parametrize(
    ("fields", "year"),
    [
        ("year={In press}, date={2021-03}", 2021),
        ("date={2021/2022}", 2021),
        ("year={{\\noopsort{1}}1999}", 1999),
        ("year={}", None),
    ],
)
def test_years(tmp_path, fields, year):
    (record,) = read(tmp_path, f"@article{{k, title={{T}}, subtitle={{And more}}, {fields}}}")
    assert (record.paper.year, record.paper.title) == (year, "T: And more")


def test_a_field_that_is_given_twice_keeps_its_first_value(tmp_path):
    (record,) = read(tmp_path, "@article{k, title={}, title={T}, year=2000, keywords={a}, keywords={b}}")
    assert (record.paper.title, record.paper.fields) == ("T", ("a",))


def test_limits(tmp_path, monkeypatch):
    good = "@article{good, title={G}}\n"
    deep = "@article{deep, title={" + "{" * 500 + "x" + "}" * 500 + "}}\n"
    long = "@article{long, abstract={" + "x" * (bibtex.LONGEST_ENTRY + 1) + "}}\n"
    records = read(tmp_path, deep + good + long)
    assert records[0] == Rejected(1, "The entry has more than 100 braces within braces.", "deep")
    assert isinstance(records[1], Accepted)
    assert records[2] == Rejected(3, "The entry is longer than 1,048,576 characters.", "long")
    monkeypatch.setattr(bibtex, "LONGEST_FILE", 20)
    with pytest.raises(InputError, match="divide it into several files"):
        read(tmp_path, good)


def test_bytes_that_are_not_utf8_cost_their_entry(tmp_path):
    bad, good = read(tmp_path, b"@article{a, title={caf\xe9}}\n@article{b, title={caf\xc3\xa9}}")
    assert "bytes that aren't UTF-8" in bad.reason
    assert good.paper.title == "café"


def test_another_file_is_refused_and_a_missing_library_named(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="should be BibTeX, but it looks like RIS; use corpus=ris"):
        read(tmp_path, "TY  - JOUR\nER  - \n")
    monkeypatch.setitem(sys.modules, "bibtexparser", None)
    with pytest.raises(UnavailableError, match=r"pip install '.+\[references\]'"):
        read(tmp_path, FULL)


LETTERS = "abcXYZ019äöüÉèáñçøßŠő"
WORDS = st.lists(st.text(LETTERS, min_size=1, max_size=8), min_size=1, max_size=4).map(" ".join)


@given(st.lists(st.tuples(WORDS, WORDS, st.integers(1500, 2030)), min_size=1, max_size=4))
def test_what_another_library_writes_comes_back(tmp_path_factory, entries):
    from bibtexparser.middlewares import LatexEncodingMiddleware
    from bibtexparser.model import Entry, Field

    library = bibtexparser.Library(
        [
            Entry("article", f"k{n}", [Field("title", title), Field("abstract", text), Field("year", str(year))])
            for n, (title, text, year) in enumerate(entries)
        ]
    )
    written = bibtexparser.write_string(library, prepend_middleware=[LatexEncodingMiddleware()])
    records = read(tmp_path_factory.mktemp("bib"), written)
    assert [(key_of(r.paper), r.paper.title, r.paper.abstract, r.paper.year) for r in records] == [
        (f"k{n}", *entry) for n, entry in enumerate(entries)
    ]


@given(st.data())
def test_damage_never_stops_the_reading(tmp_path_factory, data):
    place = data.draw(st.integers(1, len(FULL) - 2))
    damage = data.draw(st.text(st.sampled_from("@{}\\\"'=,$% \nab^_~&ü"), max_size=12))
    text = "@article{first, title={t}}\n" + FULL[:place] + damage + FULL[place + len(damage) :]
    records = read(tmp_path_factory.mktemp("bib"), text + "\n@article{last, title={t}}\n")
    assert key_of(records[0].paper) == "first"
    assert all(record.line > 0 for record in records)
