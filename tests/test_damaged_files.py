"""Whatever a file holds, it is read or refused in a sentence: nothing else is ever raised, and nothing half read."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpora.errors import SesError
from corpora.paper import Accepted, Rejected
from corpora.registry import get_corpus
from encoders.files.embeddings import read_embeddings
from encoders.files.texts import read_json_texts, read_plain_texts
from encoders.models.model import read_checked
from encoders.registry import find_model
from encoders.tokens.tokenizer import load_tokenizer
from eval.authors import read_named_papers
from eval.scirepeval.task_file import read_tasks
from eval.screening import read_reviews
from eval.trec.judgments import read_qrels
from eval.trec.runs import read_run
from eval.trec.topics import read_topics
from search_plugin.fusion.search_settings import SearchSettings, read_search_settings, search_settings_json
from tests.damage import CHANGES, EDITS, changed, edited
from tests.encoders.every import MAKERS

PAPERS = [
    {"id": "p1", "title": "A", "abstract": "b", "year": 1999, "authors": [{"name": "C D"}], "fields": ["E"]},
    {"paperId": "p2", "title": "A", "externalIds": {"DOI": "10.1/x"}, "tldr": {"text": "t"}, "references": ["p1"]},
]
LINES = "\n".join(map(json.dumps, PAPERS))
CORD19 = (
    "cord_uid,sha,source_x,title,doi,pmcid,pubmed_id,license,abstract,publish_time,authors,journal,url\n"
    'a1,,PMC,"Of, ""all""",10.1/X,PMC1,7,cc-by,"An\nabstract",2020-03-01,"Li, X; Bo, Y",Nature,https://a.b/c; https://d\n'
    "a2,,WHO,Title,,,,,,2019,,,\n"
)
TASK = {"name": "T", "type": "classification", "data": {"meta": "m", "test": "t"}, "metrics": ["f1_macro"]}
TOPICS = (
    '<?xml version="1.0"?><topics><topic number="1"><query>a</query><question>b</question><narrative>c</narrative>'
    "</topic></topics>"
)
EMBEDDINGS = '{"doc_id": "1", "embedding": [1, 2.5]}\n{"id": "2", "embedding": [0, -1e3]}\n'


PUBMED = """<?xml version="1.0" encoding="utf-8"?>
<PubmedArticleSet>
<PubmedArticle><MedlineCitation><PMID Version="1">33829574</PMID>
<Article><Journal><JournalIssue><PubDate><Year>2020</Year></PubDate></JournalIssue><Title>J</Title></Journal>
<ArticleTitle>Uptake of <i>H<sub>2</sub>O</i> at &lt;5 &#181;M</ArticleTitle>
<ELocationID EIdType="doi">10.1/A</ELocationID>
<Abstract><AbstractText Label="RESULTS">We <b>know</b>.</AbstractText></Abstract>
<AuthorList><Author><LastName>Li</LastName><ForeName>X</ForeName></Author></AuthorList><Language>eng</Language>
</Article>
<MeshHeadingList><MeshHeading><DescriptorName UI="D6">COVID-19</DescriptorName></MeshHeading></MeshHeadingList>
</MedlineCitation></PubmedArticle>
<PubmedArticle><MedlineCitation><PMID>2</PMID><Article><Journal><JournalIssue><PubDate><Year>1999</Year></PubDate>
</JournalIssue></Journal><ArticleTitle>A</ArticleTitle></Article></MedlineCitation></PubmedArticle>
</PubmedArticleSet>
"""


@dataclass(frozen=True)
class Parser:
    """What reads a file, and a file that it can read."""

    read: Any
    sample: str
    name: str = "file"


def corpus(name):
    return lambda path: list(get_corpus(name).read(path, {}))


PARSERS = {
    "cord19": Parser(corpus("cord19"), CORD19, "metadata.csv"),
    "csv": Parser(corpus("csv"), "id;title;authors;year\n1;A;B, C;1999\n2;D;;\n", "a.csv"),
    "tsv": Parser(corpus("csv"), "id\ttitle\n1\tA\n2\tB\n", "a.tsv"),
    "jsonl": Parser(corpus("jsonl"), LINES),
    "array": Parser(corpus("jsonl"), json.dumps(PAPERS)),
    "mapping": Parser(corpus("jsonl"), json.dumps({"p1": PAPERS[0], "p2": PAPERS[1]})),
    "beir": Parser(corpus("beir"), '{"_id": "1", "text": "A. B", "metadata": {"year": 1}}', "corpus.jsonl"),
    "pubmed": Parser(corpus("pubmed"), PUBMED, "pubmed.xml"),
    "beir judgments": Parser(read_qrels, "query-id\tcorpus-id\tscore\nq1\td1\t2\nq2\td1\t-1\n"),
    "trec judgments": Parser(read_qrels, "q1 0 d1 2\nq1\t4.5\td2  0\r\n\nq2 Q0 d1 -1"),
    "run": Parser(read_run, "q1 Q0 d1 1 2.5 tag\nq1 Q0 d2 2 1e3 tag\n\nq2 Q0 d1 1 -1 tag\n"),
    "xml topics": Parser(read_topics, TOPICS),
    "json topics": Parser(read_topics, '{"_id": "1", "text": "a"}\n{"_id": "2", "text": "b", "metadata": {}}\n'),
    "tsv topics": Parser(read_topics, "1\ta b\n2\tc\n"),
    "tasks": Parser(read_tasks, json.dumps(TASK)),
    "tuned": Parser(read_search_settings, search_settings_json(SearchSettings(weights={"lexical": 1.0, "prx": 2.0}))),
    "reviews": Parser(read_reviews, "title,abstract,label_included\nA,b,1\nC,,0\n", "review.csv"),
    "named papers": Parser(
        read_named_papers,
        "\n".join(
            json.dumps({"id": f"{n}", "title": "A", "authors": [["Ada Li", "Abe Li"][n % 2], "X"]}) for n in range(4)
        ),
    ),
    "embeddings": Parser(read_embeddings, EMBEDDINGS),
    "plain texts": Parser(lambda path: list(read_plain_texts(path)), "one\n\ntwo words\n"),
    "json texts": Parser(lambda path: list(read_json_texts(path, {})), f'{LINES}\n{{"id": "3", "query": "q"}}\n'),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("damaged")


@pytest.mark.parametrize("parser", PARSERS.values(), ids=PARSERS)
@settings(suppress_health_check=list(HealthCheck))
@given(edits=EDITS)
def test_a_damaged_file_is_read_or_refused(parser, folder, edits):
    path = folder / parser.name
    path.write_bytes(edited(parser.sample.encode(), edits))
    try:
        found = parser.read(path)
    except SesError:
        return
    for record in found if isinstance(found, list) else ():
        if isinstance(record, Rejected):
            assert record.reason
        elif isinstance(record, Accepted):
            assert record.paper.id
            assert record.paper.title
            assert len(record.paper.content_hash()) == 32


@pytest.mark.parametrize("parser", PARSERS.values(), ids=PARSERS)
def test_the_files_to_be_damaged_are_whole(parser, folder):
    (folder / parser.name).write_text(parser.sample)
    found = parser.read(folder / parser.name)
    assert not isinstance(found, list) or (found and not any(isinstance(record, Rejected) for record in found))


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """By architecture, the path of a model, and its files with what they hold."""
    made = {}
    for name, make in MAKERS.items():
        home = tmp_path_factory.mktemp(name.replace(" ", "-"))
        model = make(home / "model")
        made[name] = model, {file: file.read_bytes() for file in sorted(home.rglob("*")) if file.is_file()}
    return made


def use(path: Path) -> None:
    """Read a model's card, weights and tokenizer."""
    model = find_model(str(path))
    for one in [model, *model.members.values()]:
        if not one.members:
            read_checked(one, tuple(one.card.heads.values()))
            load_tokenizer(one.folder, one.card)


@pytest.mark.parametrize("architecture", MAKERS)
@settings(suppress_health_check=list(HealthCheck))
@given(which=st.integers(0, 99), edits=EDITS, changes=CHANGES, by_value=st.booleans())
def test_a_damaged_model_is_read_or_refused(architecture, models, which, edits, changes, by_value):
    path, files = models[architecture]
    told = [file for file in files if file.suffix == ".json" or not by_value]
    file = told[which % len(told)]
    file.write_bytes(changed(files[file], changes) if by_value else edited(files[file], edits))
    try:
        with suppress(SesError):
            use(path)
    finally:
        file.write_bytes(files[file])


@pytest.mark.parametrize("architecture", MAKERS)
def test_the_models_to_be_damaged_are_whole(architecture, models):
    use(models[architecture][0])
