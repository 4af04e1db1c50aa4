"""Search templates for an index of others, in the names of its own fields."""

from __future__ import annotations

import numpy as np
import pytest

from corpora.errors import InputError
from search_plugin.contract.plan import Plan, VectorClause
from search_plugin.contract.tree import Compare
from search_plugin.engines.cluster.frontends.index_artifacts import installation_of
from search_plugin.engines.cluster.frontends.page_request import page_request
from search_plugin.request import SearchRequest
from tests.engines.foreign import ALIAS, ATTACHED


def test_templates_of_an_attached_index_search_its_own_fields(attached):
    index = attached.index
    wanted = installation_of(index)
    done = {one.name: one.change for one in wanted.install()}
    assert "ses-catalogue-mappings" not in done  # the owner's templates stay as they are
    assert {one.change for one in wanted.difference()} <= {"unchanged", "left out"}
    vector = np.ones(index.schema.vector("prx").dimension, np.float32)
    request = SearchRequest("", size=7, facets=("venue", "authors"), facet_size=5)
    page = page_request(index, Plan("virus", (VectorClause("prx", vector),), Compare("year", ">=", 1995), 100), request)
    assert "title_abstract" not in str(wanted.wanted[-2])
    if index.cluster.product.kind == "opensearch":
        given = {"words": "virus", "vector": vector.tolist(), "size": 7, "facet_size": 6}
        given |= {"filters": [{"range": {"pub_year": {"gte": 1995}}}], "facets": {"venue": True, "authors": True}}
        asked = {"id": "ses-catalogue-hybrid", "params": given}
        params = {"search_pipeline": "ses-catalogue-minmax"}
        theirs = index.cluster.call("POST", f"/{ALIAS}/_search/template", asked, params=params)
        ours = index.cluster.call("POST", page.path, page.body)
        assert theirs["hits"] == ours["hits"]
        assert len(theirs["hits"]["hits"]) == 7
        assert theirs["aggregations"]["all"]["matches"].pop("none") == {"doc_count": 0}
        assert theirs["aggregations"] == ours["aggregations"]
    wanted.remove()
    assert list(wanted.there()) == []
    with pytest.raises(InputError, match="is attached, so its owner has templates for it"):
        installation_of(index, patterns=["catalogue-*"])


def test_vectors_beside_the_documents_are_refused_in_one_sentence(library):
    library.attach(ALIAS, **ATTACHED, beside=True)
    for act in (library.cluster.install, library.cluster.diff):
        with pytest.raises(InputError, match="are beside its documents, so no single request can search both; attach"):
            act(ALIAS)
    assert library.cluster.remove(ALIAS) == []
