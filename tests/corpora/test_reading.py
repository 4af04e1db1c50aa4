import os
from pathlib import Path

import pytest

from corpora import reading
from corpora.errors import InputError
from corpora.paper import Accepted, Deleted, Paper, Rejected
from corpora.reading import check_origin, first_accepted, origin_of, read_each, source_of
from corpora.registry import get_corpus


def test_a_limit_counts_the_accepted_and_reads_no_further():
    records = [Rejected(1, "bad"), Accepted(2, Paper("a", "A")), Rejected(3, "bad"), Accepted(4, Paper("b", "B"))]
    assert list(first_accepted(iter(records), None)) == records
    assert list(first_accepted(iter(records), 1)) == records[:2]
    assert list(first_accepted(iter(records), 2)) == records
    assert list(first_accepted(iter(records), 9)) == records


def test_a_source_changes_with_corpus_path_limit_and_content(tmp_path):
    first, other = tmp_path / "a" / "x.jsonl", tmp_path / "a" / "y.jsonl"
    first.parent.mkdir()
    first.write_text("1")
    sources = [source_of("jsonl", first, None), source_of("csv", first, None), source_of("jsonl", first, 5)]
    assert source_of("jsonl", first, None) == sources[0]
    sources.append(source_of("jsonl", first.parent, None))
    other.write_text("2")
    sources.append(source_of("jsonl", first.parent, None))
    os.utime(other, (1, 1))
    sources += [source_of("jsonl", first.parent, None), source_of("jsonl", tmp_path / "none", None)]
    assert len(set(sources)) == len(sources)


@pytest.mark.parametrize(
    ("corpus", "path", "origin"),
    [
        ("cord19", "/data/2022-06-02/metadata.csv", "cord19"),
        ("pubmed", "/data/update/pubmed24n1220.xml.gz", "pubmed"),
        ("pubmed-sample", "/site-packages/pubmed21n1298.xml.gz", "pubmed-sample"),
        ("jsonl", "/data/library/papers.jsonl", "jsonl:library/papers.jsonl"),
        ("jsonl", "/data/library/papers.jsonl.gz", "jsonl:library/papers.jsonl"),
        ("csv", "/papers.csv", "csv:papers.csv"),
    ],
)
def test_an_origin_is_the_corpus_and_of_a_form_the_file(corpus, path, origin):
    assert origin_of(get_corpus(corpus), Path(path)) == origin


def test_the_origin_of_a_folder_is_its_name(tmp_path):
    (tmp_path / "scifact").mkdir()
    assert origin_of(get_corpus("beir"), tmp_path / "scifact") == "beir:scifact"


def test_an_origin_may_be_named_in_visible_characters():
    assert check_origin(" Our library ") == "Our library"
    for name in ("", "  ", "a\nb", "x" * 201):
        with pytest.raises(InputError, match="give origin up to 200 visible characters"):
            check_origin(name)


def test_a_folder_with_far_too_many_files_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MOST_FILES", 10)
    for number in range(10):
        (tmp_path / f"{number}.xml").touch()
    assert source_of("pubmed", tmp_path, None)
    (tmp_path / "10.xml").touch()
    with pytest.raises(InputError, match="holds more than 10 files; give the folder of the corpus with path"):
        source_of("pubmed", tmp_path, None)


def test_a_folder_that_can_not_be_read_is_named(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("id,title\n")

    def denied(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("pathlib.Path.is_file", denied)
    with pytest.raises(InputError, match=r"can't be read \(Permission denied: .*a.csv\); give the folder"):
        reading.source_of("csv", tmp_path, None)


def test_rejections_in_a_folder_name_their_file(tmp_path):
    files = [tmp_path / "a", tmp_path / "b" / "c"]
    records = list(read_each(tmp_path, files, lambda file: iter([Rejected(1, "Why.", "id"), Deleted(2, file.name)])))
    assert records == [Rejected(1, "a: Why.", "id"), Deleted(2, "a"), Rejected(1, "b/c: Why.", "id"), Deleted(2, "c")]
    assert list(read_each(files[0], files[:1], lambda file: iter([Rejected(1, "Why.")]))) == [Rejected(1, "Why.")]
