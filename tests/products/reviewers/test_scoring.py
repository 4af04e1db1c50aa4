"""Scores in blocks against loops over papers; each factor by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from corpora.errors import InputError, NotFoundError
from corpora.paper import Paper
from products.reviewers import pool as pools
from products.reviewers import scoring
from products.reviewers.factors import ReferencesBuilder, VectorsBuilder, WordsBuilder, stored
from products.reviewers.pool import make_pool
from products.reviewers.scoring import CONFLICT, score_venue
from products.reviewers.spool import Spool
from search_plugin.contract.engine import Document


def document(name: str = "p", vector=(), **facts) -> Document:
    return Document(Paper(name, **{"title": "t", **facts}), "", {"prx": np.array(vector, np.float32)})


def built(builder, documents):
    builder.add(documents[:1])
    builder.add(documents[1:])
    return builder.factor()


def everything(factor, submissions: int, papers: int) -> np.ndarray:
    return factor.similarities(slice(0, submissions), slice(0, papers))


def test_a_spool_is_read_in_blocks_as_it_was_written(tmp_path):
    spool = Spool(tmp_path / "x", 3)
    assert len(spool) == 0
    rows = np.arange(33, dtype=np.float32).reshape(11, 3)
    spool.append(rows[:4])
    spool.append(rows[4:])
    assert [start for start, _ in spool.blocks(5)] == [0, 5, 10]
    assert np.concatenate([block for _, block in spool.blocks(5)]).tolist() == rows.tolist()
    assert spool.read(3, 5).tolist() == rows[3:5].tolist()


def test_a_pool_is_in_blocks_of_equal_profiles(monkeypatch):
    monkeypatch.setattr(pools, "PAPERS", 4)
    pool = make_pool({"b": ["1", "2"], "none": [], "a": ["3"], "c": ["1", "4"], "d": ["5", "6"]})
    assert pool.reviewers == ("a", "b", "c", "d")
    blocks = [(block.reviewers, block.papers) for block in pool.blocks()]
    assert blocks == [(slice(0, 1), slice(0, 1)), (slice(1, 3), slice(1, 5)), (slice(3, 4), slice(5, 7))]
    assert pool.columns(2) == slice(3, 5)
    assert pool.column("c") == 2
    with pytest.raises(NotFoundError, match="no reviewer 'x' among the 4; give an id such as a"):
        pool.column("x")
    with pytest.raises(InputError, match="No reviewer has a paper"):
        make_pool({"none": []})


@pytest.mark.parametrize("aggregate", ["top3", "max"])
@pytest.mark.parametrize("combine", ["scores", "ranks"])
def test_blocks_score_as_loops_do(tmp_path, monkeypatch, aggregate, combine):
    monkeypatch.setattr(pools, "PAPERS", 6)
    monkeypatch.setattr(scoring, "ROWS", 2)
    draw = np.random.default_rng(0)
    pool = make_pool({f"r{n}": [f"p{n}.{k}" for k in range(draw.integers(1, 6))] for n in range(9)})
    papers = [paper for own in pool.papers for paper in own]
    factors, similarities = {}, {}
    for name in ("one", "two"):
        mine, theirs = draw.normal(size=(5, 4)), draw.normal(size=(len(papers), 4))
        builder = VectorsBuilder(mine.astype(np.float32), stored("prx"), tmp_path / name)
        factors[name] = built(builder, [document(vector=row) for row in theirs])
        unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (mine, theirs)]
        similarities[name] = unit[0] @ unit[1].T
    found = score_venue(factors, pool, 5, tmp_path, aggregate=aggregate, combine=combine, conflicts={1: {0, 3}})
    expected = {name: np.empty((5, 9)) for name in factors}
    for name, values in similarities.items():
        for row in range(5):
            for place in range(9):
                own = sorted(values[row, pool.columns(place)], reverse=True)
                expected[name][row, place] = own[0] if aggregate == "max" else np.mean(own[:3])
        assert found.factors[name].read(0, 5) == pytest.approx(expected[name], abs=1e-6)
    if combine == "scores":
        joined = np.mean([(of - of.mean()) / of.std() for of in expected.values()], axis=0)
    else:
        ranks = [1 + (of[:, None, :] > of[:, :, None]).sum(axis=2) for of in expected.values()]
        joined = np.mean([1 / rank for rank in ranks], axis=0)
    joined[1, [0, 3]] = CONFLICT
    assert found.combined.read(0, 5) == pytest.approx(joined, abs=1e-5)


def test_the_leading_factor_has_five_times_the_weight_of_each_other(tmp_path):
    draw = np.random.default_rng(1)
    pool = make_pool({"a": ["1"], "b": ["2"], "c": ["3"]})
    factors = {
        name: built(VectorsBuilder(draw.normal(size=(4, 3)).astype(np.float32), stored("prx"), tmp_path / name),
                    [document(vector=row) for row in draw.normal(size=(3, 3))])
        for name in ("topic", "semantic", "words")
    }  # fmt: skip
    found = score_venue(factors, pool, 4, tmp_path)
    told = {name: spool.read(0, 4) for name, spool in found.factors.items()}
    standard = {name: (of - of.mean()) / of.std() for name, of in told.items()}
    expected = (standard["semantic"] + 0.2 * standard["topic"] + 0.2 * standard["words"]) / 1.4
    assert found.combined.read(0, 4) == pytest.approx(expected, abs=1e-5)


def test_a_factor_alone_keeps_its_scores(tmp_path):
    factor = built(VectorsBuilder(np.eye(2, dtype=np.float32), stored("prx"), tmp_path / "x"),
                   [document(vector=row) for row in ([3, 4], [1, 0])])  # fmt: skip
    found = score_venue({"one": factor}, make_pool({"a": ["1"], "b": ["2"]}), 2, tmp_path)
    assert found.combined.read(0, 2) == pytest.approx(np.array([[0.6, 1.0], [0.8, 0.0]]))


@pytest.mark.parametrize("wrong", [{"aggregate": "mean"}, {"combine": "sum"}])
def test_other_rules_are_refused(tmp_path, wrong):
    with pytest.raises(InputError, match="top3, max"):
        score_venue({"one": None}, make_pool({"a": ["1"]}), 1, tmp_path, **wrong)


def test_words_are_compared_as_by_tf_idf():
    texts = ["the virus and the lung", "virus virus protein", "a galaxy", "lung protein and virus"]
    submissions = [Paper("s", texts[0]), Paper("t", "protein", abstract="galaxy galaxy")]
    factor = built(WordsBuilder(submissions), [document(title=text) for text in texts[1:]])
    told = TfidfVectorizer(sublinear_tf=True, stop_words="english")
    rows = told.fit_transform([texts[0], "protein galaxy galaxy", *texts[1:]]).toarray()
    assert everything(factor, 2, 3) == pytest.approx(rows[:2] @ rows[2:].T, abs=1e-6)


def test_references_count_where_a_paper_is_cited_or_cites_the_same():
    submissions = [Paper("s", "t", references=("doi:10.1/A", "x", "y", "z")), Paper("t", "t")]
    cited = document("q", identifiers=("10.1/a",))
    coupled = document("r", references=("x", "y", "w"))
    factor = built(ReferencesBuilder(submissions), [cited, coupled, document("u")])
    # 1 of sets of 4 and 1; 2 of sets of 4 and 4 (three references and the paper itself).
    assert everything(factor, 2, 3) == pytest.approx(np.array([[1 / 2, 2 / 4, 0], [0, 0, 0]]))
