"""Vectors of words in a cluster: what a front end reads, kept up to date with the papers and their model."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from safetensors.numpy import save_file

import ses
from corpora.paper import Paper
from encoders.encoder import load_encoder
from encoders.models.formats import Format
from encoders.query_tables import table_for
from encoders.registry import find_model
from encoders.word_vectors import WordVectors, words_of
from search_plugin.engines.cluster import word_indexes
from search_plugin.engines.cluster.frontends import query_words
from search_plugin.engines.cluster.frontends.http import Parameter, replaced
from tests.commands import ses as command
from tests.engines.foreign import ALIAS, ATTACHED, drop, make
from tests.tiny import WORDS, make_model, papers

INDEX, WORDS_OF_IT = "papers", "ses-papers-words"


def make_table(folder, model, *, seed=0):
    """A table of random rows that stands in for a tiny model."""
    card = find_model(str(model)).card
    folder.mkdir()
    shutil.copy(model / "tokenizer.json", folder)
    tokens = len(json.loads((model / "tokenizer.json").read_text())["model"]["vocab"])
    rows = np.random.default_rng(seed).normal(size=(tokens, card.dimension)).astype(np.float32)
    save_file({"rows": rows}, folder / "model.safetensors")
    stands = {"model": str(model), "fingerprint": card.fingerprint}
    (folder / "ses_card.json").write_text(json.dumps({"architecture": "static", "stands_in_for": stands}))
    return folder


@pytest.fixture
def models(tmp_path):
    """Two tiny models, and a table for the first."""
    folder = tmp_path / "models"
    one, other = make_model(folder / "one"), make_model(folder / "other", seed=1)
    for model in (one, other):
        (model / "config_sentence_transformers.json").write_text('{"similarity_fn_name": "cosine"}')
    return {"one": one, "other": other, "table": make_table(folder / "table", one)}


@pytest.fixture
def at(server, models, tmp_path):
    """Open the library of the server by a model or a table."""

    def opened(name="one"):
        return ses.open(server.url, model=str(models[name]), data_dir=tmp_path / "data", cache_dir=tmp_path / "cache")

    yield opened
    with opened() as library:
        library.cluster.remove(INDEX)


@pytest.fixture
def installed(at):
    """The library, with words for an index of 12 papers."""
    at().index(INDEX, papers(12))
    at("table").cluster.install(INDEX, query_words=True)
    return at()


def read(cluster, words):
    """What a front end asks: the vectors of words, those that there are."""
    reply = cluster.call("POST", f"/{WORDS_OF_IT}/_mget", {"ids": list(words)})
    return {one["_id"]: one["_source"]["vector"] for one in reply["docs"] if one.get("found")}


def of_query(cluster, query):
    """The vector of a query as a front end makes it."""
    found = read(cluster, words_of(query))
    total = np.sum([found[word] for word in words_of(query) if word in found], axis=0)
    return total / np.linalg.norm(total)


def behind(cluster):
    """The index behind the alias of front ends; empty if there is no alias."""
    try:
        return next(iter(cluster.call("GET", f"/_alias/{WORDS_OF_IT}")))
    except ses.UnavailableError:
        return ""


def outcome(outcomes):
    return next(one for one in outcomes if one.name == WORDS_OF_IT)


def test_each_word_is_a_document_and_nothing_is_indexed(installed, models, server):
    kept = json.dumps(server.cluster.call("GET", f"/{WORDS_OF_IT}/_mapping"))
    assert '"dynamic": "false"' in kept
    assert "properties" not in kept
    (document,) = server.cluster.call("POST", f"/{WORDS_OF_IT}/_mget", {"ids": ["virus"]})["docs"]
    assert document["_source"].keys() == {"vector", "piece", "spellings"}
    assert document["_source"]["spellings"] == ["viruses", "viri"]
    table = load_encoder(str(models["table"]), cache_dir=models["table"] / "cache")
    for query in ("virus", "quantum OCEAN, dose: mouse", "Cell a x virus"):
        (wanted,) = table.encode([" ".join(words_of(query))], Format.QRY)
        assert of_query(server.cluster, query) @ wanted > 0.9999
    assert read(server.cluster, ["blorp", "Virus"]) == {}
    assert set(WORDS) <= set(read(server.cluster, WORDS))


def test_words_of_papers_are_not_taken_for_pieces(installed, server):
    """A piece is in the tokenizer's vocabulary; a paper's word of several pieces would split other words wrongly."""
    installed.index(INDEX, [Paper("new", "Viruse")])
    reply = server.cluster.call("POST", f"/{WORDS_OF_IT}/_mget", {"ids": ["viruse", "virus", "##s", "[UNK]"]})
    found = [one["_source"].get("piece") for one in reply["docs"]]
    assert found == [None, True, True, True]


def test_words_of_the_version_before_are_made_again_with_pieces(installed, at, server, monkeypatch):
    installed.cluster.remove(INDEX)
    with monkeypatch.context() as before:
        before.setattr(word_indexes, "FORM", 1)
        before.setattr(query_words, "FORM", 1)
        at("table").cluster.install(INDEX, query_words=True)
    old = behind(server.cluster)
    shown = outcome(installed.cluster.diff(INDEX))
    assert {'-  "form": 1,', f'+  "form": {word_indexes.FORM},'} <= {line for line in shown.lines if "form" in line}
    assert behind(server.cluster) == old  # front ends search on with what is there
    installed.index(INDEX, [Paper("new", "Viruse")])
    assert behind(server.cluster) not in ("", old)
    assert not server.cluster.call("GET", f"/{old}*")
    assert outcome(installed.cluster.diff(INDEX)).lines == ()
    assert set(read(server.cluster, ["virus", "viruse"])) == {"virus", "viruse"}


def test_what_is_there_is_not_written_again_and_leaves_no_trace(installed, server):
    found = outcome(installed.cluster.install(INDEX))
    assert found.change == "unchanged"
    count = server.cluster.call("GET", f"/{WORDS_OF_IT}/_count")["count"]
    assert found.note.startswith(f"{count:,} words, ")
    assert found.note.endswith(" MB on disk, no heap")
    assert outcome(installed.cluster.diff(INDEX)).lines == ()
    assert WORDS_OF_IT in installed.cluster.installed(INDEX)
    assert outcome(installed.cluster.remove(INDEX)).change == "removed"
    assert not [name for name in server.cluster.call("GET", "/ses*") if "words" in name]
    assert WORDS_OF_IT not in {one.name for one in installed.cluster.diff(INDEX)}


def test_words_have_the_spellings_that_ses_would_search(installed, at, server):
    """Those of papers, and those that only a reader types; in other languages there are no rules."""
    installed.index(INDEX, [Paper("new", "Haemorrhage of a mouse", abstract="The genetic zzz")])
    asked = ["haemorrhage", "hemorrhage", "mouse", "mice", "zzz"]
    found = server.cluster.call("POST", f"/{WORDS_OF_IT}/_mget", {"ids": asked})["docs"]
    told = [one["_source"].get("spellings") for one in found]
    assert told == [["hemorrhage"], ["haemorrhage"], ["mice"], ["mouse"], None]
    installed.index(INDEX, [Paper("new", "Haemorrhage")], fresh=True, language="german")
    installed.cluster.remove(INDEX)
    at("table").cluster.install(INDEX, query_words=True)
    found = server.cluster.call("POST", f"/{WORDS_OF_IT}/_mget", {"ids": asked[:2]})["docs"]
    assert [set(one.get("_source", {})) for one in found] == [{"vector"}, set()]


def test_new_papers_bring_their_words_and_nothing_else_is_written(installed, server, monkeypatch):
    assert read(server.cluster, ["viruse", "cellae"]) == {}
    asked, whole = [], WordVectors.of
    monkeypatch.setattr(WordVectors, "of", lambda self, words: asked.extend(words) or whole(self, words))
    installed.index(INDEX, [Paper("new", "Viruse of cella", abstract="A cello and zzz")])
    assert {"viruse", "cella", "cello"} <= set(asked)
    assert not {"virus", "lung", "a"} & set(asked)
    assert set(read(server.cluster, ["viruse", "cella", "cello"])) == {"viruse", "cella", "cello"}
    assert outcome(installed.cluster.diff(INDEX)).lines == ()
    asked.clear()
    installed.index(INDEX, [Paper("new", "Viruse of cella", abstract="A cello and zzz")])
    assert asked == []


def test_papers_of_a_run_that_brought_no_words_are_seen_as_a_difference(installed, server, monkeypatch):
    monkeypatch.setattr("ses.indexes.query_words.update_words", lambda *_: None)
    installed.index(INDEX, [Paper("new", "Viruse")])
    shown = outcome(installed.cluster.diff(INDEX))
    assert [line for line in shown.lines if line[0] in "+-"][2:] == [  # below the two names
        '-  "papers": "not all read",',
        '+  "papers": "read",',
    ]
    assert read(server.cluster, ["viruse"]) == {}
    assert outcome(installed.cluster.install(INDEX)).change == "changed"
    assert set(read(server.cluster, ["viruse"])) == {"viruse"}


def test_a_fresh_version_with_the_same_model_keeps_the_words_all_the_time(installed, server):
    before = behind(server.cluster)
    installed.index(INDEX, [Paper("only", "Viruse")], fresh=True)
    assert behind(server.cluster) == before
    assert set(read(server.cluster, ["viruse", "lung"])) == {"viruse", "lung"}


def test_shorter_vectors_move_the_name_to_shorter_words_and_back(installed, models, server):
    before = behind(server.cluster)
    installed.index(INDEX, papers(12), fresh=True, dimension=8)
    assert behind(server.cluster) not in ("", before)
    (projection,) = installed[INDEX].index.schema.projection
    table = load_encoder(str(models["table"]), cache_dir=models["table"] / "cache")
    query = "quantum ocean mouse"
    assert of_query(server.cluster, query) @ projection.shortened(table.encode([query], Format.QRY))[0] > 0.9999
    installed.rollback(INDEX)
    assert behind(server.cluster) == before
    assert len(read(server.cluster, ["virus"])["virus"]) == 64


def test_no_words_of_another_model_are_found_when_a_new_one_is_published(installed, at, server, caplog):
    """The new model has no table: front ends find no words, and search by words alone, until there is one."""
    at("other").index(INDEX, papers(12), fresh=True)
    assert behind(server.cluster) == ""
    assert "The words that front ends of papers know are not up to date: There is no table" in caplog.text
    with pytest.raises(ses.InputError, match=r"There is no table of queries for the model .*, so its words have no"):
        at("other").cluster.install(INDEX, query_words=True)
    with pytest.raises(ses.InputError, match=r"The table .* stands in for another model than"):
        at("table").cluster.install(INDEX, query_words=True)
    assert at("other").cluster.install(INDEX)  # the rest is installed
    assert outcome(at("other").cluster.remove(INDEX)).change == "removed"


def test_another_table_makes_all_words_again(installed, at, models, server, tmp_path):
    before, old = behind(server.cluster), read(server.cluster, ["virus"])
    models["better"] = make_table(tmp_path / "better", models["one"], seed=5)
    shown = outcome(at("better").cluster.diff(INDEX, query_words=True))
    assert '"table": "' in str(shown.lines)
    at("better").cluster.install(INDEX, query_words=True)
    assert behind(server.cluster) != before
    assert read(server.cluster, ["virus"]) != old
    assert not server.cluster.call("GET", f"/{before}*")  # the words of the old table are gone


def test_an_index_of_others_under_the_name_is_left_alone(at, server):
    at().index(INDEX, papers(12))
    server.cluster.call("PUT", f"/{WORDS_OF_IT}", {"mappings": {"properties": {"a": {"type": "keyword"}}}})
    try:
        with pytest.raises(ses.InputError, match=r"has an index or alias ses-papers-words .* that ses did not make"):
            at("table").cluster.install(INDEX, query_words=True)
        assert at().cluster.remove(INDEX) == []
        assert server.cluster.call("GET", f"/{WORDS_OF_IT}")
    finally:
        server.cluster.call("DELETE", f"/{WORDS_OF_IT}")


def test_no_more_words_are_kept_than_the_limit(at, server, monkeypatch):
    monkeypatch.setattr(query_words, "MOST", 50)
    monkeypatch.setattr(query_words, "COMMON", 30)
    monkeypatch.setattr(query_words, "_ASKED", 7)
    monkeypatch.setattr(query_words, "_WRITTEN", 3)
    every = [Paper(str(n), "virus", abstract=" ".join(f"{word}s" for word in WORDS)) for n in range(2)]
    at().index(INDEX, [*every, Paper("rare", "viruse")])
    at("table").cluster.install(INDEX, query_words=True)
    assert server.cluster.call("GET", f"/{WORDS_OF_IT}/_count")["count"] == 50
    assert read(server.cluster, ["viruse"]) == {}  # the rarest


def test_an_attached_index_has_words_too(server, at):
    drop(server.cluster)
    make(server.cluster)
    try:
        at().attach(ALIAS, **ATTACHED)
        found = {one.name: one for one in at("table").cluster.install(ALIAS, query_words=True)}
        assert found[f"ses-{ALIAS}-words"].change == "new"
        ids = ["virus", "viruse"]
        known = server.cluster.call("POST", f"/ses-{ALIAS}-words/_mget", {"ids": ids})["docs"]
        assert [one["found"] for one in known] == [True, False]
        server.cluster.call(
            "PUT", f"/{ALIAS}-a/_doc/more", {"title_t": "Viruse", "summary_t": "cello"}, params={"refresh": True}
        )
        at().follow(ALIAS)
        asked = server.cluster.call("POST", f"/ses-{ALIAS}-words/_mget", {"ids": ["viruse", "cello"]})["docs"]
        assert [one["found"] for one in asked] == [True, True]
        at().cluster.remove(ALIAS)
        at().detach(ALIAS)
    finally:
        drop(server.cluster)


def test_the_commands_say_how_many_words_there_are(at, server, models, tmp_path):
    at().index(INDEX, papers(12))
    asked = ("--engine", server.url, "--model", str(models["table"]))
    done = command(tmp_path, "cluster", "install", INDEX, "--query-words", *asked)
    assert done.returncode == 0, done.stderr
    assert f"index of query words {WORDS_OF_IT}: new (" in done.stdout
    assert " MB on disk, no heap)" in done.stdout
    done = command(tmp_path, "cluster", "remove", INDEX, "--engine", server.url)
    assert f"index of query words {WORDS_OF_IT}: removed" in done.stdout


def test_the_page_of_the_words_is_that_of_the_table(server, tmp_path, monkeypatch):
    """The shipped table, with the model of ses: the vector, and a hybrid page by one more request."""
    monkeypatch.setattr(query_words, "COMMON", 100)
    query = "the spread of a virus in children with cancer"
    with ses.open(server.url, data_dir=tmp_path / "data", cache_dir=tmp_path / "cache") as library:
        library.index(INDEX, [*papers(40), Paper("x", query)])
        library.cluster.install(INDEX, query_words=True)
        try:
            vector = of_query(server.cluster, query)
            table = table_for(library[INDEX].index.schema.fingerprint)
            assert table is not None
            (wanted,) = load_encoder(table, cache_dir=tmp_path / "cache").encode([query], Format.QRY)
            assert vector @ wanted > 0.9999
            given = {"join": "engine", "verbatim": True, "literal": True, "query_encoder": "table", "size": 10}
            (asked,) = library.cluster.request(query, index=INDEX, parameters=["vector"], **given).requests
            found = page(server.cluster, asked, vector)
            assert len(found) == 10
            if server.cluster.product.kind == "opensearch":
                assert [hit.id for hit in library[INDEX].search(query, neighbours=0, **given)] == found
            else:  # the basic licence joins in no other way than by this request
                assert page(server.cluster, asked, wanted) == found
        finally:
            library.cluster.remove(INDEX)


def page(cluster, asked, vector):
    """The ids of the page of a request that is filled with a vector."""
    body = replaced(asked.body, lambda one: vector.tolist() if isinstance(one, Parameter) else one)
    assert body != asked.body
    return [hit["_id"] for hit in cluster.call("POST", asked.path, body)["hits"]["hits"]]
