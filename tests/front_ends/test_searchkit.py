"""Searchkit with the hooks of `examples/searchkit.mjs`, against real clusters."""

from __future__ import annotations

import pytest

from corpora.paper import Paper
from tests.conftest import server_url
from tests.front_ends.clusters import lanes, on_cluster, product

pytestmark = [pytest.mark.serve, pytest.mark.npm, pytest.mark.slow]


@pytest.fixture(scope="module", params=lanes("opensearch", "elasticsearch9"))
def shown(request, tmp_path_factory, node):
    """The index, and what Searchkit answers."""
    accents = Paper("accent", "Accents", venue="Revue de l'Élan")
    with on_cluster(request.param, tmp_path_factory.mktemp("cluster"), accents) as (index, service):
        yield index, node("searchkit.mjs", service, server_url(request.param), product(request.param))


def test_searchkit_ranks_by_words_and_by_meaning(shown):
    index, answers = shown
    both, words = answers["both"], answers["words"]
    assert 0 < len(words["ids"]) < len(both["ids"]) == 61
    # Every paper has a vector, so all of them are found, and those with the word or the nearest vector lead.
    assert both["count"] == 61
    nearest = index.search("galaxy", mode="vector", size=1)[0].id
    assert nearest in both["ids"]
    assert len(set(both["ids"][:5]) & set(words["ids"])) >= 3
    assert any("[galaxy]" in title for title in both["titles"])
    assert answers["second"]["ids"] == both["ids"][10:20]


def test_searchkit_filters_both_sorts_and_completes_values(shown):
    index, answers = shown
    nature = {hit.id for hit in index.search("", filter="venue == Nature", size=60)}
    assert nature == set(answers["nature"]["ids"])
    assert answers["nature"]["facets"] == {"venue": {"Nature": len(nature)}}
    assert set(answers["sorted"]["ids"]) == set(answers["words"]["ids"])
    assert len(answers["listed"]["ids"]) == 5
    assert [one["value"] for one in answers["values"]["facetHits"]] == ["Revue de l'Élan"]
