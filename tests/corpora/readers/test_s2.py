"""Records are written by hand after api.semanticscholar.org/api-docs (datasets and graph)."""

import gzip
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from corpora.custom import CustomField
from corpora.errors import InputError
from corpora.paper import Accepted, Paper, Rejected
from corpora.publication import Publication
from corpora.readers import s2

PAPER = {
    "corpusid": 2314124,
    "externalids": {
        "ACL": None,
        "DBLP": "conf/x/Y20",
        "ArXiv": "2004.07180",
        "MAG": "3015453090",
        "CorpusId": "2314124",
        "PubMed": "32211",
        "DOI": "10.18653/V1/2020.acl",
        "PubMedCentral": "77",
    },
    "url": "https://www.semanticscholar.org/paper/abc",
    "title": "Document &amp; citation",
    "authors": [{"authorId": "1", "name": "Ana Sample"}, {"authorId": None, "name": "B. Example"}],
    "venue": "",
    "publicationvenueid": "1e33b3be",
    "year": 2020,
    "referencecount": 44,
    "citationcount": 300,
    "influentialcitationcount": 60,
    "isopenaccess": True,
    "s2fieldsofstudy": [{"category": "Computer Science", "source": "s2-fos-model"}],
    "publicationtypes": ["JournalArticle", "Review"],
    "publicationdate": "2020-04-15",
    "journal": {"name": "ArXiv", "pages": "1-9", "volume": "abs/2004"},
}
ABSTRACT = {
    "corpusid": 2314124,
    "openaccessinfo": {"externalids": {"DOI": "10.18653/V1/2020.acl"}, "license": None, "url": None, "status": None},
    "abstract": "We <b>embed</b> documents.",
}
EXPECTED = Paper(
    id="2314124",
    title="Document & citation",
    abstract="We embed documents.",
    authors=("Ana Sample", "B. Example"),
    year=2020,
    venue="ArXiv",
    types=("JournalArticle", "Review"),
    fields=("Computer Science",),
    identifiers=(
        *("doi:10.18653/v1/2020.acl", "pmid:32211", "pmc:PMC77", "arxiv:2004.07180", "s2:2314124", "mag:3015453090"),
        "dblp:conf/x/Y20",
    ),
    url="https://www.semanticscholar.org/paper/abc",
    publication=Publication(volume="abs/2004", pages="1-9"),
)


def write(path, *records):
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(record if isinstance(record, str) else json.dumps(record) + "\n" for record in records).encode()
    path.write_bytes(gzip.compress(lines) if path.suffix == ".gz" else lines)


@pytest.mark.parametrize(
    ("papers", "abstracts"),
    [
        ("papers/part-0.gz", "abstracts/part-0.gz"),
        ("papers.jsonl", "abstracts.jsonl"),
        ("papers-1.gz", "Abstracts_1.gz"),
    ],
)
def test_papers_are_joined_with_their_abstracts(tmp_path, papers, abstracts):
    write(tmp_path / papers, PAPER, PAPER | {"corpusid": 5, "externalids": None})
    write(tmp_path / abstracts, ABSTRACT, {"corpusid": 9, "abstract": "of no paper"})
    write(tmp_path / "tldrs" / "part-0.gz", {"corpusid": 5, "text": "not read"})
    records = s2.read(tmp_path, {})
    first = next(records)
    # The service reads a file in several threads, one after the other.
    with ThreadPoolExecutor(1) as pool:
        (second,) = pool.submit(list, records).result()
    assert first == Accepted(1, EXPECTED)
    assert (second.paper.id, second.paper.abstract, second.paper.identifiers) == ("5", "", ("s2:5",))


def test_custom_fields_by_the_names_of_dataset_and_api(tmp_path):
    write(tmp_path / "papers.jsonl", PAPER)
    custom = [CustomField("citationcount", "number"), CustomField("published", "date", "publicationDate")]
    (record,) = s2.read(tmp_path / "papers.jsonl", {}, custom)
    assert record.paper.extra == {"citationcount": 300, "published": "2020-04-15"}


def test_a_paper_of_the_api(tmp_path):
    paper = {
        "paperId": "649def34f8be52c8b66281af98ae884c09aef38b",
        "externalIds": {"CorpusId": 2314124, "DOI": "10.1/X"},
        "title": "A title",
        "abstract": "Its own.",
        "venue": "ACL",
        "publicationVenue": {"id": "1", "name": "Annual Meeting"},
        "fieldsOfStudy": ["Biology"],
        "references": [{"paperId": "abc", "corpusId": 7}, {"paperId": "def"}, {"paperId": None}, "ghi"],
    }
    write(tmp_path / "saved.json", json.dumps([paper, paper | {"externalIds": {}}]))
    first, second = (record.paper for record in s2.read(tmp_path / "saved.json", {}))
    assert (first.id, first.abstract, first.venue, first.fields) == ("2314124", "Its own.", "ACL", ("Biology",))
    assert (first.references, first.identifiers) == (("7", "def", "ghi"), ("doi:10.1/x", "s2:2314124"))
    assert second.id == paper["paperId"]


@pytest.mark.parametrize(
    ("changes", "venue"),
    [
        ({"venue": "The <b>ACL</b>"}, "The ACL"),
        ({}, "ArXiv"),
        ({"journal": None, "publicationVenue": {"id": "1e33", "name": "Annual Meeting"}}, "Annual Meeting"),
        ({"journal": {"volume": "3"}, "publicationVenue": {"id": "1e33"}}, ""),
    ],
)
def test_the_venue_is_what_a_paper_says_of_it(tmp_path, changes, venue):
    write(tmp_path / "papers.jsonl", PAPER | changes)
    (record,) = s2.read(tmp_path / "papers.jsonl", {})
    assert record.paper.venue == venue


@pytest.mark.parametrize(
    ("venue", "issn"),
    [
        ({"name": "Bee News", "issn": "1234-5679", "alternate_issns": ["2049-3630"]}, ("1234-5679", "2049-3630")),
        ({"alternate_issns": ["2049-3630", "1234-5679"]}, ("2049-3630", "1234-5679")),
        ({"issn": "1234-5679"}, ("1234-5679",)),
        (None, ()),
    ],
)
def test_all_issns_of_a_venue_are_kept(tmp_path, venue, issn):
    write(tmp_path / "papers.jsonl", PAPER | {"publicationVenue": venue})
    (record,) = s2.read(tmp_path / "papers.jsonl", {})
    assert record.paper.publication == Publication(volume="abs/2004", pages="1-9", issn=issn)
    assert record.paper.venue == "ArXiv"


def test_damage_costs_its_line_alone(tmp_path):
    write(tmp_path / "papers.jsonl", "{cut\n", PAPER, {"corpusid": 3})
    write(
        tmp_path / "abstracts.jsonl", "{cut\n", {"abstract": "whose?"}, ABSTRACT, {"corpusid": 3, "abstract": "\ud800"}
    )
    *rejected, last_abstract, broken, paper, nameless = s2.read(tmp_path, {})
    assert [(record.line, record.reason.partition(":")[0]) for record in (*rejected, last_abstract)] == [
        (1, "abstracts.jsonl"),
        (2, "abstracts.jsonl"),
    ]
    assert (broken.line, paper, type(nameless)) == (1, Accepted(2, EXPECTED), Rejected)


def test_a_folder_without_papers_is_refused(tmp_path):
    write(tmp_path / "abstracts.jsonl", ABSTRACT)
    with pytest.raises(InputError, match=r"holds no file or folder papers\*"):
        list(s2.read(tmp_path, {}))
