"""The Python API is the same on every engine."""

import pytest

import ses
from tests.engines.conftest import every_stored
from tests.tiny import make_model, papers


@every_stored
def test_indexes_searches_goes_back_and_drops(engine, tmp_path):
    model = make_model(tmp_path / "model")
    library = ses.open(engine.url, model=str(model), data_dir=tmp_path / "data", cache_dir=tmp_path / "cache")
    some = papers(30)
    assert library.index("papers", some).new == 30
    index = library["papers"]
    page = index.search("virus lung", filter="year>=1995", facets=["journal"], size=3)
    assert [hit.rank for hit in page] == [1, 2, 3]
    assert all(hit.paper.year >= 1995 for hit in page)
    assert page.facets.counts["journal"]
    assert index.show(page[0].id).title == page[0].title
    assert page[0].id not in [hit.id for hit in index.similar(page[0].id)]
    assert (library.indexes(), len(index), "p00001" in index) == (["papers"], 30, True)
    with pytest.raises(ses.NotFoundError, match="choose one of papers"):
        library["others"]
    with engine.lock("papers"), pytest.raises(ses.ConflictError, match="Another run is writing the index papers"):
        library.index("papers", some[:2])
    library.index("papers", some[:20], fresh=True)
    assert len(library["papers"]) == 20
    assert len(library.rollback("papers")) == 30
    library.drop("papers")
    assert library.indexes() == []
