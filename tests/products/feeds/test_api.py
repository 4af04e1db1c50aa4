"""Feeds: `ses feed` and `library.feeds`."""

import json
import shutil

import pytest
from lxml import etree

import ses
from corpora.paper import Paper
from tests.commands import call, fails, of
from tests.tiny import make_model

TITLES = {
    "v1": "virus lung patient",
    "v2": "virus lung cell",
    "v3": "virus vaccine trial",
    "v4": "lung virus infection patient",
    "g1": "galaxy star quantum",
    "g2": "galaxy star ocean",
    "g3": "star galaxy climate",
    "b1": "brain network model",
}
YEARS = {"v1": 2001, "v2": 2002, "v3": 2020, "v4": 2021, "g1": 2003, "g2": 2020, "g3": 2021, "b1": 2022}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("feeds")
    library = ses.open(model=str(make_model(folder / "model")), data_dir=folder / "data", cache_dir=folder / "cache")
    papers = [
        Paper(
            id_,
            title,
            title,
            year=YEARS[id_],
            identifiers=(f"doi:10.1000/{id_}",),
            extra={"added": f"{YEARS[id_]}-05-01"},
        )
        for id_, title in TITLES.items()
    ]
    library.index("papers", papers, fields={"added": "date"})
    return folder, library


@pytest.fixture
def feeds(home):
    _, library = home
    yield library.feeds
    for name in library.feeds.names():
        library.feeds.delete(name)


@pytest.fixture
def run(home, feeds):
    environment = of(home[0], SES_MODEL=str(home[0] / "model"))
    return lambda *arguments: call(["feed", *arguments], environment)


def ids(entries):
    return [entry.paper.id for entry in entries]


def test_a_feed_ranks_papers_like_those_that_were_liked(feeds):
    feeds.create("lungs", liked=["v1", "v2"])
    entries = feeds.show("lungs")
    assert [entry.rank for entry in entries] == list(range(1, 7))
    assert set(ids(entries)[:2]) == {"v3", "v4"}
    assert not {"v1", "v2"} & set(ids(entries))
    near = entries[ids(entries).index("v4")].near
    assert {one.id for one in near} == {"v1", "v2"}
    assert near[0].cosine >= near[1].cosine > 0
    assert near[0].title == TITLES[near[0].id]


def test_the_explanation_is_the_cosine_of_the_index_s_vectors(home, feeds):
    import numpy as np

    feeds.create("lungs", liked=["v1", "v2", "g1"])
    index = home[1]["papers"].index
    vectors = {id_: v / np.linalg.norm(v) for id_, v in index.vectors(list(TITLES), "prx").items()}
    for entry in feeds.show("lungs"):
        cosines = {one: float(vectors[one] @ vectors[entry.paper.id]) for one in ("v1", "v2", "g1")}
        best = sorted(cosines, key=cosines.get, reverse=True)[:2]
        assert [one.id for one in entry.near] == best
        assert [one.cosine for one in entry.near] == pytest.approx([cosines[one] for one in best], abs=1e-3)


def test_disliked_papers_move_theirs_down(feeds):
    feeds.create("both", liked=["v1", "g1"])
    before = ids(feeds.show("both"))
    feeds.add("both", disliked=["g2"])
    after = ids(feeds.show("both"))
    assert "g2" in before
    assert "g2" not in after
    assert {"v2", "v4"} <= set(after[:3])


def test_only_what_arrived_since_is_ranked(feeds):
    feeds.create("lungs", liked=["v1"])
    assert set(ids(feeds.show("lungs", since="2020"))) == {"v3", "v4", "g2", "g3", "b1"}
    assert set(ids(feeds.show("lungs", since="2021-03"))) == {"v4", "g3", "b1"}
    assert set(ids(feeds.show("lungs", since="2021-05-02", date_field="added"))) == {"b1"}
    assert set(ids(feeds.show("lungs", since="2021-05", date_field="added"))) == {"v4", "g3", "b1"}
    assert feeds.show("lungs", since="2030") == []
    with pytest.raises(ses.InputError, match="The date 'soon' can't be read; write since as 2024"):
        feeds.show("lungs", since="soon")
    with pytest.raises(ses.InputError, match="The field venue is no date and no number; give another date_field"):
        feeds.show("lungs", since="2020", date_field="venue")


def test_a_filter_narrows_a_feed(feeds):
    feeds.create("old", liked=["v1"], filter="year<2010")
    assert set(ids(feeds.show("old"))) == {"v2", "g1"}
    assert ids(feeds.show("old", since="2003")) == ["g1"]
    with pytest.raises(ses.InputError, match="There is no field 'nothing'"):
        feeds.create("wrong", liked=["v1"], filter="nothing=1")


def test_a_query_is_a_feed_too(feeds):
    feeds.create("stars", query="galaxy -ocean")
    entries = feeds.show("stars", since="2003", size=2)
    assert (entries[0].paper.id in ("g1", "g3"), entries[0].near, len(entries)) == (True, (), 2)
    assert "g2" not in ids(feeds.show("stars"))
    with pytest.raises(ses.InputError, match="This feed is a saved query"):
        feeds.add("stars", liked=["v1"])
    with pytest.raises(ses.InputError):
        feeds.create("wrong", query="x" * 10_001)


def test_a_paper_of_a_saved_query_says_which_words_it_holds(feeds):
    feeds.create("stars", query="Galaxies -ocean")
    told = {entry.paper.id: (entry.words, entry.why) for entry in feeds.show("stars")}
    assert told["g1"] == (("galaxy",), ("holds galaxy",))
    assert told["v1"] == ((), ("near in meaning to the query",))
    assert "<i>Holds: galaxy</i>" in feeds.export("stars", "html")


def test_papers_are_named_by_any_identifier(feeds):
    feeds.create("lungs", liked=["https://doi.org/10.1000/v1"])
    assert feeds.get("lungs").liked == ("v1",)
    assert feeds.remove("lungs", ["doi:10.1000/v1"]).liked == ()
    with pytest.raises(ses.InputError, match="This feed has no liked paper to learn from"):
        feeds.show("lungs")


def test_a_paper_that_left_the_index_is_named(home, feeds):
    library = home[1]
    library.index("some", [Paper("x", "A virus"), Paper("y", "A star")])
    feeds.create("gone", index="some", liked=["x"])
    library["some"].delete(["x"])
    with pytest.raises(ses.NotFoundError, match="The index some holds no paper 'x'; search for papers"):
        feeds.show("gone")
    assert feeds.remove("gone", ["x"]).seeds == ()
    library.drop("some")


def test_a_feed_belongs_to_its_engine(home, feeds, tmp_path):
    feeds.create("lungs", liked=["v1"])
    elsewhere = ses.open(tmp_path / "other", data_dir=home[0] / "data", cache_dir=home[0] / "cache")
    with pytest.raises(ses.InputError, match="This feed is over the engine embedded:"):
        elsewhere.feeds.show("lungs")


def test_feeds_and_reviews_work_in_a_folder_that_was_moved(home, tmp_path):
    folder, _ = home
    place, engine = tmp_path / "first", tmp_path / "engine"
    shutil.copytree(folder / "data" / "indexes", place / "indexes")
    options = {"model": str(folder / "model"), "cache_dir": tmp_path / "cache"}
    library = ses.open(data_dir=place, **options)
    library.feeds.create("air", liked=["v1"])
    library.screening.create("review")
    before = ids(library.feeds.show("air"))
    moved = ses.open(data_dir=shutil.move(place, tmp_path / "second"), **options)
    assert ids(moved.feeds.show("air")) == before
    moved.feeds.add("air", liked=["v2"])
    assert moved.feeds["air"].seeds == ("v1", "v2")
    assert moved.screening.status("review").candidates == len(TITLES)
    assert moved.feeds.over(moved.feeds["air"].engine)
    # Not over another engine, nor over the indexes of a copy whose original is there.
    shutil.copytree(tmp_path / "second" / "indexes", engine)
    assert not ses.open(engine, data_dir=tmp_path / "second", **options).feeds.over(moved.feeds["air"].engine)
    shutil.copytree(tmp_path / "second", tmp_path / "third")
    place.mkdir()
    shutil.copytree(engine, place / "indexes")
    with pytest.raises(ses.InputError, match="This feed is over the engine embedded:"):
        ses.open(data_dir=tmp_path / "third", **options).feeds.show("air")


def test_commands(run, tmp_path):
    assert run("list").stdout == "No feeds yet; make one with `ses feed create NAME --like ID`.\n"
    made = run("create", "lungs", "--like", "v1", "--like", "v2", "--title", "Lungs & more")
    assert made.stdout == "The feed lungs is created: 2 liked and 0 disliked papers.\n"
    assert run("add", "lungs", "--dislike", "g1").stdout == "The feed lungs has 2 liked and 1 disliked papers.\n"
    shown = run("show", "lungs", "--since", "2020", "--size", "1").stdout.splitlines()
    assert shown[0].startswith("  1. ")
    assert shown[1].strip() in ("2020 · v3", "2021 · v4")
    assert shown[2].startswith("     near virus lung")
    document = json.loads(run("show", "lungs", "--json").stdout)
    assert document["entries"][0]["near"][0]["cosine"] <= 1
    atom = etree.fromstring(run("export", "lungs").stdout.encode())
    assert atom.findtext("{*}title") == "Lungs & more"
    out = tmp_path / "feed.html"
    assert run("export", "lungs", "--format", "html", "--output", str(out)).stdout == f"The feed lungs is in {out}.\n"
    assert "<h1>Lungs &amp; more</h1>" in out.read_text()
    assert run("list").stdout == "lungs: 2 liked and 1 disliked papers, index papers\n"
    assert run("remove", "lungs", "g1").stdout == "The feed lungs has 2 liked and 0 disliked papers.\n"
    assert run("remove", "lungs", "--all").stdout == "The feed lungs is deleted.\n"


def test_mistakes_are_told_in_a_sentence(run):
    fails(run("create", "lungs", "--like", "nothing"), 2, "The index papers holds no paper 'nothing'; search for it")
    fails(run("create", "lungs", "--like", "v1", "--dislike", "v1"), 2, "'v1' is both liked and disliked; give it once")
    fails(run("create", "Lungs!", "--like", "v1"), 2, "A feed can't be named 'Lungs!'; use up to 64 small letters")
    fails(run("show", "nothing"), 2, "There is no feed 'nothing'; create the first feed")
    run("create", "lungs", "--like", "v1")
    fails(run("show", "lungs", "--size", "0"), 2, "0 is not in the range 1<=x<=500")
    fails(run("show", "lungs", "--since", "x"), 2, "write --since as 2024")
    fails(run("export", "lungs", "--format", "pdf"), 2, "There is no format 'pdf'")
    fails(run("remove", "lungs"), 2, "Give the ids of papers to take out, or --all")
    fails(run("remove", "lungs", "g1"), 2, "The paper 'g1' is not in the feed")
