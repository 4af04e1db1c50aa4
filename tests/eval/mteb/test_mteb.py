"""What of the MTEB adapter needs no mteb; `test_real_mteb.py` has the rest."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from corpora.errors import InputError, UnavailableError
from encoders.models.formats import Format
from eval.mteb import LONGEST_NAME, MtebEncoder, MtebSearch, format_of, model_meta, plain
from tests.indexer.jobs import engine_in, make_job
from tests.tiny import papers, write_jsonl

WHERE = {"task_metadata": SimpleNamespace(name="Tiny", type="Retrieval"), "hf_split": "test", "hf_subset": "default"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("mteb")


@pytest.fixture(scope="module")
def encoder(folder):
    return make_job(folder, write_jsonl(folder / "papers.jsonl", papers(1))).encoder()


def test_texts_take_the_format_of_their_prompt_or_else_of_the_tasks_kind():
    every, few = (SimpleNamespace(formats=formats) for formats in (tuple(Format), (Format.PRX, Format.QRY)))
    kinds = ("Classification", "MultilabelClassification", "Regression", "STS")
    assert [format_of(None, kind, every) for kind in kinds] == [Format.CLF, Format.CLF, Format.RGN, Format.PRX]
    assert [format_of(None, kind, few) for kind in kinds] == [Format.PRX] * 4
    for prompt, expected in (("query", Format.QRY), ("document", Format.PRX)):
        assert format_of(SimpleNamespace(value=prompt), "Classification", every) is expected


def test_inputs_without_text_are_refused(encoder):
    with pytest.raises(InputError, match="aren't texts"):
        MtebEncoder(encoder).encode([{"image": [1]}], **WHERE)


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


def test_a_search_finds_documents_whose_titles_are_missing(folder, encoder):
    search = MtebSearch(engine_in(folder), encoder, folder, "lexical")
    with pytest.raises(InputError, match="before it indexed"):
        search.search([], top_k=5, **WHERE)
    search.index([{"id": "a", "title": None, "text": "Lungs."}, {"id": "b", "text": "Stars and planets."}], **WHERE)
    queries = [{"id": "q", "text": "stars"}, {"id": "blank", "text": " "}]
    found = search.search(queries, top_k=5, **WHERE)
    assert {query: list(hits) for query, hits in found.items()} == {"q": ["b"], "blank": []}
    with pytest.raises(InputError, match="can't search for a conversation"):
        search.search([{"id": "q", "text": ["Stars?", "Which?"]}], top_k=5, **WHERE)


def test_long_names_are_cut_and_stay_apart():
    assert plain("MTEB: SciFact.v2 ") == "mteb--scifact-v2"
    one, other = plain("x" * 99 + "-dev"), plain("x" * 99 + "-test")
    assert len(one) == len(other) == LONGEST_NAME
    assert one != other


def test_without_mteb_the_extra_is_named(encoder, monkeypatch):
    monkeypatch.setitem(sys.modules, "mteb.models.model_meta", None)
    with pytest.raises(UnavailableError, match=r"pip install '.+\[mteb\]'"):
        model_meta(encoder)
