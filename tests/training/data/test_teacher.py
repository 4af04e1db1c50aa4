"""The builder teacher: papers and queries with the vectors of a model of another size."""

from __future__ import annotations

import json

import numpy as np
import pytest

from corpora.errors import InputError
from encoders.encoder import load_encoder
from encoders.models.formats import Format
from tests.tiny import make_model
from tests.training.data.papers import build, paper, source
from training.data.builders.base import identity_of

PAPERS = [
    paper(
        n,
        title=f"Virus {n} and the lung",
        abstract=f"We followed patient {n} in a trial. The dose was low. We conclude that drug {n} is a vaccine.",
    )
    for n in range(12)
]
EASY = {"least": 3, "titles": 0, "conclusions": 1, "keywords": 0, "citations": 0}


@pytest.fixture(scope="module")
def teacher(tmp_path_factory):
    """A model with prompts of its own for queries and papers."""
    folder = make_model(tmp_path_factory.mktemp("teacher") / "m", width=32)
    (folder / "ses_card.json").write_text(json.dumps({"prompts": {"qry": "protein ", "prx": "cell "}}))
    return load_encoder(str(folder), cache_dir=folder.parent, precision="fp32")


def given(papers, teacher, calls=None):
    """A source whose models are the teacher; the calls that load one are recorded."""
    record = [] if calls is None else calls
    return source(papers, model=lambda *name, **options: record.append((name, options)) or teacher)


def unit(vector):
    return np.array(vector) / np.linalg.norm(vector)


def test_papers_get_the_vectors_of_papers(teacher):
    calls = []
    made = build("teacher", given(PAPERS, teacher, calls), teacher="model:org/m")
    assert calls == [(("org/m",), {"precision": "fp32"})]
    assert [one.record["title"] for one in made] == [one["title"] for one in PAPERS]
    assert [one.papers for one in made] == [(identity_of(one),) for one in PAPERS]
    texts = [teacher.card.text(one["title"], one["abstract"]) for one in PAPERS]
    wanted = teacher.encode(texts, Format.PRX)
    np.testing.assert_allclose([one.record["label"] for one in made], wanted, atol=1e-5)
    # The student reads the plain text, and the teacher its own prompt before it.
    assert np.abs(teacher.encode(texts, Format.QRY) - wanted).max() > 0.01


def test_queries_get_the_vectors_of_queries(teacher):
    options = {"teacher": "model:org/m", "texts": "queries", "runtime": "torch", "precision": "bf16"}
    calls = []
    made = build("teacher", given(PAPERS, teacher, calls), **options, **EASY)
    assert calls == [(("org/m",), {"precision": "bf16", "runtime": "torch"})]
    queries = [f"We conclude that drug {n} is a vaccine." for n in range(12)]
    assert [set(one.record) for one in made] == [{"title", "label"}] * 12
    assert [one.record["title"] for one in made] == queries
    wanted = teacher.encode(queries, Format.QRY)
    np.testing.assert_allclose([one.record["label"] for one in made], wanted, atol=1e-5)


def test_some_are_drawn_and_those_without_text_are_counted(teacher):
    papers = [*PAPERS, {"id": "none", "year": 1990}, paper(99, abstract="Short.")]
    few = given(papers, teacher)
    assert len(build("teacher", few, teacher="model:m", most=5)) in (4, 5)
    assert few.left_out["not drawn"] == 9
    every = given(papers, teacher)
    assert len(build("teacher", every, teacher="model:m")) == 13
    assert every.left_out == {"it has no text": 1}
    calls = given(papers, teacher)
    assert len(build("teacher", calls, teacher="model:m", texts="queries", **EASY)) == 12
    assert calls.left_out == {"no query can be made of it": 2}


def test_more_than_a_block(teacher, monkeypatch):
    monkeypatch.setattr("training.data.builders.teacher.BLOCK", 5)
    made = build("teacher", given(PAPERS, teacher), teacher="model:m")
    wanted = teacher.encode([teacher.card.text(one["title"], one["abstract"]) for one in PAPERS], Format.PRX)
    np.testing.assert_allclose([one.record["label"] for one in made], wanted, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "has the teacher ''; give model: and the name of a model"),
        ({"teacher": "base"}, "has the teacher 'base'"),
        ({"teacher": "model:"}, "has the teacher 'model:'"),
        ({"teacher": "model:m", "texts": "both"}, "has the texts 'both'; choose papers or queries"),
    ],
)
def test_wrong_options_are_refused(options, told, teacher):
    with pytest.raises(InputError, match=told):
        build("teacher", given(PAPERS, teacher), **options)
