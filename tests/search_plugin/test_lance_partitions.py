import lancedb
import numpy as np
import pyarrow as pa
import pytest

from search_plugin.engines.lance_index import PARTITION
from search_plugin.engines.lance_legs import PROBES
from search_plugin.engines.registry import connect
from search_plugin.plan import Plan, VectorClause
from search_plugin.schema import IndexSchema, paper_vector

WIDTH = 32
PAPERS = 160_000  # of which LanceDB by itself makes some 40 partitions


@pytest.fixture
def index(tmp_path):
    """An index of random vectors, their rows written by LanceDB itself: 160,000 papers would take a minute."""
    schema = IndexSchema("none", "none", (paper_vector("prx", WIDTH, "cosine"),))
    connect(f"lance:{tmp_path}").build("papers", schema, "test")
    (name,) = lancedb.connect(tmp_path).list_tables().tables
    table = lancedb.connect(tmp_path).open_table(name)
    vectors = np.random.default_rng(0).standard_normal((PAPERS, WIDTH)).astype(np.float32)
    given = {
        "id": pa.array(map(str, range(PAPERS))),
        "prx": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), WIDTH),
    }
    rows = [given.get(field.name, pa.nulls(PAPERS, field.type)) for field in table.schema]
    table.add(pa.table(rows, schema=table.schema))
    index = connect(f"lance:{tmp_path}").build("papers", schema, "test")
    index.finish()
    return index


def test_partitions_are_searched_exactly_up_to_the_size_that_is_promised(index):
    assert PARTITION * PROBES >= 160_000
    for query in np.random.default_rng(1).standard_normal((20, WIDTH)).astype(np.float32):
        found, exact = (
            index.search(Plan("", (VectorClause("prx", query),), None, 100, exact=exact))["prx"]
            for exact in (False, True)
        )
        assert len(exact) == 100
        assert {hit.id for hit in found} == {hit.id for hit in exact}
