"""How programs in other languages add other spellings to the words of a query: as ses itself does."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from search_plugin.engines.cluster.frontends.languages.sources import source_of
from search_plugin.understanding.expansion import MOST_SPELLINGS, by_rules, expand
from search_plugin.words.terms import TOKEN

TEXTS = [
    "TNF-alpha and IL 6 in non-smokers with tumours",
    "TNFalpha IFNgamma2 NFkappaB tgfbeta1 NF-kB nfkb NF-κB nf kb",
    "the analyses of metastasis in mice: viruses, foetal anaemia",
    "TNF\u03b1-induced 5-\u03b1-reductase \u00b5-opioid \u03c3 \u03c2 \u03d5 ΔF508 interferon gamma interferon \u03b3",
    "COVID-19 Covid 19 covid 19 type 2 CD4+ p53 H5N1 SARS/-CoV state\u2010of\u2013the\u2011art",
    "2,4,6-trinitrotoluene 1-2-3-4-5-6 a1b2c3d4e5 SARS-CoV-2 12-hour 3-O-sulfation",
    "NF kappa B kappa b alpha alpha2 \u03b1 5 x-ray X beta",
    "naïve Müller-Lyer \u00e9t\u00e9-2 e\u0301te\u0301 病毒-2 😀 ½-2 \u0660-a",
    " ".join(f"word{n}" for n in range(40)),
    " ".join(f"word{n}" for n in range(41)),
    "a -- b - c -d e- f_g h__i",
    "omega-3 rho-1 \u03c3-2 \u03b7 factor sigma-2 ABCDE 6 ABCDEF 6",
    "virus",
    "...",
    "",
]

HARNESSES = {
    "node": (
        "js",
        """import {readFileSync} from "node:fs";
%s
const {texts, held} = JSON.parse(readFileSync(0, "utf8"));
const found = texts.map((text) => spelledOf(text, new Map(Object.entries(held))));
console.log(JSON.stringify([found, matching([["a b"], ["c", "d", "e f"]], ["title", "text"], 0.5)]));
""",
    ),
    "php": (
        "php",
        """<?php
%s
['texts' => $texts, 'held' => $held] = json_decode(stream_get_contents(STDIN), true);
$found = array_map(fn($text) => spelled_of($text, $held), $texts);
echo json_encode([$found, matching([['a b'], ['c', 'd', 'e f']], ['title', 'text'], 0.5)]);
""",
    ),
    "ruby": (
        "rb",
        """require "json"
%s
given = JSON.parse($stdin.read.force_encoding("UTF-8"))
found = given["texts"].map { |text| spelled_of(text, given["held"]) }
puts JSON.generate([found, matching([["a b"], ["c", "d", "e f"]], ["title", "text"], 0.5)])
""",
    ),
    "python": (
        "py.txt",
        """import json, re, sys
%s
given = json.load(sys.stdin)
found = [spelled_of(text, given["held"]) for text in given["texts"]]
print(json.dumps([found, matching([["a b"], ["c", "d", "e f"]], ["title", "text"], 0.5)]))
""",
    ),
}
ENDINGS = {"node": "mjs", "php": "php", "ruby": "rb", "python": "py"}
LANES = {"node": pytest.mark.node, "php": pytest.mark.php, "ruby": pytest.mark.ruby, "python": ()}
in_each = pytest.mark.parametrize("command", [pytest.param(name, marks=LANES[name]) for name in HARNESSES])

_PARTS = "tnf TNF IL alpha Beta kappa B b \u03b1 \u03ba 6 12 Il x NF kB naïve é"
_ODD = st.lists(
    st.tuples(st.sampled_from(_PARTS.split()), st.sampled_from(["", " ", "-", "\u2212", ", ", "/-", "  "])), max_size=6
).map(lambda parts: "".join(part + gap for part, gap in parts))


def held(texts):
    """What the cluster knows of the words of some texts: the spellings that rules make of a word."""
    words = {word[0].lower() for text in texts for word in TOKEN.finditer(text)}
    known = {word: {"vector": [1], "spellings": by_rules(word)} for word in words if by_rules(word)}
    return known | {"the": {"vector": [1]}}


def expected(text):
    """The words of a text as `expand` finds them: plain ones as words, others with their spellings in order."""
    plain, groups = expand(text)
    return plain.split(), [(one.typed, [other.text for other in one.others]) for one in groups]


def read(found):
    plain, *spelled = found
    assert len(plain) == 1
    return plain[0].split(), [(typed, others) for typed, *others in spelled]


def answers(command, texts, folder):
    """What the functions of a language give for texts."""
    ending, harness = HARNESSES[command]
    path = folder / f"harness.{ENDINGS[command]}"
    path.write_text(harness % source_of("spellings", ending), encoding="utf-8")
    given = json.dumps({"texts": texts, "held": held(texts)})
    program = sys.executable if command == "python" else command
    done = subprocess.run([program, str(path)], input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return json.loads(done.stdout)


def by_perl(*given, told=()):
    """What a step of a shell script prints."""
    command = ["perl", "-MEncode", "-MJSON::PP", "-e", source_of("spellings", "pl"), "--", *given]
    done = subprocess.run(command, input=json.dumps(told), capture_output=True, text=True, check=True)
    assert not done.stderr
    return json.loads(done.stdout)


def replies(texts):
    return [
        {"docs": [{"_id": "nothing"}]},
        {"docs": [{"_id": id_, "_source": one} for id_, one in held(texts).items()]},
    ]


MATCHING = {
    "bool": {
        "should": [
            {
                "dis_max": {
                    "queries": [
                        {"multi_match": {"query": text, "fields": ["title", "text"], "type": kind, "boost": 0.5}}
                        for text, kind in queries
                    ]
                }
            }
            for queries in ([("a b", "most_fields")], [("c", "most_fields"), ("d", "phrase"), ("e f", "phrase")])
        ]
    }
}


@in_each
def test_spellings_are_those_of_ses(command, tmp_path):
    found, query = answers(command, TEXTS, tmp_path)
    for text, one in zip(TEXTS, found, strict=True):
        assert read(one) == expected(text), text
    assert query == MATCHING


@in_each
@settings(max_examples=3, phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))
@given(texts=st.lists(_ODD, min_size=40, max_size=40))
def test_spellings_of_odd_words_are_those_of_ses(command, tmp_path, texts):
    found, _ = answers(command, texts, tmp_path)
    for text, one in zip(texts, found, strict=True):
        assert read(one) == expected(text), text


@in_each
def test_a_query_has_a_limit_of_spellings(command, tmp_path):
    text = " ".join(f"NF{n}x-kappa" for n in range(40))
    ((found,), _) = answers(command, [text], tmp_path)
    assert read(found) == expected(text)
    assert sum(len(others) for _, others in read(found)[1]) == MOST_SPELLINGS


@pytest.mark.parametrize("text", TEXTS)
def test_a_shell_finds_the_same_with_perl(text):
    assert read(by_perl("spelled", text, told=replies([text]))) == expected(text)


@settings(max_examples=10, phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))
@given(text=_ODD)
def test_a_shell_finds_the_same_of_odd_words(text):
    assert read(by_perl("spelled", text, told=replies([text]))) == expected(text)


def test_a_shell_makes_the_same_query():
    spelled = [["a b"], ["c", "d", "e f"]]
    assert by_perl("matching", json.dumps(spelled), '["title", "text"]', "0.5") == MATCHING
