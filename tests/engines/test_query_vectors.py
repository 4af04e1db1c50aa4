"""Whole programs that make the vector of a query without ses, or by its service: in every language, on real servers."""

from __future__ import annotations

import functools
import json
from urllib.parse import quote

import numpy as np
import pytest

import ses
from corpora.errors import InputError
from encoders.encoder import load_encoder
from encoders.query_tables import table_for
from encoders.table_file import write_table_file
from encoders.word_vectors import WordVectors
from search_plugin.engines.cluster.frontends.script import TABLE_FILE
from search_plugin.understanding.expansion import by_rules
from tests.commands import ses as command
from tests.engines.conftest import NEWEST_CLUSTERS, emptied
from tests.engines.copying import in_every_language, in_every_script, run
from tests.serving import served
from tests.tiny import papers

ASKED = 'virus "lungs" Müller-zzqxine IL-6'
"""What the reader of a program searches for: accents, what could end a text, a word that only pieces make, and words
with other spellings, by a rule and of several parts."""

WORDS = ["virus", "lungs", "muller", "il", "6"]

pytestmark = [pytest.mark.slow, pytest.mark.serve]


@pytest.fixture(scope="module", params=NEWEST_CLUSTERS)
def library(request, tmp_path_factory):
    """A library of each server, whose index has the vectors of the default model, and of a few words."""
    for server in emptied(request.param, None):
        folder = tmp_path_factory.mktemp("vectors")
        library = ses.open(server.url, data_dir=folder, cache_dir=folder / "cache")
        spelled = [
            "viruses and IL6",
            "viri of the lung",
            "Muller zzqxine",
            "The viruse, IL 6 and an IL-6",
            "mullerzzqxine",
        ]
        others = [ses.Paper(f"s{n}", title, year=2001) for n, title in enumerate(spelled)]
        library.index("papers", [*papers(60), *others])
        encoder = load_encoder(table_for(library["papers"].index.schema.fingerprint), cache_dir=folder / "cache")
        server.cluster.call("PUT", "/ses-papers-words", {"mappings": {"enabled": False}})
        vectors = WordVectors(encoder)
        pieces = [piece for piece in vectors.pieces if piece.removeprefix("##") in "zzqxine"]
        held = list(dict.fromkeys([*WORDS, *pieces, '"', "-"]))
        for word, vector in zip(held, vectors.of(held).tolist(), strict=True):
            body = {"vector": vector, "spellings": by_rules(word)} | ({"piece": True} if word in vectors.pieces else {})
            server.cluster.call("PUT", f"/ses-papers-words/_doc/{quote(word, safe='')}", body)
        write_table_file(encoder, folder / TABLE_FILE)
        yield library, encoder, folder
        server.cluster.call("DELETE", "/ses-papers-words")


def direction(vectors):
    total = np.sum(vectors, axis=0)
    return total / np.linalg.norm(total)


def asked_by(way):
    """What is asked: only the words in the cluster know the spellings that a rule makes of `virus`."""
    return ASKED if way == "words" else ASKED.replace("virus", "cell")


def expected_vector(library, encoder, way):
    """The vector of what is asked, by a formula or by the encoder."""
    asked = asked_by(way)
    if way in ("words", "table"):
        return encoder.encode([asked], "qry")[0]
    opened = library["papers"]
    if way == "feedback":
        first = opened.search(asked, mode="lexical", size=5, literal=True, filter="year>=2000")
        found = opened.index.vectors([hit.id for hit in first], "prx")
        return direction([vector / np.linalg.norm(vector) for vector in found.values()])
    return library["papers"]._encoder().encode([asked], "qry")[0]


SHOWN = {"index": "papers", "filter": "year>=2000", "facets": ["journal"], "size": 10, "neighbours": 0}


def played(library, language, requests, folder, **more):
    """What a program prints; Python's client has the name under which it is installed for the tests."""
    product = library["papers"].index.cluster.product
    installed = f"from elasticsearch{product.version[0]} import"
    return run(language, requests.text(language).replace("from elasticsearch import", installed), folder, **more)


@pytest.fixture(scope="module")
def wanted(library, tmp_path_factory):
    """A function that returns the ids of the page for a way and a join, by a program that reads the vector."""
    library, encoder, _ = library
    folder = tmp_path_factory.mktemp("wanted")
    options = {"parameters": ("vector",), "literal": True, **SHOWN}

    @functools.cache
    def ids(way, join):
        (folder / "vector.json").write_text(json.dumps(expected_vector(library, encoder, way).tolist()))
        # The vector of a table, or of its words, counts less.
        by = {"query_encoder": "table"} if way in ("words", "table") else {}
        given = library.cluster.request(asked_by(way), join=join, **by, **options)
        (page,) = played(library, "python", given, folder)
        return [hit["_id"] for hit in page["hits"]["hits"]]

    return ids


@in_every_language
def test_programs_search_by_words_and_meaning(library, wanted, language, tmp_path):
    library, _, folder = library
    (tmp_path / TABLE_FILE).symlink_to(folder / TABLE_FILE)
    with served(library) as service:
        for way, join in {"words": "engine", "table": "ses", "feedback": "ses", "service": "engine"}.items():
            joined = "engine" if language == "curl" else join
            program = library.cluster.request("galaxy", vector=way, join=joined, **SHOWN)
            (page,) = played(library, language, program, tmp_path, arguments=(asked_by(way),), SES_SERVICE=service)
            assert len(wanted(way, joined)) == 10
            assert [hit["_id"] for hit in page["hits"]["hits"]] == wanted(way, joined), way


@pytest.mark.parametrize("verbatim", [False, True])
@in_every_script
def test_programs_rank_as_ses_does(library, language, verbatim, tmp_path):
    """By the words of the table, with neighbours, and with other spellings unless the words are taken as typed."""
    library, _, folder = library
    (tmp_path / TABLE_FILE).symlink_to(folder / TABLE_FILE)
    shown = {**SHOWN, "neighbours": 0.6, "verbatim": verbatim}
    for way in ("words", "table"):
        asked = asked_by(way)
        program = library.cluster.request("galaxy", vector=way, **shown)
        (page,) = played(library, language, program, tmp_path, arguments=(asked,))
        found = library["papers"].search(asked, query_encoder="table", literal=True, **options(shown))
        assert [hit["_id"] for hit in page["hits"]["hits"]] == [hit.id for hit in found]
        scores = [hit["_score"] for hit in page["hits"]["hits"]]
        assert scores == pytest.approx([hit.score for hit in found], abs=1e-6)


def options(shown):
    return {name: value for name, value in shown.items() if name != "index"}


def test_the_command_prints_a_program_without_the_model_of_the_index(library, tmp_path):
    library, *_ = library
    server = library["papers"].index.cluster.url
    asked = ("--index", "papers", "--engine", server, "--vector", "words", "--join", "engine", "--as", "ruby")
    done = command(tmp_path, "cluster", "request", "galaxy", *asked)
    assert done.returncode == 0, done.stderr
    printed = done.stdout
    assert printed.count('ask("POST"') == 2
    assert '"/ses-papers-words/_mget?filter_path=docs._id,docs._source"' in printed


def test_what_no_program_can_do_is_refused(library):
    library, *_ = library

    def refused(language="curl", query="galaxy", **more):
        with pytest.raises(InputError) as error:
            library.cluster.request(query, **{"vector": "words", "index": "papers", **more}).text(language)
        return str(error.value)

    assert "curl can't join the legs" in refused()
    for language in ("json", "http"):
        assert "can't make the vector" in refused(language, join="engine")
    assert "takes the words as its argument" in refused(parameters=("words",))
    assert "is in the cluster" in refused(query="", similar="p00003")
    assert "has no vector" in refused(mode="lexical")
    assert "has no words" in refused(vector="feedback", mode="vector")
