"""Records are written by hand after the specification of the format (RefMan's, as Wikipedia describes it)."""

import sys

import pytest
import rispy
from hypothesis import given
from hypothesis import strategies as st

from corpora.custom import CustomField
from corpora.errors import InputError, UnavailableError
from corpora.opening import Opening
from corpora.paper import Accepted, Paper, Rejected
from corpora.publication import Publication
from corpora.readers import bibtex, delimited, jsonl, pubmed, ris
from corpora.sniffing import likely_corpus

CUT = "The record is cut off where the file ends: it has no ER."
FULL = """TY  - JOUR
ID  - 12345
T1  - A <i>title</i> of
 two lines
A1  - Sample, Ana
AU  - Example, B.
PY  - 2014/05/01/
N2  - BACKGROUND: a<b. RESULTS: Some.
KW  - Masks
KW  - Schools
JO  - J. Med
T2  - Journal of Medicine
VL  - 9
IS  - 3
SP  - 45
EP  - 51
SN  - 1234-5679
PB  - A Press
LA  - en
DO  - https://doi.org/10.1000/ABC
UR  - https://example.org/1; https://example.org/2
ER  -
"""


def read(folder, text, custom=(), encoding=""):
    path = folder / "library.ris"
    path.write_bytes(text.encode(encoding or "utf-8"))
    return list(ris.read(path, {}, custom, Opening(encoding)))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_reference_with_everything(tmp_path, end):
    (record,) = read(tmp_path, "\ufeff1.\n" + FULL.replace("\n", end), [CustomField("publisher", "keyword")])
    assert record == Accepted(
        2,
        Paper(
            id="10.1000/abc",
            title="A title of two lines",
            abstract="BACKGROUND: a<b. RESULTS: Some.",
            authors=("Sample, Ana", "Example, B."),
            year=2014,
            venue="Journal of Medicine",
            types=("Journal",),
            language="en",
            fields=("Masks", "Schools"),
            identifiers=("doi:10.1000/abc", "key:12345"),
            url="https://example.org/1",
            extra={"publisher": "A Press"},
            publication=Publication("9", "3", "45-51", "A Press", ("1234-5679",)),
        ),
    )


def test_a_number_of_a_library_is_never_an_id(tmp_path):
    bare = FULL.replace("DO  - https://doi.org/10.1000/ABC\n", "")
    other = bare.replace("2014", "2015")
    numbered = bare.replace("TY  - JOUR", "TY  - JOUR\nAN  - %s")
    texts = [
        FULL,
        bare,
        other,
        bare.replace("12345", "7"),
        numbered % "WOS:000123",
        numbered % "2-s2.0-99",
        numbered % 8,
    ]
    papers = [record.paper for record in read(tmp_path, "\n".join(texts))]
    ids = [paper.id for paper in papers]
    assert ids[0] == "10.1000/abc"
    assert ids[1].startswith("hash-")
    assert ids[1] == ids[3] == ids[6] != ids[2]
    assert ids[4:6] == ["WOS:000123", "2-s2.0-99"]
    assert ids[1] == read(tmp_path, f"{FULL}\n{bare}")[1].paper.id
    assert {paper.identifiers[-1] for paper in papers} == {"key:12345", "key:7"}


RECORD = "TY  - JOUR\nTI  - T\nPY  - 2001\n%s\nER  - \n"


@pytest.mark.parametrize(
    ("lines", "identifiers"),
    [
        *(
            (f"{tag}  - 10.5555/x.1", ("doi:10.5555/x.1",))
            for tag in (
                *("DO", "M3", "L3", "L1", "N1", "DI", "LK", "ID", "RN", "M1", "AN"),
                *(f"C{n}" for n in range(1, 9)),
            )
        ),
        *((f"{tag}  - https://dx.doi.org/10.5555/X.1", ("doi:10.5555/x.1",)) for tag in ("DO", "L1", "L2", "UR", "N1")),
        ("M3  - doi: 10.5555/x.1\nUR  - https://doi.org/10.5555/x.1", ("doi:10.5555/x.1",)),
        ("N1  - Cited by 3\ndoi: 10.5555/x.1\nPMID: 99000001", ("doi:10.5555/x.1", "pmid:99000001")),
        ("UR  - https://x.example/doi/full/10.5555/x.1?a=b", ("doi:10.5555/x.1",)),
        ("UR  - https://x.example/1; https://doi.org/10.5555/x.1", ("doi:10.5555/x.1",)),
        ("DO  - 10.5555/own\nUR  - https://doi.org/10.5555/other", ("doi:10.5555/own",)),
        ("UR  - https://doi.org/10.5555/a\nUR  - https://doi.org/10.5555/b", ()),
        ("M3  - Journal Article\nN1  - Erratum in 10.5555/no at page 3", ()),
        ("AN  - 99000001\nDB  - PubMed\nC2  - PMC900", ("pmid:99000001", "pmc:PMC900")),
        ("AN  - 99000001\nDP  - NLM", ("pmid:99000001",)),
        ("AN  - 99000001\nDB  - Academic Search", ()),
        ("UR  - https://pubmed.ncbi.nlm.nih.gov/99000001/", ("pmid:99000001",)),
        ("AN  - 0\nDB  - MEDLINE", ()),
    ],
)
def test_identifiers_wherever_databases_put_them(tmp_path, lines, identifiers):
    (record,) = read(tmp_path, RECORD % lines)
    assert {name for name in record.paper.identifiers if not name.startswith("key:")} == set(identifiers)


@pytest.mark.parametrize(
    ("tags", "attribute"),
    [
        # In the order in which they are taken, of the tags of RIS and those that databases add.
        ("T1 TI TT BT ST", "title"),
        ("T2 JO JF JA J2 SO", "venue"),
        ("A1 AU A2", "authors"),
        ("LA", "language"),
    ],
)
def test_the_first_of_some_tags_is_taken(tmp_path, tags, attribute):
    lines = [f"{tag}  - {tag} is it" for tag in tags.split()]
    for at, line in enumerate(lines):
        (record,) = read(tmp_path, "\n".join(["TY  - JOUR", *lines[at:], "ST  - ST is it", "ER  - "]))
        found = getattr(record.paper, attribute)
        assert (found if isinstance(found, str) else found[0]) == line[6:]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("PY  - 2001\nY1  - 2002", {"year": 2001}),
        ("PY  - in press\nY1  - 2002\nDA  - 2003", {"year": 2002}),
        ("DA  - 2003/01\nYR  - 2004", {"year": 2003}),
        ("YR  - 2004", {"year": 2004}),
        ("A1  - A\nAU  - B\nA2  - C", {"authors": ("A", "B")}),
        ("A2  - Boss, B.", {"authors": ("Boss, B.",)}),
        ("IS  - 3\nCP  - 4", {"publication": Publication(issue="3")}),
        ("CP  - 4\nC7  - e7", {"publication": Publication(issue="4", pages="e7")}),
        ("SP  - 1\nC7  - e7", {"publication": Publication(pages="1")}),
        (
            "EP  - 9\nSN  - 1234-5679\nSN  - 2345-678X",
            {"publication": Publication(pages="9", issn=("1234-5679", "2345-678X"))},
        ),
        ("N1  - Retracted", {"retracted": True}),
        ("N1  - Not Retracted", {"retracted": False}),
        ("UR  - ftp://x.example/1\nUR  - see;https://x.example/2", {"url": "https://x.example/2"}),
    ],
)
def test_what_tags_give(tmp_path, lines, expected):
    (record,) = read(tmp_path, f"TY  - JOUR\nTI  - T\n{lines}\nER  - \n")
    assert {name: getattr(record.paper, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("tag", "kind"), [("CONF", "Conference proceeding"), ("THES", "Thesis/Dissertation"), ("XX", "XX")]
)
def test_types_have_their_names(tmp_path, tag, kind):
    (record,) = read(tmp_path, f"TY  - {tag}\nTI  - T\nER  - \n")
    assert record.paper.types == (kind,)


@pytest.mark.parametrize(
    ("lines", "abstract"),
    [
        ("AB  - BACKGROUND: One.\nAB  - RESULTS: Two.", "BACKGROUND: One. RESULTS: Two."),
        ("N2  - Short.\nAB  - The whole one.", "The whole one."),
        ("AB  - Cut\nN2  - Cut and whole.", "Cut and whole."),
        ("AB  - All of it.\nAB  - All", "All of it."),
        ("AB  - It.\nAB  - Copyright of this is the property of Press.", "It."),
        ("AB  - It.\nAB  - \u00a9 2020 Press", "It."),
        ("AB  - It\ngoes on\n\nhere", "It goes on here"),
    ],
)
def test_the_abstract_that_says_more_without_a_copyright(tmp_path, lines, abstract):
    (record,) = read(tmp_path, RECORD % lines)
    assert record.paper.abstract == abstract


@pytest.mark.parametrize(
    ("lines", "keywords"),
    [
        ("KW  - Bees\nKW  - Sleep; REM", ("Bees", "Sleep; REM")),
        ("KW  - Bees; Sleep", ("Bees", "Sleep")),
        ("KW  - Bees\nSleep\nWinter", ("Bees", "Sleep", "Winter")),
    ],
)
def test_keywords_one_a_tag_one_a_line_or_in_one_line(tmp_path, lines, keywords):
    (record,) = read(tmp_path, RECORD % lines)
    assert record.paper.fields == keywords


def test_line_ends_and_blanks_of_other_programs(tmp_path):
    for text in (FULL.replace("\n", "\r"), FULL.replace("  - ", " - ").replace("ER  -", "ER -")):
        (record,) = read(tmp_path, text)
        assert (record.line, record.paper.title) == (1, "A title of two lines")
        assert record.paper.authors == ("Sample, Ana", "Example, B.")
    records = read(tmp_path, (FULL + "TY  - JOUR\nID  - 2\nER  - \n").replace("\n", "\r"))
    assert read(tmp_path, (FULL * 2).replace("\n", "\r\n"))[1].line == len(FULL.splitlines()) + 1
    assert records[1] == Rejected(len(FULL.splitlines()) + 1, "The record has neither title nor abstract.", "2")


NBIB = """
PMID- 99000201
OWN - NLM
STAT- MEDLINE
DP  - 2013 Sep 12
TI  - The invented regulation of bee size and the
      [size] of bees.
LID - 10.5555/nb1 [doi]
AID - S1234(13) [pii]
AB  - An adult bee consists of cells; we sampled hives
      [n = 4], poorly understood.
FAU - Sample, Ana
AU  - Sample A
FAU - Toth, Eric A
AU  - Toth EA
CN  - Group of Bees
LA  - eng
PT  - Journal Article
PT  - Retracted Publication
TA  - Lett Noth
JT  - Letters on Nothing
MH  - *Bees/physiology/*growth
MH  - Models, Biological
OT  - sleep
PMC - PMC900
VI  - 3
IP  - 4
PG  - 45-51
IS  - 1234-5679 (Electronic)
IS  - 2345-678X (Linking)
PB  - A Press
PL  - Bonn
AD  - A University
OAB - Short.

PMID- 99000202
DEP - 20140102
BTI - Second.
AU  - Sample A
TA  - Lett Noth
OAB - Other.
"""


def test_pubmeds_own_text(tmp_path):
    names = ("volume", "place_published", "author_address")
    first, second = read(tmp_path, NBIB, [CustomField(name, "keyword") for name in names])
    assert first == Accepted(
        2,
        Paper(
            id="99000201",
            title="The invented regulation of bee size and the [size] of bees.",
            abstract="An adult bee consists of cells; we sampled hives [n = 4], poorly understood.",
            authors=("Sample, Ana", "Toth, Eric A", "Group of Bees"),
            year=2013,
            venue="Letters on Nothing",
            types=("Journal Article", "Retracted Publication"),
            language="eng",
            fields=("Bees", "Models, Biological", "sleep"),
            identifiers=("doi:10.5555/nb1", "pmid:99000201", "pmc:PMC900"),
            retracted=True,
            extra={"volume": "3", "place_published": "Bonn", "author_address": "A University"},
            publication=Publication("3", "4", "45-51", "A Press", ("1234-5679", "2345-678X")),
        ),
    )
    paper = Paper("99000202", "Second.", "Other.", ("Sample A",), 2014, "Lett Noth", identifiers=("pmid:99000202",))
    assert second == Accepted(36, paper)


WOS = """FN Clarivate Analytics Web of Science
VR 1.0
PT J
AU Sample, A
   Toth, E
AF Sample, Ana
   Toth, Eric
TI Invented
   bees
SO LETTERS ON NOTHING
LA English
DT Article
DE bees; sleep,
   REM
ID WINTER
AB They fly
   far.
PY 2019
DI 10.5555/W1
PM 99000001
VL 3
IS 4
BP 45
EP 51
SN 1234-5679
EI 2345-678X
PU A Press
C1 A University
UT WOS:000001
ER

PT J
AU Sample, A
CA A Group
TI No DOI
JI Lett. Noth.
EA MAR 2018
AR e7
UT WOS:000002
ER

EF
"""


def test_web_of_sciences_plain_text(tmp_path):
    first, second = read(tmp_path, WOS, [CustomField("author_address", "keyword")])
    assert first == Accepted(
        3,
        Paper(
            id="10.5555/w1",
            title="Invented bees",
            abstract="They fly far.",
            authors=("Sample, Ana", "Toth, Eric"),
            year=2019,
            venue="LETTERS ON NOTHING",
            types=("Article",),
            language="English",
            fields=("bees", "sleep, REM", "WINTER"),
            identifiers=("doi:10.5555/w1", "pmid:99000001", "wos:000001"),
            extra={"author_address": "A University"},
            publication=Publication("3", "4", "45-51", "A Press", ("1234-5679", "2345-678X")),
        ),
    )
    assert (second.paper.id, second.paper.authors) == ("WOS:000002", ("Sample, A", "A Group"))
    assert (second.paper.venue, second.paper.year) == ("Lett. Noth.", 2018)
    assert second.paper.publication == Publication(pages="e7")
    (cut,) = read(tmp_path, WOS.partition("ER\n")[0])
    assert cut == Rejected(3, "The record is cut off where the file ends: it has no ER.")


REFER = """%0 Journal Article
%T Invented bees
%A Sample, Ana
%A Toth, Eric
%J Letters on Nothing
%D 2019
%X They fly.
%K bees
sleep
%R 10.5555/R1
%U https://x.example/1
%M WOS:000003
%F 12
%V 3
%N 4
%P 45-51
%I A Press
%@ 1234-5679
%G eng
%C Bonn
%L QL 1
%+ A University
%S A series

%0 Book
%T A book
%E Boss, B.
%8 May 2018
%B A shelf of books
%2 PMC901
%M 99000001
%~ NLM
%Z Retracted
"""


def test_refer(tmp_path):
    names = ("place_published", "call_number", "author_address", "tertiary_title")
    first, second = read(tmp_path, REFER, [CustomField(name, "keyword") for name in names])
    assert first == Accepted(
        1,
        Paper(
            id="10.5555/r1",
            title="Invented bees",
            abstract="They fly.",
            authors=("Sample, Ana", "Toth, Eric"),
            year=2019,
            venue="Letters on Nothing",
            types=("Journal Article",),
            language="eng",
            fields=("bees", "sleep"),
            identifiers=("wos:000003", "doi:10.5555/r1", "key:12"),
            url="https://x.example/1",
            extra=dict(zip(names, ("Bonn", "QL 1", "A University", "A series"), strict=True)),
            publication=Publication("3", "4", "45-51", "A Press", ("1234-5679",)),
        ),
    )
    assert (second.line, second.paper.authors, second.paper.types) == (25, ("Boss, B.",), ("Book",))
    assert (second.paper.year, second.paper.venue, second.paper.retracted) == (2018, "A shelf of books", True)
    assert second.paper.identifiers == ("pmc:PMC901", "pmid:99000001")


STYLED = '<style face="normal" font="default" size="100%%">%s</style>'
ENDNOTE = f"""<?xml version="1.0" encoding="UTF-8"?>
<xml><records><record><database name="a.enl">a.enl</database><rec-number>7</rec-number>
<ref-type name="Journal Article">17</ref-type>
<contributors><authors><author>{STYLED % "Sample, Ana"}</author><author>Toth, Eric</author></authors>
<secondary-authors><author>Boss, B.</author></secondary-authors></contributors>
<titles><title>{STYLED % "Invented "}{STYLED % "bees"}</title>
<secondary-title>Letters on Nothing</secondary-title></titles>
<keywords><keyword>bees</keyword><keyword>sleep</keyword></keywords><dates><year>{STYLED % 2019}</year></dates>
<urls><related-urls><url>https://x.example/1</url></related-urls></urls>
<electronic-resource-num>10.5555/E1</electronic-resource-num><abstract>They fly.</abstract>
<custom2>PMC901</custom2><language>eng</language><volume>3</volume><number>4</number><pages>45-51</pages>
<isbn>1234-5679</isbn><publisher>A Press</publisher><work-type>Article</work-type><notes>Retracted</notes>
<accession-num>99000001</accession-num><remote-database-name>Medline</remote-database-name></record>
<record><rec-number>8</rec-number><titles><title>Bad & worse</title></titles></record></records></xml>
"""


def test_endnotes_xml(tmp_path):
    custom = [CustomField("type_of_work", "keyword"), CustomField("secondary_authors", "keywords")]
    first, second = read(tmp_path, ENDNOTE, custom)
    assert first == Accepted(
        2,
        Paper(
            id="10.5555/e1",
            title="Invented bees",
            abstract="They fly.",
            authors=("Sample, Ana", "Toth, Eric"),
            year=2019,
            venue="Letters on Nothing",
            types=("Journal Article",),
            language="eng",
            fields=("bees", "sleep"),
            identifiers=("pmc:PMC901", "doi:10.5555/e1", "pmid:99000001", "key:7"),
            url="https://x.example/1",
            retracted=True,
            extra={"type_of_work": "Article", "secondary_authors": ("Boss, B.",)},
            publication=Publication("3", "4", "45-51", "A Press", ("1234-5679",)),
        ),
    )
    assert isinstance(second, Rejected)
    assert second.reason.startswith("The record can't be read: it isn't XML")


@pytest.mark.parametrize(
    ("text", "looks"),
    [(NBIB, "PubMed's own text"), (WOS, "Web of Science's"), (REFER, "EndNote's text"), (ENDNOTE, "EndNote's XML")],
)
def test_other_readers_say_what_reads_such_a_file(tmp_path, text, looks):
    path = tmp_path / "references.txt"
    path.write_text(text)
    for other in (jsonl, delimited, pubmed, bibtex):
        with pytest.raises(InputError, match=f"it looks like {looks}.*; use corpus=ris"):
            list(other.read(path, {}))
    assert likely_corpus(path) == "ris"


def test_broken_records_cost_themselves(tmp_path):
    text = (
        "AU  - Lost, A.\nKW  - lost\n"
        + FULL
        + "TY  - JOUR\nID  - 2\nTI  - no end\n"
        + FULL
        + "TY  - JOUR\nID  - 9\nTI  - cut"
    )
    records = read(tmp_path, text)
    assert records[0] == Rejected(1, "The tag AU is outside a record, which begins with TY.")
    assert [record.paper.id for record in records[1:4]] == ["10.1000/abc", records[2].paper.id, "10.1000/abc"]
    assert records[2].line == 2 + len(FULL.splitlines()) + 1
    assert records[4:] == [Rejected(6 + 2 * len(FULL.splitlines()), CUT)]


@pytest.mark.slow
def test_a_record_of_20_mb_costs_itself(tmp_path):
    for long in ("AB  - " + "x" * 20_000_000, "\n".join(["AB  - " + "x" * 1000] * 20_000)):
        first, second = read(tmp_path, FULL.replace("VL  - 9", long) + FULL)
        assert first.line == 1
        assert "longer than 16 MiB" in first.reason
        assert isinstance(second, Accepted)


def test_latin1_is_read_by_its_name_and_rejected_without(tmp_path):
    text = FULL.replace("Ana", "Zoë")
    (record,) = read(tmp_path, text, encoding="latin-1")
    assert record.paper.authors[0] == "Sample, Zoë"
    path = tmp_path / "library.ris"
    path.write_bytes((text + FULL).encode("latin-1"))
    bad, good = ris.read(path, {})
    assert "bytes that aren't UTF-8 (if the whole file is in another encoding, name it)" in bad.reason
    assert isinstance(good, Accepted)


def test_another_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="should be RIS, but it looks like a table; use corpus=csv"):
        read(tmp_path, "id,title\n1,a\n")


def test_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "rispy", None)
    with pytest.raises(UnavailableError, match=r"pip install '.+\[references\]'"):
        read(tmp_path, FULL)


WORDS = st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8), min_size=1, max_size=4).map(
    " ".join
)


@given(
    st.lists(
        st.tuples(WORDS, WORDS, st.lists(WORDS, min_size=1, max_size=3), st.integers(1500, 2030)),
        min_size=1,
        max_size=4,
    )
)
def test_what_another_library_writes_comes_back(tmp_path_factory, references):
    entries = [
        {
            "type_of_reference": "JOUR",
            "id": str(n),
            "title": title,
            "abstract": abstract,
            "authors": authors,
            "year": year,
        }
        for n, (title, abstract, authors, year) in enumerate(references)
    ]
    records = read(tmp_path_factory.mktemp("ris"), rispy.dumps(entries))
    assert [
        (r.paper.identifiers[0], r.paper.title, r.paper.abstract, r.paper.authors, r.paper.year) for r in records
    ] == [
        (f"key:{n}", title, abstract, tuple(dict.fromkeys(authors)), year)
        for n, (title, abstract, authors, year) in enumerate(references)
    ]


@given(st.data())
def test_damage_never_stops_the_reading(tmp_path_factory, data):
    text = FULL * 2
    place = data.draw(st.integers(1, len(text) - 2))
    damage = data.draw(st.text(st.sampled_from("TYER- \n\tAU1;ü"), max_size=12))
    records = read(
        tmp_path_factory.mktemp("ris"),
        "TY  - JOUR\nTI  - t\nER  - \n" + text[:place] + damage + text[place + len(damage) :],
    )
    assert isinstance(records[0], Accepted)
    assert all(record.line > 0 for record in records)
