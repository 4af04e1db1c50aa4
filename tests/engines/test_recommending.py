"""Feeds and reviews are the same on every engine."""

import pytest

import ses
from tests.tiny import make_model, papers


@pytest.mark.slow
def test_feeds_and_reviews(engine, tmp_path):
    model = make_model(tmp_path / "model")
    places = [(engine.url, "there"), (tmp_path / "beside", "here")]
    found = []
    for place, name in places:
        library = ses.open(place, model=str(model), data_dir=tmp_path / name, cache_dir=tmp_path / "cache")
        library.index("papers", papers(40))
        library.feeds.create("mine", liked=["p00001", "p00002", "p00008"], disliked=["p00005"], filter="year>=1995")
        library.screening.create("mine", filter="year>=1995")
        library.screening.label("mine", include=["p00008"], exclude=["p00009"])
        entries = library.feeds.show("mine", since="2000", size=40)
        batch = library.screening.next("mine", size=10)
        found.append(
            (
                [(entry.paper.id, [near.id for near in entry.near]) for entry in entries],
                [one.paper.id for one in batch],
                library.screening.status("mine"),
            )
        )
        assert all(entry.paper.year >= 2000 for entry in entries)
    assert found[0] == found[1]
