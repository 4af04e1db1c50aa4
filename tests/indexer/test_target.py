"""The generation that a job writes to: what it takes over from the one before, and what it must have been made with."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from corpora.errors import InputError, UnavailableError
from encoders.models.formats import Format
from indexer.job import OwnJob, SparseJob
from indexer.survey import open_survey
from indexer.target import (
    OriginRemoval,
    check_papers,
    checked_count,
    count_gone,
    formats_of_model,
    generation_to_write,
    published_generation,
    remove_origin,
)
from search_plugin.contract.schema import Bm25, Field, sparse_field
from tests.indexer.jobs import engine_in, make_job
from tests.search_plugin.engines.embedded.small import document, make

SHELF, STAGE = Field("shelf", "keyword"), Field("stage", "keyword")


def card_of(name, mark, dimension=64):
    """A card of a model that is nowhere."""
    facts = {"name": name, "fingerprint": mark * 16, "dimension": dimension, "similarity": "cosine"}
    return SimpleNamespace(**facts, head=lambda task_format: None)


class Building:
    """An engine that returns what it would build."""

    def build(self, name, schema, source):
        return SimpleNamespace(name=name, schema=schema, source=source)


@pytest.fixture
def job(tmp_path):
    return make_job(tmp_path, tmp_path / "none", "mine")


def built(job, before=None):
    made, published = generation_to_write(job, Building(), before)
    assert (made.name, made.source, published) == ("mine", job.source, False)
    return made.schema


def held(schema):
    """A published generation, which notes the fields that are added."""
    added = []
    return SimpleNamespace(name="mine", schema=schema, add_fields=added.extend, added=added)


def test_a_first_build_has_what_was_chosen(job):
    plain = built(job)
    assert [one.format for one in plain.vectors] == ["prx"]
    assert (plain.model, plain.language, plain.added, plain.sparse, plain.own) == (job.card.name, "english", (), (), ())
    chosen = replace(
        job, fields=(SHELF,), settings={"passages": "sentences", "language": "german", "bm25": Bm25(2, 0.5)}
    )
    schema = built(chosen)
    assert [one.format for one in schema.vectors] == ["prx", "sentences"]
    assert (schema.language, schema.added, schema.bm25) == ("german", (SHELF,), Bm25(2, 0.5))


def test_a_fresh_build_keeps_passages_language_and_fields_unless_told(job):
    settings = {"passages": "sentences", "language": "german"}
    before = held(built(replace(job, settings=settings, fields=(SHELF, STAGE))))
    fresh = replace(job, fresh=True, fields=(replace(STAGE, kind="text"),))
    schema = built(fresh, before)
    assert [one.format for one in schema.vectors] == ["prx", "sentences"]
    assert (schema.language, {field.name: field.kind for field in schema.added}) == (
        "german",
        {"stage": "text", "shelf": "keyword"},
    )
    other = built(replace(fresh, settings={"passages": "none", "language": "french"}), before)
    assert [one.format for one in other.vectors] == ["prx"]
    assert other.language == "french"
    assert before.added == []


def test_an_index_is_written_again_with_what_it_was_made_with(job):
    before = held(built(replace(job, settings={"passages": "sentences"})))
    again = replace(job, fields=(SHELF,), settings={"passages": "sentences", "quantization": "none"})
    assert generation_to_write(again, Building(), before) == (before, True)
    assert before.added == [SHELF]
    for settings, told in (
        (
            {"passages": "none"},
            "was made with passages sentences; leave <passages> out, or index again with <fresh> to",
        ),
        ({"language": "german"}, "was made with language english"),
        ({"dimension": 8}, "was made with dimension 64"),
    ):
        with pytest.raises(InputError) as caught:
            generation_to_write(replace(job, settings=settings), Building(), before)
        assert told in f"{caught.value.sentence}; {caught.value.hint}"
    with pytest.raises(InputError, match="holds no clf vectors"):
        generation_to_write(replace(job, formats=(Format.CLF,)), Building(), before)
    other = replace(job, card=card_of("mine", "0"))
    with pytest.raises(InputError, match="was made by"):
        generation_to_write(other, Building(), before)


def test_models_of_formats_own_are_those_of_the_index(job):
    own = OwnJob(card_of("other", "1"), None, (Format.RGN,))
    with_own = replace(job, own=(own,), formats=(Format.PRX, Format.RGN))
    assert formats_of_model(with_own) == [Format.PRX]
    assert formats_of_model(replace(job, formats=(Format.PRX, Format.CLF), worded=(Format.CLF,))) == [Format.PRX]
    schema = built(with_own)
    assert [(one.format, one.model) for one in schema.own] == [("rgn", "other")]
    assert generation_to_write(with_own, Building(), held(schema))[1]
    another = replace(own, card=card_of("other", "2"))
    for given, before, told in (
        (job, schema, "has other formats with models of their own: rgn by other"),
        (replace(with_own, own=(another,)), schema, "has other formats with models of their own: rgn by other"),
        (replace(with_own, formats=(Format.PRX,)), built(job), "has other formats with models of their own: none"),
    ):
        with pytest.raises(InputError, match=told):
            generation_to_write(given, Building(), held(before))


def test_sparse_vectors_are_those_of_the_index(job):
    sparse = SparseJob(card_of("words", "3"), None, sparse_field(30_000, "words", "3" * 16))
    with_sparse = replace(job, sparse=sparse)
    schema = built(with_sparse)
    assert schema.sparse == (sparse.field,)
    assert generation_to_write(with_sparse, Building(), held(schema))[1]
    other = replace(sparse, card=card_of("words", "4"))
    for given, before, told in (
        (job, schema, "The index mine has sparse vectors; leave <sparse> out, or add <fresh>"),
        (
            with_sparse,
            built(job),
            "has no sparse vectors; leave <sparse> out, or index again with <fresh> and <sparse=words>",
        ),
        (
            replace(job, sparse=other),
            schema,
            "are of the model words (3333333333333333), not of words (4444444444444444)",
        ),
    ):
        with pytest.raises(InputError) as caught:
            generation_to_write(given, Building(), held(before))
        assert told in f"{caught.value.sentence}; {caught.value.hint}"


def test_a_damaged_version_stops_a_run_unless_it_builds_a_fresh_one(job, caplog):
    class Damaged:
        def schema(self, name):
            raise UnavailableError("The disk is gone.")

    with pytest.raises(UnavailableError):
        published_generation(job, Damaged())
    assert published_generation(replace(job, fresh=True), Damaged()) is None
    assert "Nothing of the version before can be taken over: The disk is gone." in caplog.text


def test_there_is_none_before_the_first(tmp_path, job):
    assert published_generation(job, engine_in(tmp_path)) is None


class Index(SimpleNamespace):
    """An index of a number of papers, of which some have no vector."""

    def __init__(self, papers, vectors=None):
        super().__init__(name="mine", schema=SimpleNamespace(dense=(SimpleNamespace(format="prx"),)))
        self.held = {None: papers, "prx": papers if vectors is None else vectors}

    def count(self, field=None):
        return self.held[field]


DEAD = SimpleNamespace(path="/list", count=2)
NONE = {"new": 0, "updated": 0, "unchanged": 0}


@pytest.mark.parametrize(
    ("index", "given", "published", "told"),
    [
        (Index(6), {"new": 1, "updated": 2, "unchanged": 3}, False, ""),
        (Index(7), {"new": 1, "updated": 2, "unchanged": 3}, True, ""),
        (Index(5), {"new": 1, "updated": 2, "unchanged": 3}, True, "holds 5 papers and was given 6$"),
        (Index(7), {"new": 6}, False, "holds 7 papers and was given 6, so it was not put in place of the one before"),
        (Index(6, 5), {"new": 6}, True, "Only 5 of the 6 papers in the index mine have a prx vector"),
        (Index(6, 7), {"new": 6}, True, "Only 7 of the 6 papers"),
        (
            Index(3),
            {"refused": 2},
            True,
            "took none of the 2 papers, so the index mine was left as it is; /list says why",
        ),
        (Index(3), {"refused": 2, "new": 3}, True, ""),
        (Index(0), {}, False, ""),
    ],
)
def test_an_index_holds_what_it_was_given(index, given, published, told):
    def check():
        return checked_count(index, NONE | given, DEAD, published=published)

    if told:
        with pytest.raises(UnavailableError) as caught:
            check()
        assert told.removesuffix("$") in caught.value.sentence
    else:
        assert check() == index.count()


def test_a_corpus_without_papers_is_refused_but_an_index_may_become_empty(job):
    for counts in ({"new": 1}, {"updated": 1}, {"unchanged": 1}):
        check_papers(job, NONE | counts, DEAD)
    check_papers(replace(job, origin=None), NONE, DEAD)
    with pytest.raises(InputError, match=r"None of the 2 records of the corpus can be indexed; /list says why"):
        check_papers(job, NONE, DEAD)
    with pytest.raises(InputError, match="The corpus holds no papers"):
        check_papers(job, NONE, SimpleNamespace(path="/list", count=0))


def test_an_origin_leaves_its_papers_and_those_of_no_other_are_deleted(tmp_path):
    _, index = make(tmp_path)
    origins = {"a": ("x",), "b": ("x", "y"), "c": ("x", "z"), "d": ("y",)}
    index.upsert([document(id_, origins=found) for id_, found in origins.items()])
    assert remove_origin(index, "x", [["a", "b"], ["c"]]) == OriginRemoval(deleted=1, kept=2)
    assert {id_: row["origins"] for id_, row in index.values(list(index.ids()), ["origins"]).items()} == {
        "b": ("y",),
        "c": ("z",),
        "d": ("y",),
    }
    assert remove_origin(index, "x", []) == OriginRemoval(0, 0)
    with open_survey(tmp_path / "s", "y") as survey:
        assert count_gone(index, "y", survey) == 2
        assert count_gone(index, "w", survey) == 0
