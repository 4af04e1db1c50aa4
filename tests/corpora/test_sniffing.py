import pytest

from corpora.errors import InputError
from corpora.registry import get_corpus
from corpora.sniffing import guess_kind, likely_corpus, refuse_folder, remedy_for_folder

ENDNOTE = ("database", "source-app", "rec-number", "foreign-keys", "ref-type", "contributors")
ENTRIES = (
    *("article", "book", "inbook", "incollection", "inproceedings", "misc", "thesis", "phdthesis", "mastersthesis"),
    *("techreport", "unpublished", "string", "comment"),
)
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


MARC_XML = '<collection xmlns="http://www.loc.gov/MARC21/slim">'


@pytest.mark.parametrize(
    ("kind", "heads"),
    [
        ("pubmed", ["<PubmedArticleSet>", "\ufeff <?xml?><DeleteCitation>", "<PubmedArticle>"]),
        ("oai", ["<OAI-PMH>", f"<o:OAI-PMH><record>{MARC_XML}"]),
        (
            "marc",
            [
                MARC_XML,
                "01234nam a2200301 a 4500",
                "00714cam  2200205 a 4500",
                "12345    a2200301",
                "12345     2200301",
            ],
        ),
        ("endnote", [f"<xml><record>\n<{name}>" for name in ENDNOTE]),
        ("xml", ["<html>", "<record><title>", "<OAI-PMHx-y"]),
        ("jsonl", ["{", " \n[", "\ufeff{", 'noise, "a"\n {"id": 1}', "noise\n[1]"]),
        ("ris", ["TY  - JOUR", "x\nTY - JOUR"]),
        ("nbib", ["PMID- 123", "\n\nPMID-  7"]),
        ("wos", ["FN Clarivate\r\nVR 1.0", "PT J\nAU A"]),
        ("refer", ["%0 Journal Article", "x\n%0 Book"]),
        ("bibtex", [f"% remark\n @{name}{{a, " for name in ENTRIES] + ["@STRING(", "@book  {"]),
        ("cord19", ["cord_uid,sha", "\ufeffsha,cord_uid\n"]),
        ("csv", ["a,b", "a\tb", "a;b", "a|b", "RECORD 1\nx", "a,b\n{", '"Article Title"\r\nx']),
        ("", ["prose", "@unknown{a}", "prose\na,b", "TY JOUR", "PMID 12", "01234", "PT Jx", ""]),
    ],
)
def test_the_beginning_of_a_file_tells_its_kind(tmp_path, kind, heads):
    for head in heads:
        (tmp_path / "file").write_text(head, encoding="utf-8")
        wanted = "ris" if kind in ("nbib", "wos", "refer", "endnote") else kind
        assert (guess_kind(head.encode()), likely_corpus(tmp_path / "file")) == (kind, wanted), head
    assert likely_corpus(tmp_path) == likely_corpus(tmp_path / "none") == ""


def test_a_folder_of_no_corpus_gets_no_advice(tmp_path):
    with pytest.raises(InputError, match="is a folder where a table is wanted; name a file in it"):
        refuse_folder(tmp_path, "a table")
    assert remedy_for_folder(tmp_path) == "name another folder"
