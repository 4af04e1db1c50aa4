"""A table for queries as one file, read by programs in other languages: the vectors are those of ses."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from corpora.errors import InputError
from encoders.models.formats import Format
from encoders.query_tables import table_for
from encoders.registry import find_model
from encoders.static import load_static
from encoders.table_file import write_table_file

TEXTS = [
    "masks against a virus",
    "",
    "   \t\n ",
    "Müller's naïve façade, ÉCOLE: Ångström İstanbul ΣΊΣΥΦΟΣ ß ﬁ",
    "新型冠状病毒 pneumonia 2019-nCoV, かな カナ 한국어 연구",
    "“quotes” \u2013 dashes… (5.0 \u00d7 10³ µm²) <b>&amp;</b> $5 #1 \\ ' \" `x` ${y} %s",
    "pneumonoultramicroscopicsilicovolcanoconiosis " + "a" * 100 + " " + "b" * 101,
    "emoji 😀 👩‍🔬 🇩🇪 ☃ and \u0301 marks e\u0301 \u200b zero \ufeff width \ufffd",
    "[MASK] and [CLS] are tokens, [mask] is not",
    "हिन्दी العربية עִבְרִית ไทย Ελληνικά Кириллица \U00020000 \U000e0041",
]
"""What tokenizers disagree about: accents, scripts, punctuation, long words, emoji, nothing."""


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return load_static(table_for(find_model("all-MiniLM-L6-v2").card.fingerprint), tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def file(encoder, tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "query-table.safetensors"
    assert write_table_file(encoder, path) == path.stat().st_size < 4_000_000
    return path


@pytest.mark.slow
def test_the_file_is_one_of_safetensors_with_numbers_and_lines(encoder, file):
    arrays = load_file(file)
    assert arrays["codes"].shape == (30522, 96)
    lines = {name: arrays[name].tobytes().decode().split("\n") for name in ("vocabulary", "folding", "ranges")}
    assert lines["vocabulary"][100:103] == ["[UNK]", "[CLS]", "[SEP]"]
    assert {"É\te", "Å\ta", "¿\t ¿ "} <= set(lines["folding"])
    assert {"65\t65\ta", "33\t47\t & ", "19968\t40959\t & "} <= set(lines["ranges"])
    assert arrays["none"] == pytest.approx(encoder.encode([""], Format.QRY)[0], abs=1e-6)


SOURCES = Path(__file__).parents[2] / "search_plugin" / "engines" / "cluster" / "frontends" / "languages" / "sources"
HEADS = {
    "js": 'import {readFileSync} from "node:fs";\n',
    "php": "<?php\n",
    "rb": 'require "json"\n',
    "py.txt": "import json, re, struct, sys\n",
    "pl": "use Encode; use JSON::PP;\n",
}
CALLS = {
    "js": """
const texts = JSON.parse(readFileSync("texts.json", "utf8"));
const table = new QueryTable(readFileSync("table"));
console.log(JSON.stringify(texts.map((text) => table.vector(text))));
""",
    "php": """
$table = new QueryTable('table');
echo json_encode(array_map($table->vector(...), json_decode(file_get_contents('texts.json'))));
""",
    "rb": """
table = QueryTable.new("table")
puts JSON.generate(JSON.parse(File.read("texts.json", encoding: "UTF-8")).map { |text| table.vector(text) })
""",
    "py.txt": """
table = QueryTable("table")
print(json.dumps([table.vector(text) for text in json.load(open("texts.json", encoding="utf-8"))]))
""",
}
COMMANDS = {"js": ["node"], "php": ["php"], "rb": ["ruby"], "py.txt": ["python3"], "pl": ["perl"]}


@pytest.mark.slow
@pytest.mark.parametrize(
    "language",
    [
        pytest.param("js", marks=pytest.mark.node),
        pytest.param("php", marks=pytest.mark.php),
        pytest.param("rb", marks=pytest.mark.ruby),
        "py.txt",
        "pl",
    ],
)
def test_programs_have_the_vectors_of_ses(language, encoder, file, tmp_path):
    (tmp_path / "table").symlink_to(file)
    (tmp_path / "texts.json").write_text(json.dumps(TEXTS))
    program = tmp_path / ("program.mjs" if language == "js" else "program")
    program.write_text(HEADS[language] + (SOURCES / f"table.{language}").read_text() + CALLS.get(language, ""))

    def ran(*arguments):
        command = [*COMMANDS[language], str(program), *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    found = np.array([ran("table", text) for text in TEXTS] if language == "pl" else ran())
    wanted = encoder.encode(TEXTS, Format.QRY)
    assert found == pytest.approx(wanted, abs=1e-5)


def test_what_programs_have_no_code_for_is_refused(encoder, tmp_path):
    from dataclasses import replace

    whole = replace(encoder.table, codes=None, centroids=None, rows=np.zeros((30522, 384)))
    with pytest.raises(InputError, match="not quantised"):
        write_table_file(replace(encoder, table=whole), tmp_path / "file")
