"""Models with shorter vectors: what their vectors are, who reads them, and which models can't have them."""

from __future__ import annotations

import json

import numpy as np
import pytest

import ses
from corpora.errors import InputError
from encoders.projection import rotation
from encoders.registry import find_model
from tests.commands import ses as run
from tests.encoders.checkpoints import make_sentence_transformers
from tests.encoders.every import MAKERS
from tests.tiny import papers, write_jsonl
from training.reducing import check_reducible

PAPERS = papers(80)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return make_sentence_transformers(tmp_path_factory.mktemp("models") / "base", seed=4, layers=1)


def model_of(folder, cache):
    return ses.load_model(str(folder), precision="fp32", cache_dir=cache, data_dir=cache)


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_a_rotation_keeps_the_most_of_all_dot_products():
    draw = np.random.default_rng(0)
    vectors = unit(draw.standard_normal((200, 6)) * (9, 5, 3, 1, 0.1, 0.1)).astype(np.float32)
    turn = rotation(vectors, 3)
    assert turn.shape == (3, 6)
    assert turn @ turn.T == pytest.approx(np.eye(3), abs=1e-6)
    # The best of rank 3 is that of the singular values (Eckart and Young, Psychometrika 1, 1936).
    whole = vectors @ vectors.T
    left, sizes, right = np.linalg.svd(vectors)
    best = (left[:, :3] * sizes[:3]) @ right[:3]
    kept = (vectors @ turn.T) @ (vectors @ turn.T).T
    assert np.linalg.norm(whole - kept) == pytest.approx(np.linalg.norm(whole - best @ best.T), rel=1e-4)
    lengths = np.linalg.norm(vectors @ turn.T, axis=0)
    assert list(lengths) == sorted(lengths, reverse=True)


def test_all_numbers_keep_all_dot_products():
    vectors = unit(np.random.default_rng(0).standard_normal((50, 8))).astype(np.float32)
    turned = vectors @ rotation(vectors, 8).T
    assert turned @ turned.T == pytest.approx(vectors @ vectors.T, abs=1e-5)


def test_the_vectors_are_those_of_the_base_turned_and_cut(tmp_path, base):
    place = ses.reduce_model(
        str(base), PAPERS, tmp_path / "small", dimension=16, precision="fp32", cache_dir=tmp_path / "cache"
    )
    assert place == tmp_path / "small"
    whole = model_of(base, tmp_path / "cache").encode_papers(PAPERS)
    small = model_of(place, tmp_path / "cache")
    assert (small.card.dimension, small.card.similarity) == (16, "cosine")
    assert small.card.fingerprint != find_model(str(base)).card.fingerprint
    expected = unit(whole @ rotation(whole, 16).T)
    found = small.encode_papers(PAPERS)
    # The directions may differ in sign from one computation to the next; dot products do not.
    assert found @ found.T == pytest.approx(expected @ expected.T, abs=1e-4)
    queries = ["virus lung", "galaxy"]
    asked = unit(model_of(base, tmp_path / "cache").encode(queries, "qry") @ rotation(whole, 16).T)
    assert small.encode(queries, "qry") @ found.T == pytest.approx(asked @ expected.T, abs=1e-4)


def test_an_index_has_the_shorter_vectors_and_is_updated_and_searched_by_its_model(tmp_path, base):
    small = ses.reduce_model(str(base), PAPERS, tmp_path / "small", dimension=16, cache_dir=tmp_path / "cache")
    library = ses.open(tmp_path / "library", model=str(small), cache_dir=tmp_path / "cache", data_dir=tmp_path)
    library.index("mine", PAPERS[:60])
    later = ses.open(tmp_path / "library", cache_dir=tmp_path / "cache", data_dir=tmp_path)
    assert later.index("mine", PAPERS).new == 20
    index = later["mine"]
    assert index.index.schema.vector("prx").dimension == 16
    page = index.search(PAPERS[70].title, mode="vector")
    assert PAPERS[70].id in [hit.id for hit in page]
    assert page.hits[0].score <= 1


def test_the_command_writes_the_same_model(tmp_path, base):
    write_jsonl(tmp_path / "papers.jsonl", PAPERS)
    words = ("models", "reduce", base, tmp_path / "small", "--dimension", 16, "--precision", "fp32")
    done = run(tmp_path, *words, "--corpus", "jsonl", "--path", tmp_path / "papers.jsonl")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{tmp_path / 'small'} holds {base} with 16 numbers, fitted on 80 papers; use it")
    other = ses.reduce_model(
        str(base), PAPERS, tmp_path / "other", dimension=16, precision="fp32", cache_dir=tmp_path / "cache"
    )
    both = [
        model_of(folder, tmp_path / "cache").encode(["virus lung", "galaxy"]) for folder in (tmp_path / "small", other)
    ]
    assert both[0] @ both[0].T == pytest.approx(both[1] @ both[1].T, abs=1e-4)
    words = ("models", "reduce", base, tmp_path / "third", "--dimension", 8, "--json", "--limit", 20)
    told = json.loads(run(tmp_path, *words, "--corpus", "jsonl", "--path", tmp_path / "papers.jsonl").stdout)
    assert told == {"folder": str(tmp_path / "third"), "dimension": 8, "papers": 20}


def test_what_can_not_be_shorter_is_said_before_papers_are_encoded(tmp_path, base):
    plain = find_model(str(base))
    with pytest.raises(InputError, match="can't be cut to 64; choose a smaller dimension"):
        check_reducible(plain, 64, tmp_path / "x")
    with pytest.raises(InputError, match="can't be cut to 0"):
        check_reducible(plain, 0, tmp_path / "x")
    with pytest.raises(InputError, match="exists already"):
        check_reducible(plain, 16, tmp_path)
    with pytest.raises(InputError, match="needs as many papers, and there are 5; give more"):
        ses.reduce_model(str(base), PAPERS[:5], tmp_path / "x", dimension=16, cache_dir=tmp_path / "cache")
    assert not (tmp_path / "x").exists()
    small = ses.reduce_model(str(base), PAPERS, tmp_path / "small", dimension=16, cache_dir=tmp_path / "cache")
    for other in (small, MAKERS["adapters"](tmp_path / "adapters")):
        with pytest.raises(InputError, match="can't be made shorter"):
            ses.reduce_model(str(other), PAPERS, tmp_path / "x", dimension=8)


def test_vectors_that_are_not_compared_by_the_cosine_stay(tmp_path):
    l2 = find_model(str(MAKERS["plain"](tmp_path / "plain")))
    assert l2.card.similarity != "cosine"
    with pytest.raises(InputError, match=f"are compared by {l2.card.similarity}"):
        check_reducible(l2, 16, tmp_path / "x")
