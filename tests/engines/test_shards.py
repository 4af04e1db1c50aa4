"""An index in three parts ranks and counts as one in a single part."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from search_plugin.contract.plan import Plan, VectorClause
from search_plugin.engines.registry import connect
from tests.engines.conftest import DIMENSION, NEWEST_CLUSTERS, SCHEMA, documents, facets_of
from tests.search_plugin.filters.filtered import exact_filter


@pytest.fixture
def parts(engine):
    """The same papers in one part and in three, three of them alike."""
    written = documents(400)
    twins = [replace(written[0], paper=replace(written[0].paper, id=id_, title="neutrino")) for id_ in "zamb"]
    made = []
    for shards in (1, 3):
        server = connect(engine.url, replace(engine.cluster.connection, shards=shards))
        index = server.build(f"of-{shards}", SCHEMA, "source")
        index.upsert([*written, *twins])
        index.finish()
        made.append(index)
    settings = engine.cluster.call("GET", f"/{made[1].physical}/_settings")
    assert settings[made[1].physical]["settings"]["index"]["number_of_shards"] == "3"
    return made


@pytest.mark.parametrize("engine", NEWEST_CLUSTERS, indirect=True)
def test_three_parts_are_as_one(parts):
    one, three = parts
    query = np.random.default_rng(5).standard_normal(DIMENSION).astype(np.float32)
    vectors = (VectorClause("prx", query), VectorClause("clf", query[:8]))
    for where in (None, exact_filter("year>=2000 and not journal=Nature")):
        for exact in (False, True):
            plan = Plan("neutrino virus protein", vectors, where, 60, exact)
            legs = [index.search(plan) for index in parts]
            for leg in plan.legs:
                first, second = ([hit.id for hit in found[leg]] for found in legs)
                assert first == second
                assert [hit.score for hit in legs[1][leg]] == pytest.approx([h.score for h in legs[0][leg]], abs=1e-5)
                assert len(first) == 60
            assert [hit.id for hit in legs[1]["lexical"] if hit.id in "zamb"] == ["a", "b", "m", "z"][
                : 0 if where else 4
            ]
        found = [hit.id for hit in legs[0]["prx"]]
        counts = [facets_of(index, plan, found, ["venue", "year", "authors", "id"], 10) for index in parts]
        assert counts[0] == counts[1]
    assert one.count() == three.count() == three.count("clf") == 404
    assert sorted(one.ids()) == sorted(three.ids())
