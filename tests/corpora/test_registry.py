import subprocess
import sys
from pathlib import Path

import pytest

from corpora.errors import InputError
from corpora.obtaining import Order
from corpora.opening import Opening
from corpora.registry import CORPORA, get_corpus


def test_knows_the_corpora():
    assert list(CORPORA) == [
        *(
            "cord19",
            "pubmed",
            "pubmed-sample",
            "beir",
            "jsonl",
            "csv",
            "xlsx",
            "openalex",
            "arxiv",
            "s2",
            "ris",
            "bibtex",
            "zotero",
        ),
        *("marc", "crossref", "oai", "index"),
    ]
    assert {name for name, corpus in CORPORA.items() if corpus.takes_columns} == {"jsonl", "csv", "xlsx", "index"}
    # Those of one layout need no file to say what they are.
    assert [name for name, corpus in CORPORA.items() if not corpus.is_form] == [
        *("cord19", "pubmed", "pubmed-sample", "arxiv")
    ]
    assert [name for name, corpus in CORPORA.items() if corpus.is_index] == ["index"]
    assert {name: corpus.choices for name, corpus in CORPORA.items() if corpus.choices} == {
        **dict.fromkeys(("zotero", "crossref"), ("again",)),
        "oai": ("set", "from_date", "until", "metadata_prefix", "again"),
    }
    assert get_corpus(" CORD19 ") is CORPORA["cord19"]


def test_what_is_here_is_found_and_not_asked_for(tmp_path):
    path = tmp_path / "cord19" / "metadata.csv"
    path.parent.mkdir()
    path.write_text("[]")
    located = {name: corpus.locate(tmp_path).name for name, corpus in CORPORA.items() if corpus.locate}
    assert located == {"cord19": "metadata.csv", "pubmed-sample": "pubmed21n1298.xml.gz"}
    obtained = {name: corpus.obtain(Order(str(path), tmp_path)) for name, corpus in CORPORA.items() if corpus.obtain}
    assert obtained == dict.fromkeys(("zotero", "crossref", "oai"))


def test_an_unknown_name_lists_those_there_are():
    with pytest.raises(
        InputError, match="no corpus 'arkiv'; choose one of: cord19, pubmed, pubmed-sample, beir, jsonl"
    ):
        get_corpus("arkiv")


def test_looking_up_imports_nothing_heavy():
    code = (
        "import sys, corpora.registry as r; r.get_corpus('pubmed');"
        "print(sorted({'lxml', 'pubmed_parser', 'pyarrow', 'backports.zstd', 'numpy', 'rich', 'rispy', 'bibtexparser',"
        " 'python_calamine'} & set(sys.modules)))"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", CORPORA)
def test_readers_are_lazy_and_say_what_is_missing(name, tmp_path):
    records = get_corpus(name).read(tmp_path / "none", {})
    with pytest.raises(InputError, match="can't be read here" if name == "index" else "There is no file"):
        next(records)


SUBFIELD = '{"ind1": " ", "ind2": " ", "subfields": [{"a": "café"}]}'
HARVESTED = "<header><identifier>1</identifier></header><metadata><dc><title>café</title></dc></metadata>"
JOURNAL = "<Journal><JournalIssue><PubDate><Year>1999</Year></PubDate></JournalIssue><Title>J</Title></Journal>"
FILES = {
    "cord19": "cord_uid,title\n1,café\n",
    "pubmed": "<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>1</PMID><Article>"
    f"{JOURNAL}<ArticleTitle>café</ArticleTitle></Article></MedlineCitation></PubmedArticle></PubmedArticleSet>",
    "beir": '{"_id": "1", "title": "café"}',
    "jsonl": '{"1": {"title": "café"}}',
    "csv": "id,title\n1,café\n",
    "openalex": '[{"id": "1", "title": "café"}]',
    "arxiv": '{"id": "1", "title": "café"}',
    "s2": '{"corpusid": 1, "title": "café"}',
    "ris": "TY  - JOUR\nTI  - café\nER  - \n",
    "bibtex": "@book{a, title = {café}}",
    "zotero": '[{"id": "1", "title": "café"}]',
    "marc": f'{{"leader": "00000nam a2200000 a 4500", "fields": [{{"001": "1"}}, {{"245": {SUBFIELD}}}]}}',
    "crossref": '{"items": [{"DOI": "10.5555/1", "title": "café"}]}',
    "oai": f"<OAI-PMH><GetRecord><record>{HARVESTED}</record></GetRecord></OAI-PMH>",
}


@pytest.mark.parametrize("name", FILES)
def test_readers_take_an_encoding_and_a_mark_of_utf8(name, tmp_path):
    for encoding, content in (("cp1252", FILES[name]), ("", f"\ufeff{FILES[name]}"), ("", FILES[name])):
        (tmp_path / "file").write_text(content, encoding=encoding or "utf-8")
        (record,) = get_corpus(name).read(tmp_path / "file", {}, (), Opening(encoding))
        assert record.paper.title == "café", encoding
