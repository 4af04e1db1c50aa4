import subprocess
import sys
from pathlib import Path

import pytest

from corpora.errors import InputError
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
    assert {name for name, corpus in CORPORA.items() if corpus.locate} == {"cord19", "pubmed-sample"}
    assert get_corpus(" CORD19 ") is CORPORA["cord19"]


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
