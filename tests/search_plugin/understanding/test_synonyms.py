"""Files of synonyms."""

from __future__ import annotations

import pytest

from corpora.errors import InputError
from search_plugin.understanding.expansion import MOST_BYTES, read_synonyms


def test_groups_and_directions(tmp_path):
    path = tmp_path / "synonyms.txt"
    path.write_text(
        "\ufeff# of the library\nHeart attack, myocardial infarction\n\nMI, AMI => infarction, heart attack # so\n",
        encoding="utf-8",
    )
    assert read_synonyms(path) == {
        ("heart", "attack"): ("myocardial infarction",),
        ("myocardial", "infarction"): ("Heart attack",),
        ("mi",): ("infarction", "heart attack"),
        ("ami",): ("infarction", "heart attack"),
    }


@pytest.mark.parametrize("line", ["alone", "a =>", "=> b", "a => b => c", ", ,"])
def test_a_line_of_another_form_is_named(tmp_path, line):
    path = tmp_path / "synonyms.txt"
    path.write_text(f"a, b\n{line}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"Line 2 of .* is no group of synonyms"):
        read_synonyms(path)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="can't be read"):
        read_synonyms(tmp_path / "none.txt")
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9, bar")
    with pytest.raises(InputError, match="can't be read"):
        read_synonyms(tmp_path / "latin.txt")
    (tmp_path / "long.txt").write_bytes(b"#" * (MOST_BYTES + 1))
    with pytest.raises(InputError, match="larger than 8 MiB"):
        read_synonyms(tmp_path / "long.txt")
