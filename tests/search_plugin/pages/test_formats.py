"""Hits in other programs' formats, read back by libraries that have nothing to do with ours."""

from __future__ import annotations

import csv
import io
import json
import re

import bibtexparser
import pytest
import rispy
from hypothesis import assume, example, given
from hypothesis import strategies as st
from pylatexenc.latex2text import LatexNodes2Text, MacroTextSpec, get_default_latex_context_db

from corpora.cleaning import EARLIEST_YEAR
from corpora.errors import InputError
from corpora.identifiers import identifier_of, link_of, normal
from corpora.markup import plain_text
from corpora.names import parse_name, whole_name
from corpora.paper import Accepted, Paper
from corpora.publication import Publication
from corpora.readers import bibtex, delimited, jsonl, ris
from search_plugin.pages.hit import Hit
from search_plugin.pages.page import FORMATS, Page

HARD = "\\{}&%$#_~^<>|\"'=+-@,;:/().α病é"
# What corpora give: no control characters, no surplus blanks.
texts = st.text(st.sampled_from([*HARD, *"abAB01 "]), max_size=30).map(lambda text: " ".join(text.split()))
words = texts.filter(bool)
dois = st.text(st.sampled_from("0123456789abc./()<>;:_-#{}\\%"), min_size=1, max_size=20).map("10.1000/{}".format)
publications = st.builds(
    Publication,
    volume=texts,
    issue=texts,
    pages=st.just("") | st.from_regex(r"[a-z]?[0-9]{1,4}(-[0-9]{1,4})?(, [0-9]{1,3})?", fullmatch=True),
    publisher=texts,
    issn=st.lists(st.from_regex(r"[0-9]{4}-[0-9]{3}[0-9X]", fullmatch=True), max_size=2, unique=True).map(tuple),
)
papers = st.builds(
    Paper,
    id=words,
    title=words,
    abstract=texts,
    authors=st.lists(words, max_size=3).map(tuple),
    year=st.none() | st.integers(1, 2100),
    venue=texts,
    types=st.sampled_from([(), ("Review",), ("Conference paper",)]),
    fields=st.lists(words, max_size=2).map(tuple),
    identifiers=st.none() | dois,
    retracted=st.booleans(),
    extra=st.dictionaries(st.sampled_from(["shelf", "impact"]), words, max_size=2),
    publication=st.none() | publications,
)
lists = st.lists(papers, max_size=4).map(
    lambda made: [
        paper_with(paper, identifiers=(f"doi:{paper.identifiers}",) if paper.identifiers else ()) for paper in made
    ]
)


def paper_with(paper, **values):
    from dataclasses import replace

    return replace(paper, **values)


def page_of(*found):
    hits = tuple(Hit(rank, paper, 1 / rank, {}, ()) for rank, paper in enumerate(found, start=1))
    return Page("papers", "q", "hybrid", "rrf", "ses", hits, len(hits), 100, {}, None, {})


SIGNS = {"textless": "<", "textgreater": ">", "textbar": "|", "textbraceleft": "{", "textbraceright": "}"}
SIGNS |= {"textasciicircum": "^"}
"""Of LaTeX's kernel; the parser lacks them, or prints them as accents."""
MACROS = get_default_latex_context_db()
MACROS.add_context_category("signs", prepend=True, macros=[MacroTextSpec(name, sign) for name, sign in SIGNS.items()])


def printed(latex):
    """What LaTeX prints of a text, by a parser of LaTeX."""
    return LatexNodes2Text(MACROS, math_mode="verbatim").latex_to_text(latex)


def text_depth(entry):
    """The braces of an entry that are not closed; BibTeX counts those after a backslash too."""
    return entry.count("{") - entry.count("}")


@given(lists)
@example([Paper("1", "An open { brace", "And } one more } to close.")])
def test_bibtex_prints_in_latex_what_papers_say(found):
    library = bibtexparser.parse_string(page_of(*found).format("bibtex"))
    assert not library.failed_blocks
    assert all(text_depth(entry.raw) == 0 for entry in library.entries)
    assert len({entry.key for entry in library.entries}) == len(library.entries) == len(found)
    for paper, entry in zip(found, library.entries, strict=True):
        held = {field.key: field.value for field in entry.fields}
        assert re.fullmatch(r"[a-z0-9-]+", entry.key)
        assert held["title"][0] + held["title"][-1] == "{}"
        assert printed(held["title"][1:-1]) == paper.title
        assert printed(held.get("abstract", "")) == paper.abstract
        venue = held.get("journal", held.get("booktitle", ""))
        assert printed(venue) == paper.venue
        assert entry.entry_type == (
            "misc" if not paper.venue else "inproceedings" if paper.types == ("Conference paper",) else "article"
        )
        assert held.get("year", "") == str(paper.year or "")
        assert (held.get("note") == "Retracted") == paper.retracted
        doi = identifier_of(paper, "doi")
        assert held.get("doi", "") == doi.replace("{", "%7B").replace("}", "%7D").replace("\\", "%5C")
        assert held.get("url", "") == link_of(paper)


def people(entry):
    """The authors of an entry as BibTeX divides them: at `and` outside of braces."""
    from bibtexparser.middlewares.names import parse_single_name_into_parts, split_multiple_persons_names

    names = split_multiple_persons_names(entry.fields_dict["author"].value)
    return [parse_single_name_into_parts(name, strict=False) for name in names]


def test_authors_in_bibtex_are_people_or_groups():
    paper = Paper(
        *("x", "Masks & más", "", ("Eric A. Toth", "Toth EA", "Kim, Mi-Na", "Ludwig van der Berg", "Smith, Jr., John")),
        year=2020,
    )
    groups = ("Centers for Disease Control and Prevention", "RECOVERY Collaborative Group", "WHO")
    library = bibtexparser.parse_string(page_of(paper, paper_with(paper, authors=groups)).format("bibtex"))
    parts = [(" ".join([*name.von, *name.last]), " ".join(name.first)) for name in people(library.entries[0])]
    assert parts == [
        ("Toth", "Eric A."),
        ("Toth", "EA"),
        ("Kim", "Mi-Na"),
        ("van der Berg", "Ludwig"),
        ("Smith", "John"),
    ]
    whole = [" ".join(name.last) for name in people(library.entries[1])]
    assert whole == [f"{{{group}}}" for group in groups]
    assert [entry.key for entry in library.entries] == [
        "toth2020masks",
        "centersfordiseasecontrolandprevention2020masks",
    ]


@pytest.mark.parametrize(
    ("family", "given", "suffix"),
    [
        ("Rodríguez García", "José Ignacio", ""),
        ("van den Berg", "Ludwig", ""),
        ("Toth", "Eric", "Jr."),
        ("De la Cruz", "A", ""),
    ],
)
def test_citations_divide_a_name_as_its_source_does(family, given, suffix):
    page = page_of(Paper("x", "Bees", authors=(whole_name(family, given, suffix),)))
    (record,) = rispy.loads(page.format("ris"))
    assert record["authors"] == [", ".join(filter(None, (family, given, suffix)))]
    (name,) = people(bibtexparser.parse_string(page.format("bibtex")).entries[0])
    assert (" ".join([*name.von, *name.last]), " ".join(name.first), " ".join(name.jr)) == (family, given, suffix)


@given(lists)
def test_ris_gives_back_what_papers_say(found):
    records = rispy.loads(page_of(*found).format("ris"))
    assert len(records) == len(found)
    for paper, held in zip(found, records, strict=True):
        kind = "GEN" if not paper.venue else "CONF" if paper.types == ("Conference paper",) else "JOUR"
        assert held["type_of_reference"] == kind
        assert (held["id"], held["title"]) == (paper.id, paper.title)
        assert held.get("abstract", "") == paper.abstract
        assert held.get("secondary_title", "") == paper.venue
        assert held.get("year", "") == str(paper.year or "")
        assert held.get("doi", "") == identifier_of(paper, "doi")
        assert held.get("authors", []) == [str(parse_name(name)) for name in paper.authors]
        assert held.get("keywords", []) == list(paper.fields)
        assert held.get("urls", [""]) == [link_of(paper).replace(";", "%3B")]
        assert ("Retracted" in held.get("notes", [])) == paper.retracted


def test_no_value_of_a_paper_begins_a_line_of_ris():
    evil = "a\r\nER  - \n\nTY  - BOOK\nN1  - b"
    found = Paper(evil, evil, evil, (evil,), 2020, evil, language=evil, fields=(evil,))
    [record] = rispy.loads(page_of(found).format("ris"))
    assert record["type_of_reference"] == "JOUR"
    assert record["secondary_title"] == record["title"] == record["keywords"][0] == " ".join(evil.split())
    assert "notes" not in record


@given(lists)
def test_csv_gives_back_what_papers_say_and_no_cell_is_a_formula(found):
    rows = list(csv.DictReader(io.StringIO(page_of(*found).format("csv"), newline="")))
    assert len(rows) == len(found)
    for paper, row in zip(found, rows, strict=True):
        numbers = ("rank", "score", "year")
        assert not any(re.match(r"\s*[=+\-@]", cell) for name, cell in row.items() if name not in numbers)

        def text(name, row=row):
            return row[name][1:] if re.match(r"'+\s*[=+\-@]", row[name]) else row[name]

        assert (text("id"), text("title"), text("abstract")) == (paper.id, paper.title, paper.abstract)
        assert text("authors") == "; ".join(paper.authors)
        assert (row["year"], row["retracted"]) == (str(paper.year or ""), str(paper.retracted).lower())
        assert (text("doi"), text("link")) == (identifier_of(paper, "doi"), link_of(paper))
        assert {name: text(f"extra.{name}") for name in paper.extra} == paper.extra


def test_csv_marks_formulas_and_leaves_numbers():
    hard = ['=HYPERLINK("http://x")', "+1", "-omics", "@SUM(A1)", "\t=1", "'=1", "\uff1d1+1", "1-2", "'quoted' words"]
    page = page_of(*(Paper(f"p{number}", title, year=-5) for number, title in enumerate(hard)))
    rows = list(csv.DictReader(io.StringIO(page.format("csv"), newline="")))
    titles = [row["title"] for row in rows]
    assert titles == [*(f"'{title}" for title in hard[:7]), *hard[7:]]
    assert {row["year"] for row in rows} == {"-5"}
    assert page_of().format("csv") == "rank,score,weak,id,title\r\n"


@given(lists)
def test_json_lines_hold_the_papers(found):
    lines = page_of(*found).format("jsonl").splitlines()
    held = [json.loads(line) for line in lines]
    assert [(one["id"], one["title"], one["extra"]) for one in held] == [(p.id, p.title, p.extra) for p in found]
    assert [one["rank"] for one in held] == list(range(1, len(found) + 1))


def test_exports_can_be_indexed(tmp_path):
    paper = Paper(
        *("a1", "Masks in schools", "A trial.", ("Kim, Mi-Na", "Toth EA"), 2020, "Nature", ("Review",), "en"),
        *(("Medicine",), ("doi:10.1000/182", "pmid:12"), (), "https://example.org/1"),
        retracted=True,
    )
    for name, read in (("jsonl", jsonl.read), ("csv", delimited.read)):
        (tmp_path / name).write_text(page_of(paper).format(name), newline="")
        (record,) = read(tmp_path / name, {})
        assert isinstance(record, Accepted)
        assert paper_with(record.paper, identifiers=paper.identifiers) == paper
        assert set(paper.identifiers) <= set(record.paper.identifiers)


def test_a_reference_manager_gets_all_that_a_paper_holds():
    paper = Paper(
        *("a1", "Masks in schools", "A trial.", ("Kim, Mi-Na", "Toth, EA"), 2020, "Nature", ("Review",), "en"),
        *(("Medicine", "Air, indoors"), ("doi:10.1000/182", "pmid:12"), (), "https://example.org/1"),
        retracted=True,
    )
    assert page_of(paper).format("bibtex").splitlines() == [
        "@article{kim2020schools,",
        "  title = {{Masks in schools}},",
        "  author = {Kim, Mi-Na and Toth, EA},",
        "  journal = {Nature},",
        "  year = {2020},",
        "  doi = {10.1000/182},",
        "  url = {https://doi.org/10.1000/182},",
        "  pmid = {12},",
        "  abstract = {A trial.},",
        "  keywords = {Medicine, {Air, indoors}},",
        "  language = {en},",
        "  note = {Retracted},",
        "}",
    ]
    assert page_of(paper).format("ris").splitlines() == [
        *("TY  - JOUR", "ID  - a1", "TI  - Masks in schools", "AU  - Kim, Mi-Na", "AU  - Toth, EA", "PY  - 2020"),
        *("T2  - Nature", "AB  - A trial.", "DO  - 10.1000/182", "UR  - https://doi.org/10.1000/182", "LA  - en"),
        *("KW  - Medicine", "KW  - Air, indoors", "N1  - Retracted", "ER  - "),
    ]


def test_every_format_writes_no_hits_and_an_unknown_one_is_refused():
    for name in FORMATS:
        assert "virus" not in page_of().format(name)
        assert page_of(Paper("a", "A virus")).format(name).endswith("\n")
    assert json.loads(page_of().format("json"))["hits"] == []
    with pytest.raises(InputError, match="no format 'docx'; choose one of json, jsonl, csv, bibtex, ris, csl"):
        page_of().format("docx")


@pytest.mark.parametrize(
    ("identifiers", "url", "link"),
    [
        (("pmid:12", "doi:10.1000/182"), "https://x.org", "https://doi.org/10.1000/182"),
        (("doi:10.1002/(sici)1<3::aid-x>3.0.co;2-#",), "", "https://doi.org/10.1002/(sici)1%3C3::aid-x%3E3.0.co;2-%23"),
        (("pmid:12",), "http://x.org/ä b", "http://x.org/%C3%A4%20b"),
        (("pmid:12",), "javascript:alert(1)", "https://pubmed.ncbi.nlm.nih.gov/12/"),
        (("pmc:PMC77",), "", "https://pmc.ncbi.nlm.nih.gov/articles/PMC77/"),
        (("pmc:PMC77", "arxiv:2001.00001"), "", "https://arxiv.org/abs/2001.00001"),
        (("s2:1",), "ftp://x.org", ""),
        ((), "https://x.org/\x1b]8;;\x07?a=1&b=%20#c", "https://x.org/%1B]8;;%07?a=1&b=%20#c"),
    ],
)
def test_links(identifiers, url, link):
    hit = page_of(Paper("a", "t", identifiers=identifiers, url=url))[0]
    assert hit.link == link
    assert hit.doi == next((one[4:] for one in identifiers if one.startswith("doi:")), "")


@pytest.mark.parametrize("form", ["csv", "bibtex", "ris", "jsonl", "json"])
def test_no_text_is_shown_in_another_order_or_controls_what_shows_it(form):
    evil = "A \u202egnp\u202c \u2067b\u2069 \x1b[31mc \x9b2J\x07 \u2028 d\u200ce"
    paper = Paper(
        evil, evil, evil, (evil,), 2020, evil, identifiers=(f"doi:10.1/{evil}", f"pmid:{evil}"), fields=(evil,),
        language=evil, extra={"shelf": evil},
    )  # fmt: skip
    text = page_of(paper).format(form)
    assert not re.search("[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", text), ascii(text)
    assert "d\u200ce" in text
    if "json" in form:
        held = json.loads(text)
        assert (held["title"] if form == "jsonl" else held["hits"][0]["paper"]["title"]) == evil


def test_a_notebook_shows_no_text_in_another_order():
    shown = page_of(Paper("1", "A \u202egnp\u202c <b>", venue="\u2067b\x1b[1m"))._repr_html_()
    assert not re.search("[\x1b\u202a-\u202e\u2066-\u2069]", shown)
    assert "A gnp &lt;b&gt;" in shown


@pytest.mark.slow
@given(lists)
def test_what_is_exported_is_read_back_the_same(tmp_path_factory, found):
    kept = list(filter(is_clean, found))
    assume(kept)
    folder = tmp_path_factory.mktemp("exports")
    for name, read in READERS.items():
        path = folder / name
        path.write_text(page_of(*kept).format(name), newline="")
        papers = [record.paper for record in read(path, {}) if isinstance(record, Accepted)]
        assert list(map(compared, papers)) == list(map(compared, kept)), name


READERS = {"bibtex": bibtex.read, "ris": ris.read, "csv": delimited.read, "jsonl": jsonl.read}


def is_clean(paper):
    """Whether readers can leave all of a paper as it is: no markup in texts, no lists in a text, a plausible year."""
    listed = any(re.search(r"[;|]|^\[|^,|,$|,\S", one) for one in (*paper.authors, *paper.fields))
    marked = any(plain_text(text) != text for text in (paper.title, paper.abstract, paper.venue))
    return not listed and not marked and (paper.year is None or paper.year >= EARLIEST_YEAR)


def compared(paper):
    return (
        *(paper.title, paper.abstract, paper.year, paper.venue, normal("doi", identifier_of(paper, "doi")).rstrip("/")),
        *(dict.fromkeys(map(parse_name, paper.authors)), dict.fromkeys(paper.fields), paper.retracted),
        paper.publication or Publication(),
    )
