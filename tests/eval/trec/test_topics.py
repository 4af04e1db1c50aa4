from __future__ import annotations

import gzip

import pytest

from corpora.errors import InputError
from eval.retrieval.beir import join
from eval.trec.judgments import Qrels
from eval.trec.topics import read_topics

XML = """<?xml version="1.0"?>
<topics task="t"><topic number="7"><query>virus  origin</query>
<question>where is it
 from &amp; why</question><narrative>all &lt;of&gt; it</narrative></topic>
<topic number="8"><query>masks</query></topic></topics>"""


def test_fields_of_xml_topics(tmp_path):
    (tmp_path / "t").write_text(XML)
    (tmp_path / "t.gz").write_bytes(gzip.compress(XML.encode()))
    assert read_topics(tmp_path / "t") == {"7": "where is it from & why", "8": ""}
    assert read_topics(tmp_path / "t.gz", ("narrative", "query")) == {"7": "all <of> it virus origin", "8": "masks"}
    with pytest.raises(InputError, match="no field 'title'"):
        read_topics(tmp_path / "t", ("title",))


def test_lines_of_json_and_tables(tmp_path):
    (tmp_path / "a").write_text('\ufeff{"_id": "1", "text": "one two"}\n\n{"_id": "2", "text": ""}\n')
    (tmp_path / "b").write_text("1\tone  two\r\nq 2\tthree\tfour\n")
    assert read_topics(tmp_path / "a") == {"1": "one two", "2": ""}
    assert read_topics(tmp_path / "b") == {"1": "one two", "q 2": "three four"}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("<topics></topics>", "holds no topics"),
        ("<topics><topic><query>x</query></topic></topics>", "line 1: a topic lacks its number"),
        ('<t>\n<topic number="1"/><topic number="1"/></t>', "line 2: the topic 1 came before"),
        ('<t><topic number="1">', "not XML"),
        ('<!DOCTYPE t [<!ENTITY a "x">]><t><topic number="1"><question>&a;</question></topic></t>', "document type"),
        ('<t><topic number="1"><query>x</query></topic></t>', "No topic .* has a question"),
        ("1 no tab\n", "line 1: a topic is its id"),
        ('{"_id": "1", "text": "x"}\n{"_id": 2}\n', "line 2: a topic is an object"),
        ("{]\n", "line 1: this is not JSON"),
        ("1\tx\n1\ty\n", "line 2: the topic 1 came before"),
    ],
)
def test_bad_topics(tmp_path, content, reason):
    (tmp_path / "t").write_text(content)
    with pytest.raises(InputError, match=reason):
        read_topics(tmp_path / "t")


def test_joining_runs_what_is_judged_and_counts_the_rest():
    judged = join({"1": "one", "2": " ", "3": "three"}, Qrels({"1": {"a": 1}, "2": {"a": 1}, "4": {"a": 1}}))
    assert (judged.texts, judged.without_text) == ({"1": "one"}, ("2", "4"))
    with pytest.raises(InputError, match="don't belong together"):
        join({"9": "x"}, Qrels({"1": {"a": 1}}))


@pytest.mark.realdata
def test_trec_covids_own_topics(data_dir):
    folder = data_dir / "eval/trec-covid"
    topics = read_topics(folder / "topics.covid-round5.xml")
    assert len(topics) == 50
    assert topics["1"] == "what is the origin of COVID-19"
    assert read_topics(folder / "topics.covid-round5.xml", ("query",))["1"] == "coronavirus origin"
    assert len(read_topics(folder / "topics.beir-v1.0.0-trec-covid.test.tsv.gz")) == 50
