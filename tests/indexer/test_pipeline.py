"""What a run does with new, changed, doubled and broken records, and with an index of another model."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from corpora.errors import ConflictError, InputError, StoppedError, UnavailableError
from corpora.paper import Accepted, Rejected
from corpora.progress import Silent
from encoders.encoder import load_encoder
from encoders.models.formats import Format
from indexer.pipeline import index_corpus, prefetch
from search_plugin.contract.engine import Refused
from search_plugin.contract.schema import Field
from tests.indexer.jobs import engine_in, make_job, run_job
from tests.tiny import make_model, papers, write_jsonl


def counts(report):
    return {name: getattr(report, name) for name in ("new", "updated", "unchanged", "duplicates", "rejected", "papers")}


def expect(**given):
    return {"new": 0, "updated": 0, "unchanged": 0, "duplicates": 0, "rejected": 0, **given}


@pytest.mark.slow
def test_indexes_then_skips_then_updates(tmp_path):
    written = papers(150)
    corpus = write_jsonl(tmp_path / "corpus.jsonl", written)
    assert counts(run_job(tmp_path, make_job(tmp_path, corpus))) == expect(new=150, papers=150)

    job = replace(make_job(tmp_path, corpus), encoder=lambda: pytest.fail("the model is loaded for nothing"))
    assert counts(run_job(tmp_path, job)) == expect(unchanged=150, papers=150)

    written[3] = replace(written[3], title="neutrino")
    write_jsonl(corpus, [*written[1:], *papers(152)[150:]])
    assert counts(run_job(tmp_path, make_job(tmp_path, corpus))) == expect(new=2, updated=1, unchanged=148, papers=152)
    assert engine_in(tmp_path).open("papers").papers(["p00003"])["p00003"].title == "neutrino"


def test_vectors_are_those_of_title_and_abstract(tmp_path):
    written = papers(40)
    job = replace(
        make_job(tmp_path, write_jsonl(tmp_path / "corpus.jsonl", written)),
        encoder=lambda: load_encoder(str(tmp_path / "model"), cache_dir=tmp_path / "cache", precision="fp32"),
    )
    run_job(tmp_path, job)
    stored = engine_in(tmp_path).open("papers").vectors([paper.id for paper in written], "prx")
    encoder = job.encoder()
    for paper in written:
        text = f"{paper.title} [SEP] {paper.abstract}" if paper.abstract else paper.title
        assert np.allclose(stored[paper.id], encoder.encode([text])[0], atol=1e-5)


def test_stores_one_vector_a_format_made_with_its_code_once(tmp_path):
    model = make_model(tmp_path / "model", codes=True)
    written = papers(10)
    corpus = write_jsonl(tmp_path / "corpus.jsonl", written)
    encoder = load_encoder(str(model), cache_dir=tmp_path / "cache", precision="fp32")
    job = make_job(tmp_path, corpus, formats=(Format.PRX, Format.CLF))
    run_job(tmp_path, replace(job, encoder=lambda: encoder))
    index = engine_in(tmp_path).open("papers")
    for field, code in (("prx", "[PRX]"), ("clf", "[CLF]")):
        ids = np.array([encoder.tokenizer.encode(f"{code} {written[1].title} [SEP] {written[1].abstract}").ids])
        (expected,) = encoder.sessions(("vector",))(ids, np.ones_like(ids))[0]
        assert np.allclose(index.vectors(["p00001"], field)["p00001"], expected, atol=1e-4)
    with pytest.raises(InputError, match="holds no rgn vectors, only: prx, clf"):
        run_job(tmp_path, make_job(tmp_path, corpus, formats=(Format.PRX, Format.RGN)))


class Picky:
    """An index that refuses one paper."""

    def __init__(self, index):
        self._index = index

    def __getattr__(self, name):
        return getattr(self._index, name)

    def upsert(self, documents):
        taken = [document for document in documents if document.paper.id != "p00001"]
        refused = [Refused("p00001", "It is too long.")] * (len(documents) - len(taken))
        return [*self._index.upsert(taken), *refused]


def picky_engine(folder):
    engine = engine_in(folder)
    build = engine.build
    engine.build = lambda *given: Picky(build(*given))
    return engine


class Stopping(Silent):
    """A progress whose user stops the run after a number of bulks were written."""

    def __init__(self, bulks):
        self.bulks, self.refused = bulks, []

    def advance(self, papers, rejected=0, *, block=0.0, cost=1.0):
        if threading.current_thread() is threading.main_thread() and papers == 0 and not block:
            self.refused.append(rejected)
            if len(self.refused) == self.bulks:
                raise KeyboardInterrupt


@pytest.mark.slow
def test_a_user_who_stops_a_run_is_told_what_was_written(tmp_path):
    corpus = write_jsonl(tmp_path / "corpus.jsonl", papers(100))
    job = make_job(tmp_path, corpus, bulk_bytes=1, cached=False)
    for stopping, refused, kept in (
        (Stopping(2), [1, 0], "63 of 100 papers are in the unfinished index papers"),
        (Stopping(2), [1, 0], "95 of 100 papers are in the unfinished index papers"),
    ):
        with pytest.raises(StoppedError, match=kept):
            index_corpus(job, picky_engine(tmp_path), stopping)
        assert stopping.refused == refused
    write_jsonl(corpus, papers(140))
    assert counts(index_corpus(job, engine_in(tmp_path)))["papers"] == 140
    write_jsonl(corpus, [replace(paper, title="again") for paper in papers(40)] + papers(140)[40:])
    with pytest.raises(StoppedError, match="132 of 140 papers are in the index papers"):
        index_corpus(job, engine_in(tmp_path), Stopping(1))


@pytest.mark.slow
def test_bulks_are_whole_blocks_up_to_a_number_of_bytes(tmp_path):
    written = [replace(paper, title="x" * 500, abstract="y" * 500) for paper in papers(160)]
    job = make_job(tmp_path, write_jsonl(tmp_path / "corpus.jsonl", written))
    # A paper has 1,000 bytes of text, and 256 of its vector.
    for index, limit, wanted in (
        ("exact", 64 * 1_256, [64, 64, 32]),
        ("more", 64 * 1_256 + 1, [96, 64]),
        ("one", 1, [32] * 5),
    ):
        engine, sizes = engine_in(tmp_path), []
        build = engine.build

        class Counting(Picky):
            def upsert(self, documents, sizes=sizes):
                sizes.append(len(documents))
                return self._index.upsert(documents)

        engine.build = lambda *given, build=build, kind=Counting: kind(build(*given))
        index_corpus(replace(job, index=index, bulk_bytes=limit), engine)
        assert sizes == wanted


def test_rejected_records_are_listed_with_line_and_reason(tmp_path):
    good = papers(3)
    records = [Accepted(1, good[0]), Rejected(2, "It has no title.", "x"), Accepted(3, good[1]), Accepted(4, good[2])]
    job = replace(make_job(tmp_path, tmp_path / "none"), records=lambda: iter(records))
    report = index_corpus(job, picky_engine(tmp_path))
    assert counts(report) == expect(new=2, rejected=2, papers=2)
    assert [json.loads(line) for line in report.dead_letter.read_text().splitlines()] == [
        {"line": 2, "reason": "It has no title.", "id": "x"},
        {"line": 3, "reason": "It is too long.", "id": good[1].id},
    ]
    # The next run tries the refused one again, and leaves no list behind when nothing is rejected.
    clean = replace(job, records=lambda: iter([record for record in records if isinstance(record, Accepted)]))
    again = index_corpus(clean, engine_in(tmp_path))
    assert counts(again) == expect(new=1, unchanged=2, papers=3)
    assert again.dead_letter is None
    assert not report.dead_letter.exists()


def test_values_that_a_corpus_does_not_give_stay_with_their_papers(tmp_path):
    stage, one, two, three = Field("stage", "keyword"), *papers(3)
    job = make_job(tmp_path, tmp_path / "none")

    def run(*written, **options):
        given = {"records": lambda: iter([Accepted(n, paper) for n, paper in enumerate(written)]), **options}
        run_job(tmp_path, replace(job, **given))
        index = engine_in(tmp_path).open("papers")
        return index.values(sorted(index.ids()), ["stage"])

    held = run(*(replace(paper, extra={"stage": "draft"}) for paper in (one, two)), fields=(stage,))
    assert held == {one.id: {"stage": "draft"}, two.id: {"stage": "draft"}}
    # One is changed, and three is new.
    kept = {one.id: {"stage": "draft"}, two.id: {"stage": "draft"}, three.id: {}}
    assert run(replace(one, title="again"), two, three) == kept
    assert run(replace(one, title="again"), two, three, fresh=True) == kept
    final = replace(one, title="once more", extra={"stage": "final"})
    assert run(final, two, three, fields=(stage,)) == {**kept, one.id: {"stage": "final"}, two.id: {}}


def test_an_index_of_another_model_is_refused_naming_both(tmp_path):
    corpus = write_jsonl(tmp_path / "corpus.jsonl", papers(5))
    first = make_job(tmp_path, corpus)
    run_job(tmp_path, first)
    make_model(tmp_path / "model", seed=1)
    second = make_job(tmp_path, corpus)
    with pytest.raises(InputError) as caught:
        run_job(tmp_path, second)
    assert first.card.fingerprint in str(caught.value)
    assert second.card.fingerprint in str(caught.value)
    assert "with fresh" in str(caught.value)
    assert run_job(tmp_path, replace(second, fresh=True)).generation == 2


def test_fresh_builds_beside_and_swaps(tmp_path):
    corpus = write_jsonl(tmp_path / "corpus.jsonl", papers(50))
    run_job(tmp_path, make_job(tmp_path, corpus))
    write_jsonl(corpus, papers(20))
    assert counts(run_job(tmp_path, make_job(tmp_path, corpus, fresh=True))) == expect(new=20, papers=20)
    engine = engine_in(tmp_path)
    assert engine.open("papers").count() == 20
    assert engine.rollback("papers").count() == 50


def test_a_failing_encoder_leaves_nothing_published_and_is_told(tmp_path):
    def broken():
        raise UnavailableError("The model is gone.")

    job = replace(make_job(tmp_path, write_jsonl(tmp_path / "corpus.jsonl", papers(50))), encoder=broken)
    with pytest.raises(UnavailableError, match="The model is gone"):
        run_job(tmp_path, job)
    assert list(engine_in(tmp_path).names()) == []
    assert engine_in(tmp_path).diagnose().indexes == ()


def test_a_second_writer_is_refused_and_leaves_the_first_ones_list_alone(tmp_path):
    corpus = write_jsonl(tmp_path / "corpus.jsonl", papers(5))
    rejected = tmp_path / "state" / "rejected" / "papers.jsonl"
    rejected.parent.mkdir(parents=True)
    rejected.write_text("of the first")
    with engine_in(tmp_path).lock("papers"), pytest.raises(ConflictError, match="Another run is writing"):
        run_job(tmp_path, make_job(tmp_path, corpus))
    assert rejected.read_text() == "of the first"


def test_prefetch_keeps_order_passes_errors_on_and_stops_when_left():
    assert list(prefetch(iter(range(100)))) == list(range(100))

    def failing():
        yield 1
        raise ValueError("broken")

    taken = prefetch(failing())
    assert next(taken) == 1
    with pytest.raises(ValueError, match="broken"):
        next(taken)

    produced, closed = [], []

    def endless():
        try:
            while True:
                produced.append(1)
                yield 1
        finally:
            closed.append(threading.current_thread())

    taken = prefetch(endless(), depth=2)
    next(taken)
    time.sleep(0.05)
    assert len(produced) <= 5, "the reader runs ahead without bound"
    taken.close()
    assert not [thread for thread in threading.enumerate() if "run" in thread.name]
    assert closed != [threading.current_thread()]
    assert len(closed) == 1
