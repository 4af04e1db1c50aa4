"""Every architecture's formats can be indexed and searched on every engine."""

from __future__ import annotations

import numpy as np
import pytest

from corpora.registry import get_corpus
from encoders.encoder import load_encoder
from encoders.formats import Format
from encoders.registry import find_model
from indexer.job import IndexJob
from indexer.pipeline import index_corpus
from search_plugin.request import SearchRequest
from search_plugin.search import search, similar
from tests.encoders.every import MAKERS, TORCH_MAKERS
from tests.tiny import papers, write_jsonl


@pytest.mark.parametrize("name", [*MAKERS, *(pytest.param(name, marks=pytest.mark.torch) for name in TORCH_MAKERS)])
def test_its_formats_are_indexed_and_searched(name, engine, tmp_path):
    corpus = write_jsonl(tmp_path / "corpus.jsonl", papers(40))
    model = find_model(str((MAKERS | TORCH_MAKERS)[name](tmp_path / "model")))
    encoder = load_encoder(model, cache_dir=tmp_path / "cache", precision="fp32", threads=1)
    formats = tuple(one for one in (Format.PRX, Format.CLF, Format.RGN) if one in model.card.formats)
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
