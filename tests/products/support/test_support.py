"""Sentences that are near to a sentence, on a model of random weights: its vectors are compared here by numpy."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

import ses
from corpora.paper import Paper
from encoders.models.formats import Format
from products.support.support import support_of
from search_plugin.words.sentences import sentences
from tests.commands import ses as run
from tests.serving import served
from tests.tiny import make_model, papers

CLAIM = "The virus infects the lung"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("support")


@pytest.fixture(scope="module")
def library(folder):
    model = str(make_model(folder / "model"))
    opened = ses.open(folder / "indexes", model=model, data_dir=folder / "data", cache_dir=folder / "cache")
    held = [
        Paper("a", "Lung virus", abstract="The virus infects the lung. Soil et al. Water is a star. A galaxy."),
        Paper("b", "The virus infects the lung"),
        Paper("c", "Cells", abstract="", identifiers=("doi:10.1000/1",)),
        *papers(40),
    ]
    opened.index("papers", held)
    return opened


@pytest.fixture(scope="module", params=["here", pytest.param("over HTTP", marks=pytest.mark.serve)])
def index(request, library):
    """The index, in this process or over HTTP."""
    if request.param == "here":
        yield library["papers"]
        return
    with served(library) as address, ses.open(address, engine_patience=0) as remote:
        yield remote["papers"]


def closeness(encoder, claim, texts):
    """What the model's similarity says: minus the Euclidean distance."""
    assert encoder.card.similarity == "l2"
    return -np.linalg.norm(encoder.encode(texts, Format.PRX) - encoder.encode([claim], Format.QRY)[0], axis=1)


def test_papers_have_the_order_of_the_search_and_their_nearest_sentences(index, library):
    encoder = library["papers"]._encoder()
    found = index.support(CLAIM, size=30, sentences=30)
    searched = library["papers"].search(CLAIM, literal=True, size=30)
    texts = {}
    for hit in searched:
        abstract = hit.paper.abstract
        parts = [abstract[start:end] for start, end in sentences(abstract)] or [""]
        texts |= {(hit.id, part or hit.title): encoder.card.text(hit.title, part) for part in parts}
    expected = dict(zip(texts, closeness(encoder, CLAIM, list(texts.values())).tolist(), strict=True))
    shown = {(one.hit.id, near.text): near.score for one in found.papers for near in one.sentences}
    assert shown == pytest.approx(expected, abs=1e-4)
    assert [one.hit.id for one in found.papers] == [hit.id for hit in searched]
    assert [one.rank for one in found.papers] == list(range(1, len(searched) + 1))
    assert (found.read, found.compared, found.sentence) == (len(searched), len(expected), CLAIM)
    for one in found.papers:
        scores = [near.score for near in one.sentences]
        assert scores == sorted(scores, reverse=True)


def test_a_sentence_says_where_it_stands(index):
    found = {one.hit.id: one for one in index.support(CLAIM, size=30, sentences=5).papers}
    abstract = found["a"].hit.paper.abstract
    assert {abstract[near.start : near.end] for near in found["a"].sentences} == {
        "The virus infects the lung.",
        "Soil et al. Water is a star.",
        "A galaxy.",
    }
    assert all(near.text == abstract[near.start : near.end] for near in found["a"].sentences)
    (only,) = found["b"].sentences
    assert (only.field, only.text, only.start, only.end) == ("title", CLAIM, 0, len(CLAIM))
    assert found["b"].hit.paper.abstract == ""


def test_size_bounds_the_papers_and_sentences_what_is_shown_of_each(index):
    found = index.support(f" {CLAIM}\n", size=2, sentences=1)
    assert len(found.papers) == 2
    assert all(len(one.sentences) == 1 for one in found.papers)
    whole = index.support(CLAIM, size=30, sentences=30)
    assert (found.read, found.sentence, whole.read) == (2, CLAIM, 30)
    assert len(found.papers) < found.compared < whole.compared
    assert [one.hit.id for one in found.papers] == [one.hit.id for one in whole.papers[:2]]


def test_a_claim_is_no_query_language_and_a_filter_narrows(index):
    assert index.support('"virus" AND title:(lung -"cell', size=3).papers
    found = index.support(CLAIM, filter="year>=2010", mode="vector")
    assert all(one.hit.paper.year >= 2010 for one in found.papers)
    assert index.support(CLAIM, filter="year=1850").papers == ()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"sentence": " \n"}, "The sentence is empty"),
        ({"sentence": "a" * 1001}, "sentence has 1,001 characters; give at most 1,000."),
        ({"size": 0}, "size can't be 0; give a whole number from 1 to 30"),
        ({"size": 31}, "size can't be 31; give a whole number from 1 to 30"),
        ({"sentences": 0}, "sentences can't be 0; give a whole number from 1 to 30"),
        ({"filter": "year>"}, "filter"),
    ],
)
def test_what_is_refused(index, given, sentence):
    with pytest.raises(ses.InputError, match=sentence):
        index.support(**{"sentence": CLAIM, **given})


def test_the_command_shows_exports_and_prints_json(library, folder):
    place = {"SES_ENGINE": f"embedded:{folder / 'indexes'}", "SES_MODEL": str(folder / "model")}
    asked = ("support", CLAIM, "--size", 3, "--filter", "id == (a, b)")
    done = run(folder, *asked, **place)
    assert (done.returncode, done.stderr) == (0, "")
    shown = done.stdout
    assert "1. " in shown
    assert "The virus infects the lung." in shown
    assert "title: The virus infects the lung" in shown
    assert "the nearest of 4 sentences of 2 papers in index papers" in shown
    document = json.loads(run(folder, *asked, "--json", **place).stdout)
    assert {one["hit"]["paper"]["id"] for one in document["papers"]} == {"a", "b"}
    exported = run(folder, *asked, "--format", "ris", **place).stdout
    assert exported.count("TY  - ") == 2
    first = library["papers"].support(CLAIM, size=1).papers[0]
    assert json.loads(library["papers"].support(CLAIM, size=1).format("jsonl"))["score"] == first.sentences[0].score
    refused = run(folder, "support", " ", **place)
    assert (refused.returncode, "The sentence is empty" in refused.stderr) == (2, True)


def test_the_sentence_is_a_query_and_those_of_papers_are_papers(library):
    index, asked = library["papers"], []
    encoder = index._encoder()

    def encode(texts, task_format):
        asked.append((task_format, len(texts)))
        return encoder.encode(texts, task_format)

    page = index.search(CLAIM, size=3)
    found = support_of(CLAIM, page, SimpleNamespace(card=encoder.card, encode=encode), 3)
    assert asked == [(Format.QRY, 1), (Format.PRX, found.compared)]


def test_no_other_format(library):
    with pytest.raises(ses.InputError, match="There is no format 'json'"):
        library["papers"].support(CLAIM).format("json")
