"""What each reader reads is found out by reading; here it is said for a file in each form. Papers are invented."""

import csv
import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.accounting import LACKABLE, LONGEST_EXAMPLE, MOST_NAMES, Account
from corpora.aliases import normal_name
from corpora.custom import CustomField
from corpora.opening import PLAIN, Opening
from corpora.paper import Accepted, Paper, Rejected
from corpora.registry import CORPORA
from tests.corpora.readers.test_xlsx import workbook


def watched(corpus, path, columns=None, custom=(), opening=PLAIN):
    """Return an account of a corpus, and its records."""
    account = Account()
    records = list(account.watch(CORPORA[corpus].read(path, columns or {}, custom, opening)))
    return account.result(), records


def became(account):
    """Return what each name became, with its kind where that is not plain."""
    return {one.name: " ".join([*one.read_as, *(f"+{name}" for name in one.kept_as)]) for one in account.columns}


@dataclass(frozen=True)
class Form:
    """A file of a corpus, and what its names are read as; `unknown` is a name that no reader knows."""

    file: str
    content: str
    fields: dict[str, str]
    unknown: str = "zzz"


JSON = {"id": "1", "title": "On bees", "abstract": "They hum.", "authors": ["Ana Sample"], "year": 2001, "zzz": "?"}
WORK = {
    "id": "https://openalex.org/W1",
    "display_name": "On bees",
    "title": "On bees",
    "publication_year": 2001,
    "publication_date": "2001-02-03",
    "doi": "https://doi.org/10.5555/a",
    "abstract_inverted_index": {"They": [0], "hum.": [1]},
    "authorships": [{"author": {"display_name": "Ana Sample"}}],
    "primary_location": {"source": {"display_name": "Bee News"}, "landing_page_url": "https://x.example"},
    "type": "article",
    "language": "en",
    "topics": [{"display_name": "Bees"}],
    "referenced_works": ["https://openalex.org/W2"],
    "is_retracted": "no",
    "zzz": {"a": 1},
}
CROSSREF = {
    "DOI": "10.5555/a",
    "title": ["On bees"],
    "original-title": ["Von Bienen"],
    "subtitle": ["A history"],
    "abstract": "<jats:p>They hum.</jats:p>",
    "author": [{"family": "Sample", "given": "Ana"}],
    "issued": {"date-parts": [[2001, 2]]},
    "created": {"date-parts": [[2000]]},
    "container-title": ["Bee News"],
    "type": "journal-article",
    "language": "en",
    "subject": ["Bees"],
    "reference": [{"DOI": "10.5555/b"}],
    "updated-by": [{"type": "retraction"}],
    "zzz": 1,
}
ARXIV = {
    "id": "0704.0001",
    "title": "On bees",
    "abstract": "They hum.",
    "authors": "Ana Sample",
    "authors_parsed": [["Sample", "Ana", ""]],
    "versions": [{"version": "v1", "created": "Mon, 2 Apr 2007 19:18:42 GMT"}],
    "update_date": "2008-01-01",
    "categories": "q-bio.PE",
    "doi": "10.5555/a",
    "zzz": "?",
}
S2 = {
    "corpusid": 7,
    "externalids": {"DOI": "10.5555/a"},
    "title": "On bees",
    "abstract": "They hum.",
    "authors": [{"name": "Ana Sample"}],
    "year": 2001,
    "venue": "Bee News",
    "journal": {"name": "Bee News"},
    "s2fieldsofstudy": [{"category": "Biology"}],
    "url": "https://x.example",
    "zzz": "?",
}
ZOTERO = {
    "id": "http://zotero.org/users/1/items/AB12CD34",
    "title": "On bees",
    "abstract": "They hum.",
    "author": [{"family": "Sample", "given": "Ana"}],
    "issued": {"date-parts": [[2001]]},
    "container-title": "Bee News",
    "publisher": "A Press",
    "type": "article-journal",
    "language": "en",
    "keyword": "bees",
    "DOI": "10.5555/a",
    "note": "PMID: 99000001",
    "URL": "https://x.example",
    "zzz": "?",
}
PUBMED = """<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>99000001</PMID><Article><Journal><JournalIssue>
<PubDate><Year>2001</Year></PubDate></JournalIssue><Title>Bee News</Title></Journal><ArticleTitle>On <i>bees</i>
</ArticleTitle><Abstract><AbstractText>They hum.</AbstractText></Abstract><AuthorList><Author><LastName>Sample
</LastName><ForeName>Ana</ForeName></Author></AuthorList><Language>eng</Language><PublicationTypeList><PublicationType>Review
</PublicationType></PublicationTypeList></Article><MedlineJournalInfo><MedlineTA>Bee N</MedlineTA></MedlineJournalInfo>
<MeshHeadingList><MeshHeading><DescriptorName UI="D1">Bees</DescriptorName></MeshHeading></MeshHeadingList><Zzz>?</Zzz>
</MedlineCitation><PubmedData><ArticleIdList><ArticleId IdType="doi">10.5555/a</ArticleId></ArticleIdList></PubmedData>
</PubmedArticle></PubmedArticleSet>"""
RIS = """TY  - JOUR
T1  - On bees
AB  - They hum.
AU  - Sample, Ana
PY  - 2001
JO  - Bee News
KW  - bees
LA  - en
N1  - doi: 10.5555/a
UR  - https://x.example
ZZ  - ?
ER  -
"""
NBIB = "PMID- 99000001\nTI  - On bees\nAB  - They hum.\nDP  - 2001\nFAU - Sample, Ana\nAU  - Sample A\nZZZ - ?\n"
WOS = "FN Clarivate\nVR 1.0\nPT J\nAU Sample, A\nTI On bees\nPY 2001\nUT WOS:0001\nDI 10.5555/a\nZZ ?\nER\nEF\n"
REFER = "%0 Journal Article\n%T On bees\n%A Sample, Ana\n%D 2001\n%! ?\n"
ENDNOTE = """<xml><records><record><database>x</database><ref-type name="Journal Article">17</ref-type><contributors>
<authors><author><style>Sample, Ana</style></author></authors></contributors><titles><title><style>On bees</style>
</title></titles><dates><year><style>2001</style></year></dates><zzz><style>?</style></zzz></record></records></xml>"""
BIBTEX = """@inproceedings{bee, title={On bees}, abstract={They hum.}, author={Sample, Ana}, crossref={all},
 keywords={bees}, doi={10.5555/a}, zzz={?}}
@proceedings{all, title={Proceedings of Nothing}, year={2001}}"""
MARC = {
    "leader": "00000nam a2200000 a 4500",
    "fields": [
        {"001": "ocm1"},
        {"100": {"ind1": "1", "ind2": " ", "subfields": [{"a": "Sample, Ana"}]}},
        {"245": {"ind1": "1", "ind2": "0", "subfields": [{"a": "On bees"}, {"z": "?"}]}},
        {"264": {"ind1": " ", "ind2": "1", "subfields": [{"b": "A Press"}, {"c": "2001"}]}},
        {"520": {"ind1": " ", "ind2": " ", "subfields": [{"a": "They hum."}]}},
        {"650": {"ind1": " ", "ind2": "0", "subfields": [{"a": "Bees"}]}},
        {"880": {"ind1": "1", "ind2": "0", "subfields": [{"6": "245-01"}, {"a": "Περί μελισσών"}]}},
    ],
}
OAI = """<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><ListRecords><record><header><identifier>oai:x:1
</identifier></header><metadata><dc xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>On bees</dc:title>
<dc:creator>Sample, Ana</dc:creator><dc:date>2001</dc:date><dc:identifier>https://doi.org/10.5555/a</dc:identifier>
<dc:zzz>?</dc:zzz></dc></metadata></record></ListRecords></OAI-PMH>"""

FORMS = {
    "cord19": Form(
        "metadata.csv",
        "cord_uid,title,abstract,authors,publish_time,journal,doi,pubmed_id,url,license,zzz\n"
        'u1,On bees,They hum.,"Sample, Ana",2001-02-03,Bee News,10.5555/a,99000001,https://x.example,cc-by,?\n',
        {
            "cord_uid": "id cord_uid",
            "title": "title",
            "abstract": "abstract",
            "authors": "authors",
            "url": "url",
            "publish_time": "year +published",
            "journal": "venue",
            "doi": "doi",
            "pubmed_id": "pmid",
            "license": "",
        },
    ),
    "pubmed": Form(
        "a.xml",
        PUBMED,
        {
            "PMID": "id pmid url",
            "Year": "year",
            "Title": "venue",
            "MedlineTA": "venue",
            "ArticleTitle": "title",
            "AbstractText": "abstract",
            "LastName": "authors",
            "ForeName": "authors",
            "Language": "language",
            "PublicationType": "types",
            "DescriptorName": "fields",
            "ArticleId": "doi",
        },
        "Zzz",
    ),
    "beir": Form(
        "corpus.jsonl",
        json.dumps({"_id": "1", "title": "", "text": "They hum.", "metadata": {"year": 2001, "zzz": "?"}}),
        {"_id": "id", "text": "title abstract", "year": "year", "title": "title"},
    ),
    "jsonl": Form(
        "a.jsonl",
        json.dumps(JSON),
        {"id": "id", "title": "title", "abstract": "abstract", "authors": "authors", "year": "year"},
    ),
    "csv": Form(
        "a.csv",
        "Title,Authors,Year,Source title,DOI,Abstract,Retracted,zzz\n"
        "On bees,Ana Sample,2001,Bee News,,They hum.,no,?\n",
        {
            "Title": "title",
            "Authors": "authors",
            "Year": "year",
            "Source title": "venue",
            "DOI": "id doi",
            "Abstract": "abstract",
            "Retracted": "retracted",
        },
    ),
    "openalex": Form(
        "a.jsonl",
        json.dumps(WORK),
        {
            "id": "id openalex",
            "display_name": "title",
            "title": "title",
            "publication_year": "year",
            "publication_date": "year",
            "doi": "doi",
            "abstract_inverted_index": "abstract",
            "type": "types",
            "authorships": "authors",
            "primary_location": "venue url",
            "language": "language",
            "topics": "fields",
            "referenced_works": "references",
            "is_retracted": "retracted",
        },
    ),
    "arxiv": Form(
        "a.json",
        json.dumps(ARXIV),
        {
            "id": "id arxiv url",
            "title": "title",
            "abstract": "abstract",
            "authors": "authors",
            "doi": "doi",
            "authors_parsed": "authors",
            "versions": "year +published",
            "update_date": "year",
            "categories": "fields",
        },
    ),
    "s2": Form(
        "a.jsonl",
        json.dumps(S2),
        {
            "corpusid": "id s2",
            "externalids": "doi",
            "title": "title",
            "abstract": "abstract",
            "url": "url",
            "authors": "authors",
            "year": "year",
            "venue": "venue",
            "journal": "venue",
            "s2fieldsofstudy": "fields",
        },
    ),
    "ris": Form(
        "a.ris",
        RIS,
        {
            "TY": "types",
            "T1": "title",
            "AB": "abstract",
            "AU": "authors",
            "PY": "year",
            "JO": "venue",
            "KW": "fields",
            "LA": "language",
            "N1": "id doi",
            "UR": "url",
        },
        "ZZ",
    ),
    "bibtex": Form(
        "a.bib",
        BIBTEX,
        {
            "title": "title",
            "abstract": "abstract",
            "author": "authors",
            "crossref": "year venue",
            "year": "year",
            "keywords": "fields",
            "doi": "id doi",
        },
    ),
    "zotero": Form(
        "a.json",
        json.dumps([ZOTERO]),
        {
            "id": "id",
            "title": "title",
            "abstract": "abstract",
            "author": "authors",
            "issued": "year",
            "container-title": "venue",
            "publisher": "publication",
            "type": "types",
            "language": "language",
            "keyword": "fields",
            "DOI": "doi",
            "note": "pmid",
            "URL": "url",
        },
    ),
    "marc": Form(
        "a.json",
        json.dumps(MARC),
        {
            "001": "id",
            "100a": "authors",
            "245a": "title",
            "264b": "publication",
            "264c": "year",
            "520a": "abstract",
            "650a": "fields",
            "8806": "title",
            "880a": "title",
        },
        "245z",
    ),
    "crossref": Form(
        "a.jsonl",
        json.dumps(CROSSREF),
        {
            "DOI": "id doi url",
            "title": "title",
            "original-title": "title",
            "subtitle": "title",
            "issued": "year",
            "abstract": "abstract",
            "author": "authors",
            "created": "year",
            "container-title": "venue",
            "type": "types",
            "language": "language",
            "subject": "fields",
            "reference": "references",
            "updated-by": "retracted",
        },
    ),
    "oai": Form("a.xml", OAI, {"title": "title", "creator": "authors", "date": "year", "identifier": "doi url"}),
}
FORMS["pubmed-sample"] = FORMS["pubmed"]
MORE = {
    "nbib": (
        "ris",
        Form(
            "a.nbib",
            NBIB,
            {"PMID": "id pmid", "TI": "title", "AB": "abstract", "DP": "year", "FAU": "authors", "AU": "authors"},
            "ZZZ",
        ),
    ),
    "wos": (
        "ris",
        Form("a.txt", WOS, {"PT": "", "AU": "authors", "TI": "title", "PY": "year", "UT": "wos", "DI": "id doi"}, "ZZ"),
    ),
    "refer": ("ris", Form("a.enw", REFER, {"0": "types", "T": "title", "A": "authors", "D": "year"}, "!")),
    "endnote": (
        "ris",
        Form(
            "a.xml",
            ENDNOTE,
            {
                "database": "",
                "ref-type": "types",
                "authors/author": "authors",
                "titles/title": "title",
                "dates/year": "year",
            },
        ),
    ),
}
CUSTOM = {"cord19": CustomField("published", "date"), "arxiv": CustomField("published", "date")}


@pytest.mark.parametrize(("corpus", "form"), [*FORMS.items(), *MORE.values()], ids=[*FORMS, *MORE])
def test_each_reader_says_what_it_reads_and_what_not(corpus, form, tmp_path):
    path = tmp_path / form.file
    path.write_text(form.content, encoding="utf-8")
    account, records = watched(corpus, path, custom=[CUSTOM[corpus]] if corpus in CUSTOM else [])
    assert {type(record) for record in records} == {Accepted}
    assert became(account) == {**form.fields, form.unknown: ""}
    unknown = next(one for one in account.columns if one.name == form.unknown)
    assert (unknown.became, unknown.records, bool(unknown.example)) == ("not read", 1, True)
    assert records[0].made_of is None


def test_documents_of_an_index_and_sheets_are_accounted_for(tmp_path):
    account, _ = watched("index", Path("x"), opening=Opening(documents=lambda: iter([{**JSON, "_id": "1"}])))
    assert became(account) == {**FORMS["jsonl"].fields, "_id": "id", "zzz": "", "id": ""}

    (tmp_path / "a.xlsx").write_bytes(workbook([*csv.reader(FORMS["csv"].content.splitlines())]))
    account, _ = watched("xlsx", tmp_path / "a.xlsx")
    assert became(account) == {**FORMS["csv"].fields, "zzz": ""}


def test_every_corpus_is_here():
    assert {*FORMS, "index", "xlsx"} == {*CORPORA}


def test_items_of_the_api_of_zotero_are_read_with_what_is_beside_them(tmp_path):
    data = {"key": "AB12CD34", "itemType": "book", "title": "On bees", "date": "2001", "collections": ["K"], "zzz": "?"}
    (tmp_path / "a.json").write_text(json.dumps([{"key": "AB12CD34", "data": data, "meta": {"parsedDate": "2001"}}]))
    account, _ = watched("zotero", tmp_path / "a.json")
    assert became(account) == {
        "key": "id",
        "itemType": "types",
        "title": "title",
        "date": "year",
        "meta": "year",
        "data.collections": "",
        "zzz": "",
    }


HEADERS = st.sampled_from(
    ["Title", "title", "Year", "Published", "DOI", "doi", "Notes", "Abstract", "ISSN", "", "PMID", "Authors"]
)


@given(
    st.lists(HEADERS, min_size=1, max_size=9), st.lists(st.sampled_from(["", "2001", "a b", "10.5555/x"]), min_size=9)
)
def test_every_header_of_a_table_has_one_class(tmp_path_factory, header, values):
    path = tmp_path_factory.mktemp("table") / "a.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["The title", *header], ["On bees", *values[: len(header)]]])
    kept = [CustomField("noted", "text", "Notes")] if "Notes" in header else []
    account, (record,) = watched("csv", path, {"title": "The title"}, kept)
    names = [one.name for one in account.columns]
    assert len(names) == len({*names}) == len(header) + 1
    assert [one for one in account.columns if one.became not in ("read", "kept", "not read")] == []
    for one in account.columns:
        assert (one.became == "kept") == (one.name == "Notes" and bool(kept))
        assert one.records == bool(one.example)
        if normal_name(one.name) in ("notes", "issn") or "(" in one.name:
            assert one.became in ("kept", "not read")
    assert isinstance(record, Accepted)


def table(path, *rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def test_records_and_what_they_lack_are_counted_exactly(tmp_path):
    rows = [[f"Paper {n}", "" if n % 3 else "2001", "?" if n % 10 == 0 else ""] for n in range(1000)]
    account, _ = watched("csv", table(tmp_path / "a.csv", ["Title", "Year", "Notes"], *rows))
    assert {one.name: one.records for one in account.columns} == {"Title": 1000, "Year": 334, "Notes": 100}
    assert account.records == 1000
    assert account.lacking == {**dict.fromkeys(LACKABLE, 1000), "title": 0, "year": 666}


@pytest.mark.parametrize("missing", LACKABLE)
def test_a_paper_that_lacks_one_thing_is_counted_for_that(tmp_path, missing):
    whole = {"title": "On bees", "abstract": "They hum.", "year": 2001, "authors": ["Ana Sample"], "venue": "Bee News"}
    whole |= {"doi": "10.5555/a"}
    rows = [{"id": "a", **whole}, {"id": "b", **whole, missing: ""}]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    account, _ = watched("jsonl", tmp_path / "a.jsonl")
    assert account.lacking == dict.fromkeys(LACKABLE, 0) | {missing: 1}


@pytest.mark.slow
def test_a_tag_that_is_read_in_few_records_is_found(tmp_path):
    records = [RIS.replace("doi: 10.5555/a", "Bees") for _ in range(500)]
    records[299] = RIS
    (tmp_path / "a.ris").write_text("".join(records))
    account, _ = watched("ris", tmp_path / "a.ris")
    assert became(account)["N1"] == ""
    # Among the first records it is found, though none of those before it had a DOI there.
    records[19] = RIS
    (tmp_path / "a.ris").write_text("".join(records))
    account, _ = watched("ris", tmp_path / "a.ris")
    assert became(account)["N1"] == "id doi"
    # A name that is rare is tried wherever it stands.
    records = [RIS.replace("N1  - doi: 10.5555/a\n", "") for _ in range(500)]
    records[299] = RIS
    (tmp_path / "a.ris").write_text("".join(records))
    account, _ = watched("ris", tmp_path / "a.ris")
    assert became(account)["N1"] == "id doi"


def test_columns_that_hold_what_papers_lack_are_pointed_out(tmp_path):
    header = ["Title", "Date added", "Erschienen", "Kennung", "Seiten"]
    rows = [[f"Paper {n}", "2020-01-01", 1990 + n, f"https://doi.org/10.5555/x{n}", "1990-1999"] for n in range(9)]
    account, _ = watched("csv", table(tmp_path / "a.csv", header, *rows))
    assert [(one.attribute, one.column, one.sentence) for one in account.overlooked] == [
        ("year", "Erschienen", "9 of 9 records have no year, and Erschienen has years, such as 1990"),
        ("doi", "Kennung", "9 of 9 records have no DOI, and Kennung has DOIs, such as https://doi.org/10.5555/x0"),
    ]
    columns = {one.attribute: one.column for one in account.overlooked}
    mended, records = watched("csv", tmp_path / "a.csv", columns)
    assert mended.overlooked == ()
    assert (records[1].paper.year, records[1].paper.identifiers) == (1991, ("doi:10.5555/x1",))


YEARS = (
    *("1900", "2100", "2001-02", "2001/2/3", "2001.02.03", "2001-02-03T10:00", "3.2.2001", "02-2001", "3/2/2001"),
    *("2001 Feb", "2001 Feb 3", "3 Feb 2001", "Feb. 2001", "February 3, 2001", "3 Feb., 2001"),
)
NO_YEARS = ("1899", "2101", "20011", "1990-1999", "in 2001", "Spring of 2001")
OF_RECORDS = ("Accessed", "added", "COMPLETED", "created", "download", "entry", "modified", "retrieved", "revised")


@pytest.mark.parametrize(
    ("attribute", "holds", "column", "values"),
    [
        ("year", True, "Erschienen", YEARS),
        ("year", False, "Erschienen", NO_YEARS),
        *(("year", False, f"Datum {verb}", ["2001-02-03"]) for verb in (*OF_RECORDS, "updated")),
        ("doi", True, "Kennung", ["see 10.5555/a and b", "10.5555/" + "a" * 191]),
        ("doi", False, "Kennung", ["see 10.5555/a and b, c", "10.5555/" + "a" * 192]),
        ("abstract", True, "Inhalt", ["words12 " * 39 + "a", "words1 " * 39 + "a" * 27]),
        ("abstract", False, "Inhalt", ["words12 " * 38 + "a", "words1 " * 39 + "a" * 26]),
        ("title", True, "Name", ["On sleep of bee", "On " * 99 + "bee"]),
        (
            "title",
            False,
            "Name",
            ["On sleep of be", "On " * 99 + "bees", "On bees; and their sleep", "Twolongish words"],
        ),
    ],
)
def test_what_a_column_seems_to_hold(tmp_path, attribute, holds, column, values):
    for value in values:
        (tmp_path / "a.jsonl").write_text("".join(json.dumps({"id": n, column: value}) + "\n" for n in range(3)))
        account, _ = watched("jsonl", tmp_path / "a.jsonl")
        assert (attribute in [one.attribute for one in account.overlooked]) == holds, value


@pytest.mark.parametrize(("lacking", "odd", "told"), [(2, 0, False), (3, 0, True), (3, 2, True), (3, 3, False)])
def test_few_papers_that_lack_something_are_no_matter_nor_columns_that_hold_it_seldom(tmp_path, lacking, odd, told):
    rows = [
        {"id": n, "title": "T", "year": "" if n < lacking else 2001, "wann": "x" if n < odd else 2002}
        for n in range(10)
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    account, _ = watched("jsonl", tmp_path / "a.jsonl")
    assert ("year" in [one.attribute for one in account.overlooked]) == told


def test_records_that_are_rejected_for_want_of_a_title_are_accounted_for(tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps({"id": 1, "Titel": "On the sleep of bees"}))
    account, (record,) = watched("jsonl", tmp_path / "a.jsonl")
    assert record == Rejected(1, "The record has neither title nor abstract.", "1")
    assert record.made_of is record.paper is None
    assert account.lacking["title"] == 1
    assert [(one.attribute, one.column) for one in account.overlooked] == [("title", "Titel")]


@pytest.mark.slow
def test_an_example_is_short_and_names_are_limited(tmp_path):
    record = {"id": 1, "title": "On bees", **{f"k{n}": "x" * 500 for n in range(MOST_NAMES)}}
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, (record, {**record, "more": 1}))))
    account, _ = watched("jsonl", tmp_path / "a.jsonl")
    assert (len(account.columns), account.more_names) == (MOST_NAMES, True)
    assert max(len(one.example) for one in account.columns) == LONGEST_EXAMPLE


def test_json_says_for_each_name_what_became_of_it(tmp_path):
    path = table(tmp_path / "a.csv", ["Title", "Year", "Shelf", "Notes"], ["On bees", "2001", "A 1", "?"])
    account, _ = watched("csv", path, custom=[CustomField("shelf", "keyword")])
    document = account.to_dict()
    assert document["columns"][1:] == [
        {"name": "Year", "became": "read", "read_as": ("year",), "kept_as": (), "records": 1, "example": "2001"},
        {"name": "Shelf", "became": "kept", "read_as": (), "kept_as": ("shelf",), "records": 1, "example": "A 1"},
        {"name": "Notes", "became": "not read", "read_as": (), "kept_as": (), "records": 1, "example": "?"},
    ]
    assert document["lacking"]["abstract"] == document["records"] == 1


def test_records_of_no_reader_pass_as_they_are():
    account = Account()
    records = [Accepted(1, Paper("a", "A")), Rejected(2, "It is none.")]
    assert list(account.watch(iter(records))) == records
    assert account.result() is None


def test_a_trial_that_fails_ends_no_run(tmp_path):
    class Fragile:
        def names(self):
            return ["a"]

        def without(self, names):
            raise ZeroDivisionError

        def text(self, name):
            return "x"

    from corpora.accounting import accounted

    account = Account()
    record = accounted({}, lambda _: Accepted(1, Paper("a", "A")), Fragile())
    assert [one.line for one in account.watch([record, replace(record, line=2)])] == [1, 2]
    assert became(account.result()) == {"a": ""}
