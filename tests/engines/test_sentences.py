"""Vectors of sentences, from papers to hits: the same on every engine."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from urllib.parse import urlencode
from urllib.request import urlopen

import numpy as np
import pytest

import ses
from corpora.errors import InputError
from encoders.models.formats import Format
from search_plugin.contract.engine import JoinsLegs
from search_plugin.contract.legs import Scored, closeness, ranked
from search_plugin.contract.plan import LEXICAL, Plan, VectorClause
from search_plugin.contract.schema import SENTENCES
from search_plugin.fusion.fusions import minmax
from search_plugin.pages.hit import unshown_sentence
from search_plugin.words.sentences import sentence_texts, sentences_of
from tests.commands import ses as run
from tests.engines.conftest import NEWEST, emptied, stored
from tests.serving import served
from tests.tiny import WORDS, make_model, papers, write_jsonl

QUERY = "virus lung cell"
COUNT = 60
NEAR = {"rel": 0.02, "abs": 0.02}
"""Stored vectors have 8 bits in the embedded engine, and vectors of other batches differ a little in int8."""


def of_sentences(count=COUNT, seed=0):
    """Papers with up to six sentences; some have no abstract."""
    draw = random.Random(seed)

    def abstract():
        texts = (" ".join(draw.choices(WORDS, k=draw.randint(3, 9))) for _ in range(draw.randint(1, 6)))
        return " ".join(f"{text.capitalize()}." for text in texts)

    return [replace(paper, abstract=abstract() if paper.abstract else "") for paper in papers(count, seed=seed)]


@pytest.fixture(scope="module", params=NEWEST)
def library(request, tmp_path_factory):
    """A library whose index `papers` no test changes, with an index `whole` of the same papers without sentences."""
    folder = tmp_path_factory.mktemp("sentences")
    for engine in emptied(request.param, folder):
        opened = open_library(engine, folder)
        opened.index("papers", of_sentences(), passages="sentences")
        opened.index("whole", of_sentences())
        yield opened


def open_library(engine, folder):
    """The library of an engine, with a small model."""
    model = folder / "model"
    if not model.exists():
        make_model(model)
    return ses.open(engine.url, model=str(model), data_dir=folder / "data", cache_dir=folder / "cache")


def expected(library, made, query=QUERY):
    """How near each paper's nearest sentence is to a query by its own vectors, and which one it is, by id."""
    encoder = library["papers"]._encoder()
    asked = encoder.encode([query], Format.QRY)[0]
    found = {}
    for paper in made:
        texts = sentence_texts(paper.title, paper.abstract, encoder.card)
        scores = closeness(encoder.encode(texts, Format.PRX), asked, encoder.card.similarity)
        found[paper.id] = float(scores.max()), int(scores.argmax())
    return found


def leg(index, query=QUERY, **options):
    """The hits of the leg of sentences."""
    asked = index._encoder().encode([query], Format.QRY)[0]
    plan = Plan("", (VectorClause(SENTENCES, asked),), options.pop("where", None), options.pop("window", COUNT))
    return index.index.search(replace(plan, **options))[SENTENCES]


@pytest.mark.parametrize("exact", [False, True])
def test_a_paper_is_as_near_as_its_nearest_sentence(library, exact):
    hits, wanted = leg(library["papers"], exact=exact), expected(library, of_sentences())
    assert {hit.id: hit.score for hit in hits} == pytest.approx({id_: one for id_, (one, _) in wanted.items()}, **NEAR)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    few = leg(library["papers"], window=5, exact=True)
    assert [hit.id for hit in few] == [hit.id for hit in leg(library["papers"], exact=True)][:5]


def test_every_sentence_of_a_paper_has_a_vector_and_a_title_alone_is_one(library):
    index = library["papers"].index
    made = {paper.id: paper for paper in of_sentences()}
    held = index.vectors(list(made), SENTENCES)
    assert {id_: len(rows) for id_, rows in held.items()} == {
        id_: len(sentences_of(paper.title, paper.abstract)) for id_, paper in made.items()
    }
    assert any(len(rows) == 1 for rows in held.values())
    assert (index.count(), index.count(SENTENCES), index.count("prx")) == (COUNT, COUNT, COUNT)
    assert index.schema.legs == ("prx", SENTENCES)


def test_a_page_joins_the_sentences_and_shows_the_nearest_of_each_hit(library):
    page = library["papers"].search(QUERY, size=30, facets="year")
    wanted, made = expected(library, of_sentences()), {paper.id: paper for paper in of_sentences()}
    assert page.found.keys() == {"lexical", "prx", SENTENCES}
    assert page.facets.counts["year"]
    for hit in page:
        assert hit.score == pytest.approx(sum(part.value for part in hit.legs.values()))
        score, number = wanted[hit.id]
        place = sentences_of(hit.title, hit.paper.abstract)[number]
        assert hit.sentence.score == pytest.approx(score, **NEAR)
        assert hit.sentence.text == getattr(made[hit.id], hit.sentence.field)[hit.sentence.start : hit.sentence.end]
        if (hit.sentence.start, hit.sentence.end) != (place.start, place.end):  # two are equally near
            assert hit.sentence.score == pytest.approx(score, rel=1e-3)
    plain = library["papers"].search(QUERY, mode="lexical")
    assert all(hit.sentence is None for hit in plain)
    assert all(hit.sentence is None for hit in library["whole"].search(QUERY))


def test_all_vectors_together_weigh_as_much_as_words(library):
    page = library["papers"].search(QUERY, neighbours=0, size=100)
    legs = [hit.legs for hit in page]
    best = {leg: max(one[leg].value for one in legs if leg in one) for leg in ("lexical", "prx", "sentences")}
    assert best == pytest.approx({"lexical": 1 / 2, "prx": 1 / 4, "sentences": 1 / 4})


def test_without_weight_the_sentences_change_nothing(library):
    weights = {"lexical": 1.0, "prx": 1.0}
    with_them = library["papers"].search(QUERY, weights={**weights, SENTENCES: 0.0}, window=COUNT)
    without = library["whole"].search(QUERY, weights=weights, window=COUNT)
    assert {hit.id: hit.score for hit in with_them if hit.score} == pytest.approx(
        {hit.id: hit.score for hit in without if hit.score}, abs=1e-4
    )
    with pytest.raises(InputError, match="names no leg of this search; choose one of lexical, prx"):
        library["whole"].search(QUERY, weights={SENTENCES: 1.0})


def test_filters_are_of_papers(library):
    page = library["papers"].search(QUERY, filter="year>=2005", mode="vector", window=COUNT, size=COUNT)
    assert {hit.id for hit in page} == {paper.id for paper in of_sentences() if (paper.year or 0) >= 2005}
    assert page.found[SENTENCES] == len(page)


def test_complete_gives_every_paper_a_score_of_its_sentences(library):
    page = library["papers"].search(QUERY, rerank="complete", window=12, size=12)
    assert len(page) == 12
    assert all({"prx", SENTENCES} <= hit.legs.keys() for hit in page)


def test_a_cluster_joins_the_sentences_too(library):
    index, options = library["papers"], {"window": COUNT, "size": COUNT, "neighbours": 0}
    if not isinstance(index.index, JoinsLegs):
        with pytest.raises(InputError, match="can't join the legs"):
            index.search(QUERY, join="engine", **options)
        return
    joined, own = index.search(QUERY, join="engine", **options), index.search(QUERY, **options)
    wanted = {hit.id: hit.score for hit in own}
    if joined.joined_by == "engine":  # a cluster without such a retriever leaves it to ses
        # The model compares by distances, and OpenSearch scales its scores of them, which are 1 / (1 + distance^2).
        legs = {
            name: ranked(
                Scored(hit.id, part.raw if name == LEXICAL else 1 / (1 + part.raw**2))
                for hit in own
                if (part := hit.legs.get(name))
            )
            for name in own.found
        }
        weights = {LEXICAL: 1.0, "prx": 0.5, SENTENCES: 0.5}
        wanted = {hit.id: hit.score for hit in minmax(legs, weights, floor=0.001)}
    assert {hit.id: hit.score for hit in joined} == pytest.approx(wanted, abs=1e-4)
    assert all(hit.sentence for hit in joined)


def test_papers_like_a_paper_are_found_by_whole_papers(library):
    like, without = (library[name].similar("p00001", size=5) for name in ("papers", "whole"))
    assert [hit.id for hit in like] == [hit.id for hit in without]
    assert like.found.keys() == without.found.keys() == {"prx"}


def test_support_reads_the_stored_sentences(library, monkeypatch):
    encoder = library["papers"]._encoder()
    encoded = []

    class Watched:
        card = encoder.card

        def encode(self, texts, task_format=Format.PRX):
            encoded.extend(texts)
            return encoder.encode(texts, task_format)

    whole = library["whole"].support(QUERY, size=30, sentences=30)
    from products.support.support import support_of

    page = library["whole"].search(QUERY, literal=True, size=30)
    held = library["papers"].index.vectors([hit.id for hit in page], SENTENCES)
    found = support_of(QUERY, page, Watched(), 30, held)
    assert encoded == [QUERY]

    def scores(support):
        return {(one.hit.id, near.start): near.score for one in support.papers for near in one.sentences}

    assert scores(found) == pytest.approx(scores(whole), **NEAR)
    asked = library["papers"].support(QUERY, size=10)
    assert [one.hit.id for one in asked.papers] == [hit.id for hit in library["papers"].search(QUERY, literal=True)]


@pytest.fixture
def changing(engine, tmp_path):
    """A library whose index can be changed."""
    return open_library(engine, tmp_path)


def test_sentences_change_and_go_with_their_papers(changing):
    made = of_sentences(20)
    changing.index("papers", made, passages="sentences")
    changed = replace(made[1], abstract="Galaxy quantum star. Ocean climate.")
    report = changing.index("papers", [made[0], changed, *made[3:]], prune=True)
    assert (report.updated, report.deleted, report.unchanged) == (1, 1, 18)
    index = changing["papers"].index
    held = index.vectors([paper.id for paper in made], SENTENCES)
    assert made[2].id not in held
    assert len(held[changed.id]) == 2
    encoder = changing["papers"]._encoder()
    texts = sentence_texts(changed.title, changed.abstract, encoder.card)
    wanted = encoder.encode(texts, Format.PRX)
    np.testing.assert_allclose(held[changed.id], wanted, atol=0.02 * np.abs(wanted).max())
    left = [made[0], changed, *made[3:]]
    assert {hit.id: hit.score for hit in leg(changing["papers"], "galaxy star")} == pytest.approx(
        {id_: score for id_, (score, _) in expected(changing, left, "galaxy star").items()}, **NEAR
    )


@pytest.mark.slow
@stored
def test_an_index_keeps_its_choice_through_updates_copies_and_builds(changing):
    made = of_sentences(12)
    changing.index("papers", made, passages="sentences")
    changing.index("whole", made)
    with pytest.raises(InputError, match="was made with passages sentences; leave passages out, or index again"):
        changing.index("papers", made, passages="none")
    with pytest.raises(InputError, match="was made with passages none; leave passages out"):
        changing.index("whole", made, passages="sentences")
    assert changing.index("papers", made, passages="sentences").unchanged == 12
    changing.copy("papers", "twin")
    asked, copied = (changing[name].search(QUERY) for name in ("papers", "twin"))
    assert [(hit.id, hit.score) for hit in asked] == [(hit.id, pytest.approx(hit.score)) for hit in copied]
    assert asked[0].sentence.text == copied[0].sentence.text
    changing.rebuild("papers")
    assert changing["papers"].index.schema.legs == ("prx", SENTENCES)
    changing.rebuild("papers", passages="none")
    assert changing["papers"].index.schema.legs == ("prx",)
    assert changing.rollback("papers").index.schema.passages == "sentences"
    changing.index("whole", made, passages="sentences", fresh=True)
    changing.index("whole", made, fresh=True)
    assert changing["whole"].index.schema.passages == "sentences"
    assert [index.troubles for index in changing._engine.diagnose().indexes] == [(), (), ()]


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """A folder with an embedded index of sentences, for what is shown of them."""
    folder = tmp_path_factory.mktemp("shown")
    make_model(folder / "model")
    write_jsonl(folder / "corpus.jsonl", of_sentences(20))
    done = run(
        folder,
        "index",
        "--corpus",
        "jsonl",
        "--path",
        folder / "corpus.jsonl",
        "--passages",
        "sentences",
        "--model",
        folder / "model",
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_commands_show_the_nearest_sentence_and_the_vectors(shown):
    document = json.loads(run(shown, "search", QUERY, "--json").stdout)
    near = {hit["paper"]["id"]: hit["sentence"] for hit in document["hits"]}
    assert all(one.keys() == {"field", "text", "start", "end", "score"} for one in near.values())
    text = run(shown, "search", QUERY).stdout
    printed = [line.partition(": ")[2] for line in text.splitlines() if "nearest in meaning:" in line]
    assert printed
    assert set(printed) <= {one["text"] for one in near.values()}
    assert "nearest in meaning" not in run(shown, "search", QUERY, "--mode", "lexical").stdout
    facts = run(shown, "indexes", "show", "jsonl").stdout
    assert "vectors: of the sentences of 20 papers, 64 numbers each, int8" in facts
    assert "sentences: 20 papers with vectors of 64 numbers" in run(shown, "doctor").stdout


@pytest.mark.slow
@pytest.mark.serve
def test_a_service_sends_and_shows_the_nearest_sentence(shown):
    held = ses.open(shown / "indexes", model=str(shown / "model"), data_dir=shown, cache_dir=shown / "cache")
    held.index("papers", of_sentences(20), passages="sentences")
    page = held["papers"].search(QUERY)
    with served(held) as address, ses.open(address, engine_patience=0) as remote:
        assert [hit.sentence for hit in remote["papers"].search(QUERY)] == [hit.sentence for hit in page]
        assert remote.describe("papers").schema.legs == ("prx", SENTENCES)
        asked = f"{address}/v1/search?{urlencode({'query': QUERY, 'index': 'papers', 'fields': 'sentence'})}"
        hits = json.loads(urlopen(asked).read())["hits"]  # noqa: S310 - the address of the service here
        assert [hit["sentence"]["text"] for hit in hits] == [hit.sentence.text for hit in page]
        seen = urlopen(f"{address}/?{urlencode({'query': QUERY, 'index': 'papers'})}").read().decode()  # noqa: S310 - as above
    assert seen.count("Nearest in meaning:") == sum(bool(unshown_sentence(hit)) for hit in page) > 0
