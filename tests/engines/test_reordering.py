"""Neighbours and added words on every engine, by formulas over the pages without them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from search_plugin.contract.plan import Plan, TermVariant
from search_plugin.filters.parse import parse_filter
from search_plugin.request import SearchRequest
from search_plugin.search import search
from search_plugin.words.terms import terms_of
from tests.engines.conftest import by_http_too, facets_of, opened
from tests.engines.test_search import ENCODER, MATRIX, PAPERS, WRITTEN

ROWS = {given.paper.id: row for given, row in zip(WRITTEN, MATRIX, strict=True)}


filled = opened


def asked(**changed):
    """A search for all papers of some years, which are few enough for one page."""
    where = parse_filter("year>=2012")
    request = SearchRequest("virus lung", size=70, window=70, exact=True, neighbours=0, filter=where, verbatim=True)
    return replace(request, **changed)


def scores_of(page):
    return {hit.id: hit.score for hit in page.hits}


def by_neighbours(scores, weight, fusion):
    """Scores mixed with those of the five nearest papers, and with the closeness to the first, paper by paper."""
    pool = sorted(scores, key=lambda id_: (-scores[id_], id_))[:50]
    mixed = {id_: (1 - weight) * score for id_, score in scores.items()}
    to_first = {id_: float(ROWS[id_] @ ROWS[pool[0]]) for id_ in pool}
    low, high = min(to_first.values()), max(to_first.values())
    largest = 1.0 if fusion == "minmax" else scores[pool[0]]
    for id_ in pool:
        cosines = {other: float(ROWS[id_] @ ROWS[other]) for other in pool if other != id_}
        near = sorted(cosines, key=lambda other: -cosines[other])[:5]
        shares = np.maximum([cosines[other] for other in near], 0)
        mean = (shares @ [scores[other] for other in near]) / shares.sum()
        mixed[id_] += weight * (2 * mean + largest * (to_first[id_] - low) / (high - low)) / 3
    return mixed


@by_http_too
@pytest.mark.parametrize("fusion", ["minmax", "rrf"])
def test_scores_are_mixed_with_those_of_the_nearest_papers(filled, fusion):
    plain = search(filled, asked(fusion=fusion), ENCODER)
    mixed = search(filled, asked(fusion=fusion, neighbours=0.3), ENCODER)
    assert 50 < plain.candidates == len(plain.hits) == len(mixed.hits)  # so all of them are on the page
    expected = by_neighbours(scores_of(plain), 0.3, fusion)
    assert scores_of(mixed) == pytest.approx(expected, abs=1e-5)
    assert [hit.score for hit in mixed.hits] == sorted(scores_of(mixed).values(), reverse=True)
    assert [hit.id for hit in mixed.hits] != [hit.id for hit in plain.hits]
    assert sum("neighbours" in hit.legs for hit in mixed.hits) == 50
    for hit in mixed.hits:
        assert sum(part.value for part in hit.legs.values()) == pytest.approx(hit.score, abs=1e-6)
        given = hit.legs.get("neighbours")
        assert given is None or given.value == pytest.approx(0.3 * given.raw)


def relevance_model(scores, papers, length):
    """Weights of the twenty likeliest terms of the first ten papers (RM3 with a share of one half), by term."""
    likely = Counter()
    for id_ in sorted(scores, key=lambda id_: (-scores[id_], id_))[:10]:
        terms = [term for term in terms_of(f"{papers[id_].title} {papers[id_].abstract}") if term]
        for term in terms:
            likely[term] += scores[id_] / len(terms)
    best = sorted(likely, key=lambda term: (-likely[term], term))[:20]
    return {term: length * likely[term] / sum(likely[one] for one in best) for term in best}


@by_http_too
def test_likely_words_of_the_first_papers_are_searched_too(filled):
    plain, wider = (search(filled, asked(expand=expand), ENCODER) for expand in (False, True))
    weights = relevance_model(scores_of(plain), PAPERS, 2)
    # The score of added words is a sum, so each of them can be searched alone.
    expected = Counter()
    for words, weight in [("virus lung", 1.0), *weights.items()]:
        for hit in filled.search(Plan(words, (), asked().filter, 200))["lexical"]:
            expected[hit.id] += weight * hit.score
    found = {hit.id: hit.legs["lexical"].raw for hit in wider.hits if "lexical" in hit.legs}
    assert len(found) > len([hit for hit in plain.hits if "lexical" in hit.legs])
    assert found == pytest.approx({id_: expected[id_] for id_ in found}, rel=1e-4)
    assert {id_ for id_, score in expected.items() if score > min(found.values()) + 1e-4} <= found.keys()
    assert any("Words of the first papers are searched too, such as " in note for note in wider.notes)


def test_the_reranker_complete_searches_the_added_words_too(filled):
    pages = [search(filled, asked(expand=True, rerank=rerank), ENCODER) for rerank in ("", "complete")]
    first, again = ({hit.id: hit.legs["lexical"].raw for hit in page.hits if "lexical" in hit.legs} for page in pages)
    assert again == pytest.approx({**again, **first}, rel=1e-4)


def test_added_words_are_not_counted_in_facets(filled):
    plan = Plan("virus", (), None, 10)
    wider = replace(plan, added=(TermVariant("lung"), TermVariant("galaxy brain", 2.0)))
    assert facets_of(filled, wider, [], ["year"], 50) == facets_of(filled, plan, [], ["year"], 50)
    every = {hit.id for hit in filled.search(replace(wider, window=200))["lexical"]}
    assert every > {hit.id for hit in filled.search(replace(plan, window=200))["lexical"]}
