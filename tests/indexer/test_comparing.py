"""Whether a model made the vectors of others: the cosines are planted."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from corpora.errors import InputError
from indexer import comparing
from indexer.comparing import LEAST, SAMPLE, compare
from search_plugin.contract.engine import Document
from tests.tiny import papers

WIDTH = 16
PAPERS = papers(9)
TEXTS = {
    "title and abstract, as the model separates them": lambda paper: f"{paper.title} | {paper.abstract}",
    "title and abstract": lambda paper: f"{paper.title} {paper.abstract}".strip(),
    "title, a full stop and abstract": lambda paper: f"{paper.title}. {paper.abstract}".strip(),
    "abstract": lambda paper: paper.abstract,
    "title": lambda paper: paper.title,
}


def encode(texts, task_format):
    """A vector that the text alone decides, of any length; other texts have others."""
    assert task_format == "prx"
    draws = [np.random.default_rng(list(text.encode())) for text in texts]
    return np.array([(1 + draw.random()) * draw.standard_normal(WIDTH) for draw in draws], np.float32)


def turned(vector, cosine, length=3.0):
    """A vector of some length with a cosine to another."""
    unit = vector.astype(np.float64) / np.linalg.norm(vector)
    other = np.random.default_rng(1).standard_normal(WIDTH)
    other -= (other @ unit) * unit
    return length * (cosine * unit + np.sqrt(1 - cosine**2) * other / np.linalg.norm(other))


def compared(monkeypatch, cosines, text=TEXTS["title"], unit="paper", without=(), **options):
    """Compare an index whose documents have vectors with these cosines to the model's vectors of a text."""
    held = {
        paper.id: Document(paper, "", {} if row in without else {"v": turned(encode([text(paper)], "prx")[0], cosine)})
        for row, (paper, cosine) in enumerate(zip(PAPERS, cosines, strict=False))
    }

    class Held:
        def __init__(self, *_):
            pass

        def having_vector(self, name, most):
            assert (name, most) == ("v", SAMPLE)
            return list(held)

        def documents(self, ids, names):
            assert names == ["v"]
            return {id_: held[id_] for id_ in ids}

    monkeypatch.setattr(comparing, "AttachedIndex", Held)
    field = SimpleNamespace(format="v", model="theirs", unit=unit)
    card = SimpleNamespace(text=lambda title, abstract: f"{title} | {abstract}")
    engine = SimpleNamespace(cluster=None, dialect=None)
    loaders = {"v": lambda: SimpleNamespace(card=card, encode=encode)}
    (found,) = compare(engine, SimpleNamespace(foreign=[field], target="shelf"), loaders, **options)
    return found


@pytest.mark.parametrize("text", TEXTS)
def test_the_text_that_was_encoded_is_found(monkeypatch, text):
    found = compared(monkeypatch, [1.0] * 9, TEXTS[text])
    assert (found.text, found.documents, found.field, found.model) == (text, 9, "v", "theirs")
    assert found.cosine == pytest.approx(1, abs=1e-4)


def test_the_median_of_the_cosines_counts_whatever_the_lengths(monkeypatch):
    found = compared(monkeypatch, [0.99, 0.1, 0.8, 0.75, 0.9])
    assert (found.cosine, found.documents) == (pytest.approx(0.8, abs=1e-4), 5)
    assert compared(monkeypatch, [0.9, 0.0, 0.8], without=[1]).cosine == pytest.approx(0.85, abs=1e-4)


def test_vectors_of_another_model_are_refused_unless_they_are_not_to_be_checked(monkeypatch):
    assert compared(monkeypatch, [LEAST + 0.001] * 3).cosine == pytest.approx(LEAST + 0.001, abs=1e-4)
    told = "The vectors v of shelf are not of theirs: for 3 documents, their median cosine .* is 0.69"
    with pytest.raises(InputError, match=told):
        compared(monkeypatch, [0.69] * 3)
    assert compared(monkeypatch, [0.69] * 3, unchecked=True).cosine == pytest.approx(0.69, abs=1e-4)


def test_documents_without_a_vector_are_no_evidence(monkeypatch):
    with pytest.raises(
        InputError, match="No document of shelf with a title has a vector in v, so it can't be compared"
    ):
        compared(monkeypatch, [1.0, 1.0], without=[0, 1])
    assert compared(monkeypatch, [1.0, 1.0], without=[0, 1], unchecked=True).documents == 0
    passages = compared(monkeypatch, [0.0, 0.0], unit="passage")
    assert (passages.documents, passages.text, passages.cosine) == (0, "", None)
