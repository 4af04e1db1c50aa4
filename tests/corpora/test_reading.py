import os

from corpora.paper import Accepted, Paper, Rejected
from corpora.reading import first_accepted, source_of


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
