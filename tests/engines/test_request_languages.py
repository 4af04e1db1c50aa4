"""Requests in every language: a text stays a text, legs are joined as ses joins them, and no secret is in them."""

from __future__ import annotations

import ast
import base64
import json
import shlex
from dataclasses import replace
from types import SimpleNamespace
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import InputError
from search_plugin.contract.legs import Scored, ranked
from search_plugin.engines.cluster.dialect import enclosed, raw_closeness
from search_plugin.engines.cluster.frontends.http import HttpRequest, Parameter, SpelledWords, as_plain
from search_plugin.engines.cluster.frontends.languages.registry import LANGUAGES, get_language
from search_plugin.engines.cluster.frontends.recorded_requests import opened_for
from search_plugin.engines.cluster.frontends.script import Joining, PageScript, QueryVector
from search_plugin.fusion.fusions import fusion_of
from ses.terminal.commands.cluster import request
from tests.engines.copying import in_every_language, in_every_script, languages, run
from tests.engines.pretender import Answer, pretend

TRAPS = [
    "it's \"quoted\" \\ and \\\\' done",
    "$HOME `id` $(id) ${x} %s %d",
    "#{1 + 1} #@a #$b {$a} \\u0041 \\x41 \\n",
    "</script><!-- ?> <?php ' ; //",
    "\nJSON\nCONFIG\n'''\n\"\"\"\nEOF",
    "\u2028\u2029\u202e\u2066 é 試 😀 \x7f",
    "{{vector}} {vector} \\",
]
"""What ends a text, or is replaced in it, in one language or another."""


def one(body, **changes):
    """The script of one request."""
    asked = HttpRequest("POST", "/papers/_search?a=1", as_plain(body), "the page")
    return replace(
        PageScript("http://localhost:1", "papers", "opensearch", "", False, (asked,), None, None, {}, (), ""), **changes
    )


def sent(language, script, folder, **environment):
    """What a server receives of a script."""
    seen = []
    with pretend({}, bodies=seen) as server:
        run(language, get_language(language).write(replace(script, url=server.url)), folder, **environment)
        return seen, server.seen


@in_every_language
def test_what_a_user_typed_arrives_as_it_is(language, tmp_path):
    body = {
        "texts": TRAPS,
        "keys": dict.fromkeys(TRAPS, "key"),
        "numbers": [1, -2.5, 1e-9, 0.1],
        "none": [None, True, False, {}, [], {"deep": [{"er": {}}]}],
        "vector": Parameter("vector"),
        "words": Parameter("words"),
    }
    numbers = [0.25, -1.5]
    (tmp_path / "vector.json").write_text(json.dumps(numbers))
    words = TRAPS[0] + TRAPS[1] + TRAPS[2]
    script = one(
        body, values={"vector": numbers, "words": words}, parameters=("vector", "words"), vector_from="From here."
    )
    assert language != "javascript" or "</script" not in get_language(language).write(script)
    (received,), ((line, headers),) = sent(language, script, tmp_path)
    assert json.loads(received) == {**body, "vector": numbers, "words": words}
    assert (line, headers["content-type"].split(";")[0]) == ("POST /papers/_search", "application/json")
    # The same where the vector is in the text.
    (tmp_path / "vector.json").unlink()
    (again,), _ = sent(language, replace(script, parameters=("words",)), tmp_path)
    assert json.loads(again) == json.loads(received)


def test_queries_for_the_words_are_left_to_a_program_that_spells_them():
    words = Parameter("words", "text")
    own, attached = {"query": "it", "boost": 0.3}, {"query": "it", "fields": ["a", "b"], "type": "most_fields"}
    others = [{"match": {"title": {"query": "others"}}}, {"match": {"title": "it"}}, {"terms": {"year": [1]}}, "it"]
    body = [{"match": {"title": own}}, {"multi_match": attached}, *others]
    opened = {
        spelled: opened_for(HttpRequest("POST", "/", {"q": body}), {"words": "it"}, words=True, spelled=spelled)
        for spelled in (True, False)
    }
    assert opened[True].body["q"] == [SpelledWords(("title",), 0.3), SpelledWords(("a", "b"), 1.0), *others]
    typed = [{"match": {"title": {**own, "query": words}}}, {"multi_match": {**attached, "query": words}}]
    assert opened[False].body["q"] == [*typed, *others]


@in_every_language
def test_names_of_fields_arrive_as_they_are(language, tmp_path):
    """Those of an attached index are its owner's."""
    fields = ["it's", '"$HOME" `id` $(id)', "#{1} \\ {$a}"]
    body = {"query": SpelledWords(tuple(fields), 0.5), "size": 3}
    first = QueryVector("feedback", HttpRequest("POST", "/papers/_search", body), "v")
    script = one(
        {"query": Parameter("vector")}, values={"words": "a b-c"}, parameters=("vector", "words"), spelled=True
    )
    reply = Answer({"hits": {"hits": [{"_id": "1", "fields": {"v": [3, 4]}}]}})
    seen = []
    with pretend({"/papers/_search": reply}, bodies=seen) as server:
        text = get_language(language).write(replace(script, url=server.url, query_vector=first))
        run(language, text, tmp_path, arguments=("x-y z",))
    asked, searched = map(json.loads, seen)
    assert asked["size"] == 3
    typed, best = asked["query"]["bool"]["should"]
    assert typed["dis_max"]["queries"] == [multi_match("z", "most_fields", fields)]
    kinds = {"x-y": "most_fields", "x y": "phrase", "xy": "phrase"}
    found = sorted(best["dis_max"]["queries"], key=lambda query: list(kinds).index(query["multi_match"]["query"]))
    assert found == [multi_match(text, kind, fields) for text, kind in kinds.items()]
    assert searched["query"] == pytest.approx([0.6, 0.8])


def multi_match(text, kind, fields):
    return {"multi_match": {"query": text, "type": kind, "fields": fields, "boost": 0.5}}


@given(st.dictionaries(st.text(), st.text(), max_size=5))
def test_literals_hold_any_text(body):
    body = json.loads(json.dumps(body).encode("utf-8", "replace"))
    script = one({"all": [body, {"deep": body}]})
    call = next(node for node in ast.walk(ast.parse(get_language("python").write(script))) if _is_asking(node))
    assert ast.literal_eval(call.args[2]) == {"all": [body, {"deep": body}]}
    (document,) = json.loads(get_language("json").write(script))["requests"]
    assert document["lines"] == [{"all": [body, {"deep": body}]}]
    shell = get_language("curl").write(script)
    assert json.loads(shell.partition("<<'JSON'\n")[2].removesuffix("\nJSON\n")) == document["lines"][0]
    assert shlex.split(shell.partition(" \\\n")[0], comments=True)[-1] == "http://localhost:1/papers/_search?a=1"


def _is_asking(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "ask"


@pytest.mark.parametrize(
    ("language", "scheme"),
    # Python's client takes a second to import.
    [
        ("python", "Basic"),
        *(
            pytest.param(*one.values, scheme, marks=one.marks)
            for one in languages("python")
            for scheme in ("ApiKey", "Bearer", "Basic")
        ),
    ],
)
def test_credentials_come_from_the_environment(language, scheme, tmp_path):
    given = {"SES_ENGINE_API_KEY": "a-key==", "SES_ENGINE_TOKEN": "a.token"}
    given |= {"SES_ENGINE_USERNAME": "someone", "SES_ENGINE_PASSWORD": "a $long 'pass' \"word\" " + "x" * 80}
    _, ((_, headers),) = sent(language, one({}, scheme=scheme), tmp_path, **given)
    both = f"{given['SES_ENGINE_USERNAME']}:{given['SES_ENGINE_PASSWORD']}"
    secret = {"ApiKey": "a-key==", "Bearer": "a.token", "Basic": base64.b64encode(both.encode()).decode()}
    assert headers["authorization"] == f"{scheme} {secret[scheme]}"


def legs_and_papers(fusion, measures, window):
    """Legs, with equal scores among those by words, and what joins them."""
    draw = np.random.default_rng(0)
    legs = {}
    for leg, measure in measures.items():
        scores = np.round(draw.uniform(0.1, 3 if measure == "dot" else 1, 30), 6 if measure else 1)
        names = draw.permutation(40)[:30]
        legs[leg] = [(f"p{name:02}", float(score)) for name, score in zip(names, scores, strict=True)]
    weights = dict(zip(measures, (0.25, 0.45, 0.3), strict=True))
    found = {
        leg: ranked(Scored(id_, raw_closeness(measure, score) if measure else score) for id_, score in hits)[:window]
        for (leg, hits), measure in zip(legs.items(), measures.values(), strict=True)
    }
    ranking = fusion_of(fusion)(found, weights)
    replies = [
        {"hits": {"hits": [{"_score": score, "fields": {"id": [id_]}} for id_, score in hits]}}
        for hits in legs.values()
    ]
    constant = int(fusion.partition("@")[2] or 0)
    joining = Joining(tuple(weights.values()), tuple(measures.values()), constant, window, 3, 7)
    return replies, joining, ranking


@pytest.mark.parametrize(("fusion", "window"), [("minmax", 20), ("rrf@7", 100)])
@in_every_script
def test_scripts_join_as_ses_does(language, fusion, window, tmp_path):
    replies, joining, ranking = legs_and_papers(fusion, {"lexical": None, "prx": "l2", "clf": "dot"}, window)
    all_papers = [{"_id": hit.id, "fields": {"id": [hit.id]}, "_source": {"title": hit.id}} for hit in ranking[::-1]]
    total = {"value": 12, "relation": "eq"}
    counts = {"hits": {"total": total, "hits": []}, "aggregations": {"year": {"buckets": []}}}
    # The legs are in several requests, as where vectors are in another index.
    script = one(
        {},
        searches=tuple(HttpRequest("POST", f"/{n}/_msearch", ({}, {"leg": n}), "a leg") for n in range(3)),
        papers=HttpRequest(
            "POST", "/papers/_msearch", ({}, {"ids": Parameter("ids")}, {}, {"found": Parameter("found")}), "papers"
        ),
        joining=joining,
    )
    bodies = []
    answers = {f"/{n}/_msearch": Answer({"responses": [reply]}) for n, reply in enumerate(replies)}
    answers["/papers/_msearch"] = Answer({"responses": [{"hits": {"hits": all_papers}}, counts]})
    with pretend(answers, bodies=bodies) as server:
        (page,) = run(language, get_language(language).write(replace(script, url=server.url)), tmp_path)
    shown = ranking[3:10]
    assert [hit["_source"]["title"] for hit in page["hits"]["hits"]] == [hit.id for hit in shown]
    assert [hit["_score"] for hit in page["hits"]["hits"]] == pytest.approx([hit.score for hit in shown])
    assert (page["hits"]["total"], page["aggregations"]) == (total, counts["aggregations"])
    _, ids, _, found = map(json.loads, bodies[-1].splitlines())
    assert (ids["ids"], found["found"]) == ([hit.id for hit in shown], [hit.id for hit in ranking])


@in_every_script
def test_an_error_of_one_leg_is_an_error(language, tmp_path):
    answers = {"/papers/_search": Answer({"responses": [{"error": {"reason": "no such leg"}}]})}
    with pretend(answers) as server, pytest.raises(AssertionError, match="no such leg"):
        run(language, get_language(language).write(one({}, url=server.url)), tmp_path)


def test_unknown_languages_are_refused():
    with pytest.raises(InputError, match="'perl'; choose one of curl, http, json"):
        get_language("perl")
    assert tuple(LANGUAGES) == get_args(request.RequestLanguage)


def test_arrays_and_queries_sent_as_text_become_json():
    deep = {"match_all": {}}
    body = as_plain({"vector": np.array([0.1, 2], np.float32), "query": enclosed(deep), "open": Parameter("x")})
    assert body["vector"] == [0.1, 2.0]
    assert json.loads(base64.b64decode(body["query"]["wrapper"]["query"])) == deep
    assert body["open"] == Parameter("x")


def test_consoles_take_the_requests_as_they_are():
    lines = ({}, {"query": {"match": {"title": Parameter("words")}}})
    script = one({}, searches=(HttpRequest("POST", "/papers/_msearch", lines, "the legs"),), values={"words": "virus"})
    text = get_language("http").write(script)
    head = "# The page of a search in the index papers, by the requests of ses.\n\n"
    assert text == head + '# the legs\nPOST /papers/_msearch\n{}\n{"query": {"match": {"title": "virus"}}}\n'
    assert '"title": {{words}}' in get_language("http").write(replace(script, parameters=("words",)))
    assert SimpleNamespace(**json.loads(get_language("json").write(script))).parameters == []
