"""Exports of other programs: all that they have is read, and what ses exports of it is read back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from corpora.registry import get_corpus
from tests.corpora.programs import EXPECTED, EXPORTS, FOLDER, PAGE, fields_of, with_table
from tests.search_plugin.pages.test_formats import page_of


@pytest.mark.parametrize("export", EXPORTS, ids=[one.file for one in EXPORTS])
def test_all_that_a_program_exports_is_read(export):
    (paper,) = export.papers()
    expected = {name: value for name, value in EXPECTED.items() if name not in export.lacks}
    assert {name: fields_of(paper).get(name) for name in expected} == expected
    assert fields_of(paper).keys() - expected.keys() <= {"family names", "given names"}


def test_every_export_is_in_the_table_of_the_docs():
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(one.file for one in EXPORTS)
    page = PAGE.read_text(encoding="utf-8")
    assert with_table(page) == page


@pytest.mark.parametrize(
    ("form", "corpus"), [("bibtex",) * 2, ("csl", "zotero"), ("csv",) * 2, ("jsonl",) * 2, ("ris",) * 2]
)
def test_what_ses_exports_of_them_is_read_back(form, corpus, tmp_path):
    papers = [replace(paper, id=f"{number}") for number, one in enumerate(EXPORTS) for paper in one.papers()]
    (tmp_path / "export").write_text(page_of(*papers).format(form), encoding="utf-8", newline="")
    read = [one.paper for one in get_corpus(corpus).read(tmp_path / "export", {})]
    assert [fields_of(paper) for paper in read] == [fields_of(paper) for paper in papers]
