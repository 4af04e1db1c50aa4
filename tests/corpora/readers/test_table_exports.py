"""Tables as programs export them: their headers, with invented papers.

The headers are those of exports of 2023 to 2025. Those of Embase, Cochrane and Lens were not compared with real files.
"""

import csv
import io

import pytest

from corpora.custom import CustomField
from corpora.errors import InputError
from corpora.paper import Accepted, Paper, Rejected
from corpora.publication import Publication
from corpora.readers import delimited


def read(tmp_path, text, columns=None, custom=()):
    path = tmp_path / "papers.csv"
    path.write_text(text, newline="")
    return list(delimited.read(path, columns or {}, custom))


def table(header, *rows, delimiter=","):
    out = io.StringIO()
    writer = csv.DictWriter(out, header, delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


ZOTERO = (
    "Key,Item Type,Publication Year,Author,Title,Publication Title,ISBN,ISSN,DOI,Url,Abstract Note,Date,Date Added,"
    "Date Modified,Access Date,Pages,Num Pages,Issue,Volume,Number Of Volumes,Journal Abbreviation,Short Title,"
    "Language,Extra,Notes,Manual Tags,Automatic Tags,Editor,Conference Name"
)
SCOPUS = (
    "Authors,Author full names,Author(s) ID,Title,Year,Source title,Volume,Issue,Art. No.,Page start,Page end,Cited by,"
    "DOI,Link,Affiliations,Abstract,Author Keywords,Index Keywords,PubMed ID,Language of Original Document,"
    "Abbreviated Source Title,Document Type,Publication Stage,Open Access,Source,EID"
)
WOS = (
    "Publication Type,Authors,Book Authors,Author Full Names,Article Title,Source Title,Language,Document Type,"
    "Conference Title,Author Keywords,Keywords Plus,Abstract,ISSN,Publication Year,Volume,DOI,Pubmed Id,"
    "UT (Unique WOS ID)"
)
PUBMED = "PMID,Title,Authors,Citation,First Author,Journal/Book,Publication Year,Create Date,PMCID,NIHMS ID,DOI"
COVIDENCE = (
    "Title,Authors,Abstract,Published Year,Published Month,Journal,Volume,Issue,Pages,Accession Number,DOI,Ref,"
    "Covidence #,Study,Notes,Tags"
)
OPENALEX = (
    "id,doi,display_name,publication_year,publication_date,ids.pmid,language,primary_location.source.display_name,"
    "primary_location.landing_page_url,type,is_retracted,authorships.author.display_name,keywords.display_name,abstract"
)
RAYYAN = (
    "key,title,year,month,day,journal,issn,volume,issue,pages,authors,url,language,publisher,location,abstract,notes,"
    "doi,keywords,pubmed_id,pmc_id"
)
LENS = (
    "Lens ID,Title,Date Published,Publication Year,Publication Type,Source Title,ISSNs,Publisher,Source Country,"
    "Author/s,Abstract,Volume,Issue Number,Start Page,End Page,Fields of Study,Keywords,MeSH Terms,Source URLs,"
    "External URL,PMID,DOI,Microsoft Academic ID,PMCID,Citing Works Count,Is Open Access"
)
DIMENSIONS = (
    "Rank,Publication ID,DOI,PMID,PMCID,ArXiv ID,Title,Abstract,Acknowledgements,Funding,Source title,Anthology title,"
    "Publisher,ISSN,MeSH terms,Publication date,PubYear,Volume,Issue,Pagination,Open Access,Publication Type,Authors,"
    "Corresponding Authors,Dimensions URL,Times cited"
)
SCHOLAR = "Authors,Title,Publication,Volume,Number,Pages,Year,Publisher"
PERISH = "Cites,Authors,Title,Year,Source,Publisher,ArticleURL,CitesURL,GSRank,QueryDate,Type,DOI,ISSN,Abstract"
COCHRANE = "Cochrane Review ID,Title,Author(s),Source,Abstract,Year,Keywords,DOI,URL,Publication Type,Journal"
TAGGED = "PT,AU,BA,AF,TI,SO,LA,DT,DE,ID,AB,PY,VL,DI,PM,UT"

COMMON = {"title": "Sleep of bees", "year": 2021, "venue": "Letters on Nothing", "abstract": "They sleep."}
NAMES = ("Sample, Ana", "Toth, Eric A.")
EXPORTS = {
    "zotero": (ZOTERO, "Key=AB12CD34|Publication Year=2021|Title|Publication Title|Abstract Note|DOI"
               "|Author=Sample, Ana; Toth, Eric A.|Manual Tags=bees; sleep", "key:AB12CD34", "AB12CD34"),
    "scopus": (SCOPUS, "EID=2-s2.0-99|Year=2021|Title|Source title|Abstract|DOI|Author Keywords=bees|Source=Scopus"
               "|Authors=Sample A.; Toth E.A.|Author full names=Sample, Ana (57); Toth, Eric A. (57000)"
               "|Index Keywords=sleep", "scopus:2-s2.0-99", "2-s2.0-99"),
    "wos": (WOS, "UT (Unique WOS ID)=WOS:0001|Publication Year=2021|Article Title|Source Title|Abstract|DOI"
            "|Authors=Sample, A; Toth, EA|Author Full Names=Sample, Ana; Toth, Eric A.|Author Keywords=bees"
            "|Keywords Plus=sleep|Publication Type=J|Document Type=Article", "wos:0001", "WOS:0001"),
    "covidence": (COVIDENCE, "Title|Abstract|Published Year=2021|Journal|DOI|Authors=Sample, Ana; Toth, Eric A."
                  "|Covidence #=#12|Tags=bees; sleep", "", "hash-"),
    "openalex": (OPENALEX, "id=https://openalex.org/W1|doi|display_name|publication_year=2021|abstract|ids.pmid=12"
                 "|primary_location.source.display_name|authorships.author.display_name=Sample, Ana|Toth, Eric A."
                 "|keywords.display_name=bees; sleep", "pmid:12", "https://openalex.org/W1"),
    "rayyan": (RAYYAN, "key=rayyan-1001|title|year=2021|journal|abstract|doi|authors=Sample, Ana and Toth, Eric A."
               "|keywords=bees,sleep|pubmed_id=0", "key:rayyan-1001", "rayyan-1001"),
    "lens": (LENS, "Lens ID=001-002|Title|Publication Year=2021|Source Title|Abstract|DOI|Keywords=bees; sleep"
             "|Author/s=Sample, Ana; Toth, Eric A.|Microsoft Academic ID=7", "lens:001-002", "7"),
    "dimensions": (DIMENSIONS, "Publication ID=pub.1|Title|PubYear=2021|Source title|Abstract|DOI"
                   "|MeSH terms=bees; sleep|Authors=Sample, Ana; Toth, Eric A.", "dimensions:pub.1", "pub.1"),
    "cochrane": (COCHRANE, "Cochrane Review ID=CN-01|Title|Year=2021|Journal|Abstract|DOI|Keywords=bees; sleep"
                 "|Author(s)=Sample, Ana; Toth, Eric A.", "cochrane:CN-01", "CN-01"),
    "tagged": (TAGGED, "UT=WOS:0001|TI|PY=2021|SO|AB|DI|DE=bees; sleep|AF=Sample, Ana; Toth, Eric A."
               "|ID=MORE|AU=Sample, A",
               "wos:0001", "WOS:0001"),
}  # fmt: skip
"""A header, its values, an identifier of the paper beside the DOI, and its id without a DOI."""
MEANT = {
    **dict.fromkeys(("Title", "title", "Article Title", "display_name", "TI"), COMMON["title"]),
    **dict.fromkeys(("Abstract", "abstract", "Abstract Note", "AB"), COMMON["abstract"]),
    **dict.fromkeys(("DOI", "doi", "DI"), "https://doi.org/10.5555/T1"),
}
VENUE = COMMON["venue"]


def row_of(values):
    parts = values.split("|")
    # OpenAlex separates authors by the sign that separates values here.
    if "Toth, Eric A." in parts:
        at = parts.index("Toth, Eric A.")
        parts[at - 1 : at + 1] = [f"{parts[at - 1]}|{parts[at]}"]
    pairs = (part.partition("=") for part in parts)
    return {name: value if sign else MEANT.get(name, VENUE) for name, sign, value in pairs}


@pytest.mark.parametrize("program", EXPORTS)
def test_exports_lose_nothing(tmp_path, program):
    header, values, identifier, own = EXPORTS[program]
    row = row_of(values)
    bare = {name: "" if name in ("DOI", "doi", "DI", "ids.pmid") else value for name, value in row.items()}
    whole, without = read(tmp_path, table(header.split(","), row, bare))
    paper = whole.paper
    assert {name: getattr(paper, name) for name in COMMON} == COMMON
    assert paper.authors == NAMES
    assert paper.fields == ("bees", "sleep")
    assert "doi:10.5555/t1" in paper.identifiers
    assert identifier in ("", *paper.identifiers)
    assert paper.id == (own if program == "openalex" else "10.5555/t1")
    assert without.paper.id.startswith(own)


def test_web_of_sciences_tags_have_all_of_a_paper(tmp_path):
    given = {"PY": "2021", "DI": "10.5555/a", "PM": "12", "UT": "WOS:1", "SN": "1234-5679"}
    tags = ("TI", "AB", "AF", "SO", "DT", "LA", "DE", "VL", "IS", "BP", "EP", "AR", "PU")
    row = {tag: f"{tag} it" for tag in tags} | given
    first, second = read(tmp_path, table([*row, "ID"], row | {"ID": "MORE"}, row | {"BP": "", "EP": ""}))
    assert first.paper == Paper(
        "10.5555/a",
        "TI it",
        "AB it",
        ("AF it",),
        2021,
        "SO it",
        ("DT it",),
        "LA it",
        ("DE it",),
        ("doi:10.5555/a", "pmid:12", "wos:1"),
        publication=Publication("VL it", "IS it", "BP it-EP it", "PU it", ("1234-5679",)),
    )
    assert second.paper.publication.pages == "AR it"
    (bare,) = read(tmp_path, table(["TI", "SO", "UT"], {"TI": "T", "SO": "S", "UT": "WOS:1"}))
    assert (bare.paper.id, bare.paper.title, bare.paper.venue) == ("WOS:1", "T", "S")


def test_pubmeds_names_in_one_text(tmp_path):
    row = {
        "PMID": "12",
        "Title": "T",
        "Authors": "Sample A, Toth EA, de Vries K Jr.",
        "Journal/Book": "J",
        "DOI": "",
        "Citation": "J. 2020 May 1;4(2):5-9. doi: x.",
    }
    (record,) = read(tmp_path, table(PUBMED.split(","), row))
    assert (record.paper.id, record.paper.venue) == ("12", "J")
    assert record.paper.publication == Publication("4", "2", "5-9")
    assert record.paper.authors == ("Sample A", "Toth EA", "de Vries K Jr")


def test_google_scholar_has_no_ids(tmp_path):
    row = {"Authors": "Sample, Ana; Toth, Eric; ", "Title": "T", "Publication": "J", "Year": "2020"}
    first, again, other = read(tmp_path, table(SCHOLAR.split(","), row, row, {**row, "Year": "2021"}))
    assert first.paper.id == again.paper.id != other.paper.id
    assert (first.paper.authors, first.paper.venue) == (("Sample, Ana", "Toth, Eric"), "J")
    row = {"Authors": "A Sample, E Toth", "Title": "T", "Source": "J", "GSRank": "1", "ArticleURL": "https://x.example"}
    (record,) = read(tmp_path, table(PERISH.split(","), row))
    assert (record.paper.venue, record.paper.url) == ("J", "https://x.example")


def test_zero_is_no_pmid(tmp_path):
    rows = [{"pmid": zero, "title": f"T{zero}", "year": n} for n, zero in enumerate(["0", "0.0", "-", "NA", " "], 2000)]
    records = read(tmp_path, table(["pmid", "title", "year"], *rows))
    assert len({record.paper.id for record in records}) == len(rows)
    assert {record.paper.identifiers for record in records} == {()}


@pytest.mark.parametrize("before", ["sep=,\n", '"About the data: exported on Jan 1, 2024. Criteria: a, b"\n'])
def test_lines_before_a_header(tmp_path, before):
    record, bad = read(tmp_path, before + table(["Title", "PubYear"], {"Title": "T", "PubYear": "2020"}) + "a,b,c\n")
    line = before.count("\n") + 2
    assert (record.line, record.paper.title, record.paper.year) == (line, "T", 2020)
    assert isinstance(bad, Rejected)
    assert bad.line == line + 1


def test_a_table_without_titles_is_refused(tmp_path):
    with pytest.raises(InputError, match="no column for the title; it has: a, b; name one"):
        read(tmp_path, "a,b\n1,2\n3,4\n5,6\n7,8\n")
    (record,) = read(tmp_path, "a,b\n1,2\n", {"title": "b"})
    assert record.paper.title == "2"


EMBASE = """"TITLE","Sleep of bees"
"AUTHOR NAMES","Sample A.","Toth E.A."
"SOURCE","Letters on Nothing (2021) 3:1 (1-9)"
"PUBLICATION YEAR","2021"
"ABSTRACT","They
sleep."
"EMTREE DRUG INDEX TERMS","bees","sleep"
"DOI","10.5555/T1"
"PUI","L1"

"TITLE","No DOI"
"SOURCE TITLE","J"
"PUI","L2"
"VOLUME","7"
"""


@pytest.mark.parametrize("marked", [False, True])
def test_embases_fields_in_rows(tmp_path, marked):
    text = EMBASE
    if marked:
        text = "RECORD 1\n" + text.replace('\n\n"', '\n\nRECORD 2\n"')
    first, second = read(tmp_path, text, custom=[CustomField("volume", "keyword", "VOLUME")])
    assert isinstance(first, Accepted)
    assert {name: getattr(first.paper, name) for name in COMMON} == COMMON
    assert (first.paper.authors, first.paper.fields) == (("Sample A.", "Toth E.A."), ("bees", "sleep"))
    assert first.paper.identifiers == ("doi:10.5555/t1", "embase:L1")
    assert (first.line, second.line) == ((2, 13) if marked else (1, 11))
    assert (second.paper.id, second.paper.venue, second.paper.extra) == ("L2", "J", {"volume": "7"})
