import hashlib

import pytest

from corpora.aliases import ATTRIBUTES, WORLDWIDE, check_columns
from corpora.assembling import LONGEST_ABSTRACT, LONGEST_TITLE, assemble
from corpora.errors import InputError
from corpora.paper import Accepted, Paper, Rejected
from corpora.publication import Publication

OWN_IDS = {
    "PMCID": "PMC12",
    "arXiv": "2101.00001",
    "OpenAlex": "W12",
    "MAG": "77",
    "EID": "2-s2.0-9",
    "Lens ID": "001-2",
    "Publication ID": "pub.1",
    "PUI": "L12",
    "Cochrane ID": "CN-01",
}


def paper_of(record, columns=None):
    result = assemble(1, record, columns or {})
    assert isinstance(result, Accepted), result
    return result.paper


def test_semantic_scholar_api_record():
    record = {
        "paperId": "649def34f8be52c8b66281af98ae884c09aef38b",
        "corpusId": 2314124,
        "externalIds": {"DOI": "10.18653/V1/N18-3011", "ArXiv": "1805.02262", "MAG": "2805", "ACL": "N18-3011"},
        "url": "https://www.semanticscholar.org/paper/649def",
        "title": "Construction of the\nLiterature Graph",
        "abstract": None,
        "venue": "",
        "journal": {"name": "ArXiv", "volume": "abs/1805"},
        "year": 2018,
        "authors": [{"authorId": "1", "name": "Waleed Ammar"}],
        "fieldsOfStudy": ["Computer Science"],
        "s2FieldsOfStudy": [
            {"category": "Computer Science", "source": "x"},
            {"category": "Linguistics", "source": "y"},
        ],
        "publicationTypes": ["JournalArticle"],
        "references": [{"paperId": "abc", "title": "t"}, {"paperId": None, "title": "u"}],
    }
    assert paper_of(record) == Paper(
        id="649def34f8be52c8b66281af98ae884c09aef38b",
        title="Construction of the Literature Graph",
        authors=("Waleed Ammar",),
        year=2018,
        venue="ArXiv",
        types=("JournalArticle",),
        fields=("Computer Science", "Linguistics"),
        identifiers=("doi:10.18653/v1/n18-3011", "arxiv:1805.02262", "s2:2314124", "mag:2805", "acl:N18-3011"),
        references=("abc",),
        url="https://www.semanticscholar.org/paper/649def",
    )


def test_names_are_found_in_any_spelling_and_columns_override_them():
    record = {"Paper ID": 7, "Article Title": "A", "TEXT": "b", "doi_link": "https://doi.org/10.1/Z", "label": "C01"}
    assert paper_of(record) == Paper(id="7", title="A", abstract="b")
    mapped = paper_of(record, {"doi": "doi_link", "fields": "label", "id": "label"})
    assert (mapped.id, mapped.identifiers, mapped.fields) == ("C01", ("doi:10.1/z",), ("C01",))


@pytest.mark.parametrize(
    ("kind", "value", "names"),
    [
        ("doi", "10.1/z", ["DOI", "ids.doi"]),
        ("pmid", "123", ["PMID", "PubMed ID", "pubmed", "Medline PMID", "ids.pmid"]),
        ("pmc", "PMC12", ["PMCID", "pmc", "PubMed Central"]),
        ("arxiv", "1805.02262", ["arXiv ID", "arXiv"]),
        ("s2", "12", ["corpusId", "s2_id"]),
        ("mag", "12", ["MAG ID", "mag", "Microsoft Academic ID"]),
        ("acl", "N18-3011", ["acl_id", "ACL"]),
        ("dblp", "conf/x/Y", ["dblp id", "DBLP"]),
        ("openalex", "W12", ["OpenAlex ID", "openalex"]),
        ("who", "x1", ["who_covidence_id"]),
        ("cord_uid", "ug7v899j", ["cord_uid"]),
        ("wos", "WOS:000123", ["UT", "UT (Unique WOS ID)", "Unique WOS ID", "wos"]),
        ("scopus", "2-s2.0-1", ["EID", "Scopus EID"]),
        ("lens", "001-002", ["Lens ID"]),
        ("dimensions", "pub.1", ["Dimensions ID", "Publication ID"]),
        ("embase", "L1", ["PUI", "Embase Accession ID"]),
        ("cochrane", "CD1", ["Cochrane Review ID", "Cochrane ID"]),
    ],
)
def test_identifiers_are_found_under_the_names_that_databases_give_them(kind, value, names):
    for name, outer in ((name, outer) for name in names for outer in ("", "externalIds", "ids")):
        named = {outer: {name: value}} if outer else {name: value}
        found = paper_of({"id": "own", "title": "t", **named}).identifiers
        assert [one.partition(":")[0] for one in found] == [kind], name
        assert found[0].lower().endswith(value.lower().rpartition(":")[2]), name


@pytest.mark.parametrize(
    ("record", "id_"),
    [
        ({"doi": "10.1/A", "pmid": "7", "key": "k"}, "10.1/a"),
        ({"pmid": "7", "ut": "WOS:1"}, "7"),
        ({"ut": "WOS:1", "eid": "2-s2.0-1", "mag": "0"}, "WOS:1"),
        *(({column: id_}, id_) for column, id_ in OWN_IDS.items()),
        ({"id": "own", "doi": "10.1/A"}, "own"),
        ({"key": "k"}, ("T", "", "", "", "k")),
        ({"key": "k", "venue": "V", "year": 2001}, ("T", "", "2001", "V", "k")),
        ({"key": "k", "venue": "V", "year": 2001, "authors": ["A", "B"]}, ("T", "A B", "2001")),
    ],
)
def test_a_record_without_an_id_is_named_by_what_names_it_alone(record, id_):
    named = assemble(1, {"title": "T", **record}, {}, named_by=WORLDWIDE).paper.id
    # A hash stays the same for ever: an index knows its papers by their ids.
    hashed = isinstance(id_, tuple) and hashlib.blake2b("\n".join(id_).encode(), digest_size=8).hexdigest()
    assert named == (f"hash-{hashed}" if hashed else id_)


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (
            {"identifiers": "doi:10.1/a;2-N; pmid:7|s2:8;who: 1"},
            {"identifiers": ("doi:10.1/a;2-N", "pmid:7", "s2:8", "who: 1")},
        ),
        ({"keywords": "moths,sleep"}, {"fields": ("moths", "sleep")}),
        ({"keywords": "Models, Biological"}, {"fields": ("Models, Biological",)}),
        ({"keywords": "1,2-dichloroethane"}, {"fields": ("1,2-dichloroethane",)}),
        ({"keywords": "a,b; c"}, {"fields": ("a,b", "c")}),
        ({"keywords": "['a,b', 'c']"}, {"fields": ("a,b", "c")}),
        ({"authors": "Sample, Ana (570); Toth, E. (57 )"}, {"authors": ("Sample, Ana", "Toth, E. (57 )")}),
        ({"authors": "Toth EA, Ono M"}, {"authors": ("Toth EA", "Ono M")}),
        ({"authors": "['Toth EA, Ono M']"}, {"authors": ("Toth EA, Ono M",)}),
        ({"year": "in press", "date": "2001-02-03"}, {"year": 2001}),
        (
            {"publication": {"volume": "3", "issn": ["1234-5679"]}},
            {"publication": Publication("3", issn=("1234-5679",))},
        ),
        ({"publication": {"volume": "3", "name": "J"}}, {"publication": None, "venue": "J"}),
        ({"types": "Review; Retracted Publication"}, {"retracted": True}),
        ({"id": "k", "key": "k"}, {"identifiers": ()}),
    ],
)
def test_texts_of_several_are_divided(record, expected):
    paper = assemble(1, {"id": "a", "title": "T", **record}, {}, named_by=WORLDWIDE).paper
    assert {name: getattr(paper, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"title": "a"}, "no id"),
        ({"id": True, "title": "a"}, "no id"),
        ({"id": "a\tb", "title": "a"}, "control characters"),
        ({"id": "a\ud800", "title": "a"}, "Unicode"),
        ({"id": "é" * 257, "title": "a"}, "512 bytes"),
        ({"id": "1", "abstract": "b"}, "has no title"),
        ({"id": "1", "title": "a", "retracted": "2019-05-01"}, "retracted should be true or false, not 2019-05-01"),
        ({"id": "1", "title": " \x00 "}, "neither title nor abstract"),
        ({"id": "1", "title": "a" * (LONGEST_TITLE + 1)}, "title is longer than 10,000"),
        ({"id": "1", "title": "a", "abstract": "b" * (LONGEST_ABSTRACT + 1)}, "abstract is longer than 1,000,000"),
    ],
)
def test_rejections_say_why(record, reason):
    result = assemble(3, record, {})
    assert isinstance(result, Rejected)
    assert result.line == 3
    assert reason in result.reason


@pytest.mark.parametrize(
    ("record", "retracted"),
    [
        *(({"retracted": value}, True) for value in (True, 1, "1", "TRUE", " yes ", "Y", 1.0)),
        *(({"retracted": value}, False) for value in (False, 0, "0", "False", "no", "", None, float("nan"), "none")),
        ({"is_retracted": True}, True),
        ({"is_retracted": False, "retracted": ""}, False),
        ({"publicationTypes": ["Journal Article", "Retracted publication"]}, True),
        ({"publicationTypes": ["Retraction of Publication"], "title": "Retraction: A"}, False),
        ({"title": "RETRACTED: A"}, False),
    ],
)
def test_a_mark_of_retraction_is_read(record, retracted):
    assert paper_of({"id": "1", "title": "a", **record}).retracted is retracted


def test_a_mark_of_retraction_is_found_in_a_column_that_is_mapped():
    record = {"id": "1", "title": "a", "Status": "retracted", "retracted": "no"}
    assert paper_of(record, {"retracted": "Status"}).retracted


def test_limits_themselves_are_accepted():
    paper = paper_of({"id": f" {'é' * 256} ", "title": "a" * LONGEST_TITLE, "abstract": "b" * LONGEST_ABSTRACT})
    assert (len(paper.id), len(paper.title), len(paper.abstract)) == (256, LONGEST_TITLE, LONGEST_ABSTRACT)


def test_check_columns_names_the_attributes():
    check_columns(dict.fromkeys(ATTRIBUTES, "x"))
    with pytest.raises(InputError, match=r"no attribute colour .* id, title, abstract"):
        check_columns({"colour": "x"})
