import gzip
import json

import pytest

from corpora.paper import Accepted, Paper, Rejected
from corpora.readers import beir

LONG = "word " * 60 + "end"


def read(folder, *documents):
    lines = "".join(json.dumps(document) + "\n" for document in documents)
    (folder / "corpus.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    return list(beir.read(folder, {}))


def test_a_document_and_its_metadata(tmp_path):
    metadata = {
        "year": "2019",
        "journal": "PLoS One",
        "authors": ["Ada L"],
        "url": "https://a.org",
        "pmid": 5,
        "id": "no",
    }
    (record,) = read(tmp_path, {"_id": "MED-1", "title": "T", "text": "Some text", "metadata": metadata})
    assert record == Accepted(
        1,
        Paper(
            id="MED-1",
            title="T",
            abstract="Some text",
            authors=("Ada L",),
            year=2019,
            venue="PLoS One",
            identifiers=("pmid:5",),
            url="https://a.org",
        ),
    )


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("First one. Second one.", "First one."),
        ("Is 3.5 enough? Yes.", "Is 3.5 enough?"),
        ("no end of sentence", "no end of sentence"),
        (LONG, ("word " * 40).rstrip()[:-5] + "…"),
        ("x" * 200, "x" * 200),
        ("x" * 201, "x" * 199 + "…"),
        ("x" * 500, "x" * 199 + "…"),
    ],
)
def test_a_missing_title_is_stood_in_for_without_loss(tmp_path, text, title):
    (record,) = read(tmp_path, {"_id": "1", "title": "", "text": text})
    assert record.paper.title == title
    assert len(title) <= 200
    assert record.paper.abstract == text


def test_a_documents_own_members_go_before_those_of_its_metadata(tmp_path):
    documents = [{"_id": "1", "title": "T", "year": 2001, "metadata": {"year": 2002, "venue": "V"}}]
    documents.append({"_id": "2", "title": "T", "text": ["One.", "Two."], "metadata": "none"})
    first, second = (record.paper for record in read(tmp_path, *documents))
    assert (first.year, first.venue, second.abstract) == (2001, "V", "One. Two.")
    flat = read(tmp_path, documents[0])[0].made_of.parts.names()
    assert set(flat) == {"_id", "title", "year", "venue"}


def test_what_has_neither_or_no_id_is_rejected(tmp_path):
    assert read(tmp_path, {"_id": "1", "title": "", "text": " "}, {"id": "2", "title": "T"}) == [
        Rejected(1, "The record has neither title nor abstract.", "1"),
        Rejected(2, "The record has no id."),
    ]


def test_takes_the_file_itself_too(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"_id": "1", "title": "T", "text": ""}\n')
    assert list(beir.read(path, {})) == [Accepted(1, Paper(id="1", title="T"))]


@pytest.mark.realdata
@pytest.mark.parametrize(("name", "papers", "rejected"), [("scifact", 5_183, 0), ("cranfield", 1_398, 2)])
def test_real_corpora(data_dir, name, papers, rejected):
    records = list(beir.read(data_dir / "eval" / name, {}))
    assert sum(isinstance(record, Accepted) for record in records) == papers
    assert sum(isinstance(record, Rejected) for record in records) == rejected
