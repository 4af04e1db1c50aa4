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
from encoders.word_vectors import WordVectors, words_of
from search_plugin.engines.cluster.frontends.script import TABLE_FILE
from tests.commands import ses as command
from tests.engines.conftest import NEWEST_CLUSTERS, emptied
from tests.engines.copying import in_every_language, run
from tests.serving import served
from tests.tiny import papers

ASKED = 'virus "lung" Müller-zzqxine'
"""What the reader of a program searches for: accents, what could end a text, and a word that only pieces make."""

WORDS = ["virus", "lung", "muller"]

pytestmark = [pytest.mark.slow, pytest.mark.serve]


@pytest.fixture(scope="module", params=NEWEST_CLUSTERS)
def library(request, tmp_path_factory):
    """A library of each server, whose index has the vectors of the default model, and of a few words."""
    for server in emptied(request.param, None):
        folder = tmp_path_factory.mktemp("vectors")
        library = ses.open(server.url, data_dir=folder, cache_dir=folder / "cache")
        library.index("papers", papers(60))
        encoder = load_encoder(table_for(library["papers"].index.schema.fingerprint), cache_dir=folder / "cache")
        server.cluster.call("PUT", "/ses-papers-words", {"mappings": {"enabled": False}})
        vectors = WordVectors(encoder)
        pieces = [piece for piece in vectors.pieces if piece.removeprefix("##") in words_of(ASKED)[-1]]
        held = list(dict.fromkeys([*WORDS, *pieces, '"', "-"]))
        for word, vector in zip(held, vectors.of(held).tolist(), strict=True):
            body = {"vector": vector} | ({"piece": True} if word in vectors.pieces else {})
            server.cluster.call("PUT", f"/ses-papers-words/_doc/{quote(word, safe='')}", body)
        write_table_file(encoder, folder / TABLE_FILE)
        yield library, encoder, folder
        server.cluster.call("DELETE", "/ses-papers-words")


def direction(vectors):
    total = np.sum(vectors, axis=0)
    return total / np.linalg.norm(total)


def expected_vector(library, encoder, way):
    """The vector of what is asked, by a formula or by the encoder."""
    if way in ("words", "table"):
        return encoder.encode([ASKED], "qry")[0]
    opened = library["papers"]
    if way == "feedback":
        first = opened.search(ASKED, mode="lexical", size=5, literal=True, verbatim=True, filter="year>=2000")
        found = opened.index.vectors([hit.id for hit in first], "prx")
        return direction([vector / np.linalg.norm(vector) for vector in found.values()])
    return library["papers"]._encoder().encode([ASKED], "qry")[0]


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
    options = {"parameters": ("vector",), "verbatim": True, "literal": True, **SHOWN}

    @functools.cache
    def ids(way, join):
        (folder / "vector.json").write_text(json.dumps(expected_vector(library, encoder, way).tolist()))
        # The vector of a table, or of its words, counts less.
        by = {"query_encoder": "table"} if way in ("words", "table") else {}
        given = library.cluster.request(ASKED, join=join, **by, **options)
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
            (page,) = played(library, language, program, tmp_path, arguments=(ASKED,), SES_SERVICE=service)
            assert len(wanted(way, joined)) == 10
            assert [hit["_id"] for hit in page["hits"]["hits"]] == wanted(way, joined), way


def test_the_program_of_a_table_ranks_as_ses_does(library, tmp_path):
    library, _, folder = library
    (tmp_path / TABLE_FILE).symlink_to(folder / TABLE_FILE)
    program = library.cluster.request("galaxy", vector="table", **SHOWN)
    (page,) = played(library, "python", program, tmp_path, arguments=(ASKED,))
    found = library["papers"].search(ASKED, query_encoder="table", literal=True, verbatim=True, **options(SHOWN))
    assert [hit["_id"] for hit in page["hits"]["hits"]] == [hit.id for hit in found]


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
