"""Exports of other programs: all that they have is read, and what ses exports of it is read back."""

from __future__ import annotations

import pytest

from tests.corpora.programs import EXPECTED, EXPORTS, FOLDER, PAGE, fields_of, with_table


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
