"""A model ranks again what any engine found, and all of it can be read page by page."""

from __future__ import annotations

import numpy as np

from search_plugin import reading
from search_plugin.contract.legs import RERANKED
from search_plugin.contract.trace import Clock
from search_plugin.request import SearchRequest
from search_plugin.search import prepare_search, search, similar
from tests.engines.conftest import opened
from tests.engines.test_search import ENCODER, PAPERS

filled = opened


class ByLength:
    """Prefers short papers."""

    @staticmethod
    def scores(query, texts):
        assert query
        return np.array([-len(text) for text in texts], dtype=np.float32)


def loaded(name):
    assert name == "by-length"
    return ByLength()


def length(hit):
    return len(f"{hit.paper.title} {hit.paper.abstract}".strip())


def test_the_best_papers_are_ranked_again(filled):
    request = SearchRequest("virus lung", size=25)
    plain = search(filled, request, ENCODER)
    wanted = SearchRequest("virus lung", size=25, rerank="by-length", rerank_depth=10)
    page = search(filled, wanted, ENCODER, loaded)
    assert (page.rerank, page.candidates) == ("by-length", plain.candidates)
    first = sorted(plain.hits[:10], key=length)
    assert [length(hit) for hit in page.hits[:10]] == [length(hit) for hit in first]
    assert {hit.id for hit in page.hits[:10]} == {hit.id for hit in first}
    assert [hit.id for hit in page.hits[10:]] == [hit.id for hit in plain.hits[10:]]
    assert [hit.legs[RERANKED].raw for hit in page.hits[:10]] == [-length(hit) for hit in page.hits[:10]]
    assert all(RERANKED not in hit.legs for hit in page.hits[10:])
    assert all(hit.paper == PAPERS[hit.id] for hit in page.hits)


def test_papers_like_one_are_ranked_again(filled):
    paper = next(iter(PAPERS))
    request = SearchRequest("x", mode="vector", size=9, rerank="by-length", rerank_depth=9)
    page = similar(filled, paper, request, loaded)
    assert [length(hit) for hit in page.hits] == sorted(map(length, page.hits))


def test_all_results_are_read_in_the_new_order(filled):
    clock = Clock()
    request = SearchRequest("virus lung", size=7, rerank="by-length", rerank_depth=20)
    state = prepare_search(filled, request, ENCODER, clock, loaded)
    read = [hit for page in reading.pages(state, clock) for hit in page.hits]
    assert len({hit.id for hit in read}) == len(read) > 100
    assert [length(hit) for hit in read[:20]] == sorted(map(length, read[:20]))
    assert read[0].legs[RERANKED].rank == 1
