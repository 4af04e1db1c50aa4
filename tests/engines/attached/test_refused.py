"""What is refused, left alone, listed and said of attached indexes."""

from __future__ import annotations

import orjson
import pytest

import ses
from corpora.errors import InputError, NotFoundError, UnavailableError
from tests.commands import ses as command
from tests.engines.attached.conftest import opened
from tests.engines.conftest import newest_version
from tests.engines.copying import run_with_client
from tests.engines.foreign import ALIAS, ATTACHED, INDEXES, document, drop, sources, write
from tests.tiny import make_model


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
    with pytest.raises(InputError, match="it can't be copied; index its papers with corpus=index"):
        library.copy(ALIAS, "other")
    with pytest.raises(InputError, match="its owner writes its fields"):
        library.update(ALIAS, {"id-1": {"shelf": ("C",)}})
    assert sources(server.cluster) == before


def test_an_index_that_is_not_attached_yet_is_told(server, library):
    with pytest.raises(NotFoundError, match=f"There is no index '{ALIAS}' .*; attach the index of this name first"):
        library[ALIAS]
    with pytest.raises(NotFoundError, match=r"There is no index 'nothing' .*; index some papers first"):
        library["nothing"]


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


@pytest.mark.parametrize("beside", [False, True])
def test_documents_that_no_update_can_give_a_vector_are_told_apart(server, library, beside):
    blank = {
        "empty": {"title_t": "", "summary_t": "Only about a virus"},
        "blank": {"title_t": " "},
        "none": {"pub_year": 1},
    }
    write(server.cluster, INDEXES[0], blank)
    report = library.attach(ALIAS, **ATTACHED, beside=beside)
    assert (report.papers, report.rejected) == (60, 3)
    (found,) = server.diagnose(ALIAS).indexes
    assert (found.details["no_papers"], found.troubles) == (3, ())
    told = "documents that are no papers, so that no update gives them a vector: 3 (The record has neither title "
    told += "nor abstract; The record has no title)"
    assert told in found.lines
    found = library[ALIAS].search("only about a virus", mode="lexical", size=70, verbatim=True)
    assert {hit.id for hit in found}.isdisjoint(blank)
    write(server.cluster, INDEXES[0], {"late": document(200)})
    (found,) = server.diagnose(ALIAS).indexes
    assert found.details["no_papers"] == 3
    assert found.troubles == (
        "In the attached index catalogue, 1 of 64 documents have no vector; attach it with <update>.",
    )


@pytest.mark.parametrize("beside", [False, True])
def test_listed_documents_are_counted_from_one(server, library, beside):
    cluster = server.cluster
    cluster.call("POST", f"/{ALIAS}/_delete_by_query", {"query": {"match_all": {}}}, params={"refresh": True})
    write(cluster, INDEXES[0], {name: {"summary_t": "No title here"} for name in "abc"})
    report = library.attach(ALIAS, **ATTACHED, beside=beside)
    told = [orjson.loads(line) for line in report.dead_letter.read_text().splitlines()]
    assert [one["line"] for one in told] == [1, 2, 3]
    assert {one["id"] for one in told} == set("abc")


def test_documents_that_are_no_papers_are_listed(server, library):
    write(server.cluster, INDEXES[0], {"untitled": {"summary_t": "No title here"}, "id-50": document(50)})
    report = library.attach(ALIAS, **ATTACHED)
    assert (report.new, report.duplicates, report.rejected) == (59, 1, 2)
    reasons = report.dead_letter.read_text()
    assert "The record has no title." in reasons
    assert "Two documents have this id, in catalogue-a and catalogue-b" in reasons
    assert library[ALIAS].search("title here", mode="lexical").candidates == 0


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


REFUSED = (
    ({"title": "name"}, "catalogue has no field name for title; its fields are acquired, authors, doi_s"),
    ({"title": "authors.name"}, "is in nested objects, so it can't be the title"),
    ({"title": "doi_s"}, "is of the type keyword, and title has to be text"),
    ({"fields": {"place": "place"}}, "is of the type geo_point, which ses can't search by"),
    ({"fields": {"journal": "journal"}}, "is an object; name one of its fields, such as journal.name"),
    ({"fields": {"year": "doi_s"}}, "year has to be a number or a date"),
    ({"fields": {"venue": "summary_t"}}, "is analysed text, whose values can't be compared"),
    ({"fields": {"x": "unsearched"}}, "is not indexed there"),
    ({"fields": {"x": "uncounted"}}, "uncounted of catalogue-a has no doc_values in its mapping"),
    ({"fields": {"journal": "doi_s", "venue": "doi_s"}}, "The field venue is given twice"),
    ({"fields": {"title": "journal.name"}}, "title is given twice, as title_t and as journal.name; leave one"),
    ({"fields": {"Title": "journal.name"}}, "The field title is given twice"),
    ({"abstract": "summary_t", "fields": {"abstract": "title_t"}}, "abstract is given twice, as summary_t and as"),
    ({"fields": {"origin": "doi_s"}}, "Origins are the corpora of an index that ses made"),
    ({"fields": {"id": "doi_s"}}, "A document's id is that of the index"),
    ({"fields": {"and": "doi_s"}}, "A field can't be named 'and'"),
)
"""Fields that can't serve, and what is said of each."""


def test_fields_that_can_not_serve_are_refused_in_a_sentence(server, library):
    before = server.cluster.call("GET", f"/{ALIAS}/_mapping")
    for given, message in REFUSED:
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
    for target in (
        "",
        "*",
        "catalogue-*",
        "catalogue-a,catalogue-b",
        "_all",
        "_mapping",
        "<day-{now/d}>",
        "-x",
        "Upper",
    ):
        with pytest.raises(
            InputError, match="is not the name of an index or alias; for several indexes, make an alias"
        ):
            library.attach(target, name="other")
    with pytest.raises(
        InputError, match=r"ses can't call an index 'a\.b'; give it another name here by index: up to 64"
    ):
        library.attach("a.b")
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


@newest_version
def test_an_index_that_is_closed_is_told(server, library):
    cluster, before = server.cluster, sources(server.cluster)
    cluster.call("POST", f"/{INDEXES[0]}/_close")
    told = f"has closed the index {INDEXES[0]}; ask for it to be opened"
    with pytest.raises(UnavailableError, match=told):
        library.attach(ALIAS, **ATTACHED)
    cluster.call("POST", f"/{INDEXES[0]}/_open", params={"wait_for_active_shards": "all"})
    library.attach(ALIAS, **ATTACHED)
    cluster.call("POST", f"/{INDEXES[0]}/_close")
    for use in (library.follow, library.detach, lambda name: library[name].search("virus")):
        with pytest.raises(UnavailableError, match=told):
            use(ALIAS)
    assert told in server.diagnose(ALIAS).indexes[0].troubles[0]
    cluster.call("POST", f"/{INDEXES[0]}/_open", params={"wait_for_active_shards": "all"})
    assert library.detach(ALIAS).restored == 60
    assert sources(cluster) == before


TEXT = {"title_t": {"type": "text"}}


def made_for(server):
    """The settings without which an OpenSearch index holds no vectors."""
    return {"settings": {"index": {"knn": True}}} if server.cluster.product.kind == "opensearch" else {}


@pytest.mark.parametrize("beside", [False, True])
def test_an_index_that_was_made_anew_is_told(server, library, beside):
    library.attach(ALIAS, **ATTACHED, beside=beside)
    drop(server.cluster)
    with pytest.raises(
        UnavailableError, match="has no index catalogue any more, to which catalogue is attached; bring"
    ):
        library.follow(ALIAS)
    for mapping, told in (
        ({"title_t": {"type": "keyword"}}, "its field title_t is of another type, from which title is taken"),
        ({}, "its field title_t is gone, from which title is taken; attach it again with the fields"),
        ({**TEXT, "pub_year": {"type": "date"}}, "its field pub_year is of another type, from which year is taken"),
    ):
        server.cluster.call("PUT", f"/{INDEXES[0]}", {"mappings": {"properties": mapping}, "aliases": {ALIAS: {}}})
        with pytest.raises(InputError, match=told):
            library.follow(ALIAS)
        drop(server.cluster)
    mappings = {"properties": TEXT}
    server.cluster.call("PUT", f"/{INDEXES[0]}", {**made_for(server), "mappings": mappings, "aliases": {ALIAS: {}}})
    assert library.follow(ALIAS).papers == 0


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


@newest_version
@pytest.mark.parametrize("beside", [False, True])
def test_dates_are_read_in_every_format_of_the_mapping(server, library, beside):
    # 31 December 2003, as milliseconds since 1970.
    write(server.cluster, INDEXES[1], {"odd": {**document(200), "acquired": 1072828800000}})
    library.attach(ALIAS, title="title_t", fields={"year": "acquired", "day": "acquired"}, beside=beside)
    index = library[ALIAS]
    paper = index.show("odd")
    assert (paper.year, paper.extra) == (2003, {"day": "2003-12-31"})
    for mode in ("lexical", "vector"):
        for filter_ in ("year=2003", "day=2003-12-31", "day<2004 and year>2002"):
            assert [hit.id for hit in index.search(document(200)["title_t"], filter=filter_, mode=mode)] == ["odd"]
    assert dict(index.search(facets=["year"]).facets.counts["year"]) == {2003: 1, 2020: 60}
    assert index.search(sort="year", size=1).hits[0].id == "odd"


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
    told = "Error: An update keeps the fields and the vectors; leave them or --update out.\n"
    assert (done.returncode, done.stderr) == (2, told)
    done = command(tmp_path, "detach", url)
    assert "60 documents are as they were.\nThe unused field ses stays in the mapping of catalogue-a" in done.stdout
    assert sources(server.cluster) == before
    write(server.cluster, INDEXES[0], {"untitled": {"summary_t": "No title here"}})
    done = command(tmp_path, "attach", url, *given, "--beside", **made)
    assert done.returncode == 1
    assert "vectors beside its documents (you asked for it): 60 papers" in done.stdout
    done = command(tmp_path, "detach", url)
    assert done.stdout == "catalogue is detached from catalogue: no document held vectors.\n"


def test_requests_over_vectors_beside_the_documents_join_both_indexes(server, library, tmp_path):
    library.attach(ALIAS, **ATTACHED, beside=True)
    asked = {"filter": "year>=1995", "size": 5, "neighbours": 0.6}
    page = library[ALIAS].search("virus lung", **asked)
    requests = library.cluster.request("virus lung", index=ALIAS, **asked)
    assert len(requests.requests) == 4
    (found,) = run_with_client(server.cluster.product, requests, tmp_path)
    assert [hit["_id"] for hit in found["hits"]["hits"]] == [hit.id for hit in page]
    assert requests.notes == (
        "The vectors are in another index, so papers that were deleted since leave gaps in the page.",
    )
    with pytest.raises(InputError, match="The vectors of catalogue are not in its documents, so no single request"):
        library.cluster.request("virus lung", index=ALIAS, join="engine")
    assert len(library.cluster.request("virus lung", index=ALIAS, mode="lexical").requests) == 1
