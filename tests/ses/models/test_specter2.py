"""SPECTER2 as AdapterHub's library saves it: which adapter each step of ses uses, by vectors computed elsewhere."""

from __future__ import annotations

import json

import numpy as np
import pytest

import ses as api
from encoders.registry import find_model
from encoders.tokens.tokenizer import load_tokenizer
from tests.commands import ses
from tests.encoders import checkpoints
from tests.encoders.checkpoints import make_sentence_transformers
from tests.encoders.formulas.adapters import adapter_vector
from tests.encoders.layouts.adapted import PUBLISHED, brought, library_model, library_vectors
from tests.encoders.oracle import Oracle
from tests.ses.models.test_stored_formats import labelled
from tests.tiny import papers

QUERY = "virus lung"


@pytest.fixture(scope="module")
def specter2(tmp_path_factory):
    return brought(tmp_path_factory.mktemp("models") / "specter2", layers=2)


@pytest.fixture(scope="module")
def library(specter2, tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    made = api.open(model=str(specter2), data_dir=folder / "data", cache_dir=folder / "cache", precision="fp32")
    made.index("mine", list(labelled()), fields={"kind": "keyword", "cited": "number"}, formats=["prx", "clf", "rgn"])
    return made


def by_formula(model, task_format, ids):
    place = model / PUBLISHED[task_format]
    weights = checkpoints.read_weights(place / "adapter.safetensors")
    name = json.loads((place / "adapter_config.json").read_text())["name"]
    return np.array([adapter_vector(Oracle(model), weights, name, one) for one in ids])


def by_adapterhub(model, task_format, ids):
    network = library_model(model)
    active = network.load_adapter(str(model / PUBLISHED[task_format]), use_safetensors=True)
    return library_vectors(network, active, ids)


BOTH = [by_formula, pytest.param(by_adapterhub, marks=[pytest.mark.adapters, pytest.mark.filterwarnings("ignore")])]


@pytest.fixture(scope="module", params=BOTH)
def vectors(request, specter2):
    """Return the vectors of all papers, in their order, or of a query, in a format."""
    found = find_model(str(specter2))
    tokenizer = load_tokenizer(found.folder, found.card)

    def made(task_format, texts=None):
        texts = texts or [" [SEP] ".join(filter(None, (paper.title, paper.abstract))) for paper in papers(120)]
        return request.param(specter2, task_format, [tokenizer.encode(text).ids for text in texts])

    return made


IDS = [paper.id for paper in papers(120)]


@pytest.mark.slow
@pytest.mark.parametrize("task_format", ["prx", "clf", "rgn"])
def test_papers_have_a_vector_of_each_adapter(library, vectors, task_format):
    held = library["mine"].index.vectors(IDS, task_format)
    np.testing.assert_allclose(np.stack([held[id_] for id_ in IDS]), vectors(task_format), atol=1e-3)


@pytest.mark.slow
def test_queries_have_the_adapter_of_queries_and_meet_papers_of_prx(library, vectors):
    away = np.linalg.norm(vectors("prx") - vectors("qry", [QUERY]), axis=1)
    page = library["mine"].search(QUERY, mode="vector", size=20)
    assert [hit.id for hit in page] == [IDS[row] for row in np.argsort(away, kind="stable")[:20]]
    other = np.linalg.norm(vectors("prx") - vectors("prx", [QUERY]), axis=1)
    assert np.argsort(away)[:20].tolist() != np.argsort(other)[:20].tolist()


@pytest.mark.slow
def test_tags_and_forecasts_read_the_vectors_of_their_adapters(library, vectors):
    tagger, _ = library.tags.train("kind", "mine", "kind", vectors_only=True)
    assert tagger.source.format == "clf"
    likely = library.tags.probabilities("kind", "mine", IDS)
    wanted = tagger.probabilities(vectors("clf").astype(np.float32))
    np.testing.assert_allclose([[*likely[id_].values()] for id_ in IDS], wanted, atol=2e-3)
    assert np.abs(tagger.probabilities(vectors("prx").astype(np.float32)) - wanted).max() > 0.05
    forecaster, _ = library.forecasts.train("impact", "mine", "cited", vectors_only=True)
    assert forecaster.source.format == "rgn"
    library.forecasts.apply("impact", "mine")
    wanted = forecaster.forecast(vectors("rgn").astype(np.float32))[:, 0]
    written = {hit.id: hit.paper.extra["impact"] for hit in library["mine"].iterate()}
    np.testing.assert_allclose([written[id_] for id_ in IDS], wanted, atol=0.2)


def told(folder, model):
    done = ses(folder, "models", "info", model)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_info_says_what_each_format_is_for_and_what_makes_it(specter2, tmp_path):
    assert (
        "  prx, for papers, and papers like a paper: an adapter of its own\n"
        "  qry, for queries: an adapter of its own\n"
        "  clf, for tags: an adapter of its own\n"
        "  rgn, for forecasts: an adapter of its own\n"
    ) in told(tmp_path, specter2)
    make_sentence_transformers(tmp_path / "plain", seed=4)
    assert (
        "  prx, for papers, and papers like a paper: the network itself\n"
        "  qry, for queries: the same vector as prx\n"
        "  clf, for tags: the same vector as prx; an index with the formats prx,clf has the papers' words beside it\n"
    ) in told(tmp_path, tmp_path / "plain")
    card = {"architecture": "adapters", "base": "../plain", "adapters": {"prx": "", "qry": "", "clf": "../clf"}}
    checkpoints.make_adapter(
        tmp_path / "clf", json.loads((tmp_path / "plain" / "config.json").read_text()), "x", seed=1, safetensors=True
    )
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "ses_card.json").write_text(json.dumps(card))
    lines = told(tmp_path, tmp_path / "some")
    assert "  prx, for papers, and papers like a paper: the network itself\n" in lines
    assert "  clf, for tags: an adapter of its own\n" in lines
    assert "rgn, for" not in lines
