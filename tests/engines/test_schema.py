"""Declared fields on every engine: written, updated without encoding, filtered, counted, moved to another model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpora.errors import InputError
from corpora.paper import Accepted, is_empty
from corpora.publication import Publication
from encoders.models.formats import Format
from indexer.moving import rebuilding
from indexer.pipeline import index_corpus
from search_plugin.contract.plan import Plan
from search_plugin.contract.schema import PUBLICATION, Field
from search_plugin.request import SearchRequest
from search_plugin.search import search
from tests.engines.conftest import NEWEST_EVERYWHERE, SCHEMA, another, documents, emptied, every_engine, publish, stored
from tests.indexer.jobs import make_job
from tests.search_plugin.filters.filtered import exact_filter
from tests.tiny import papers

SIX = papers(6)
IDS = [paper.id for paper in SIX]
FIELDS = (
    Field("summary", "text", facet=False),
    Field("shelf", "keyword"),
    Field("labels", "keywords", origin="tag"),
    Field("impact", "number", origin="forecast"),
    Field("published", "date"),
    Field("open_access", "boolean"),
)
"""One of each kind."""

VALUES = {
    "summary": "About masks",
    "shelf": "A 12",
    "labels": ("x", "y"),
    "impact": 0.25,
    "published": "2020-03-16",
    "open_access": True,
}


@pytest.fixture(params=NEWEST_EVERYWHERE)
def engine(request, tmp_path):
    yield from emptied(request.param, tmp_path)


def built(engine, fields=FIELDS, **changes):
    schema = replace(SCHEMA, **changes).with_fields(fields)
    return publish(engine, documents(6), schema=schema)


def index_into(engine, home, given, **options):
    records = [Accepted(1, paper) for paper in given]
    return index_corpus(make_job(home, home / "none", **{"records": lambda: iter(records), **options}), engine)


def no_encoder():
    pytest.fail("the model is loaded for nothing")


def passing(index, text):
    return set(index.ids(exact_filter(text, index.schema.fields)))


@every_engine
def test_values_are_written_updated_and_taken_away_and_nothing_else_changes(engine):
    index = built(engine)
    before = index.papers(IDS)
    vectors, hashes = index.vectors(IDS, "prx"), index.hashes(IDS)
    assert index.update({IDS[0]: VALUES, IDS[1]: {"impact": 3.0, "labels": ["y"]}, "none": {"shelf": "B"}}) == ["none"]
    index.finish()
    for opened in (index, another(engine).open("papers")):
        held = opened.papers(IDS)
        assert held[IDS[0]] == replace(before[IDS[0]], extra=VALUES)
        assert held[IDS[1]].extra == {"impact": 3, "labels": ("y",)}
        assert held[IDS[2]] == before[IDS[2]]
        assert opened.values(IDS[:2], ["shelf", "labels"]) == {
            IDS[0]: {"shelf": "A 12", "labels": ("x", "y")},
            IDS[1]: {"labels": ("y",)},
        }
        assert opened.hashes(IDS) == hashes
        after = opened.vectors(IDS, "prx")
        assert all(np.allclose(after[id_], vectors[id_], atol=1e-6) for id_ in IDS)
        assert opened.count() == 6
    # What is empty is no value.
    index.update({IDS[0]: {"shelf": None, "labels": (), "impact": 0, "summary": "", "open_access": False}})
    assert index.papers(IDS)[IDS[0]].extra == {"impact": 0, "published": "2020-03-16"}
    assert passing(index, "shelf exists or labels exists or open_access exists") == {IDS[1]}
    assert passing(index, "impact exists") == {IDS[0], IDS[1]}
    assert index.update({}) == []


@every_engine
def test_filters_and_facets_know_added_fields(engine):
    index = built(engine)
    dates = ["2019", "2020-03", "2020-03-16", "2020-12-31", "2021-01-01"]
    rows = {
        id_: {"published": day, "impact": n / 4, "labels": ["x", "y"][: n % 3]}
        for n, (id_, day) in enumerate(zip(IDS, dates, strict=False))
    }
    index.update(rows)
    index.finish()
    every = set(IDS)
    assert passing(index, "published = 2020") == set(IDS[1:4])
    assert passing(index, "published = 2020-03-16") == {IDS[2]}
    assert passing(index, "published <= 2020-03") == set(IDS[:3])
    assert passing(index, "published > 2020-03") == set(IDS[3:5])
    assert passing(index, "published in (2019, 2021-01-01)") == {IDS[0], IDS[4]}
    assert passing(index, "not published < 2020-12-31") == {IDS[3], IDS[4], IDS[5]}
    assert passing(index, "impact > 0.25 and impact <= 0.75") == {IDS[2], IDS[3]}
    assert passing(index, "impact in (0, 1)") == {IDS[0], IDS[4]}
    assert passing(index, "labels = y") == {IDS[2]}
    assert passing(index, "open_access = false") == every
    words = " ".join({word for paper in SIX for word in paper.title.split()})
    asked = SearchRequest(words, mode="lexical", facets=("published", "impact", "labels", "shelf"), collapse="impact")
    page = search(index, asked)
    assert page.facets.counts == {
        "published": ((2020, 3), (2019, 1), (2021, 1)),
        "impact": ((0, 1), (0.25, 1), (0.5, 1), (0.75, 1), (1, 1)),
        "labels": (("x", 3), ("y", 1)),
        "shelf": (),
    }
    assert {hit.paper.id: hit.paper.extra for hit in page.hits}[IDS[1]] == {
        "published": "2020-03",
        "impact": 0.25,
        "labels": ("x",),
    }
    with pytest.raises(InputError, match=r"Values of url can't be counted; count by one of authors, fields, id"):
        search(index, replace(asked, facets=("url",)))
    with pytest.raises(
        InputError, match="A paper has several labels, so none is its own; collapse by one of id, impact"
    ):
        search(index, replace(asked, collapse="labels"))
    with pytest.raises(InputError, match="There is no field 'summary' to filter or count by"):
        search(index, replace(asked, facets=("summary",)))


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"color": "red"}, "The index has no field 'color' to update; add it first, or choose one of origins, summary"),
        ({"year": 2001}, "year is part of a paper's content and can't be updated by itself"),
        ({"title": "t"}, "title is part of a paper's content"),
        ({"shelf": 3}, r"can't have '3' in the field shelf, which is of the kind keyword"),
        ({"shelf": ["a"]}, "in the field shelf"),
        ({"labels": "x"}, "in the field labels"),
        ({"labels": ["x", None]}, "in the field labels"),
        ({"impact": float("inf")}, "in the field impact"),
        ({"impact": True}, "in the field impact"),
        ({"impact": "3"}, "in the field impact"),
        ({"published": "2020-02-30"}, "in the field published"),
        ({"open_access": "yes"}, "in the field open_access"),
    ],
)
def test_values_that_a_field_cannot_have_are_refused_and_nothing_is_written(engine, values, told):
    index = built(engine)
    with pytest.raises(InputError, match=told):
        index.update({IDS[0]: {"shelf": "A", **values}} if "shelf" not in values else {IDS[0]: values})
    assert index.papers(IDS)[IDS[0]].extra == {}


@every_engine
def test_fields_are_added_to_a_published_index(engine):
    index = built(engine, fields=())
    hashes = index.hashes(IDS)
    index.add_fields(FIELDS[:3])
    index.update({IDS[0]: {"shelf": "A", "labels": ["x"]}})
    index.add_fields(FIELDS)
    index.add_fields(FIELDS)
    index.update({IDS[0]: {"impact": 0.5}})
    index.finish()
    opened = another(engine).open("papers")
    assert opened.schema.added == FIELDS
    assert opened.schema == index.schema
    assert opened.papers(IDS)[IDS[0]].extra == {"shelf": "A", "labels": ("x",), "impact": 0.5}
    assert opened.hashes(IDS) == hashes
    assert passing(opened, "shelf=A") == {IDS[0]}
    # It is nobody else's change, and a new paper has the fields too.
    assert not opened.upsert([replace(documents(7)[6], paper=replace(papers(7)[6], extra=VALUES))])
    opened.finish()
    assert opened.papers(["p00006"])["p00006"].extra == VALUES
    assert not engine.diagnose("papers").troubles or "changed" not in str(engine.diagnose("papers").troubles)
    for wrong, told in [
        (Field("shelf", "number"), "has a field shelf already, of kind keyword and origin custom"),
        (Field("labels", "keywords"), "has a field labels already, of kind keywords and origin tag"),
        (Field("year", "number"), "Every paper has a field year already"),
        (Field("journal", "keyword"), "Every paper has a field journal already"),
    ]:
        with pytest.raises(InputError, match=told):
            opened.add_fields([wrong])


rows = st.fixed_dictionaries(
    {},
    optional={
        "summary": st.none() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
        "shelf": st.none() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20),
        "labels": st.none() | st.lists(st.sampled_from(["x", "y", "it's", 'a "b"', "中"]), unique=True).map(tuple),
        "impact": st.none() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False),
        "published": st.none() | st.dates().map(lambda day: f"{day:%Y-%m-%d}".rjust(10, "0")),
        "open_access": st.none() | st.booleans(),
    },
)


def test_any_updates_leave_what_a_dictionary_would_hold(engine):
    index = built(engine)
    held = {id_: {} for id_ in IDS}

    @settings(max_examples=10, suppress_health_check=list(HealthCheck))
    @given(st.dictionaries(st.sampled_from([*IDS, "none"]), rows, max_size=4))
    def update(values):
        assert set(index.update(values)) == set(values) - set(IDS)
        for id_ in set(values) - {"none"}:
            held[id_].update(values[id_])
        expected = {
            id_: {name: value for name, value in row.items() if not is_empty(value)} for id_, row in held.items()
        }
        assert {id_: dict(paper.extra) for id_, paper in index.papers(IDS).items()} == expected
        assert {id_: dict(row) for id_, row in index.values(IDS, list(VALUES)).items()} == expected

    update()


GIVEN = [replace(paper, extra={"shelf": f"A {n}", "published": "2020"}) for n, paper in enumerate(SIX)]
CUSTOM = (Field("shelf", "keyword"), Field("published", "date"))


def test_custom_fields_of_a_corpus_are_written_without_encoding(engine, home):
    index_into(engine, home, SIX)
    before = engine.open("papers").vectors(IDS, "prx")
    report = index_into(engine, home, GIVEN, fields=CUSTOM, encoder=no_encoder)
    assert (report.unchanged, report.updated, report.revalued) == (6, 0, 6)
    assert report.fields == {"shelf": 6, "published": 6}
    index = engine.open("papers")
    assert index.papers(IDS) == {paper.id: replace(paper, origins=("tiny",)) for paper in GIVEN}
    after = index.vectors(IDS, "prx")
    assert all(np.allclose(after[id_], before[id_], atol=1e-6) for id_ in IDS)
    assert index_into(engine, home, GIVEN, fields=CUSTOM, encoder=no_encoder).revalued == 0
    # A value that is gone from the corpus goes, and one of another field stays.
    index.add_fields([Field("labels", "keywords", origin="tag")])
    index.update({IDS[0]: {"labels": ["x"]}})
    bare = replace(GIVEN[0], extra={"shelf": "B"})
    report = index_into(engine, home, [bare, *GIVEN[1:]], fields=CUSTOM, encoder=no_encoder)
    assert report.revalued == 1
    assert engine.open("papers").papers(IDS)[IDS[0]].extra == {"shelf": "B", "labels": ("x",)}
    # So it does where the paper is written anew, and where the corpus is read without its custom fields.
    changed = replace(SIX[0], title="quantum galaxy")
    assert index_into(engine, home, [changed, *SIX[1:]]).updated == 1
    held = engine.open("papers").papers(IDS)
    assert held[IDS[0]].title == "quantum galaxy"
    assert held[IDS[0]].extra == {"shelf": "B", "labels": ("x",)}
    assert held[IDS[1]].extra == GIVEN[1].extra


def test_a_fresh_index_takes_over_what_its_corpus_does_not_give(engine, home):
    index_into(engine, home, GIVEN, fields=CUSTOM, language="german")
    index = engine.open("papers")
    index.add_fields([Field("labels", "keywords", origin="tag")])
    index.update({IDS[0]: {"labels": ["x"]}})
    other = [replace(paper, extra={"shelf": "C"}) for paper in SIX[:5]]
    index_into(engine, home, other, fields=CUSTOM[:1], fresh=True)
    index = engine.open("papers")
    assert index.generation == 2
    assert index.schema.language == "german"
    assert set(index.schema.added) == {*CUSTOM, Field("labels", "keywords", origin="tag")}
    assert index.papers(IDS)[IDS[0]].extra == {"shelf": "C", "published": "2020", "labels": ("x",)}
    assert index.count() == 5
    with pytest.raises(InputError, match="made with language german; leave language out, or index again with fresh"):
        index_into(engine, home, other, language="english")


PUBLISHED = [
    replace(paper, publication=Publication("12", str(n), "45-51", 'A "Press"', ("1234-5679", "0000-000X")))
    for n, paper in enumerate(SIX)
]


def test_volume_and_pages_come_into_an_index_that_was_made_without_them_and_nothing_is_encoded(engine, home):
    index_into(engine, home, SIX)
    assert not engine.open("papers").schema.publications
    report = index_into(engine, home, PUBLISHED, fields=(PUBLICATION,), encoder=no_encoder)
    assert (report.unchanged, report.updated, report.revalued, report.fields) == (6, 0, 6, {})
    for again in (engine, another(engine)):
        index = again.open("papers")
        assert index.schema.publications
        assert index.papers(IDS) == {paper.id: replace(paper, origins=("tiny",)) for paper in PUBLISHED}
    assert not engine.diagnose("papers").troubles or "changed" not in str(engine.diagnose("papers").troubles)
    assert index_into(engine, home, PUBLISHED, fields=(PUBLICATION,), encoder=no_encoder).revalued == 0
    # What is gone from the corpus goes; it is no field to filter or count by.
    report = index_into(engine, home, [SIX[0], *PUBLISHED[1:]], fields=(PUBLICATION,), encoder=no_encoder)
    assert report.revalued == 1
    index = engine.open("papers")
    assert index.papers(IDS)[IDS[0]].publication is None
    with pytest.raises(InputError, match="no field 'publication'"):
        index.schema.facet("publication")
    # A new index keeps them from the first paper on, also one that is made of this one.
    index_into(engine, home, PUBLISHED, fields=(PUBLICATION,), fresh=True)
    job = make_job(home, home / "none")
    index_corpus(rebuild(job, engine.open("papers")), engine)
    assert engine.open("papers").papers(IDS)[IDS[5]].publication == PUBLISHED[5].publication


def test_a_custom_field_named_publication_is_refused(engine, home):
    own = Field("publication", "keyword")
    index_into(engine, home, SIX, fields=(own,))
    with pytest.raises(InputError, match="has a field publication already, of kind keyword and origin custom"):
        index_into(engine, home, SIX, fields=(PUBLICATION,))
    index_into(engine, home, PUBLISHED, fields=(PUBLICATION,), fresh=True)
    with pytest.raises(InputError, match="Every paper has a field publication already"):
        index_into(engine, home, SIX, fields=(PUBLICATION, own))


def rebuild(job, index):
    """The job that rebuilds an index by the model of another job."""
    made_by = {"card": job.card, "encoder": job.encoder, "state_dir": job.state_dir}
    return rebuilding(index, settings={}, formats=(Format.PRX,), **made_by)


@stored
def test_an_index_is_moved_to_another_model_with_all_that_is_said_of_its_papers(engine, home, tmp_path):
    from tests.tiny import make_model

    index_into(engine, home, GIVEN[:4], fields=CUSTOM, origin="a")
    index_into(engine, home, GIVEN[2:], fields=CUSTOM, origin="b")
    index = engine.open("papers")
    index.add_fields([Field("labels", "keywords", origin="tag")])
    index.update({IDS[0]: {"labels": ["x"]}})
    before = index.papers(IDS)
    (tmp_path / "other").mkdir()
    make_model(tmp_path / "other" / "model", seed=5, width=32)
    job = make_job(tmp_path / "other", home / "none")
    report = index_corpus(rebuild(job, index), engine)
    assert (report.new, report.papers, report.generation) == (6, 6, 2)
    opened = engine.open("papers")
    assert opened.schema.fingerprint == job.card.fingerprint != index.schema.fingerprint
    assert opened.papers(IDS) == before
    assert before[IDS[2]].origins == ("a", "b")
    assert opened.vectors(IDS[:1], "prx")[IDS[0]].shape == (32,)
    # And back.
    assert engine.rollback("papers").papers(IDS) == before


GERMAN = {
    "a": ("Die Behandlung von Entzündungen", "Entzündung der Lunge bei Kindern"),
    "b": ("Studien über Häuser", "In den Häusern der Stadt"),
    "c": ("Wasser und Boden", "Der Boden"),
}


def in_language(engine, language, texts):
    schema = replace(SCHEMA, language=language)
    index = engine.build("papers", schema, "source")
    made = [replace(SIX[0], id=id_, title=title, abstract=abstract) for id_, (title, abstract) in texts.items()]
    index.upsert([replace(documents(1)[0], paper=paper) for paper in made])
    index.finish()
    return index


@every_engine
@pytest.mark.parametrize(
    ("language", "texts", "found"),
    [
        (
            "german",
            GERMAN,
            {"Entzündungen": {"a"}, "Haus": {"b"}, "Häusern": {"b"}, "die der und": set(), "boden": {"c"}},
        ),
        (
            "french",
            {"a": ("Traitement de l'hypertension", "Les hypertensions"), "b": ("Études des épidémies", "")},
            {"hypertension": {"a"}, "l'hypertension": {"a"}, "étude épidémie": {"b"}, "les des": set()},
        ),
        (
            "spanish",
            {"a": ("Infecciones respiratorias en niños", ""), "b": ("Tratamiento del cáncer", "")},
            {"infección": {"a"}, "niño": {"a"}, "tratamientos": {"b"}, "del en": set()},
        ),
        (
            "cjk",
            {"a": ("糖尿病の治療", ""), "b": ("新型冠状病毒疫苗", ""), "c": ("Virus studies", "")},
            {"治療": {"a"}, "疫苗": {"b"}, "virus": {"c"}, "study": set()},
        ),
    ],
)
def test_words_are_analysed_in_the_language_of_the_index(engine, language, texts, found):
    index = in_language(engine, language, texts)
    for words, expected in found.items():
        legs = index.search(Plan(words, (), None, 9))
        assert {hit.id for hit in legs["lexical"]} == expected, words
        # Highlights mark what was matched.
        engine.publish(index)
        page = search(engine.open("papers"), SearchRequest(words, mode="lexical"))
        assert all(hit.snippets for hit in page.hits), words


def test_no_path_of_this_machine_is_stored(engine, home, tmp_path):
    from corpora.reading import source_of

    source = source_of("jsonl", tmp_path / "somewhere" / "papers.jsonl", None)
    assert "somewhere" not in source
    index_into(engine, home, SIX, source=source)
    if hasattr(engine, "cluster"):
        mapping = str(engine.cluster.call("GET", "/ses.*/_mapping"))
        assert str(tmp_path) not in mapping
        assert str(home) not in mapping.replace(str(make_job(home, home / "none").card.name), "")
