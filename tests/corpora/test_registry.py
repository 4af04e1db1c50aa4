import subprocess
import sys
from pathlib import Path

import pytest

from corpora.errors import InputError
from corpora.obtaining import Order
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
        *("cord19", "pubmed", "pubmed-sample", "arxiv"),
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
