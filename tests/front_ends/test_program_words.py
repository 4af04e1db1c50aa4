"""How programs in other languages make the vectors of words of those in the cluster: as the table's tokenizer does.

A stand-in for the cluster's `_mget` has a vector of four random numbers for each piece of BERT's vocabulary, and for a
few words of papers. The vectors of a text must add up to those of the tokens that the tokenizer itself finds.
"""

from __future__ import annotations

import json
import subprocess
import sys
import unicodedata

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from encoders.query_tables import table_for
from encoders.registry import find_model
from encoders.static import load_static
from encoders.word_vectors import WordVectors
from search_plugin.engines.cluster.frontends.languages.sources import source_of

OF_PAPERS = ["carotene", "immunohistochemistry", "sars", "zz", "病毒", "2019½"]
"""Words that papers have: some are whole pieces, and others begin words with other pieces."""

TEXTS = [
    "the spread of a virus",
    "Hydroxychloroquine, T-cell IL-2: naïve électroencéphalographie",
    "carotenes sarsx zzqxproteins zz zz telecommunicationsx",
    "ΑΣΦΑΛΕΙΑ İstanbul ß ﬁ Å Straße",
    "病毒 病毒学 한국어 ±5 °C 3.14e-10 10^6 CD4+ ½ \u200b\ufeff soft\u00adhyphen",
    f"{'x' * 100} {'y' * 101} {'pneumono' * 12} {'a' * 64} yyyq",
    "constructor __proto__ toString 0 00 -1 [UNKNOWN] ##ing",
    " \t\n\u2028 ",
    "",
]

HARNESSES = {
    "node": (
        "js",
        """import {readFileSync} from "node:fs";
%s
const {texts, held} = JSON.parse(readFileSync(0, "utf8"));
const documents = new Map(Object.entries(held));
const found = [];
for (const text of texts) {
  let asked = 0;
  const vectors = await vectorsOf(text, async (ids) => {
    asked += 1;
    return {docs: ids.map((id) => documents.has(id) ? {_id: id, _source: documents.get(id)} : {_id: id})};
  });
  found.push({vectors, asked});
}
console.log(JSON.stringify(found));
""",
    ),
    "php": (
        "php",
        """<?php
%s
['texts' => $texts, 'held' => $held] = json_decode(stream_get_contents(STDIN), true);
$found = [];
foreach ($texts as $text) {
    $asked = 0;
    $vectors = vectors_of($text, function ($ids) use (&$asked, $held) {
        $asked += 1;
        $source = fn($id) => isset($held[$id]) ? ['_source' => $held[$id]] : [];
        return ['docs' => array_map(fn($id) => ['_id' => $id] + $source($id), $ids)];
    });
    $found[] = ['vectors' => $vectors, 'asked' => $asked];
}
echo json_encode($found);
""",
    ),
    "ruby": (
        "rb",
        """require "json"
%s
given = JSON.parse($stdin.read.force_encoding("UTF-8"))
found = given["texts"].map do |text|
  asked = 0
  vectors = vectors_of(text) do |ids|
    asked += 1
    {"docs" => ids.map { |id| given["held"][id] ? {"_id" => id, "_source" => given["held"][id]} : {"_id" => id} }}
  end
  {"vectors" => vectors, "asked" => asked}
end
puts JSON.generate(found)
""",
    ),
    "python": (
        "py.txt",
        """import json, re, sys, unicodedata
%s
given = json.load(sys.stdin)
found = []
for text in given["texts"]:
    asked = []
    def mget(ids):
        asked.append(ids)
        held = given["held"]
        return {"docs": [{"_id": id_, **({"_source": held[id_]} if id_ in held else {})} for id_ in ids]}
    vectors = vectors_of(text, mget, {})
    found.append({"vectors": vectors, "asked": len(asked)})
print(json.dumps(found))
""",
    ),
}
ENDINGS = {"node": "mjs", "php": "php", "ruby": "rb", "python": "py"}
LANES = {"node": pytest.mark.node, "php": pytest.mark.php, "ruby": pytest.mark.ruby, "python": ()}

_CHANGED_SINCE = "\u166d\u1734\u1885\u1886"
_SIGNS = st.characters(exclude_categories=["Cs"]).filter(
    lambda sign: unicodedata.ucd_3_2_0.category(sign) != "Cn" and sign not in _CHANGED_SINCE
)
_LATIN = st.text(st.sampled_from("abcdefghijklmnopqrstuvwxyzABZéÜñçøß0123456789"), min_size=1, max_size=30)
_ODD = st.lists(
    st.one_of(_LATIN, st.text(_SIGNS, max_size=6), st.sampled_from(OF_PAPERS), st.sampled_from(list("-.,'/+%&()"))),
    max_size=6,
).flatmap(lambda parts: st.sampled_from(["", " "]).map(lambda between: between.join(parts)))


class StandIn:
    """What the cluster holds, and what the tokenizer makes of a text."""

    def __init__(self, folder):
        encoder = load_static(table_for(find_model("all-MiniLM-L6-v2").card.fingerprint), folder)
        self.tokenizer = encoder.tokenizer
        pieces = WordVectors(encoder).pieces
        self.rows = np.random.default_rng(0).normal(size=(self.tokenizer.get_vocab_size(), 4)).round(3)
        papers = {word: {"vector": self.total(word).tolist()} for word in OF_PAPERS if word not in pieces}
        self.held = papers | {piece: {"vector": self.rows[at].tolist(), "piece": True} for piece, at in pieces.items()}

    def total(self, text):
        """The sum of the rows of the tokens of a text."""
        return self.rows[self.tokenizer.encode(text, add_special_tokens=False).ids].sum(axis=0)

    def words(self, text):
        """The words of a text before they are split."""
        normal = self.tokenizer.normalizer.normalize_str(text)
        return [word for word, _ in self.tokenizer.pre_tokenizer.pre_tokenize_str(normal)]

    def requests(self, text):
        """How many requests a text needs: one if all words are known, and another for others."""
        words = self.words(text)
        return 0 if not words else 1 if all(word in self.held for word in words) else 2


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    return StandIn(tmp_path_factory.mktemp("cache"))


def answers(command, texts, cluster, folder):
    """What the functions of a language give for texts."""
    ending, harness = HARNESSES[command]
    path = folder / f"harness.{ENDINGS[command]}"
    path.write_text(harness % source_of("words", ending), encoding="utf-8")
    given = json.dumps({"texts": texts, "held": cluster.held})
    program = sys.executable if command == "python" else command
    done = subprocess.run([program, str(path)], input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return json.loads(done.stdout)


def by_perl(text, cluster):
    """The sum of the vectors by the steps of a shell script."""

    def step(wanted, replies=()):
        command = ["perl", "-MEncode", "-MJSON::PP", "-e", source_of("words", "pl"), "--", wanted, text]
        done = subprocess.run(command, input=json.dumps(replies), capture_output=True, text=True, check=True)
        assert not done.stderr
        return json.loads(done.stdout)

    def reply(ids):
        return {
            "docs": [{"_id": id_, **({"_source": cluster.held[id_]} if id_ in cluster.held else {})} for id_ in ids]
        }

    replies = [reply(step("words"))]
    pieces = step("pieces", replies)
    assert bool(pieces) == (cluster.requests(text) == 2)
    replies += [reply(pieces)] if pieces else []
    return np.sum([one["_source"]["vector"] for one in step("vectors", replies)["docs"]], axis=0)


def assert_as_the_table(command, texts, cluster, folder):
    for text, found in zip(texts, answers(command, texts, cluster, folder), strict=True):
        assert np.sum(found["vectors"], axis=0) == pytest.approx(cluster.total(text), abs=1e-6), text
        assert found["asked"] == cluster.requests(text), text


in_each = pytest.mark.parametrize("command", [pytest.param(name, marks=LANES[name]) for name in HARNESSES])


@in_each
def test_vectors_add_up_to_those_of_the_tokenizer(command, cluster, tmp_path):
    assert_as_the_table(command, TEXTS, cluster, tmp_path)


@in_each
@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(texts=st.lists(_ODD, min_size=40, max_size=40))
def test_vectors_of_odd_words_add_up_too(command, cluster, tmp_path, texts):
    assert_as_the_table(command, texts, cluster, tmp_path)


@pytest.mark.parametrize("text", TEXTS)
def test_a_shell_finds_the_same_with_perl(cluster, text):
    assert by_perl(text, cluster) == pytest.approx(cluster.total(text), abs=1e-6)


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=_ODD.filter(lambda text: "\0" not in text))
def test_a_shell_finds_the_same_of_odd_words(cluster, text):
    assert by_perl(text, cluster) == pytest.approx(cluster.total(text), abs=1e-6)


def test_an_index_of_words_without_pieces_adds_what_it_knows(cluster, tmp_path):
    """As an earlier version wrote it: nothing is marked as a piece, so an unknown word adds nothing."""
    words = {word: {"vector": cluster.rows[at].tolist()} for word, at in [("virus", 7), ("hydro", 8), ("the", 9)]}
    before = type("Before", (), {"held": words})
    (found,) = answers("python", ["The virus, hydroxychloroquine"], before, tmp_path)
    assert np.sum(found["vectors"], axis=0) == pytest.approx(cluster.rows[9] + cluster.rows[7])
