"""What is checked before an index takes the place of another: that it is whole, and of one form; and pruning."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

import pytest

from corpora.errors import InputError, UnavailableError
from corpora.paper import Accepted, Deleted, Rejected
from corpora.progress import Silent
from encoders.models.formats import Format
from indexer.moving import rebuilding
from indexer.pipeline import index_corpus
from indexer.survey import Survey, open_survey
from indexer.target import OriginRemoval, checked_count, remove_origin, withdrawn_ids
from indexer.work import DeadLetter
from search_plugin.contract.schema import Bm25
from search_plugin.engines.registry import connect
from tests.conftest import SERVERS, server_url
from tests.engines.conftest import forget
from tests.indexer.jobs import engine_in, make_job, run_job
from tests.indexer.test_pipeline import counts, expect
from tests.search_plugin.engines.embedded.small import document, make
from tests.tiny import papers, write_jsonl


@pytest.mark.slow
def test_papers_the_corpus_no_longer_holds_are_deleted_on_request_only(tmp_path):
    written = papers(1_200)
    corpus = write_jsonl(tmp_path / "corpus.jsonl", written)
    run_job(tmp_path, make_job(tmp_path, corpus))
    write_jsonl(corpus, written[1_100:])
    kept = run_job(tmp_path, make_job(tmp_path, corpus))
    assert (kept.deleted, counts(kept)) == (0, expect(unchanged=100, papers=1_200))

    # A record that can't be read this time is in the corpus all the same.
    records = [Accepted(n, paper) for n, paper in enumerate(written[1_100:])] + [Rejected(200, "It is torn.", "p00007")]
    torn = replace(make_job(tmp_path, corpus, prune=True), records=lambda: iter(records))
    pruned = run_job(tmp_path, torn)
    assert (pruned.deleted, counts(pruned)) == (1_099, expect(unchanged=100, rejected=1, papers=101))
    index = engine_in(tmp_path).open("papers")
    assert sorted(index.ids()) == ["p00007", *(paper.id for paper in written[1_100:])]
    again = run_job(tmp_path, make_job(tmp_path, corpus, prune=True))
    assert (again.deleted, again.papers) == (1, 100)


class Forgetful:
    """An index that loses something without a word."""

    def __init__(self, index, *, papers=0, vectors=0):
        self._index = index
        self._papers = papers
        self._vectors = vectors

    def __getattr__(self, name):
        return getattr(self._index, name)

    def upsert(self, documents):
        return self._index.upsert(documents[self._papers :])

    def count(self, field=None):
        return self._index.count(field) - (self._vectors if field else 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lost", "message"),
    [
        (
            {"papers": 1},
            r"holds 29 papers and was given 30, so it was not put in place of the one before; index the same",
        ),
        ({"vectors": 2}, r"Only 28 of the 30 papers in the index papers have a prx vector, .*; index again with fresh"),
    ],
)
def test_an_index_that_is_not_whole_does_not_replace_the_one_before(tmp_path, lost, message):
    corpus = write_jsonl(tmp_path / "corpus.jsonl", papers(20))
    run_job(tmp_path, make_job(tmp_path, corpus))
    write_jsonl(corpus, papers(30))
    engine = engine_in(tmp_path)
    build, opened = engine.build, engine.open
    engine.build = lambda *given: Forgetful(build(*given), **lost)
    with pytest.raises(UnavailableError, match=message):
        index_corpus(make_job(tmp_path, corpus, fresh=True), engine)
    assert (engine.open("papers").generation, engine.open("papers").count()) == (1, 20)
    # In a live index nothing is swapped, and it is told all the same.
    engine.open = lambda name: Forgetful(opened(name), **lost)
    with pytest.raises(UnavailableError, match=message.replace(", so it was not put in place of the one before", "")):
        index_corpus(make_job(tmp_path, corpus), engine)
    # What was lost is written by the next run, and then all is well.
    assert counts(run_job(tmp_path, make_job(tmp_path, corpus))) == expect(
        new=lost.get("papers", 0), unchanged=30 - lost.get("papers", 0), papers=30
    )


def test_the_form_of_vectors_is_chosen_once(tmp_path):
    corpus = write_jsonl(tmp_path / "corpus.jsonl", papers(5))
    with pytest.raises(InputError, match="embedded engine keeps vectors whole; leave quantization out, or use a"):
        run_job(tmp_path, make_job(tmp_path, corpus, quantization="int8"))
    run_job(tmp_path, make_job(tmp_path, corpus, quantization="none"))
    with pytest.raises(InputError, match="was made with quantization none; leave quantization out, or"):
        run_job(tmp_path, make_job(tmp_path, corpus, quantization="int8"))
    assert counts(run_job(tmp_path, make_job(tmp_path, corpus))) == expect(unchanged=5, papers=5)


def test_a_new_index_with_papers_of_somebody_else_is_not_put_in_place(tmp_path):
    _, index = make(tmp_path, 4)
    given, dead = {"new": 1, "updated": 1, "unchanged": 1}, DeadLetter(tmp_path / "dead.jsonl")
    assert checked_count(index, given, dead, published=True) == 4
    with pytest.raises(UnavailableError, match="holds 4 papers and was given 3, so it was not put in place"):
        checked_count(index, given, dead, published=False)


def test_papers_that_a_corpus_withdraws_are_deleted_if_they_are_of_no_other_corpus(tmp_path):
    _, index = make(tmp_path)
    origins = {"a": ("tiny",), "b": ("tiny",), "c": ("other",), "d": ("tiny",), "e": ("other", "tiny")}
    index.upsert([document(id_, origins=found) for id_, found in origins.items()])
    survey = Survey(sqlite3.connect(":memory:"), "tiny")
    withdrawn = [Deleted(line, id_) for line, id_ in enumerate("abce")]
    survey.read(withdrawn, [].append, Silent())
    (found,) = withdrawn_ids(index, "tiny", survey)
    assert sorted(found) == ["a", "b", "e"]
    assert remove_origin(index, "tiny", [found]) == OriginRemoval(deleted=2, kept=1)
    assert {id_: paper.origins for id_, paper in index.papers(list("abcde")).items()} == {
        "c": ("other",),
        "d": ("tiny",),
        "e": ("other",),
    }


def test_a_rebuilt_index_has_what_the_one_before_had_unless_told(tmp_path):
    _, index = make(tmp_path)
    assert (index.schema.quantization, index.schema.bm25) == ("none", Bm25())
    given = {"card": None, "encoder": None, "state_dir": tmp_path, "formats": (Format.PRX,)}
    job = rebuilding(index, settings={}, **given)
    assert (job.index, job.fresh, job.origin, job.cached) == ("papers", True, None, True)
    assert (job.settings, job.fields) == ({"quantization": "none", "bm25": Bm25()}, index.schema.added)
    chosen = {"quantization": "int8", "bm25": Bm25(2, 0.5), "language": "german"}
    changed = rebuilding(index, settings=chosen, cached=False, **given)
    assert (changed.settings, changed.cached, changed.source) == (chosen, False, job.source)


@pytest.mark.parametrize("lane", [pytest.param(lane, marks=getattr(pytest.mark, lane)) for lane in SERVERS])
def test_a_clusters_index_keeps_its_form_and_is_checked(tmp_path, lane):
    engine = connect(server_url(lane))
    forget(engine, "pipeline")
    try:
        corpus = write_jsonl(tmp_path / "corpus.jsonl", papers(40))
        made = index_corpus(make_job(tmp_path, corpus, "pipeline", quantization="int8"), engine)
        assert counts(made) == expect(new=40, papers=40)
        with pytest.raises(InputError, match=r"quantization int8; leave quantization out, or .* to have int4"):
            index_corpus(make_job(tmp_path, corpus, "pipeline", quantization="int4"), engine)
        write_jsonl(corpus, papers(30))
        pruned = index_corpus(make_job(tmp_path, corpus, "pipeline", prune=True), engine)
        assert (pruned.deleted, counts(pruned)) == (10, expect(unchanged=30, papers=30))
        index = engine.open("pipeline")
        assert index.schema.quantization == "int8"
        engine.cluster.call("PUT", f"/{index.physical}/_doc/x", {"id": "x", "title": "t"}, params={"refresh": "true"})
        with pytest.raises(UnavailableError, match="Only 30 of the 31 papers in the index pipeline have a prx vector"):
            index_corpus(make_job(tmp_path, corpus, "pipeline"), engine)
        # It is of no origin, so that pruning leaves it; a fresh version is without it.
        with pytest.raises(UnavailableError, match=r"somebody else has written to it; index again with fresh"):
            index_corpus(make_job(tmp_path, corpus, "pipeline", prune=True), engine)
        assert index_corpus(make_job(tmp_path, corpus, "pipeline", fresh=True), engine).papers == 30
    finally:
        forget(engine, "pipeline")


def test_a_folder_whose_path_is_too_long_for_sqlite_is_reported(tmp_path):
    folder = tmp_path.joinpath(*["x" * 100] * 5)
    with pytest.raises(UnavailableError, match="is too long for SQLite; set SES_DATA_DIR to a shorter one"):
        open_survey(folder, None).__enter__()
