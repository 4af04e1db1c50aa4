"""Hard negatives: near by words or by vectors, and never what is probably right as well."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
import Stemmer
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from rank_bm25 import BM25Okapi

from corpora.errors import InputError
from encoders.encoder import load_encoder
from encoders.models.formats import Format
from eval.suites.kinds import OkapiBm25
from tests.tiny import make_model, papers
from tests.training.data.papers import build, source
from training.data.builders import mined
from training.data.pool import PoolQuery, best
from training.data.queries import KINDS

NONE_MADE = dict.fromkeys(KINDS, 0.0)
"""Options: judged queries only."""

ALL = {**mined.BUILDER.options, "most_alike": 1.0}


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mined")
    return load_encoder(str(make_model(folder / "base")), cache_dir=folder / "graphs", precision="fp32")


def judged(encoder, count=40, **values):
    """Return a source of queries with one answer each, and of papers that answer none."""
    made = [{"id": one.id, "title": one.title, "abstract": one.abstract} for one in papers(count) if one.abstract]
    asked = [
        {"query": " ".join(one["abstract"].split()[:3]), "pos": one} for one in made[:8] if len(one["abstract"]) > 40
    ]
    return source([*made[8:], *asked], model=lambda: encoder, **values), made


def text(record):
    return " ".join(record[name] for name in ("title", "abstract") if record.get(name))


def split(made):
    for one in made:
        yield one.record["query"], *([c for c in one.record["candidates"] if c["score"] == score] for score in (1, 0))


def test_words_score_as_rank_bm25_does():
    texts = [text({"title": one.title, "abstract": one.abstract}) for one in papers(60)]
    stem = Stemmer.Stemmer("english").stemWords
    words = [stem(re.findall(r"\w+", one.lower())) or [""] for one in texts]
    theirs = BM25Okapi(words)
    for query in (["virus", "lung", "nowhere"], [], words[3]):
        np.testing.assert_array_equal(
            OkapiBm25(texts).scores(" ".join(query)), theirs.get_scores(list(dict.fromkeys(query)))
        )


@pytest.mark.parametrize("by", ["bm25", "base", "bm25 base"])
def test_negatives_score_clearly_below_the_answer(encoder, by):
    given, all_papers = judged(encoder)
    made = build("mined", given, by=by, **NONE_MADE, most_alike=1.0, negatives=5, last=9)
    assert len(made) > 3
    texts = [text(one) for one in all_papers]
    for query, right, wrong in split(made):
        by_judge = []
        if "bm25" in by:
            by_judge.append(OkapiBm25(texts).scores(query))
        if "base" in by:
            ours = encoder.encode([query], Format.QRY)
            rendered = [encoder.card.text(one["title"], one["abstract"]) for one in all_papers]
            vectors = encoder.encode(rendered, Format.PRX)
            assert encoder.card.similarity == "l2"
            by_judge.append(-np.linalg.norm(vectors - ours, axis=1))
        assert len(right) == 1
        assert wrong
        answer = texts.index(text(right[0]))
        for scores in by_judge:
            for one in wrong:
                limit = scores[answer] * (0.95 if scores[answer] > 0 else 1.05)
                assert scores[texts.index(text(one))] <= limit + 1e-5


def test_papers_alike_the_answer_are_no_negatives(encoder):
    given, all_papers = judged(encoder)
    rendered = {text(one): encoder.card.text(one["title"], one["abstract"]) for one in all_papers}

    def closest(made):
        found = []
        for _, right, wrong in split(made):
            ours, *others = encoder.encode([rendered[text(one)] for one in (*right, *wrong)], Format.PRX)
            found += [ours @ one / np.linalg.norm(ours) / np.linalg.norm(one) for one in others]
        return max(found)

    limit = closest(build("mined", given, **NONE_MADE, by="bm25", most_alike=1.0, most_score=9.0, negatives=20)) - 0.05
    kept = build("mined", given, **NONE_MADE, by="bm25", most_alike=limit, most_score=9.0, negatives=20)
    assert kept
    assert closest(kept) <= limit + 1e-6


_SCORES = arrays(np.float64, 12, elements=st.integers(-5, 5).map(float))


@settings(deadline=None)
@given(
    st.lists(_SCORES, min_size=1, max_size=2),
    st.sets(st.integers(0, 11), min_size=1, max_size=3),
    st.sampled_from([1.0, 0.9, 0.5]),
    st.integers(1, 3),
    st.booleans(),
)
def test_false_negatives_are_never_kept(scores, answers, most_score, first, hardest):
    query = PoolQuery("q", "", "?", tuple(answers))
    options = {**ALL, "most_score": most_score, "first": first, "last": 6, "negatives": 4, "hardest": hardest}
    passing = mined._wrong(query, scores, None, options)
    found = mined._negatives(query, scores, passing, options, 1)
    assert len(found) == len(set(found))
    for row in found:
        assert row not in answers
        for of_judge in scores:
            for answer in answers:
                wanted = of_judge[answer] * (most_score if of_judge[answer] > 0 else 2 - most_score)
                assert of_judge[row] <= wanted + 1e-9


def test_ranks_are_counted_among_the_papers_that_pass():
    scores = [np.array([9.0, 10.0, 8.0, 7.0, 6.0, 5.0, 4.0]), np.array([9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 8.9])]
    query = PoolQuery("q", "", "?", (0,))

    def found(**values):
        options = {**ALL, "hardest": True, "negatives": 9} | values
        passing = mined._wrong(query, scores[: len(options["by"].split())], None, options)
        return mined._negatives(query, scores[: len(options["by"].split())], passing, options, 1)

    assert found(by="bm25", first=1, last=2) == [2, 3]
    assert found(by="bm25", first=2, last=4) == [3, 4, 5]
    assert found(by="bm25 base", first=1, last=2) == [2, 5, 3, 4]
    assert found(by="bm25 base", negatives=1) == [2]
    drawn = {tuple(found(by="bm25", last=3, hardest=False, negatives=2)) for _ in range(3)}
    assert len(drawn) == 1
    assert set(next(iter(drawn))) < {2, 3, 4}


def test_answers_and_their_copies_are_no_negatives(encoder):
    one = {"title": "virus lung", "abstract": "cell protein"}
    others = [{"id": f"o{n}", "title": f"virus lung {n}", "abstract": "gene"} for n in range(3)]
    asked = {"query": "virus lung", "candidates": [one | {"score": 2}, {**one, "title": "Virus, lung!", "score": 0}]}
    given = source([asked, *others], model=lambda: encoder)
    made = build("mined", given, by="bm25", most_score=99.0, most_alike=1.0, negatives=9)
    right, *wrong = made[0].record["candidates"]
    assert right == one | {"score": 1}
    assert {other["title"] for other in wrong} == {other["title"] for other in others}
    assert given.left_out == Counter({"no query can be made of it": 3})


def test_a_query_without_negatives_is_counted(encoder):
    given = source([{"query": "virus", "pos": {"title": "virus"}, "neg": {"title": "virus lung virus"}}])
    assert build("mined", given, **NONE_MADE, by="bm25", most_alike=1.0, most_score=0.0) == []
    assert given.left_out == {"no paper passes as wrong": 1}


def test_records_that_are_no_judged_query_are_counted(encoder):
    given = source(
        [{"query": "virus"}, {"query": "lung", "candidates": "none"}, {"query": {}, "pos": {"title": "cell"}}]
    )
    assert build("mined", given, **NONE_MADE, by="bm25", most_alike=1.0) == []
    assert given.left_out == {"no query can be made of it": 3}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"by": "bm26"}, "no judges 'bm26'; name one or more of bm25, base and model:NAME"),
        ({"by": ""}, "no judges ''"),
        ({"first": 0}, "first must be 1 or more"),
        ({"first": 5, "last": 4}, "last no less"),
    ],
)
def test_wrong_options(encoder, options, told):
    with pytest.raises(InputError, match=told):
        build("mined", judged(encoder)[0], **options)


@given(arrays(np.float64, st.integers(1, 20), elements=st.sampled_from([-np.inf, 0.0, 1.0, 2.0])), st.integers(1, 25))
def test_the_best_rows_are_those_of_a_stable_sort(scores, count):
    wanted = [row for row in np.argsort(-scores, kind="stable").tolist() if scores[row] > -np.inf]
    assert best(scores, count) == wanted[:count]


def test_a_judge_that_has_vectors_gives_those_that_negatives_are_compared_by(encoder):
    given, _ = judged(encoder)
    loaded = []
    counted = source(list(given.papers()), model=lambda: loaded.append(1) or encoder)
    options = {**NONE_MADE, "most_alike": 0.9999, "most_score": 9.0, "negatives": 20}
    made = build("mined", counted, by="bm25 base", **options)
    assert made
    assert len(loaded) == 1
    build("mined", counted, by="bm25", **options)
    assert len(loaded) == 2
