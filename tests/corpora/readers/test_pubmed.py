import gzip
import re
import sys

import pytest

from corpora.custom import CustomField
from corpora.errors import InputError, UnavailableError
from corpora.opening import Opening
from corpora.paper import Accepted, Deleted, Paper, Rejected
from corpora.publication import Publication
from corpora.readers import pubmed

FULL = """
<PubmedArticle><MedlineCitation Status="MEDLINE"><PMID Version="1">33829574</PMID>
<Article PubModel="Print"><Journal><ISSN IssnType="Electronic">1879-0445</ISSN><JournalIssue CitedMedium="Internet">
<Volume>30</Volume><Issue>23</Issue><PubDate><MedlineDate>2020 Dec-2021 Jan</MedlineDate></PubDate>
</JournalIssue><Title>Current biology : CB</Title></Journal>
<ArticleTitle>Uptake of <i>H<sub>2</sub>O</i> at &lt;5 &#181;M</ArticleTitle>
<Pagination><MedlinePgn>4567-71</MedlinePgn></Pagination>
<ELocationID EIdType="doi">10.1000/ABC</ELocationID><ELocationID EIdType="pii">S0960</ELocationID>
<Abstract><AbstractText Label="BACKGROUND" NlmCategory="BACKGROUND">We <b>know</b> <mml:math
 xmlns:mml="http://www.w3.org/1998/Math/MathML"><mml:mi>x</mml:mi><mml:mn>2</mml:mn></mml:math>.</AbstractText>
<AbstractText Label="RESULTS">Ran <i>in <sup>vivo</sup></i>.</AbstractText>
<AbstractText Label="UNASSIGNED">End.</AbstractText><CopyrightInformation>Copyright 2020</CopyrightInformation>
</Abstract>
<AuthorList><Author><LastName>Bainton</LastName><ForeName>R J</ForeName></Author>
<Author><LastName>Li</LastName><Initials>X</Initials></Author>
<Author><CollectiveName>The <i>RECOVERY</i> Group</CollectiveName></Author></AuthorList>
<Language>eng</Language><Language>fre</Language><PublicationTypeList>
<PublicationType UI="D016428">Journal Article</PublicationType><PublicationType UI="D016454">Review</PublicationType>
</PublicationTypeList></Article>
<MedlineJournalInfo><Country>England</Country><MedlineTA>Curr Biol</MedlineTA><ISSNLinking>0960-9822</ISSNLinking>
</MedlineJournalInfo>
<MeshHeadingList><MeshHeading><DescriptorName UI="D000086382">COVID-19</DescriptorName>
<QualifierName UI="Q000628">therapy</QualifierName></MeshHeading>
<MeshHeading><DescriptorName UI="D006801">Humans</DescriptorName></MeshHeading></MeshHeadingList>
<KeywordList><Keyword><i>Drosophila</i> wing</Keyword><Keyword>Humans</Keyword></KeywordList></MedlineCitation>
<PubmedData><ArticleIdList><ArticleId IdType="pubmed">33829574</ArticleId>
<ArticleId IdType="pmc">PMC777</ArticleId><ArticleId IdType="doi">10.1000/abc</ArticleId></ArticleIdList>
<ReferenceList><Reference><Citation>A</Citation><ArticleIdList><ArticleId IdType="pubmed">11</ArticleId>
</ArticleIdList></Reference><Reference><Citation>B</Citation></Reference><Reference><Citation>C</Citation>
<ArticleIdList><ArticleId IdType="pubmed">12</ArticleId></ArticleIdList></Reference></ReferenceList></PubmedData>
</PubmedArticle>""".strip()


CHEMICAL = '<ChemicalList><Chemical><NameOfSubstance UI="D1"/></Chemical></ChemicalList>'
KEYWORDS = "<KeywordList><Keyword><i>Drosophila</i> wing</Keyword><Keyword>Humans</Keyword></KeywordList>"


def article(pmid, title="A title", extra=""):
    return (
        f"<PubmedArticle><MedlineCitation><PMID>{pmid}</PMID>\n<Article><Journal><JournalIssue><PubDate>"
        f"<Year>1999</Year></PubDate></JournalIssue><Title>J</Title></Journal><ArticleTitle>{title}</ArticleTitle>"
        f"{extra}</Article></MedlineCitation></PubmedArticle>\n"
    )


def document(*parts, head='<?xml version="1.0" encoding="utf-8"?>\n'):
    return (head + "<PubmedArticleSet>\n" + "".join(parts) + "</PubmedArticleSet>\n").encode()


def read(tmp_path, data, name="pubmed.xml", custom=()):
    path = tmp_path / name
    path.write_bytes(data)
    return list(pubmed.read(path, {}, custom))


def summary(records):
    return [
        (record.line, record.paper.id)
        if isinstance(record, Accepted)
        else (record.line, record.id, record.reason)
        if isinstance(record, Rejected)
        else record
        for record in records
    ]


def test_an_article_with_everything(tmp_path):
    custom = {
        "country": "England",
        "abbreviation": "Curr Biol",
        "issn": "0960-9822",
        "volume": "30",
        "issue": "23",
        "pages": "4567-71",
        "copyright": "Copyright 2020",
    }
    assert read(tmp_path, document(FULL), custom=[CustomField(name, "keyword") for name in custom]) == [
        Accepted(
            3,
            Paper(
                id="33829574",
                title="Uptake of H2O at <5 µM",
                abstract="BACKGROUND: We know x2. RESULTS: Ran in vivo. End.",
                authors=("R J Bainton", "X Li", "The RECOVERY Group"),
                year=2020,
                venue="Current biology : CB",
                types=("Journal Article", "Review"),
                language="eng",
                fields=("COVID-19", "Humans", "Drosophila wing"),
                identifiers=("doi:10.1000/abc", "pmid:33829574", "pmc:PMC777"),
                references=("11", "12"),
                url="https://pubmed.ncbi.nlm.nih.gov/33829574/",
                extra=custom,
                publication=Publication("30", "23", "4567-71", "", ("0960-9822", "1879-0445")),
            ),
        )
    ]


@pytest.mark.parametrize(
    ("written", "instead", "expected"),
    [
        ("<Title>Current biology : CB</Title>", "", {"venue": "Curr Biol"}),
        (
            "<ISSNLinking>0960-9822</ISSNLinking>",
            "",
            {"publication": Publication("30", "23", "4567-71", "", ("1879-0445",))},
        ),
        (
            '<ArticleId IdType="doi">10.1000/abc</ArticleId>',
            "",
            {"identifiers": ("doi:10.1000/abc", "pmid:33829574", "pmc:PMC777")},
        ),
        ('EIdType="doi"', 'EIdType="pii"', {"identifiers": ("doi:10.1000/abc", "pmid:33829574", "pmc:PMC777")}),
        ('IdType="pmc"', 'IdType="mid"', {"identifiers": ("doi:10.1000/abc", "pmid:33829574")}),
        ("<Language>eng</Language><Language>fre</Language>", "<Language/>", {"language": ""}),
        ("<MedlineDate>2020 Dec-2021 Jan</MedlineDate>", "<Year>2019</Year><Month>Mar</Month>", {"year": 2019}),
        ('<PMID Version="1">33829574</PMID>', "<PMID> 33829574 </PMID>", {"id": "33829574"}),
        *(
            ('Label="RESULTS"', f'Label="{label}"', {"abstract": f"BACKGROUND: We know x2. {shown}Ran in vivo. End."})
            for label, shown in {" Aim: ": "Aim: ", "unlabelled": "", "UNLABELED": "", " ": ""}.items()
        ),
        ("Ran <i>in <sup>vivo</sup></i>.", " ", {"abstract": "BACKGROUND: We know x2. End."}),
        ("<Title>Current biology : CB</Title>", "<Title>J &amp;amp; K</Title>", {"venue": "J & K"}),
        ("<LastName>Bainton<", "<LastName>B<i>aint</i>on<", {"authors": ("R J Bainton", "X Li", "The RECOVERY Group")}),
        ('UI="D006801">Humans<', 'UI="D006801"><', {"fields": ("COVID-19", "Drosophila wing", "Humans")}),
        ('UI="D016454">Review<', 'UI="D016454"><', {"types": ("Journal Article",)}),
        ("<MeshHeadingList>", f"{CHEMICAL}<MeshHeadingList>", {"id": "33829574"}),
        ("<KeywordList>", '<OtherID Source="NLM"/><KeywordList>', {"id": "33829574"}),
        (KEYWORDS, "", {"fields": ("COVID-19", "Humans")}),
        ("<KeywordList>", "<KeywordList><Keyword/>", {"fields": ("COVID-19", "Humans", "Drosophila wing")}),
    ],
)
def test_what_stands_in_for_what_an_article_lacks(tmp_path, written, instead, expected):
    assert written in FULL
    (record,) = read(tmp_path, document(FULL.replace(written, instead)))
    assert {name: getattr(record.paper, name) for name in expected} == expected


def test_elements_with_text_are_named_but_for_those_of_a_text(tmp_path):
    (record,) = read(tmp_path, document(FULL))
    parts = record.made_of.parts
    assert sorted(parts.names()) == [
        *("AbstractText", "ArticleId", "ArticleTitle", "Citation", "CollectiveName", "CopyrightInformation", "Country"),
        *(
            "DescriptorName",
            "ELocationID",
            "ForeName",
            "ISSN",
            "ISSNLinking",
            "Initials",
            "Issue",
            "Keyword",
            "Language",
        ),
        *("LastName", "MedlineDate", "MedlinePgn", "MedlineTA", "PMID", "PublicationType", "QualifierName", "Title"),
        "Volume",
    ]
    assert (parts.text("Keyword"), parts.text("Issue")) == ("Drosophila wing; Humans", "23")
    assert record.made_of.convert(parts.without(["Keyword", "Title"])).paper.venue == "Curr Biol"


def test_a_field_that_no_record_has_is_refused_with_those_they_have(tmp_path):
    with pytest.raises(InputError, match=r"PubMed has no column colour .* country, abbreviation, issn, volume, issue"):
        read(tmp_path, document(FULL), custom=[CustomField("colour", "keyword")])


def test_names_of_authors(tmp_path):
    given = {
        "<LastName>Toth</LastName><ForeName>Eric A</ForeName><Initials>EA</Initials>": "Eric A Toth",
        "<LastName>Toth</LastName><Initials>EA</Initials><Suffix>Jr</Suffix>": "EA Toth Jr",
        "<LastName>Plato</LastName>": "Plato",
        "<CollectiveName>The <i>RECOVERY</i> Group</CollectiveName>": "The RECOVERY Group",
    }
    listed = "".join(f"<Author ValidYN='Y'>{name}<AffiliationInfo/></Author>" for name in given)
    wrong = "<Author ValidYN='N'><LastName>Tooth</LastName></Author>"
    (record,) = read(tmp_path, document(article(1, extra=f"<AuthorList>{wrong}{listed}<Author/></AuthorList>")))
    assert record.paper.authors == tuple(given.values())


def test_markup_as_text_is_read_as_markup(tmp_path):
    title = "Uptake of H<sub>2</sub>O by &lt;i&gt;E. coli&lt;/i&gt; &amp;amp; a&lt;b"
    (record,) = read(tmp_path, document(article(1, title)))
    assert record.paper.title == "Uptake of H2O by E. coli & a<b"


def test_a_named_encoding_goes_before_the_declared_one(tmp_path):
    path = tmp_path / "pubmed.xml"
    path.write_bytes(document(article(1, "caf@")).replace(b"@", b"\xe9"))
    (record,) = pubmed.read(path, {}, (), Opening("latin-1"))
    assert record.paper.title == "café"


def test_what_is_no_article_is_counted(tmp_path):
    parts = [
        article(1, extra="<ELocationID EIdType='doi'/>"),
        article(2, title=""),
        article(3, title="[Not Available].", extra="<VernacularTitle>Über <i>Zellen</i></VernacularTitle>"),
        "<PubmedBookArticle><BookDocument><PMID>4</PMID></BookDocument></PubmedBookArticle>\n",
        "<PubmedArticle><MedlineCitation><PMID>5</PMID></MedlineCitation></PubmedArticle>\n",
        "<DeleteCitation>\n<PMID Version='1'>6</PMID>\n<PMID>7</PMID></DeleteCitation>",
    ]
    records = read(tmp_path, document(*parts))
    *_, lacking, _, _ = summary(records)
    assert summary(records) == [
        (3, "1"),
        (5, "2", "The record has neither title nor abstract."),
        (7, "3"),
        (9, "4", "It is a book or a chapter, not an article."),
        lacking,
        Deleted(12, "6"),
        Deleted(13, "7"),
    ]
    assert lacking[:2] == (10, "5")
    assert lacking[2] == "The article lacks a part that PubMed's form asks for (it has no MedlineCitation/Article)."
    assert records[2].paper.title == "Über Zellen"


@pytest.mark.parametrize("left_out", ["Journal", "JournalIssue", "PubDate"])
def test_an_article_without_a_journal_or_a_date_is_read(tmp_path, left_out):
    whole = article(1, "Lungs")
    body = re.sub(rf"<{left_out}>.*</{left_out}>", "", whole, flags=re.DOTALL)
    assert len(body) < len(whole)
    (record,) = read(tmp_path, document(body))
    assert (record.paper.title, record.paper.year) == ("Lungs", None)


def linked(kind):
    """The part of a citation that names another one, which comments on it or corrects it."""
    tag = "CommentsCorrections"
    return f"<{tag}List><{tag} RefType='{kind}'><RefSource>J. 2001</RefSource><PMID>9</PMID></{tag}></{tag}List>"


@pytest.mark.parametrize(
    ("title", "types", "link", "retracted"),
    [
        ("A trial", ["Journal Article", "Retracted Publication"], "", True),
        ("A trial", ["Journal Article"], linked("RetractionIn"), True),
        ("RETRACTED: A trial", ["Journal Article"], linked("ErratumIn"), False),
        ("Retraction: A trial", ["Retraction of Publication"], linked("RetractionOf"), False),
        ("A trial", ["Journal Article"], linked("ExpressionOfConcernIn"), False),
    ],
)
def test_a_retracted_article_is_marked_and_the_notice_is_not(tmp_path, title, types, link, retracted):
    listed = "".join(f"<PublicationType UI='D0'>{name}</PublicationType>" for name in types)
    data = article(1, title, f"<PublicationTypeList>{listed}</PublicationTypeList>")
    (record,) = read(tmp_path, document(data.replace("</MedlineCitation>", f"{link}</MedlineCitation>")))
    assert (record.paper.title, record.paper.types, record.paper.retracted) == (title, tuple(types), retracted)


def test_the_year_of_an_article_without_an_issue_is_that_of_its_publication_online(tmp_path):
    online = "<ArticleDate DateType='Electronic'><Year>2019</Year><Month>03</Month></ArticleDate>"
    ahead = article(1, extra=online).replace("<Year>1999</Year>", "", 1)
    records = read(tmp_path, document(ahead, article(2, extra=online)))
    assert [record.paper.year for record in records] == [2019, 1999]


@pytest.mark.parametrize(
    "broken", ["x < y", "an <i>open tag", "a stray</b> end", "a & b", "&unknown;", "\x01", "</Article>"]
)
def test_a_broken_article_is_rejected_and_the_next_read(tmp_path, broken):
    records = read(tmp_path, document(article(1), article(2, title=broken), article(3)))
    (first, bad, third) = summary(records)
    assert [first, third] == [(3, "1"), (7, "3")]
    assert bad[:2] == (5, "2")
    assert bad[2].startswith("The article's XML is broken on line 6")


def test_bytes_that_are_not_utf8_reject_their_article(tmp_path):
    data = document(article(1), article(2, title="caf@"), article(3)).replace(b"@", b"\xe9")
    assert [type(record) for record in read(tmp_path, data)] == [Accepted, Rejected, Accepted]
    declared = data.replace(b'encoding="utf-8"', b'encoding="iso-8859-1"')
    assert [record.paper.title for record in read(tmp_path, declared)] == ["A title", "café", "A title"]


def test_entities_are_neither_expanded_nor_fetched(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    head = (
        '<?xml version="1.0"?>\n<!DOCTYPE PubmedArticleSet [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">'
        f'<!ENTITY file SYSTEM "{secret.as_uri()}">]>\n'
    )
    records = read(tmp_path, document(article(1, "x &file;"), article(2, "x &b;"), article(3), head=head))
    assert [type(record) for record in records] == [Rejected, Rejected, Accepted]
    assert "secret" not in repr(records).replace("secret.txt", "")


def test_a_file_cut_off_anywhere_is_told(tmp_path):
    data = document(article(1), article(2)).rstrip()
    for end in range(data.index(b"<PubmedArticleSet") + 18, len(data) - len(b"PubmedArticleSet>")):
        records = read(tmp_path, data[:end])
        assert isinstance(records[-1], Rejected), data[:end]
        assert [record.paper.id for record in records if isinstance(record, Accepted)] == ["1", "2"][: len(records) - 1]
    assert [type(record) for record in read(tmp_path, data)] == [Accepted, Accepted]
    assert records[-1].reason == "The file is cut off here: its last tag, </PubmedArticleSet>, is missing."


@pytest.mark.slow
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_file_cut_off_in_the_middle_gives_what_it_holds(tmp_path, pack):
    titles = [f"Title {n} {n * 2654435761 % 2**32:x}" for n in range(5_000)]
    data = pack(document(*(article(n, title) for n, title in enumerate(titles))))
    *read_ones, last = read(tmp_path, data[: len(data) // 2])
    papers = [record.paper for record in read_ones if isinstance(record, Accepted)]
    assert [paper.title for paper in papers] == titles[: len(papers)]
    assert len(papers) > 1_000
    assert all(isinstance(record, Rejected) for record in [*read_ones[len(papers) :], last])


def test_a_folder_is_read_in_order_of_name(tmp_path):
    (tmp_path / "b.xml").write_bytes(document(article(2)))
    (tmp_path / "a.xml.gz").write_bytes(gzip.compress(document(article(1), article(9, title=""))))
    (tmp_path / "notes.txt").write_text("not read")
    assert summary(pubmed.read(tmp_path, {})) == [
        (3, "1"),
        (5, "9", "a.xml.gz: The record has neither title nor abstract."),
        (3, "2"),
    ]


def test_an_empty_folder_and_an_unknown_encoding(tmp_path):
    with pytest.raises(InputError, match=r"holds no \.xml"):
        list(pubmed.read(tmp_path, {}))
    with pytest.raises(InputError, match="names an unknown encoding"):
        read(tmp_path, document(article(1), head='<?xml version="1.0" encoding="klingon"?>'))


@pytest.mark.parametrize("package", ["lxml", "pubmed_parser.medline_parser"])
def test_says_what_to_install(tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, "pubmed_parser.medline_parser" if package == "lxml" else "none", raising=False)
    with pytest.raises(UnavailableError, match=r"pip install '.+\[pubmed\]'"):
        read(tmp_path, document(article(1)))


def test_the_title_and_abstracts_in_other_languages_are_found(tmp_path):
    part = article(1, title="[On cells].", extra="<VernacularTitle>Über <i>Zellen</i></VernacularTitle>")
    other = (
        "<OtherAbstract Language='ger'><AbstractText Label='ZIEL'>Zellen <b>zählen</b>.</AbstractText></OtherAbstract>"
    )
    (record,) = read(tmp_path, document(part.replace("</MedlineCitation>", f"{other}</MedlineCitation>")))
    assert record.paper.title == "[On cells]. = Über Zellen"
    assert record.paper.abstract.endswith("ZIEL: Zellen zählen.")
