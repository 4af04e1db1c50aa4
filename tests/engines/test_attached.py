"""Indexes of others: vectors are added to them, they are searched where they are, and restored."""

from __future__ import annotations

import numpy as np
import orjson
import pytest

import ses
from corpora.errors import InputError, NotFoundError, StoppedError, UnavailableError
from tests.commands import ses as command
from tests.engines.conftest import every_version
from tests.engines.foreign import ALIAS, ATTACHED, INDEXES, MAPPING, document, drop, make, sources, write
from tests.tiny import make_model


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("attached") / "model")


@pytest.fixture
def library(server, model, tmp_path):
    """A library of the server, beside somebody else's catalogue."""
    drop(server.cluster)
    make(server.cluster)
    yield opened(server, model, tmp_path)
    drop(server.cluster)


def opened(server, model, folder):
    return ses.open(server.url, model=str(model), data_dir=folder, cache_dir=folder / "cache")


@pytest.fixture
def attached(library):
    report = library.attach(ALIAS, **ATTACHED)
    assert (report.new, report.rejected, report.papers) == (60, 0, 60)
    return library[ALIAS]


def matching(test):
    return {f"id-{n}" for n in range(60) if test(document(n))}


@every_version
def test_documents_are_as_they_were_after_detaching(server, library):
    before, mapping = sources(server.cluster), server.cluster.call("GET", f"/{ALIAS}/_mapping")
    library.attach(ALIAS, **ATTACHED)
    during = {key: orjson.loads(source) for key, source in sources(server.cluster).items()}
    assert all(set(source) - {"ses"} == set(orjson.loads(before[key])) for key, source in during.items())
    assert {key: orjson.dumps({n: v for n, v in one.items() if n != "ses"}) for key, one in during.items()} == before
    done = library.detach(ALIAS)
    assert (done.restored, done.left) == (60, INDEXES)
    assert sources(server.cluster) == before
    after = server.cluster.call("GET", f"/{ALIAS}/_mapping")
    for index in INDEXES:
        assert after[index]["mappings"]["properties"].pop("ses")
    assert after == mapping
    assert ALIAS not in library
    assert server.cluster.call("GET", "/ses.attached*") == {}


@every_version
def test_all_legs_find_what_the_index_has(attached):
    number = 17
    title = attached.show(f"id-{number}").title
    assert title == document(number)["title_t"]
    for mode in ("hybrid", "lexical"):
        assert attached.search(title, mode=mode).hits[0].id == f"id-{number}"
    page = attached.search(title, mode="vector", size=20)
    assert len(page.hits) == 20
    exact = attached.search(title, mode="vector", size=20, exact=True)
    assert all(abs(a.score - b.score) < 1e-5 for a, b in zip(exact, page, strict=True))


@every_version
@pytest.mark.parametrize(
    ("filter_", "test"),
    [
        ("year>=2005", lambda one: one["pub_year"] >= 2005),
        ("journal=nature", lambda one: one["journal"]["name"] == "Nature"),
        ("shelf='B 1' and not year<2000", lambda one: one["extra"]["shelf"] == "B 1" and one["pub_year"] >= 2000),
        ("author='Sample, Ana'", lambda one: bool(one["authors"])),
        ("not author='Bo Example1'", lambda one: all(a["name"] != "Bo Example1" for a in one["authors"])),
        ("shelf='B 2'", lambda one: one["extra"]["shelf"] == "B 2"),
        ("acquired=2020-03", lambda one: one["acquired"].startswith("2020-03")),
        ("acquired=2020-03-15", lambda one: one["acquired"].startswith("2020-03-15")),
        ("acquired>2020-03-15", lambda one: one["acquired"] > "2020-03-16"),
        ("authors exists", lambda one: bool(one["authors"])),
        ("id=id-7", lambda one: one == document(7)),
        ("doi=10.1000/abc.7", lambda one: one == document(7)),
        ("text says 'cafe 7'", lambda one: one == document(7)),
    ],
)  # fmt: skip
def test_filters_hold_for_every_leg(attached, filter_, test):
    expected = matching(test)
    assert expected
    listed = attached.search(filter=filter_, size=60)
    assert {hit.id for hit in listed} == expected
    assert listed.candidates == len(expected)
    nearest = attached.search("virus lung", mode="vector", filter=filter_, size=60, literal=True)
    assert {hit.id for hit in nearest} == expected


@every_version
def test_facets_highlights_and_records_are_those_of_the_index(attached):
    page = attached.search(filter="year>=1990", facets=["year", "author", "shelf", "journal"], size=60)
    documents = [document(n) for n in range(60)]
    shelves = sorted({one["extra"]["shelf"] for one in documents})
    counts = page.facets.counts
    assert dict(counts["shelf"]) == {s: sum(one["extra"]["shelf"] == s for one in documents) for s in shelves}
    assert dict(counts["author"])["Ana Sample"] == sum(bool(one["authors"]) for one in documents)
    assert dict(counts["year"])[1991] == 3
    assert dict(counts["journal"]) == {"Nature": 30, "The Lancet": 30}
    years = [hit.paper.year for hit in page]
    assert years == sorted(years, reverse=True)
    hit = attached.search("cafe", mode="lexical").hits[0]
    assert "Café" in hit.paper.abstract
    paper = attached.show("10.1000/ABC.11")
    assert (paper.id, paper.authors, paper.venue) == ("id-11", ("Ana Sample", "Bo Example2"), "Nature")
    assert paper.extra == {"shelf": ("B 3",), "acquired": "2020-12-15T23:30:00Z"[:10]}
    assert attached.show("id-9").title == document(9)["title_t"][0]


@every_version
def test_misspelled_words_and_other_spellings_are_searched(attached):
    page = attached.search("viurs", mode="lexical", size=60)
    assert page.notes == ('No paper says "viurs": searched for "virus". Search verbatim for the words as typed.',)
    found = {hit.id for hit in attached.search("virus", mode="lexical", size=60, verbatim=True)}
    assert {hit.id for hit in page} == found
    synonyms = {("xyzzy",): ("virus",)}
    assert {hit.id for hit in attached.search("xyzzy", mode="lexical", size=60, synonyms=synonyms)} == found
    assert attached.search("xyzzy", mode="lexical").hits == ()


@every_version
def test_an_author_and_similar_papers_are_found(attached):
    page = attached.search("papers by Bo Example2", size=60)
    assert {hit.id for hit in page} == {
        f"id-{n}" for n in range(60) if any(a["name"] == "Bo Example2" for a in document(n)["authors"])
    }
    similar = attached.similar("10.1000/abc.3", size=5)
    assert len(similar.hits) == 5
    assert "id-3" not in {hit.id for hit in similar}


@every_version
def test_an_update_follows_the_owner(server, library, attached):
    cluster = server.cluster
    vectors = attached.index.vectors(["id-1", "id-3", "id-5"], "prx")
    changed = {**document(3), "title_t": "Ocean climate"}
    write(cluster, INDEXES[0], {"id-3": changed, "id-4": document(4)})  # whole, so the vectors are gone
    write(cluster, INDEXES[1], {"id-100": document(100)})
    cluster.call("POST", f"/{INDEXES[0]}/_update/id-5", {"doc": {"title_t": "Galaxy star"}}, params={"refresh": True})
    cluster.call("POST", f"/{INDEXES[0]}/_update/id-6", {"doc": {"pub_year": 2001}}, params={"refresh": True})
    cluster.call("DELETE", f"/{INDEXES[0]}/_doc/id-7", params={"refresh": True})
    assert attached.show("id-6").year == 2001
    assert "id-100" in {hit.id for hit in attached.search(document(100)["title_t"], mode="lexical")}
    with pytest.raises(UnavailableError, match="The document id-100 has no vector yet"):
        attached.similar("id-100")
    report = library.follow(ALIAS)
    assert (report.new, report.updated, report.unchanged, report.papers) == (3, 1, 56, 60)
    now = attached.index.vectors(["id-1", "id-3", "id-5"], "prx")
    assert [bool(np.allclose(now[id_], vectors[id_], atol=1e-5)) for id_ in now] == [id_ == "id-1" for id_ in now]
    assert attached.similar("id-100", size=1).hits
    again = library.follow(ALIAS)
    assert (again.updated, again.unchanged) == (0, 60)


@every_version
def test_an_index_that_can_not_hold_vectors_gets_a_companion(server, library):
    cluster = server.cluster
    drop(cluster)
    opensearch = cluster.product.kind == "opensearch"
    mapping = MAPPING if opensearch else {**MAPPING, "_source": {"excludes": ["unsearched"]}}
    make(cluster, knn=False, mapping=mapping)
    before = sources(cluster)
    report = library.attach(ALIAS, **ATTACHED)
    assert (report.new, report.papers) == (60, 60)
    assert sources(cluster) == before
    reason = "was made without index.knn" if opensearch else "keeps some fields out of _source"
    assert reason in library.describe(ALIAS).attached
    index = library[ALIAS]
    expected = matching(lambda one: one["pub_year"] >= 2005 and bool(one["authors"]))
    for options in ({"mode": "vector"}, {"mode": "hybrid", "window": 60}):
        page = index.search("virus", filter="year>=2005 and author='Ana Sample'", size=60, **options)
        assert {hit.id for hit in page} == expected
    cluster.call("DELETE", f"/{INDEXES[0]}/_doc/id-7", params={"refresh": True})
    page = index.search("virus", mode="vector", size=60)
    assert ("id-7" in {hit.id for hit in page}, page.candidates) == (False, 59)
    write(cluster, INDEXES[0], {"id-8": {**document(8), "pub_year": 1850}})
    report = library.follow(ALIAS)
    assert (report.updated, report.unchanged, report.deleted, report.papers) == (1, 58, 1, 59)
    assert [hit.id for hit in index.search("virus", mode="vector", filter="year=1850")] == ["id-8"]
    assert index.similar("id-9", size=3).hits
    before = sources(cluster)
    done = library.detach(ALIAS)
    assert (done.restored, done.left) == (0, ())
    assert sources(cluster) == before
    assert cluster.call("GET", "/ses.attached*") == {}


def test_nobody_else_s_index_is_changed_by_other_commands(server, library, attached, tmp_path):
    before = sources(server.cluster)
    with pytest.raises(InputError, match="no corpus can be indexed into it"):
        library.index(ALIAS, [{"id": "x", "title": "New"}])
    with pytest.raises(InputError, match="its owner deletes its documents"):
        attached.delete(["id-1"])
    with pytest.raises(InputError, match="can't be dropped; detach it"):
        library.drop(ALIAS)
    with pytest.raises(InputError, match="ses can't build an index of this name"):
        library.rebuild(ALIAS)
    with pytest.raises(InputError, match="a copy needs"):
        library.copy(ALIAS, "other")
    with pytest.raises(InputError, match="its owner writes its fields"):
        library.update(ALIAS, {"id-1": {"shelf": ("C",)}})
    assert sources(server.cluster) == before


def test_attached_indexes_are_listed_and_diagnosed(server, library, attached):
    assert library.indexes() == [ALIAS]
    assert library.default().name == ALIAS
    facts = library.describe(ALIAS)
    assert (facts.papers, facts.vectors, facts.attached) == (60, {"prx": 60}, "to catalogue, vectors in its documents")
    write(server.cluster, INDEXES[1], {"id-100": document(100)})
    (found,) = server.diagnose(ALIAS).indexes
    assert (found.papers, found.model) == (60, attached.index.schema.model)
    assert found.troubles == (
        "In the attached index catalogue, 1 of 61 documents have no vector; attach it with <update>.",
    )
    assert server.diagnose().indexes == (found,)
    drop(server.cluster)
    (found,) = server.diagnose().indexes
    assert "has no index catalogue any more, to which catalogue is attached" in found.troubles[0]
    with pytest.raises(UnavailableError, match="bring it back, or detach it"):
        library[ALIAS].search("x")
    assert library.detach(ALIAS).restored == 0


def test_a_new_index_behind_the_alias_is_told_and_attached_by_an_update(server, library, attached):
    cluster = server.cluster
    cluster.call("DELETE", f"/{INDEXES[1]}")
    make_one(cluster, INDEXES[1], range(40, 45))
    with pytest.raises(UnavailableError, match="the index catalogue-b has no vectors yet; attach it again with update"):
        library[ALIAS].search("virus")
    report = library.follow(ALIAS)
    assert (report.new, report.updated, report.unchanged) == (5, 0, 40)
    assert library[ALIAS].search("virus").hits


def make_one(cluster, name, numbers):
    mappings = {"properties": MAPPING["properties"]}
    body = {
        "settings": {"index": {"knn": True}} if cluster.product.kind == "opensearch" else {},
        "aliases": {ALIAS: {}},
    }
    text = orjson.dumps({**body, "mappings": mappings}).replace(b',"analyzer":"house"', b"")
    cluster.call("PUT", f"/{name}", text)
    write(cluster, name, {f"id-{n}": document(n) for n in numbers})


def test_documents_that_are_no_papers_are_listed(server, library):
    write(server.cluster, INDEXES[0], {"untitled": {"summary_t": "No title here"}, "id-50": document(50)})
    report = library.attach(ALIAS, **ATTACHED)
    assert (report.new, report.duplicates, report.rejected) == (59, 1, 2)
    reasons = report.dead_letter.read_text()
    assert "The record has no title." in reasons
    assert "Two documents have this id, in catalogue-a and catalogue-b" in reasons
    assert library[ALIAS].search("title here", mode="lexical").candidates == 0


def test_attaching_resumes_and_may_change_the_fields(library, attached):
    report = library.attach(ALIAS, title="title_t", abstract="summary_t", fields={"shelf": "extra.shelf"})
    assert (report.new, report.updated, report.unchanged) == (0, 0, 60)
    assert [field.name for field in library[ALIAS].index.schema.fields] == ["id", "title", "abstract", "shelf"]
    with pytest.raises(InputError, match="There is no field 'year'"):
        library[ALIAS].search("virus", filter="year>2000")
    assert library[ALIAS].search(size=3).hits
    assert library.attach(ALIAS, title="title_t").updated == 60 - sum(not document(n)["summary_t"] for n in range(60))


def test_another_model_has_to_be_attached_anew(server, library, attached, tmp_path):
    other = opened(server, make_model(tmp_path / "other", seed=7, width=32), tmp_path)
    with pytest.raises(InputError, match="catalogue is attached with the model"):
        other.attach(ALIAS, **ATTACHED)
    before = sources(server.cluster)
    library.detach(ALIAS)
    assert other.attach(ALIAS, **ATTACHED).new == 60
    assert other[ALIAS].search("virus", mode="vector").hits
    other.detach(ALIAS)
    library.attach(ALIAS, **ATTACHED)
    assert sources(server.cluster) == before


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"title": "name"}, "catalogue has no field name for title; its fields are acquired, authors, doi_s"),
        ({"title": "authors.name"}, "is in nested objects, so it can't be the title"),
        ({"title": "doi_s"}, "is of the type keyword, and title has to be text"),
        ({"fields": {"place": "place"}}, "is of the type geo_point, which ses can't search by"),
        ({"fields": {"journal": "journal"}}, "is an object; name one of its fields, such as journal.name"),
        ({"fields": {"year": "doi_s"}}, "year has to be a number or a date"),
        ({"fields": {"venue": "summary_t"}}, "is analysed text, whose values can't be compared"),
        ({"fields": {"x": "unsearched"}}, "is not indexed there"),
        ({"fields": {"journal": "doi_s", "venue": "doi_s"}}, "The field venue is given twice"),
        ({"fields": {"id": "doi_s"}}, "A document's id is that of the index"),
        ({"fields": {"and": "doi_s"}}, "A field can't be named 'and'"),
    ],
)
def test_fields_that_can_not_serve_are_refused_in_a_sentence(server, library, given, message):
    before = server.cluster.call("GET", f"/{ALIAS}/_mapping")
    with pytest.raises(InputError, match=message):
        library.attach(ALIAS, **{"title": "title_t", **given})
    assert server.cluster.call("GET", f"/{ALIAS}/_mapping") == before
    assert ALIAS not in library


def test_what_can_not_be_attached_is_told(server, library, tmp_path):
    cluster = server.cluster
    with pytest.raises(NotFoundError, match="has no index nowhere"):
        library.attach("nowhere")
    with pytest.raises(NotFoundError, match=r"No index 'nowhere' of .* is attached"):
        library.detach("nowhere")
    with pytest.raises(InputError, match="Only an index of OpenSearch or Elasticsearch"):
        ses.open(tmp_path / "folder").attach("x")
    library.index("mine", [{"id": "x", "title": "New"}])
    with pytest.raises(InputError, match="There is an index mine of ses already"):
        library.attach("mine")
    with pytest.raises(InputError, match="mine is an index of ses already"):
        library.attach("mine", name="other")
    cluster.call("PUT", f"/{INDEXES[0]}/_mapping", {"properties": {"extra": {"properties": {"n": {"type": "long"}}}}})
    cluster.call("PUT", f"/{INDEXES[1]}/_mapping", {"properties": {"extra": {"properties": {"n": {"type": "text"}}}}})
    with pytest.raises(InputError, match="is not the same in all indexes behind catalogue"):
        library.attach(ALIAS, title="title_t", fields={"n": "extra.n"})


def test_a_read_only_index_gets_a_companion(server, library):
    cluster = server.cluster
    cluster.call("PUT", f"/{ALIAS}/_settings", {"index": {"blocks.write": True}})
    report = library.attach(ALIAS, **ATTACHED)
    assert report.papers == 60
    assert "is read-only (index.blocks.write)" in library.describe(ALIAS).attached


def test_a_field_of_the_same_name_is_left_alone(server, library):
    cluster = server.cluster
    cluster.call("PUT", f"/{INDEXES[0]}/_mapping", {"properties": {"ses": {"type": "keyword"}}})
    library.attach(ALIAS, **ATTACHED)
    assert "the index catalogue-a has a field ses of its own" in library.describe(ALIAS).attached


def test_a_mapping_that_is_full_gets_a_companion(server, library):
    server.cluster.call("PUT", f"/{ALIAS}/_settings", {"index": {"mapping.total_fields.limit": 19}})
    library.attach(ALIAS, **ATTACHED)
    assert "Limit of total fields [19] has been exceeded" in library.describe(ALIAS).attached
    assert library[ALIAS].search("virus").hits


def test_years_may_be_dates(library):
    library.attach(ALIAS, title="title_t", fields={"year": "acquired"})
    index = library[ALIAS]
    for filter_, count in (
        ("year=2020", 60),
        ("year>2020", 0),
        ("year<=2020", 60),
        ("year<2020", 0),
        ("year>=2020", 60),
    ):
        assert index.search(filter=filter_, size=0).candidates == count
    page = index.search(filter="year in (2020, 2019)", facets="year", size=1)
    assert page.facets.counts["year"] == ((2020, 60),)
    assert page.hits[0].paper.year == 2020


def test_routed_documents_are_found_again(server, library):
    body = {**document(200)}
    server.cluster.call("PUT", f"/{INDEXES[0]}/_doc/routed", body, params={"routing": "elsewhere", "refresh": True})
    before = sources(server.cluster)
    assert library.attach(ALIAS, **ATTACHED).papers == 61
    library.detach(ALIAS)
    assert sources(server.cluster) == before


def test_the_commands_say_what_was_done(server, library, model, tmp_path):
    before = sources(server.cluster)
    made = {"SES_MODEL": str(model)}
    url = f"{server.url}/{ALIAS}"
    given = ["--title", "title_t", "--abstract", "summary_t", "--facet", "year=pub_year"]
    done = command(tmp_path, "attach", url, *given, **made)
    assert done.returncode == 0, done.stderr
    assert (
        "Index catalogue, attached to catalogue, vectors in its documents: 60 papers\n60 new, 0 changed" in done.stdout
    )
    done = command(tmp_path, "attach", ALIAS, "--update", "--json", "--engine", server.url, **made)
    told = orjson.loads(done.stdout)
    assert (told["unchanged"], told["attached"]) == (60, "to catalogue, vectors in its documents")
    done = command(tmp_path, "search", "virus", "--index", ALIAS, "--json", SES_ENGINE=server.url, **made)
    assert orjson.loads(done.stdout)["hits"]
    done = command(tmp_path, "indexes", "list", "--engine", server.url)
    assert done.stdout.rstrip().endswith("attached")
    done = command(tmp_path, "indexes", "show", ALIAS, "--engine", server.url)
    assert "  attached: to catalogue, vectors in its documents\n" in done.stdout
    done = command(tmp_path, "attach", url, "--update", "--title", "x", **made)
    assert (done.returncode, done.stderr) == (2, "Error: An update keeps the fields; leave them or --update out.\n")
    done = command(tmp_path, "detach", url)
    assert "60 documents are as they were.\nThe unused field ses stays in the mapping of catalogue-a" in done.stdout
    assert sources(server.cluster) == before
    write(server.cluster, INDEXES[0], {"untitled": {"summary_t": "No title here"}})
    done = command(tmp_path, "attach", url, *given, "--beside", **made)
    assert done.returncode == 1
    assert "vectors beside its documents (you asked for it): 60 papers" in done.stdout
    done = command(tmp_path, "detach", url)
    assert done.stdout == "catalogue is detached from catalogue: no document held vectors.\n"


class Stopping:
    """A progress that presses Ctrl-C after the first batch of a stage."""

    def __init__(self, name):
        self.name, self.now = name, ""

    def stage(self, name, total):
        self.now = name

    def advance(self, papers, rejected=0):
        if self.now == self.name and papers:
            raise KeyboardInterrupt


def test_stopped_runs_resume(server, library):
    before = sources(server.cluster)
    with pytest.raises(StoppedError, match=r"Stopped: .* attach it again to resume"):
        library.attach(ALIAS, **ATTACHED, progress=Stopping("indexing"))
    assert library.attach(ALIAS, **ATTACHED).papers == 60
    with pytest.raises(StoppedError, match="still hold vectors; detach it again"):
        library.detach(ALIAS, progress=Stopping("restoring"))
    library.detach(ALIAS)
    assert sources(server.cluster) == before


def test_a_write_of_the_owner_in_between_is_not_lost(server, library):
    class Changing(Stopping):
        def stage(self, name, total):
            if name == "indexing":
                write(server.cluster, INDEXES[0], {"id-3": {**document(3), "title_t": "Galaxy"}})
                server.cluster.call("DELETE", f"/{INDEXES[0]}/_doc/id-4", params={"refresh": True})

        def advance(self, papers, rejected=0):
            pass

    report = library.attach(ALIAS, **ATTACHED, progress=Changing(""))
    assert "It was deleted while it was read." in report.dead_letter.read_text()
    assert library[ALIAS].show("id-3").title == "Galaxy"
    again = library.follow(ALIAS)  # its vector was that of the earlier title
    assert (again.new, again.updated, again.papers) == (0, 1, 59)
