import json
import lzma
import tarfile

import pytest

from corpora.custom import CustomField
from corpora.errors import InputError
from corpora.paper import Accepted, Paper, Rejected
from corpora.readers import jsonl

OURS = {"id": "a", "title": "A", "mesh": ["Humans"], "keywords": "x; y", "pmid": "https://pubmed.ncbi.nlm.nih.gov/1"}
SCIREPEVAL = {"doc_id": "12", "corpus_id": 12, "title": "B", "abstract": "b", "labels_text": ["Art"], "mag_id": 3}
OWN_PAPER = Paper(id="a", title="A", fields=("Humans", "x", "y"), identifiers=("pmid:1",))
SCI_PAPER = Paper(id="12", title="B", abstract="b", fields=("Art",), identifiers=("s2:12", "mag:3"))


def read(tmp_path, text, columns=None, name="papers.jsonl"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return list(jsonl.read(path, columns or {}))


def papers(records):
    return [record.paper if isinstance(record, Accepted) else record.reason for record in records]


@pytest.mark.parametrize("indent", [None, 2])
def test_an_array(tmp_path, indent):
    data = lzma.compress(json.dumps([SCIREPEVAL, OURS], indent=indent).encode())
    assert papers(read(tmp_path, data, name="papers.json.xz")) == [SCI_PAPER, OWN_PAPER]


def test_lines(tmp_path):
    bad = ["{", "[]", "3", '{"id": "1"}', '{"title": "t"}']
    records = read(tmp_path, "\n".join([json.dumps(OURS), *bad, "", json.dumps(SCIREPEVAL)]))
    assert [record.line for record in records] == [1, 2, 3, 4, 5, 6, 8]
    assert papers([records[0], records[-1]]) == [OWN_PAPER, SCI_PAPER]
    assert all(isinstance(record, Rejected) for record in records[1:-1])


def test_papers_by_id_as_specter_has_them(tmp_path):
    data = {"p1": {"title": "A", "abstract": None, "year": 2019}, "p2": {"paper_id": "p2", "title": "B"}, "p3": {}}
    assert papers(read(tmp_path, json.dumps(data), name="metadata.json")) == [
        Paper(id="p1", title="A", year=2019),
        Paper(id="p2", title="B"),
        "The record has neither title nor abstract.",
    ]


@pytest.mark.parametrize("first", ["journal", "externalIds"])
def test_a_line_that_begins_with_an_object_is_still_a_line(tmp_path, first):
    line = json.dumps({first: {"title": "x", "name": "J"}, "id": "1", "title": "A"})
    assert [paper.id for paper in papers(read(tmp_path, f"{line}\n{line}"))] == ["1", "1"]


@pytest.mark.parametrize("odd", ['{"p1": {"name": "x"}}', '{"p1": {"title": ', '{"title": {"title": "x"}, "id": "1"}'])
def test_other_objects_are_lines(tmp_path, odd):
    records = read(tmp_path, f'{odd}\n{{"id": "2", "title": "B"}}\n')
    assert [record.line for record in records] == [1, 2]
    assert records[1].paper.id == "2"


def test_an_array_begins_after_marks_and_blanks_and_loses_only_what_is_not_utf8(tmp_path):
    data = b'\xef\xbb\xbf\n [{"id": "1", "title": "caf\xe9"},\n{"id": "2", "title": "B"}]'
    assert papers(read(tmp_path, data)) == ["The record has bytes that aren't UTF-8.", Paper("2", "B")]
    with pytest.raises(InputError, match="is a folder where a JSON file is wanted"):
        list(jsonl.read(tmp_path, {}))


def test_files_of_json_are_found_in_all_packings(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c.json").mkdir()
    names = ["a.ndjson", "b/a.xz", "b/b.jsonl", "c.json", "d.gz", "e.zst"]
    for name in (*names, "a.txt", "json"):
        (tmp_path / name).touch()
    assert jsonl.json_files(tmp_path) == [tmp_path / name for name in names]


def test_columns_override_the_aliases(tmp_path):
    line = '{"id": "1", "key": "k", "title": "A", "summary": "s", "grant": "g"}'
    (paper,) = papers(read(tmp_path, line, {"id": "key", "abstract": "summary", "fields": "grant"}))
    assert paper == Paper(id="k", title="A", abstract="s", fields=("g",))
    (record,) = jsonl.read(tmp_path / "papers.jsonl", {}, [CustomField("grant", "keyword")])
    assert record.paper.extra == {"grant": "g"}
    with pytest.raises(InputError, match="no attribute colour"):
        read(tmp_path, line, {"colour": "key"})


@pytest.mark.realdata
@pytest.mark.parametrize(("name", "fields"), [("fos_small.json", 205), ("mesh_small.json", 206)])
def test_scirepeval_samples(data_dir, tmp_path, name, fields):
    with tarfile.open(data_dir / "eval" / "scirepeval-samples.tar.xz") as archive:
        data = archive.extractfile(f"scirepeval_sample/training/sample_data/{name}").read()
    found = papers(read(tmp_path, data, name=name))
    assert [paper.id for paper in found] == [str(item["corpus_id"]) for item in json.loads(data)]
    assert sum(bool(paper.fields) for paper in found) == fields


@pytest.mark.realdata
@pytest.mark.parametrize(("name", "accepted"), [("ohsumed", 7_400), ("synergy", 7_214)])
def test_real_lines(data_dir, name, accepted):
    records = list(jsonl.read(data_dir / "train" / f"{name}.jsonl.xz", {}))
    assert sum(isinstance(record, Accepted) for record in records) == accepted
    assert {record.reason for record in records if isinstance(record, Rejected)} <= {"The record has no title."}
