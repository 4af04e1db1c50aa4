"""The packages for npm and Composer: vectors of queries, and the ranking of ses, of the sources of printed programs."""

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
from search_plugin.contract.legs import Scored, ranked
from search_plugin.contract.plan import TABLE_WEIGHT, VectorClause
from search_plugin.fusion.fusions import minmax, with_defaults
from search_plugin.ranking.neighbours import smoothed
from search_plugin.request import NEIGHBOURS_SHARE
from tests.engines.conftest import SCHEMA
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


def called(command, program, folder, **given):
    """What a program prints that uses a package, with a file of JSON for each name."""
    for name, value in given.items():
        (folder / f"{name}.json").write_text(json.dumps(value))
    (folder / "node_modules").mkdir()
    (folder / "node_modules" / "ses-instantsearch").symlink_to(ROOT / "javascript")
    (folder / "package").symlink_to(ROOT / "php")
    path = folder / {"node": "program.mjs", "php": "program.php"}[command]
    path.write_text(program)
    done = subprocess.run([command, str(path)], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("command", [pytest.param(name, marks=getattr(pytest.mark, name)) for name in CALLED])
def test_packages_make_the_vectors_of_ses(command, encoder, tmp_path):
    write_table_file(encoder, tmp_path / "table")
    found = called(command, CALLED[command], tmp_path, texts=TEXTS)
    assert np.array(found["vectors"]) == pytest.approx(encoder.encode(TEXTS, Format.QRY), abs=1e-5)
    assert found["words"] == WORDS
    assert found["added"] == [[1, 2], [3, 4], [5, 6]]
    assert found["direction"] == pytest.approx([0.6, 0.8])


RANKED = {
    "node": """
import {readFileSync} from "node:fs";
import {NEIGHBOURS, TABLE_WEIGHTS, joinLegs, paperVectors, withNeighbours} from "ses-instantsearch/ranking";
const {legs, papers} = JSON.parse(readFileSync("replies.json", "utf8"));
const {weight, pool, nearest, first} = NEIGHBOURS;
const joined = joinLegs(legs, TABLE_WEIGHTS, [null, "cosine"], 100);
const ranked = withNeighbours(joined, paperVectors(papers, "vector_prx"), weight, nearest, first, 1);
console.log(JSON.stringify({pool, ranked: ranked.map(({id, score}) => [id, score])}));
""",
    "php": """<?php
require 'package/ranking.php';
['legs' => $legs, 'papers' => $papers] = json_decode(file_get_contents('replies.json'), true);
['weight' => $weight, 'pool' => $pool, 'nearest' => $nearest, 'first' => $first] = SesScholar\\NEIGHBOURS;
$joined = SesScholar\\join_legs($legs, SesScholar\\TABLE_WEIGHTS, [null, 'cosine'], 100);
$vectors = SesScholar\\paper_vectors($papers, 'vector_prx');
$ranked = SesScholar\\with_neighbours($joined, $vectors, $weight, $nearest, $first, 1);
echo json_encode(['pool' => $pool, 'ranked' => $ranked]);
""",
}


class Held:
    """An index that has the vectors of some papers."""

    schema = SCHEMA

    def __init__(self, vectors):
        self._vectors = vectors

    def vectors(self, ids, field):
        return {id_: vector for id_, vector in self._vectors.items() if id_ in ids}


@pytest.mark.parametrize("command", [pytest.param(name, marks=getattr(pytest.mark, name)) for name in RANKED])
def test_packages_rank_as_ses_does(command, tmp_path):
    draw = np.random.default_rng(5)
    ids = [str(number) for number in range(70)]
    legs = {
        leg: dict(zip(draw.permutation(ids)[:45], draw.random(45).round(6), strict=True)) for leg in ("lexical", "prx")
    }
    vectors = {id_: draw.standard_normal(4).round(6).astype(np.float32) for id_ in ids[3:]}
    found = {leg: ranked(Scored(id_, score) for id_, score in scores.items()) for leg, scores in legs.items()}
    clause = VectorClause("prx", vectors["9"], TABLE_WEIGHT)
    joined = minmax(found, with_defaults([clause], {}))
    wanted = smoothed(joined, Held(vectors), NEIGHBOURS_SHARE, "minmax")
    best = [hit.id for hit in joined[:50]]
    replies = {
        "legs": [
            {"hits": {"hits": [{"_id": id_, "_score": score} for id_, score in scores.items()]}}
            for scores in legs.values()
        ],
        "papers": {
            "hits": {
                "hits": [
                    {"_id": id_, "fields": {"vector_prx": vectors[id_].tolist()}} for id_ in best if id_ in vectors
                ]
            }
        },
    }
    printed = called(command, RANKED[command], tmp_path, replies=replies)
    assert printed["pool"] == 50
    assert [id_ for id_, _ in printed["ranked"]] == [hit.id for hit in wanted]
    assert [score for _, score in printed["ranked"]] == pytest.approx([hit.score for hit in wanted], abs=1e-6)
    assert [hit.id for hit in wanted] != [hit.id for hit in joined]
