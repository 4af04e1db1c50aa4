"""What a build keeps of the version before, and what it fits on papers of the corpus."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from corpora.errors import InputError, StoppedError
from corpora.paper import Accepted, Rejected
from corpora.progress import Silent
from encoders.models.formats import Format
from encoders.projection import VectorProjection
from indexer import projecting
from indexer.projecting import kept_projection, kept_words, projection_of, words_of
from indexer.work import Work
from search_plugin.words.space import FEWEST_PAPERS, WordSpace, words_text
from tests.indexer.jobs import make_job
from tests.tiny import papers

WRITTEN = papers(60)


class Encoder:
    """Gives each text a vector that the text alone decides, and counts papers in two steps."""

    card = SimpleNamespace(text=lambda title, abstract: f"{title} {abstract}")

    def __init__(self):
        self.asked = []

    def encode_formats(self, texts, formats, done):
        self.asked.append((len(texts), list(formats)))
        done(len(texts) - 1)
        done(1)
        return {name: self.rows(texts) for name in formats}

    def rows(self, texts):
        draws = [np.random.default_rng(list(text.encode())) for text in texts]
        rows = np.array([draw.standard_normal(12) for draw in draws], np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class Noting(Silent):
    def __init__(self):
        self.stages, self.papers = [], 0

    def stage(self, name, total):
        self.stages.append((name, total))

    def advance(self, papers, rejected=0, **_):
        self.papers += papers


CARD = SimpleNamespace(name="model", fingerprint="f", dimension=12, similarity="cosine", head=lambda name: None)


@pytest.fixture
def job(tmp_path):
    records = [Rejected(1, "No."), *(Accepted(n, paper) for n, paper in enumerate(WRITTEN))]
    made = make_job(tmp_path, tmp_path / "none")
    encoder = Encoder()
    return replace(made, card=CARD, encoder=lambda: encoder, records=lambda: iter(records))


def fitted(dimension=5, fingerprint="f"):
    encoder = Encoder()
    rows = encoder.rows([f"{paper.title} {paper.abstract}" for paper in WRITTEN])
    return VectorProjection.fitted(rows, dimension, fingerprint)


def index_with(**schema):
    return SimpleNamespace(schema=SimpleNamespace(**{"projection": (), "words": (), "language": "english", **schema}))


def test_a_projection_is_kept_for_the_same_model_unless_a_dimension_is_asked_for():
    before = SimpleNamespace(projection=(fitted(),))
    assert kept_projection(CARD, before, None) == (fitted(),)
    assert kept_projection(CARD, before, 5) == ()
    assert kept_projection(CARD, SimpleNamespace(projection=(fitted(fingerprint="g"),)), None) == ()
    assert kept_projection(CARD, None, None) == ()


def test_words_are_kept_for_the_same_language():
    before = SimpleNamespace(words=("w",), language="german")
    assert [kept_words(before, language) for language in (None, "german", "french")] == [("w",), ("w",), ()]
    assert kept_words(None, None) == ()


def test_vectors_are_whole_unless_they_should_be_shorter(job):
    for settings, before in (
        ({}, None),
        ({"dimension": 12}, None),
        ({}, index_with()),
        ({"dimension": 12}, index_with()),
    ):
        for fresh in (True, False):
            given = replace(job, settings=settings, fresh=fresh)
            assert projection_of(given, before, Work(Silent())) == ()
    assert job.encoder().asked == []


def test_a_projection_is_fitted_on_the_papers_of_the_corpus(job):
    work = Work(progress := Noting())
    assert projection_of(replace(job, settings={"dimension": 5}), None, work) == (fitted(),)
    assert progress.stages == [("drawing papers", None), ("fitting shorter vectors", 60)]
    assert (progress.papers, work.encoded, job.encoder().asked) == (60, 0, [(60, [Format.PRX])])
    assert work.seconds > 0


def test_an_existing_index_keeps_its_projection_and_a_fresh_one_its_dimension(job):
    there = index_with(projection=(fitted(4),))
    assert projection_of(replace(job, settings={"dimension": 7}), there, Work(Silent())) == (fitted(4),)
    assert projection_of(replace(job, fresh=True), there, Work(Silent())) == (fitted(4),)
    assert job.encoder().asked == []
    # Of another model it is fitted again, to as many numbers.
    other = index_with(projection=(fitted(4, "g"),))
    assert projection_of(replace(job, fresh=True), other, Work(Silent())) == (fitted(4),)
    asked = replace(job, fresh=True, settings={"dimension": 5})
    assert projection_of(asked, there, Work(Silent())) == (fitted(),)
    assert projection_of(replace(asked, settings={"dimension": 12}), there, Work(Silent())) == ()


def test_only_searched_vectors_are_shorter(job):
    asked = replace(job, settings={"dimension": 5}, formats=(Format.PRX, Format.CLF, Format.RGN))
    with pytest.raises(InputError, match="can be shorter, not those for clf, rgn"):
        projection_of(asked, None, Work(Silent()))
    worded = replace(asked, worded=(Format.CLF, Format.RGN))
    assert projection_of(worded, None, Work(Silent())) == (fitted(),)


class Stopping(Silent):
    def stage(self, name, total):
        if name.startswith("fitting"):
            raise KeyboardInterrupt


def test_a_user_may_stop_it(job):
    for make in (projection_of, words_of):
        asked = replace(job, settings={"dimension": 5}, worded=(Format.CLF,))
        with pytest.raises(StoppedError, match="nothing was written to the index papers yet"):
            make(asked, None, Work(Stopping()))


def test_many_papers_are_encoded_block_by_block_and_drawn_with_the_same_chance(job, monkeypatch):
    monkeypatch.setattr(projecting, "BLOCK", 16)
    assert projection_of(replace(job, settings={"dimension": 5}), None, Work(Silent())) == (fitted(),)
    assert [count for count, _ in job.encoder().asked] == [16, 16, 16, 12]
    many = [Accepted(n, paper) for n, paper in enumerate(WRITTEN * 334)]
    assert len(projecting._drawn(replace(job, records=lambda: iter(many)))) == 20_000
    monkeypatch.setattr(projecting, "SAMPLE", 20)
    drawn = [projecting._drawn(job) for _ in range(2)]
    assert drawn[0] == drawn[1]
    places = [WRITTEN.index(paper) for paper in drawn[0]]
    assert len(set(places)) == 20
    # Of each third of the corpus about a third, which is far from its beginning or its end alone.
    assert all(3 <= sum(place // 20 == third for place in places) <= 11 for third in range(3))


def words(some, language="english", formats=(Format.CLF,)):
    return WordSpace.fitted(map(words_text, some), language, formats)


def test_words_are_fitted_unless_they_are_kept(job):
    work = Work(progress := Noting())
    asked = replace(job, worded=(Format.CLF,))
    assert words_of(job, None, work) == ()
    assert words_of(asked, None, work) == (words(WRITTEN),)
    assert progress.stages == [("drawing papers", None), ("fitting words", None)]
    there = index_with(words=("kept",), language="german")
    assert words_of(asked, there, Work(Silent())) == ("kept",)
    fresh = replace(asked, fresh=True)
    assert words_of(fresh, there, Work(Silent())) == (words(WRITTEN, "german"),)
    french = replace(fresh, settings={"language": "french"})
    assert words_of(french, there, Work(Silent())) == (words(WRITTEN, "french"),)
    before = words(WRITTEN[:40])
    assert words_of(replace(fresh, words=(before,)), there, Work(Silent())) == (before,)
    both = replace(fresh, words=(before,), worded=(Format.CLF, Format.RGN))
    assert words_of(both, None, Work(Silent())) == (words(WRITTEN, formats=both.worded),)
    assert words_of(replace(fresh, words=(before,), worded=()), None, Work(Silent())) == ()


def test_too_few_papers_have_no_words(job, caplog):
    for count, made in ((FEWEST_PAPERS, 1), (FEWEST_PAPERS - 1, 0)):
        records = [Accepted(n, paper) for n, paper in enumerate(papers(count))]
        asked = replace(job, worded=(Format.CLF, Format.RGN), records=lambda records=records: iter(records))
        assert len(words_of(asked, None, Work(Silent()))) == made
    assert f"beside the vectors for clf and rgn need {FEWEST_PAPERS} papers, and there are {count}" in caplog.text
