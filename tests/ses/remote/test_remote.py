"""A library over HTTP is used as one in this process, and gives equal objects."""

import pickle
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ses
from corpora.paper import Paper
from search_plugin.contract.legs import Sort
from search_plugin.pages.page import Page
from ses.terminal.printing import added_fields
from tests.serving import served

pytestmark = pytest.mark.serve


def plainly(page):
    """A page without the times of its stages."""
    return replace(page, milliseconds={}, requests={})


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("virus lung", {}),
        ("virus lung", {"mode": "lexical", "filter": ["year>=2000", "not venue=Nature"], "size": 3, "offset": 2}),
        ("", {"filter": "year>=2015", "facets": ["venue", "year"], "sort": "title"}),
        ("virus", {"weights": {"lexical": 0.7, "prx": 0.3}, "exact": True, "window": 40, "collapse": "venue"}),
        ("virus -lung", {"verbatim": True, "rerank": "complete", "title_boost": 0.5}),
        ("10.1000/1", {}),
        ("masks & <script>", {"literal": True}),
    ],
)
def test_pages_are_equal(library, remote, query, options):
    here, there = library["papers"].search(query, **options), remote["papers"].search(query, **options)
    assert isinstance(there, Page)
    assert plainly(there) == plainly(here)
    assert [hit.paper.content_hash() for hit in there] == [hit.paper.content_hash() for hit in here]
    assert there.format("bibtex") == here.format("bibtex")
    assert there.milliseconds.keys() == here.milliseconds.keys()


def outcome(index, query, options):
    """The page of a search, or its error."""
    try:
        return plainly(index.search(query, **options))
    except ses.SesError as error:
        return type(error), f"{error}"


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "mode": st.sampled_from(("lexical", "vector", "hybrid", "zz")),
        "fusion": st.sampled_from(("rrf", "zz", "")),
        "weights": st.sampled_from(({"lexical": 0.2}, ["lexical=0.7", "prx=1"], "lexical=x", {})),
        "filter": st.sampled_from(("year>=2000", ["not venue=Nature", "year<2015"], "a b", [], "shelf exists")),
        "facets": st.sampled_from(("venue", ["year", "venue"], "zz", ())),
        "sort": st.sampled_from(("title", "-year", Sort("year"), "zz")),
        "size": st.integers(-1, 12),
        "offset": st.integers(-1, 12),
        "window": st.integers(0, 60),
        "exact": st.booleans(),
        "collapse": st.sampled_from(("venue", "year", "")),
        "literal": st.booleans(),
        "verbatim": st.booleans(),
        "title_boost": st.sampled_from((0.0, 1.5, -1.0)),
    },
)
QUERIES = st.lists(
    st.sampled_from(
        ("virus", "lung", '"of the', "-", "OR", "(", "year:2010", "author:ana", "mouses", "10.1000/1", "é")
    ),
    max_size=4,
).map(" ".join)


@pytest.mark.slow
@given(query=QUERIES, options=OPTIONS)
def test_any_search_gives_the_same(library, remote, query, options):
    assert outcome(remote["papers"], query, options) == outcome(library["papers"], query, options)


def test_papers_like_one_and_like_a_text(library, remote):
    here, there = library["papers"], remote["papers"]
    for paper in ("p00003", "10.1000/1", here["<b>"], here.search("virus", size=1)[0]):
        assert plainly(there.similar(paper, size=5, filter="year>=2000")) == plainly(
            here.similar(paper, size=5, filter="year>=2000")
        )
    text = "A virus in the lung\nIt was in the lung,\nof mice."
    assert plainly(there.similar_text(text, size=4)) == plainly(here.similar_text(text, size=4))


def test_all_hits_and_all_papers(library, remote):
    here, there = library["papers"], remote["papers"]
    for query in ("virus lung", ""):
        assert list(there.iterate(query, size=11)) == list(here.iterate(query))
    assert {paper.id: paper for paper in there} == {paper.id: paper for paper in here}
    assert len(there) == len(here)


def test_an_index_is_a_mapping_from_ids_to_papers(opened):
    assert opened["p00003"] == opened.show("p00003") == opened.find("p00003")[0]
    assert opened["<b>"].extra == {"shelf": "<i>"}
    assert opened["10.1000/1"].id == "<b>"
    assert opened["p00003"] in opened
    assert Paper("p00003", "Something else") not in opened
    assert "zz" not in opened
    with pytest.raises(ses.NotFoundError, match="holds no paper 'zz'"):
        opened["zz"]
    with pytest.raises(ses.NotFoundError, match="papers has another paper with the id 'p00003'; find papers like its"):
        opened.similar(Paper("p00003", "Something else"))


def test_suggestions_and_values_of_a_field_are_equal(library, remote):
    here, there = library["papers"], remote["papers"]
    for typed in ("vir", "O'B", "j. <x", "", "%", "a" * 300):
        assert there.complete(typed, size=3) == here.complete(typed, size=3)
    assert there.complete("o'brien").authors
    for asked in (
        {"field": "venue"},
        {"field": "journal", "query": "virus", "size": 2, "mode": "lexical"},
        {"field": "year", "filter": ["year>=2000", "not venue=Nature"]},
        {"field": "authors", "value": "bri", "window": 50, "query": "mask"},
    ):
        assert there.facet(**asked) == here.facet(**asked)
        assert there.facet(**asked).counts[asked["field"]]


@pytest.mark.slow
def test_citations_are_equal(tmp_path, small_model):
    many = tuple(f"doi:10.1000/{number}" for number in range(70))
    some = [
        Paper("citing", "A review", year=2020, references=(*many, 'odd "id" (x)', "doi:10.1000/3")),
        Paper("second", "Another review", year=2021, references=("doi:10.1000/65",)),
        Paper("cited", "A trial", identifiers=("doi:10.1000/65",)),
        Paper('odd "id" (x)', "An id of signs"),
    ]
    library = ses.open(tmp_path / "indexes", model=small_model, data_dir=tmp_path / "data", cache_dir=tmp_path)
    library.index("papers", some)
    with served(library) as address, ses.open(address, engine_patience=0) as remote:
        here, there = library["papers"], remote["papers"]
        assert there.references("citing") == here.references("citing")
        assert [one.paper.id for one in there.references("citing") if one.paper] == ["cited", 'odd "id" (x)']
        assert there.references("cited") == []
        assert plainly(there.cited_by("cited")) == plainly(here.cited_by("cited"))
        assert [hit.id for hit in there.cited_by("10.1000/65", filter="year>=2021")] == ["second"]
        assert [hit.id for hit in there.cited_by('odd "id" (x)')] == ["citing"]


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (lambda index: index.search("virus", filter="yaer=2000"), ses.InputError),
        (lambda index: index.search("virus", size=50_000), ses.InputError),
        (lambda index: index.search("a" * 10_001), ses.InputError),
        (lambda index: index.search("virus", fusion="zz"), ses.InputError),
        (lambda index: index.search("", rerank="complete"), ses.InputError),
        (lambda index: index.similar("zz"), ses.NotFoundError),
        (lambda index: index.references("zz"), ses.NotFoundError),
        (lambda index: index.facet("zz"), ses.InputError),
        (lambda index: index.facet("venue", size=5_000), ses.InputError),
        (lambda index: index.complete("virus", size=0), ses.InputError),
        (lambda index: index.similar_text(" "), ses.InputError),
        (lambda index: next(index.iterate("virus", offset=2)), ses.InputError),
    ],
)
def test_errors_are_those_of_python(library, remote, ask, error):
    with pytest.raises(error) as here:
        ask(library["papers"])
    with pytest.raises(error) as there:
        ask(remote["papers"])
    assert type(there.value) is type(here.value)
    assert str(there.value) == str(here.value)


def test_a_library_over_http(library, remote, address):
    assert remote.indexes() == list(remote) == ["papers"]
    assert "papers" in remote
    assert "zz" not in remote
    assert remote.default().name == "papers"
    assert repr(remote) == f"<library {address}/: papers>"
    assert repr(remote["papers"]) == f"<index papers of the service {address}>"
    assert "<td>61</td>" in remote["papers"]._repr_html_()
    with pytest.raises(ses.NotFoundError, match="There is no index 'zz'"):
        remote["zz"]


def test_facts_are_equal(library, remote):
    here, there = library.describe("papers"), remote.describe("papers")
    name = Path(here.schema.model).name  # a service names no folder
    assert there == replace(here, schema=replace(here.schema, model=name))
    with pytest.raises(ses.NotFoundError, match="There is no index 'zz'"):
        remote.describe("zz")


def test_what_a_service_does_not_offer_is_said(remote):
    index = remote["papers"]
    asked = (
        lambda: remote.index("more", [Paper("a", "A virus")]),
        lambda: remote.drop("papers"),
        lambda: list(remote.feeds),
        lambda: remote.tags,
        lambda: index.map("virus"),
        lambda: index.suggest("venues", text="A virus"),
        lambda: index.delete(["p00003"]),
        lambda: index.evaluate("folder"),
    )
    for ask in asked:
        with pytest.raises(ses.SesError):
            ask()
    for ask in asked[1:-1]:
        with pytest.raises(ses.InputError, match="This does not work through a service, which only searches"):
            ask()
    for held, local in ((remote, ses.Library), (index, ses.OpenIndex)):
        assert not isinstance(held, local)
        own = {name for name in dir(type(held)) if not name.startswith("_")} - {"url", "client", "entry"}
        assert own <= set(dir(local)), "names that only a service has"
        for name in (set(dir(local)) | set(local.__annotations__)) - set(dir(held)):
            assert not hasattr(held, name), name
            with pytest.raises(ses.InputError, match="This does not work through a service"):
                getattr(held, name)
    with pytest.raises(AttributeError, match="no attribute 'serach'"):
        index.serach("virus")
    with pytest.raises(ses.InputError, match="A service takes no synonyms; leave synonyms out"):
        index.search("virus", synonyms={"mi": ("myocardial infarction",)})


@pytest.mark.slow
def test_a_program_finds_the_api_at_the_home_page(address):
    import httpx

    reply = httpx.get(f"{address}/", headers={"accept": "application/json"})
    assert "Accept" in reply.headers["vary"]
    assert reply.json()["name"] == "ses"
    for name in ("search", "indexes", "openapi"):
        assert httpx.get(f"{address}{reply.json()[name]}").status_code == 200
    for accepted in ("*/*", "text/html", "text/html,application/json;q=0.9", ""):
        assert "<html" in httpx.get(f"{address}/", headers={"accept": accepted}).text


def test_a_pickle_holds_no_secrets(address, monkeypatch):
    library = ses.open(address, engine_api_key="hush-hush", engine_patience=0)
    kept = (library, library["papers"])
    assert b"hush-hush" not in pickle.dumps(kept)
    again, index = deepcopy(kept)  # by the same state as a pickle
    with pytest.raises(ses.UnavailableError, match="set SES_ENGINE_API_KEY"):
        again.indexes()
    monkeypatch.setenv("SES_ENGINE_API_KEY", "hush-hush")
    assert again.indexes() == ["papers"]
    assert index.search("virus", size=2).hits == library["papers"].search("virus", size=2).hits


def test_a_library_is_closed_at_the_end_of_its_block(address):
    with ses.open(address, engine_patience=0) as library:
        index = library["papers"]
    for use in (library.indexes, lambda: index.search("virus")):
        with pytest.raises(ses.InputError, match="This library is closed; open it again"):
            use()


def test_the_command_line_searches_a_service(address, capsys, tmp_path):
    from tests.commands import ses as command

    done = command(tmp_path, "search", "virus", "--engine", address, "--size", "2", "--format", "json")
    assert '"index": "papers"' in str(done)
    explained = command(tmp_path, "search", "virus", "--engine", address, "--size", "2", "--explain")
    assert "\nweak_matches: " in explained.stdout
    served = command(tmp_path, "serve", "--engine", address)
    assert "This does not work through a service, which only searches" in served.stderr


def test_its_added_fields_are_known_where_hits_are_printed(opened, library):
    assert added_fields(opened) == library["papers"].index.schema.added != ()
