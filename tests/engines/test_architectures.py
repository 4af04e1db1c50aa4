"""Every architecture's formats can be indexed and searched, and of those that engines can tell apart one on each."""

from __future__ import annotations

import numpy as np
import pytest

from corpora.registry import get_corpus
from encoders.encoder import load_encoder
from encoders.models.formats import Format
from encoders.registry import find_model
from indexer.job import IndexJob
from indexer.pipeline import index_corpus
from search_plugin.request import SearchRequest
from search_plugin.search import search, similar
from tests.encoders.every import MAKERS, TORCH_MAKERS
from tests.engines.conftest import NEWEST_CLUSTERS
from tests.tiny import papers, write_jsonl

FORMATS = (Format.PRX, Format.CLF, Format.RGN)

ON_SERVERS = ("plain", "adapters", "experts in a folder", "experts", "gated experts")
"""All that an engine sees of an architecture is what `seen` gives, and these have every one of it."""


def seen(card):
    """Similarity and dimension, and how many formats have how many different vectors."""
    formats = [one for one in FORMATS if one in card.formats]
    vectors = {(card.head(one), card.prompts.get(one)) for one in formats}
    return card.similarity, card.dimension, len(formats), len(vectors)


def marked(names):
    """Those that an engine can't tell from one of ON_SERVERS are slow."""
    marks = {one: [pytest.mark.torch] if one in TORCH_MAKERS else [] for one in names}
    return [pytest.param(one, marks=marks[one] + [pytest.mark.slow] * (one not in ON_SERVERS)) for one in names]


@pytest.mark.torch
def test_servers_get_one_of_each_that_they_can_tell_apart(tmp_path):
    makers = enumerate((MAKERS | TORCH_MAKERS).items())
    kinds = {name: seen(find_model(str(make(tmp_path / f"{number}"))).card) for number, (name, make) in makers}
    assert {kinds[name] for name in ON_SERVERS} == set(kinds.values())


@pytest.mark.parametrize("engine", ["embedded"], indirect=True)
@pytest.mark.parametrize("name", marked(MAKERS | TORCH_MAKERS))
def test_its_formats_are_indexed_and_searched(name, engine, tmp_path):
    check(name, engine, tmp_path)


@pytest.mark.parametrize("engine", NEWEST_CLUSTERS, indirect=True)
@pytest.mark.parametrize("name", marked(ON_SERVERS))
def test_its_formats_are_indexed_and_searched_on_servers(name, engine, tmp_path):
    check(name, engine, tmp_path)


def check(name, engine, tmp_path):
    corpus = write_jsonl(tmp_path / "corpus.jsonl", papers(40))
    model = find_model(str((MAKERS | TORCH_MAKERS)[name](tmp_path / "model")))
    encoder = load_encoder(model, cache_dir=tmp_path / "cache", precision="fp32", threads=1)
    formats = tuple(one for one in FORMATS if one in model.card.formats)
    job = IndexJob(
        records=lambda: get_corpus("jsonl").read(corpus, {}),
        source="corpus",
        index="papers",
        card=model.card,
        encoder=lambda: encoder,
        state_dir=tmp_path / "state",
        formats=formats,
    )
    assert index_corpus(job, engine).papers == 40
    index = engine.open("papers")
    text = model.card.text(papers(40)[3].title, papers(40)[3].abstract)
    for task_format, expected in encoder.encode_formats([text], formats).items():
        stored = index.vectors(["p00003"], task_format)["p00003"]
        np.testing.assert_allclose(stored, expected[0], atol=1e-3)
    # A query reads the paper's own words as a query, and is compared with papers as papers.
    request = SearchRequest(text, mode="vector", size=5)
    query, known = encoder.encode([text], Format.QRY)[0], index.vectors([paper.id for paper in papers(40)], "prx")
    first = search(index, request, encoder).hits[0].paper.id
    assert first == min(known, key=lambda one: _distance(known[one], query, model.card.similarity))
    assert search(index, SearchRequest(text, size=5), encoder).hits
    assert len(similar(index, "p00003", SearchRequest("-", size=5)).hits) == 5


def _distance(first, second, similarity):
    if similarity == "l2":
        return np.linalg.norm(first - second)
    if similarity == "dot":
        return -(first @ second)
    return -(first @ second) / np.linalg.norm(first) / np.linalg.norm(second)
