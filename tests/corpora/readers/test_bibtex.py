r"""Entries are written by hand after the BibTeX and BibLaTeX manuals."""

import sys

import bibtexparser
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.custom import CustomField
from corpora.errors import InputError, UnavailableError
from corpora.paper import Accepted, Paper, Rejected
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


def test_an_entry_with_everything(tmp_path):
    assert read(tmp_path, FULL, [CustomField("publisher", "keyword"), CustomField("month", "keyword")]) == [
        Accepted(
            4,
            Paper(
                id="sample2014",
                title="The SARS virus: $a<b$ & more from Ørsted",
                abstract="Costs rose by 5% — in ß",
                authors=("Zoë Sample", "Mariá de la Example", "World Health Organization"),
                year=2014,
                venue="Journal of Ökologie",
                types=("article",),
                language="english",
                fields=("masks", "schools", "Kinder"),
                identifiers=("doi:10.1000/a_b", "arxiv:2004.07180"),
                url="https://example.org/a_b",
                extra={"publisher": "A Press", "month": "may"},
            ),
        )
    ]


def test_biblatex_and_books(tmp_path):
    (record,) = read(
        tmp_path, "@InProceedings{x, title={T}, editor={Ed, A.}, date={2019-05-01}, booktitle={Proc. of X}, eprint={1}}"
    )
    assert (record.paper.year, record.paper.venue, record.paper.authors) == (2019, "Proc. of X", ("A. Ed",))
    assert (record.paper.types, record.paper.identifiers) == (("inproceedings",), ())


def test_broken_entries_cost_themselves(tmp_path):
    text = (
        "@article{a, title={A}}\n@article{b, title={B\n@article{c, title={C}}\n@misc{d, title={D}, title={E}}\n"
        "@article{a, title={A2}}\n@book{e, year=2000}\n@article{f, title={F"
    )
    records = read(tmp_path, text)
    assert [(record.line, type(record)) for record in records] == [
        *((1, Accepted), (2, Rejected), (3, Accepted), (4, Rejected), (5, Accepted), (6, Rejected), (7, Rejected)),
    ]
    assert records[4].paper.title == "A2"
    assert records[1].reason.startswith("The entry is broken (")


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
    assert [(r.paper.id, r.paper.title, r.paper.abstract, r.paper.year) for r in records] == [
        (f"k{n}", *entry) for n, entry in enumerate(entries)
    ]


@given(st.data())
def test_damage_never_stops_the_reading(tmp_path_factory, data):
    place = data.draw(st.integers(1, len(FULL) - 2))
    damage = data.draw(st.text(st.sampled_from("@{}\\\"'=,$% \nab^_~&ü"), max_size=12))
    text = "@article{first, title={t}}\n" + FULL[:place] + damage + FULL[place + len(damage) :]
    records = read(tmp_path_factory.mktemp("bib"), text + "\n@article{last, title={t}}\n")
    assert records[0].paper.id == "first"
    assert all(record.line > 0 for record in records)
