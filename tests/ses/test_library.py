"""The Python API on the embedded engine."""

from dataclasses import replace

import pytest

import ses
from corpora.paper import Paper
from search_plugin.contract.legs import Facets
from search_plugin.contract.schema import paper_vector
from search_plugin.pages.highlights import Snippet
from search_plugin.pages.hit import Hit
from search_plugin.pages.page import Page
from ses.terminal.messages import EXIT_CODES
from tests.tiny import make_model, papers, write_jsonl


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    return {"model": str(make_model(folder / "model")), "data_dir": folder / "data", "cache_dir": folder / "cache"}


@pytest.fixture(scope="module")
def library(settings, tmp_path_factory):
    opened = ses.open(tmp_path_factory.mktemp("indexes"), **settings)
    opened.index("papers", papers(40))
    return opened


def test_a_page_is_what_the_command_would_show(library, tmp_path):
    page = library["papers"].search("virus lung", filter="year>=2000", facets="journal", size=3)
    assert [hit.rank for hit in page] == [1, 2, 3]
    assert len(page) == 3
    assert page[0].id == page.hits[0].paper.id
    assert page[0].title == page.hits[0].paper.title
    assert all(hit.paper.year >= 2000 for hit in page)
    assert set(page.facets.counts) == {"journal"}
    assert repr(page).splitlines()[0] == f"3 of {page.candidates} candidates for 'virus lung' in papers"
    assert repr(page[0]).startswith(f"  1. {page[0].title} (")
    narrowed = library["papers"].search("virus lung", filter=["year>=2000", "not journal=Nature"], size=40)
    assert {hit.paper.venue for hit in narrowed} == {"", "The Lancet", "J. of X and Y"}
    assert all(hit.paper.year >= 2000 for hit in narrowed)


def test_a_query_is_read_with_the_fields_and_the_language_of_the_index(library):
    given = [
        {"id": "-a", "title": "Viren und Zellen", "shelf": "B"},
        {"id": "author:b", "title": "Viren nicht in Zellen", "shelf": "C"},
    ]
    library.index("typed", given, fields={"shelf": "keyword"}, language="german")
    index = library["typed"]
    assert [hit.id for hit in index.search("zellen shelf:C")] == ["author:b"]
    assert {hit.id for hit in index.search("zellen shelf:C", literal=True)} == {"-a", "author:b"}
    noted = index.search("zellen -nicht")
    assert (len(noted), len(noted.notes)) == (2, 1)
    assert [hit.id for hit in index.search("viren -zelle -shelf:B", literal=False)] == []
    # An id is no query, whatever signs it has.
    assert [hit.id for hit in index.similar("-a")] == ["author:b"]
    assert [hit.id for hit in index.similar("author:b", mode="hybrid")] == ["-a"]


def formats_of(library, name):
    return [vector.format for vector in library[name].index.schema.vectors]


def test_a_vector_that_is_the_same_for_several_formats_is_stored_once(library, settings, caplog):
    for _ in range(2):  # a new index, and one that is there
        library.index("once", papers(5), formats=["prx,clf", "rgn"])
        assert caplog.messages == [
            f"The model {settings['model']} has no clf and rgn vectors of its own, so only its prx vectors are stored."
        ]
        assert formats_of(library, "once") == ["prx"]
        caplog.clear()
    library.rebuild("once")
    assert not caplog.messages


def test_vectors_of_formats_are_stored_where_they_differ(library, settings, tmp_path, caplog):
    codes = ses.open(library._engine.url, **settings | {"model": str(make_model(tmp_path / "codes", codes=True))})
    codes.index("differ", papers(5), formats=["prx,clf"])
    codes.rebuild("differ")
    assert formats_of(codes, "differ") == ["prx", "clf"]
    assert not caplog.messages
    library.rebuild("differ")
    assert formats_of(library, "differ") == ["prx"]
    assert "has no clf vectors of its own, so only its prx vectors are stored" in caplog.text


def test_an_index_that_holds_a_vector_twice_keeps_both(library, settings, tmp_path, caplog):
    own = make_model(tmp_path / "own", seed=1)
    library.index("twice", papers(5), own={"clf": str(own)})
    # As versions before made it: clf of the index's model itself.
    field = paper_vector("clf", 64, library["twice"].index.schema.vectors[0].similarity)
    schema = replace(library["twice"].index.schema, own=(), vectors=(*library["twice"].index.schema.vectors, field))
    ids = [paper.id for paper in papers(5)]
    documents = library["twice"].index.documents(ids, ["prx", "clf"])
    index = library._engine.build("twice", schema, "test")
    index.upsert([*documents.values()])
    index.finish()
    library._engine.publish(index)
    library.index("twice", papers(6), formats=["prx", "clf"])
    library.rebuild("twice")
    assert formats_of(library, "twice") == ["prx", "clf"]
    assert library.describe("twice").vectors == {"prx": 6, "clf": 6}
    assert not caplog.messages


@pytest.mark.slow
def test_an_index_by_one_name_of_a_model_is_searched_and_updated_by_the_other(tmp_path, shared_cache):
    given = {"data_dir": tmp_path / "data", "cache_dir": shared_cache}
    first = ses.open(tmp_path / "indexes", **given)
    first.index("papers", [ses.Paper("a", "Masks and viruses"), ses.Paper("b", "Stars")])
    other = ses.open(tmp_path / "indexes", model="all-MiniLM-L6-v2", **given)
    assert other.index("papers", [ses.Paper("c", "Masks in schools")]).new == 1
    assert other["papers"].index.schema.model == "ses-minilm"
    found, same = (one["papers"].search("masks", mode="vector", size=2) for one in (first, other))
    assert {hit.id for hit in found} == {"a", "c"}
    assert [hit.id for hit in found] == [hit.id for hit in same]


def test_iterators_and_mappings_are_papers_too(library):
    some = papers(5)
    report = library.index("again", iter(some))
    assert (report.new, report.origin) == (5, "again")
    assert library.index("again", some).unchanged == 5
    given = [{"id": "m", "title": "A virus", "journal": "Nature"}, {"id": "n"}, Paper("", "no id")]
    report = library.index("mapped", given)
    assert (report.new, report.rejected) == (1, 2)
    assert library["mapped"].show("m").venue == "Nature"
    with pytest.raises(ses.InputError, match=r"Paper 2 is of the type int; give papers as ses\.Paper"):
        library.index("wrong", [some[0], 3])
    assert "wrong" not in library


def test_custom_fields_are_kept_updated_and_survive_a_rebuild(library):
    shelved = [{"id": "s", "title": "A virus", "shelf": "B 12"}, Paper("p", "A protein", extra={"shelf": "C 3"})]
    library.index("shelved", shelved, fields={"shelf": "keyword"})
    assert [hit.id for hit in library["shelved"].search("virus protein", filter="shelf='C 3'")] == ["p"]
    with pytest.raises(ses.InputError, match=r"Paper 2 has a value of shelf, which is no custom field; declare it"):
        library.index("shelved", shelved)
    library.add_fields("shelved", {"read": "date"})
    assert library.update("shelved", {"s": {"read": "2020-03"}, "gone": {"read": "2021"}}) == ["gone"]
    with pytest.raises(ses.InputError, match="read"):
        library.update("shelved", {"s": {"read": "yesterday"}})
    report = library.rebuild("shelved", language="german")
    assert (report.papers, library["shelved"].index.schema.language) == (2, "german")
    assert library["shelved"].show("s").extra == {"shelf": "B 12", "read": "2020-03"}
    assert library["shelved"].index.vectors(["s"], "prx")


def test_other_values_of_custom_fields_are_another_build():
    from corpora.custom import CustomField
    from ses.papers import of_program

    marks = {
        of_program([Paper("a", "t", extra={"shelf": v})], "x", [CustomField("shelf", "keyword")]).mark for v in "ab"
    }
    assert len(marks) == 2


def test_what_another_program_gives_is_another_build(library, settings):
    # An interrupted build resumes only with the same papers.
    from ses.papers import of_program

    same, other = papers(5), papers(6)
    assert of_program(same, "x").mark == of_program(list(same), "x").mark
    assert of_program(same, "x").mark != of_program(other, "x").mark


def test_pruning_and_origins(library):
    some = papers(6)
    library.index("pruned", some, origin="mine")
    report = library.index("pruned", some[:4], origin="mine", prune=True)
    assert (report.deleted, report.papers, report.origin) == (2, 4, "mine")
    with pytest.raises(ses.InputError, match="give limit or prune"):
        library.index("pruned", some, prune=True, limit=2)
    assert len(library["pruned"]) == 4


def test_a_file_needs_a_reader(library, tmp_path):
    write_jsonl(tmp_path / "some.jsonl", papers(7))
    assert library.index("file", str(tmp_path / "some.jsonl"), corpus="jsonl", limit=3).new == 3
    assert "jsonl" not in library
    library.index("jsonl", tmp_path / "some.jsonl")
    assert len(library["jsonl"]) == 7
    with pytest.raises(
        ses.NotFoundError, match=r"no corpus 'unheard', so it is not known .*; give corpus, one of cord19"
    ):
        library.index("unheard", tmp_path / "some.jsonl")
    with pytest.raises(ses.InputError, match="layout of beir is fixed; columns works with jsonl, csv"):
        library.index("beir", tmp_path, columns={"id": "a"})
    with pytest.raises(ses.InputError, match="has no default file; say which file to read, with path"):
        library.index("jsonl")


def test_opens_shows_and_likens(library):
    index = library["papers"]
    assert "p00003" in index
    assert "zz" not in index
    assert index.show("p00003").id == "p00003"
    assert repr(index).startswith("<index papers, version 1: 40 papers, ")
    page = index.similar("p00003", size=5)
    assert (page.mode, len(page)) == ("vector", 5)
    assert "p00003" not in [hit.id for hit in page]
    for absent in (index.show, index.similar):
        with pytest.raises(ses.NotFoundError, match="holds no paper 'zz'"):
            absent("zz")
    with pytest.raises(ses.NotFoundError, match=r"no index 'zz' in .*; choose one of "):
        library["zz"]


def test_versions(library):
    library.index("swap", papers(5))
    with pytest.raises(ses.NotFoundError, match="no earlier version to go back to; fresh makes and keeps one"):
        library.rollback("swap")
    assert library.index("swap", papers(3), fresh=True).generation == 2
    assert len(library["swap"]) == 3
    assert len(library.rollback("swap")) == 5
    with pytest.raises(ses.NotFoundError, match="no earlier version to go back to"):
        library.rollback("swap")
    assert len(library["swap"]) == 5
    library.drop("swap")
    assert "swap" not in library.indexes()
    with pytest.raises(ses.NotFoundError):
        library.drop("swap")


def test_an_index_that_is_written_is_a_conflict(library):
    with library._engine.lock("papers"), pytest.raises(ses.ConflictError, match="Another run is writing") as caught:
        library.index("papers", papers(2))
    assert EXIT_CODES[caught.value.kind] == 3


def test_an_empty_library_says_so(tmp_path, settings):
    empty = ses.open(tmp_path / "none", **settings)
    assert (len(empty), list(empty), repr(empty).endswith("none: no indexes yet>")) == (0, [], True)
    with pytest.raises(ses.NotFoundError, match=r"There is no index in .* yet; index some papers first"):
        empty.default()


def test_a_model_of_another_index_is_refused(library, settings, tmp_path):
    other = ses.open(library._engine.url, **{**settings, "model": str(make_model(tmp_path / "other", seed=1))})
    with pytest.raises(ses.InputError, match=r"give model=.*, or index again with fresh and model=") as caught:
        other["papers"].search("virus")
    assert caught.value.kind == "invalid"
    index = other["papers"]
    assert index.search("virus", mode="lexical").hits
    with pytest.raises(ses.InputError, match="give model="):
        index.models.of_leg(index.index)  # as a tagger made from names does, which searches nothing


def test_a_model_is_loaded_once(library):
    index = library["papers"]
    assert index.models.of_leg(index.index) is index.models.of_leg(index.index)


def test_encodes(settings):
    model = ses.load_model(settings["model"], cache_dir=settings["cache_dir"])
    assert model.encode("virus").shape == (1, 64)
    assert model.encode(["virus", "lung"], format="qry").dtype == "float32"
    (paper,) = papers(1)
    expected = model.encode([model.card.text(paper.title, paper.abstract)])
    assert (model.encode_papers([paper]) == expected).all()
    assert "64 numbers, formats clf, rgn, prx, qry" in repr(model)
    with pytest.raises(ses.InputError, match="The formats 'abc' can't be read"):
        model.encode(["virus"], format="abc")


def test_a_wrong_option_is_told(library):
    with pytest.raises(ses.InputError, match="search takes no 'sise', the nearest is size; it takes query, mode, "):
        library["papers"].search("virus", sise=3)


def test_a_setting_that_is_none_is_told():
    with pytest.raises(ses.InputError, match="There is no setting colour; correct the argument"):
        ses.open(colour="red")


def test_the_names_of_the_package():
    assert set(ses.__all__) <= set(dir(ses))
    assert all(getattr(ses, name) for name in ses.__all__)
    with pytest.raises(AttributeError, match="module 'ses' has no attribute 'serch'"):
        _ = ses.serch


def page_of(paper, query="<i>", snippets=()):
    hit = Hit(rank=1, paper=paper, score=0.5, legs={}, snippets=snippets)
    facets = Facets(1, "papers & such", {"journal": (("<u>", 1),)})
    return Page(
        index="a", query=query, mode="hybrid", fusion="rrf", joined_by="ses", hits=(hit,), candidates=1, window=100,
        found={}, facets=facets, milliseconds={},
    )  # fmt: skip


def test_html_escapes_everything_and_links_to_the_web_alone():
    paper = Paper("p", "<script>alert(1)</script>", venue="A & <b>", url="https://a.org/'x?a=1&b", retracted=True)
    html = page_of(paper)._repr_html_()
    for part in ("&lt;script&gt;alert(1)", "A &amp; &lt;b&gt;", "“&lt;i&gt;”", "&lt;u&gt; (1)", "papers &amp; such"):
        assert part in html
    assert "<a href='https://a.org/&#x27;x?a=1&amp;b'>" in html
    assert "[retracted]" in html
    assert "<script" not in html
    assert "href" not in page_of(Paper("p", "a", url="javascript:alert(1)"))._repr_html_()


def test_html_marks_the_matches():
    snippets = (Snippet("title", "a <b> virus", ((6, 11),)), Snippet("abstract", "virus & lung", ((0, 5), (8, 12))))
    html = page_of(Paper("p", "a <b> virus"), snippets=snippets)[0]._repr_html_()
    assert "a &lt;b&gt; <mark>virus</mark>" in html
    assert "<small><mark>virus</mark> &amp; <mark>lung</mark></small>" in html


def test_the_files_of_a_model_are_read_once(tmp_path, monkeypatch):
    from encoders import registry

    library = ses.open(tmp_path / "indexes", model=str(make_model(tmp_path / "model")), cache_dir=tmp_path / "cache")
    library.index("papers", papers(3))
    found = []
    find = registry.find_model
    monkeypatch.setattr(registry, "find_model", lambda name: found.append(name) or find(name))
    for query in ("virus", "lung", "cell"):
        assert library["papers"].search(query, mode="vector").hits
    assert len(found) == 1
