import pytest

from corpora.errors import InputError
from corpora.registry import get_corpus

FILES = {
    "papers.jsonl": '{"id": "1", "title": "a"}\n',
    "array.json": '\ufeff[\n{"id": "1", "title": "a"}]',
    "table.csv": "id,title\n1,a\n",
    "table.tsv": "id\ttitle\n1\ta\n",
    "metadata.csv": "cord_uid,title\n1,a\n",
    "pubmed.xml": '<?xml version="1.0"?>\n<PubmedArticleSet></PubmedArticleSet>',
    "page.html": "<!DOCTYPE html><html></html>",
    "prose.txt": "Nothing to see here\n",
}


@pytest.mark.parametrize(
    ("file", "corpus", "says"),
    [
        ("papers.jsonl", "cord19", "should be CORD-19's metadata.csv, but it looks like JSON; use corpus=jsonl"),
        ("papers.jsonl", "pubmed", "should be PubMed XML.*use corpus=jsonl"),
        ("array.json", "csv", "use corpus=jsonl"),
        ("table.csv", "pubmed", "looks like a table; use corpus=csv"),
        ("table.tsv", "cord19", "use corpus=csv"),
        ("table.csv", "jsonl", "use corpus=csv"),
        ("metadata.csv", "jsonl", "use corpus=cord19"),
        ("metadata.csv", "beir", "use corpus=cord19"),
        ("pubmed.xml", "csv", "use corpus=pubmed"),
        ("pubmed.xml", "jsonl", "looks like PubMed XML; use corpus=pubmed"),
        ("page.html", "pubmed", "looks like XML, but not PubMed's; name another file"),
        ("prose.txt", "pubmed", "looks like no corpus ses can read; name another file"),
    ],
)
def test_the_wrong_corpus_is_told_the_right_one(tmp_path, file, corpus, says):
    path = tmp_path / file
    path.write_text(FILES[file], encoding="utf-8")
    with pytest.raises(InputError, match=says):
        list(get_corpus(corpus).read(path, {}))


HOLDS = {"beir": "corpus.jsonl.gz", "cord19": "metadata.csv", "pubmed": "p.xml.gz"}
WRONG = ("cord19", "pubmed", "beir", "jsonl", "csv")


@pytest.mark.parametrize(("corpus", "right"), [(named, right) for named in WRONG for right in HOLDS if named != right])
def test_the_wrong_folder_is_told_the_right_corpus(tmp_path, corpus, right):
    (tmp_path / HOLDS[right]).touch()
    with pytest.raises(InputError, match=f"use corpus={right}"):
        list(get_corpus(corpus).read(tmp_path, {}))
