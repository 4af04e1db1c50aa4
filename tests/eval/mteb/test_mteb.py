"""The MTEB adapter, called as mteb 2.26 calls it."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from corpora.errors import InputError, UnavailableError
from encoders.formats import Format
from eval.mteb.model import MtebEncoder, format_of, model_meta
from eval.mteb.search import MtebSearch
from tests.indexer.jobs import engine_in, make_job
from tests.tiny import papers, write_jsonl

TASK = SimpleNamespace(name="Tiny", type="Retrieval")
WHERE = {"task_metadata": TASK, "hf_split": "test", "hf_subset": "default"}
PROMPT = SimpleNamespace  # mteb's PromptType is an enumeration with these values


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("mteb")


@pytest.fixture(scope="module")
def encoder(folder):
    return make_job(folder, write_jsonl(folder / "papers.jsonl", papers(1))).encoder()


def test_queries_are_qry_and_documents_prx_with_title_and_abstract(encoder, monkeypatch):
    asked = []
    spy = SimpleNamespace(
        card=encoder.card, encode=lambda texts, task_format: asked.append((texts, task_format)) or np.zeros((1, 2))
    )
    model = MtebEncoder(spy)
    model.encode([{"text": ["virus"], "query": ["virus"]}], prompt_type=PROMPT(value="query"), **WHERE)
    batch = {"text": ["Lung A cell"], "title": ["Lung"], "body": ["A cell"]}
    model.encode([batch], prompt_type=PROMPT(value="document"), batch_size=3, **WHERE)
    model.encode([{"text": ["one"]}, {"text": ["two"]}], **{**WHERE, "task_metadata": SimpleNamespace(type="STS")})
    assert asked == [
        (["virus"], Format.QRY),
        (["Lung [SEP] A cell"], Format.PRX),
        (["one", "two"], Format.PRX),
    ]
    with pytest.raises(InputError, match="aren't texts"):
        model.encode([{"image": [1]}], **WHERE)


def test_tasks_without_prompts_take_the_format_of_their_kind():
    every, few = (SimpleNamespace(formats=formats) for formats in (tuple(Format), (Format.PRX, Format.QRY)))
    assert format_of(None, "Classification", every) is Format.CLF
    assert format_of(None, "Regression", every) is Format.RGN
    assert format_of(None, "Classification", few) is Format.PRX
    assert format_of("query", "Classification", every) is Format.QRY


@pytest.mark.torch
def test_similarities_are_the_cards(encoder):
    model = MtebEncoder(encoder)
    vectors = encoder.encode(["virus lung", "star galaxy", "cell"])
    matrix = model.similarity(vectors[0], vectors)
    assert tuple(matrix.shape) == (1, 3)
    assert encoder.card.similarity == "l2"
    expected = [-np.linalg.norm(vectors[0] - other) for other in vectors]
    assert matrix[0].tolist() == pytest.approx(expected, rel=1e-4, abs=1e-4)
    assert model.similarity_pairwise(vectors[[0, 0]], vectors[1:]).tolist() == pytest.approx(expected[1:], rel=1e-4)


def test_the_search_protocol_indexes_and_searches(folder, encoder):
    corpus = [{"id": paper.id, "title": paper.title, "text": paper.abstract} for paper in papers(40, seed=3)]
    queries = [{"id": f"q{row}", "text": corpus[row]["title"]} for row in (1, 2, 3)] + [{"id": "blank", "text": " "}]
    searches = {mode: MtebSearch(engine_in(folder), encoder, folder, mode) for mode in ("lexical", "hybrid")}
    for mode, search in searches.items():
        with pytest.raises(InputError, match="before it indexed"):
            search.search(queries, top_k=5, **WHERE)
        search.index(corpus, num_proc=None, encode_kwargs={}, **WHERE)
        found = search.search(queries, top_k=5, num_proc=None, encode_kwargs={}, **WHERE)
        assert list(found) == ["q1", "q2", "q3", "blank"]
        assert found["blank"] == {}
        assert [len(found[query]) <= 5 for query in found] == [True] * 4
        if mode == "lexical":
            assert [max(found[f"q{row}"], key=found[f"q{row}"].get) for row in (1, 2, 3)] == [
                "p00001",
                "p00002",
                "p00003",
            ]
        with pytest.raises(InputError, match="can't rerank"):
            search.search(queries, top_k=5, top_ranked={"q1": []}, **WHERE)
    assert len(engine_in(folder).names()) == 1, "both modes share an index"


def test_without_mteb_the_extra_is_named(encoder, monkeypatch):
    monkeypatch.setitem(sys.modules, "mteb.models.model_meta", None)
    with pytest.raises(UnavailableError, match=r"pip install 'ses\[mteb\]'"):
        model_meta(encoder.card)
