"""The packages for npm and Composer that make vectors of queries: made of the sources of printed programs."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import numpy as np
import pytest

from encoders.models.formats import Format
from encoders.query_tables import table_for
from encoders.registry import find_model
from encoders.static import load_static
from encoders.table_file import write_table_file
from tests.front_ends.packages import ROOT, packaged

if TYPE_CHECKING:
    from encoders.static import StaticEncoder

TEXTS = ["Masks against SARS-CoV-2", "l'École Müller: naïve İ 2019½", "病毒 한국 😀", ""]
WORDS = [
    ["masks", "against", "sars", "-", "cov", "-", "2"],
    ["l", "'", "ecole", "muller", ":", "naive", "i", "2019½"],
    ["病", "毒", "\u1112\u1161\u11ab\u1100\u116e\u11a8", "😀"],
    [],
]
CALLED = {
    "node": """
import {readFileSync} from "node:fs";
import {QueryTable, directionOf, vectorsOf, wordsOf} from "ses-instantsearch/query-vector";
const texts = JSON.parse(readFileSync("texts.json", "utf8"));
const table = new QueryTable(readFileSync("table"));
const [vectors, words] = [texts.map((text) => table.vector(text)), texts.map(wordsOf)];
const held = {mask: [1, 2], "##xy": [3, 4], virus: [5, 6]};
const documentOf = (id) => ({_id: id, _source: {vector: held[id], piece: true}});
const mget = async (ids) => ({docs: ids.filter((id) => held[id]).map(documentOf)});
const added = await vectorsOf("maskxy virus", mget);
console.log(JSON.stringify({vectors, words, added, direction: directionOf([[1, 2], [2, 2]])}));
""",
    "php": """<?php
require 'package/query_vector.php';
$texts = json_decode(file_get_contents('texts.json'));
$table = new SesScholar\\QueryTable('table');
$words = array_map('SesScholar\\words_of', $texts);
$direction = SesScholar\\direction_of([[1, 2], [2, 2]]);
$held = ['mask' => [1, 2], '##xy' => [3, 4], 'virus' => [5, 6]];
$document = fn($id) => ['_id' => $id, '_source' => ['vector' => $held[$id], 'piece' => true]];
$mget = fn($ids) => ['docs' => array_map($document, array_intersect($ids, array_keys($held)))];
$added = SesScholar\\vectors_of('maskxy virus', $mget);
$vectors = array_map($table->vector(...), $texts);
echo json_encode(['vectors' => $vectors, 'words' => $words, 'added' => $added, 'direction' => $direction]);
""",
}


def test_packages_are_made_of_the_sources_of_printed_programs():
    """`python -m tests.front_ends.packages` writes them again."""
    for path, text in packaged().items():
        assert (ROOT / path).read_text(encoding="utf-8") == text


def test_the_packages_name_their_files():
    npm, composer = (json.loads((ROOT / path).read_text()) for path in ("javascript/package.json", "php/composer.json"))
    assert set(npm["files"]) == {name.removeprefix("./") for name in npm["exports"].values()}
    assert all((ROOT / "javascript" / name).is_file() for name in npm["files"])
    assert all((ROOT / "php" / name).is_file() for name in composer["autoload"]["files"])


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> StaticEncoder:
    table = table_for(find_model("all-MiniLM-L6-v2").card.fingerprint)
    assert table is not None
    return load_static(table, tmp_path_factory.mktemp("cache"))


@pytest.mark.parametrize("command", [pytest.param(name, marks=getattr(pytest.mark, name)) for name in CALLED])
def test_packages_make_the_vectors_of_ses(command, encoder, tmp_path):
    write_table_file(encoder, tmp_path / "table")
    (tmp_path / "texts.json").write_text(json.dumps(TEXTS))
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "ses-instantsearch").symlink_to(ROOT / "javascript")
    (tmp_path / "package").symlink_to(ROOT / "php")
    program = tmp_path / {"node": "program.mjs", "php": "program.php"}[command]
    program.write_text(CALLED[command])
    done = subprocess.run([command, str(program)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert np.array(found["vectors"]) == pytest.approx(encoder.encode(TEXTS, Format.QRY), abs=1e-5)
    assert found["words"] == WORDS
    assert found["added"] == [[1, 2], [3, 4], [5, 6]]
    assert found["direction"] == pytest.approx([0.6, 0.8])
