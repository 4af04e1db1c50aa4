"""Vectors for an index of others, which is an embedded one here: what is read, written, noted and told."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from corpora.errors import StoppedError
from corpora.progress import Silent
from encoders.models.formats import Format
from indexer import attaching
from indexer.attaching import follow, only_searched, schema_for
from search_plugin.contract.schema import Field, IndexSchema, paper_vector
from search_plugin.engines.cluster.attached.field_mappings import FieldMapping
from tests.indexer.jobs import engine_in, make_job
from tests.indexer.test_pipeline import counts, expect

PLACES = tuple(
    FieldMapping(name, name, name, kind) for name, kind in (("title", "text"), ("year", "number"), ("shelf", "keyword"))
)
SHELF = Field("shelf", "keyword")
ALL = {"match_all": {}}


class Attaching:
    """An engine to which an index of others is attached; the query `changed` finds what has changed."""

    cluster = SimpleNamespace()

    def __init__(self, folder, job, *, beside):
        self._engine, self.noted, self.asked, self.query = engine_in(folder), [], [], None
        schema = schema_for(job).with_fields([SHELF])
        self._engine.publish(self._engine.build("shelf", schema, "others"))
        self.attachment = SimpleNamespace(
            name="shelf", target="books", schema=schema, field_mappings=PLACES, beside="ses.beside" * beside
        )
        self.hits = {}

    def __getattr__(self, name):
        return getattr(self._engine, name)

    def attached(self, name):
        assert name == "shelf"
        return self.attachment

    def renew(self, attachment):
        self.noted.append("renewed")

    def reached(self, attachment):
        return {"books": len(self.noted)}

    def changed(self, attachment, reached):
        assert reached == {"books": len(self.noted)}
        return self.query

    def note_read(self, name, before, written, rejected):
        self.noted.append((name, dict(before), written, rejected))

    def scan(self, cluster, target, body):
        assert (cluster, target) == (self.cluster, "books")
        self.asked.append(body)
        chosen = self.hits if body["query"] == ALL else body["query"]["ids"]
        return ({"_id": id_, "_source": self.hits[id_]} for id_ in chosen)


@pytest.fixture
def attach(tmp_path, monkeypatch):
    """A function that attaches an index of six documents, one of which has no title."""

    def attached(*, beside=False, **options):
        job = make_job(tmp_path, tmp_path / "none", "shelf", **options)
        engine = Attaching(tmp_path, job, beside=beside)
        engine.hits = {f"d{n}": {"title": f"virus {n}", "year": 2_000 + n, "shelf": "A"} for n in range(5)}
        engine.hits["bad"] = {"year": 2_000}
        monkeypatch.setattr(attaching, "scan_hits", engine.scan)
        return job, engine

    return attached


def held(engine, name="shelf"):
    index = engine.open("shelf")
    return index.values(sorted(index.ids()), [name])


def test_an_index_is_attached_with_the_model_and_the_settings_of_a_job(tmp_path):
    job = make_job(tmp_path, tmp_path / "none", formats=(Format.PRX, Format.CLF), language="german")
    card = job.card
    vectors = tuple(paper_vector(name, card.dimension, card.similarity) for name in ("prx", "clf"))
    wanted = IndexSchema(card.name, card.fingerprint, vectors, language="german")
    assert schema_for(job) == wanted
    assert schema_for(job, "int8") == replace(wanted, quantization="int8")


def test_documents_get_vectors_of_title_and_abstract_and_nothing_of_theirs_is_written(attach):
    job, engine = attach()
    report = follow(job, engine)
    assert counts(report) == expect(new=5, rejected=1, papers=5)
    assert (report.origin, report.index, report.absent) == ("books", "shelf", 0)
    assert [json.loads(line) for line in report.dead_letter.read_text().splitlines()] == [
        {"line": 6, "reason": "The record has neither title nor abstract.", "id": "bad"}
    ]
    assert engine.noted == ["renewed", ("shelf", {"books": 1}, 5, 1)]
    assert engine.asked == [{"query": ALL, "_source": ["shelf", "title", "year"]}], "read once, though needed twice"
    assert engine.open("shelf").papers(["d1"])["d1"].year is None
    assert held(engine) == {f"d{n}": {} for n in range(5)}

    del engine.hits["d0"]
    engine.hits["d1"]["title"] = "lung"
    engine.hits["d2"]["year"] = 1_900  # filters use it where it is
    report = follow(job, engine)
    assert counts(report) == expect(updated=1, unchanged=3, rejected=1, papers=5)
    assert report.deleted == 0
    assert engine.noted[-1] == ("shelf", {"books": 3}, 1, 1)


def test_vectors_beside_the_documents_have_their_fields_and_lose_those_that_are_gone(attach):
    job, engine = attach(beside=True)
    report = follow(job, engine)
    assert counts(report) == expect(new=5, rejected=1, papers=5)
    assert held(engine) == {f"d{n}": {"shelf": "A"} for n in range(5)}
    assert held(engine, "origins") == {f"d{n}": {"origins": ("shelf",)} for n in range(5)}
    assert engine.open("shelf").papers(["d1"])["d1"].year == 2_001
    del engine.hits["d0"]
    engine.hits["d1"]["year"] = 1_900
    engine.hits["d2"]["shelf"] = "B"
    report = follow(job, engine)
    assert counts(report) == expect(updated=1, unchanged=3, rejected=1, papers=4)
    assert (report.deleted, report.revalued) == (1, 1)
    assert held(engine)["d2"] == {"shelf": "B"}


def test_only_what_has_changed_is_read_where_the_cluster_tells(attach):
    job, engine = attach()
    follow(job, engine)
    engine.hits |= {"d1": {"title": "lung"}, "d9": {"title": "cell"}}
    engine.query = {"ids": ["d1", "d2", "d9"]}
    report = follow(job, engine, changes_only=True)
    assert engine.asked[-1]["query"] == engine.query
    assert counts(report) == expect(new=1, updated=1, unchanged=4, papers=6)
    # Without a word of the cluster, all are read.
    engine.query = None
    report = follow(job, engine, changes_only=True)
    assert engine.asked[-1]["query"] == ALL
    assert counts(report) == expect(unchanged=6, rejected=1, papers=6)
    engine.query = {"ids": []}
    assert follow(job, engine).unchanged == 6, "all, as long as changes alone are not asked for"


def test_the_settings_of_a_job_do_not_stop_it(attach):
    job, engine = attach(language="german")
    engine.attachment = SimpleNamespace(**{**vars(engine.attachment), "schema": schema_for(job)})
    assert follow(replace(job, settings={"language": "french"}), engine).new == 5


def test_a_user_who_stops_it_is_told_how_to_go_on(attach):
    job, engine = attach()

    class Stopping(Silent):
        def stage(self, name, total):
            if name == "indexing":
                raise KeyboardInterrupt

    with pytest.raises(StoppedError) as stopped:
        follow(job, engine, Stopping())
    assert stopped.value.hint == "attach it again to resume"
    assert engine.noted == ["renewed"], "what was read is not noted"


def test_an_index_without_vectors_of_ses_is_reported_with_what_is_no_paper(tmp_path, monkeypatch):
    from corpora.paper import Accepted, Rejected
    from tests.tiny import papers

    class Index:
        def __init__(self, cluster, dialect, attachment, encoder):
            assert (cluster, dialect, attachment.name, encoder) == ("c", "d", "shelf", None)

        def count(self):
            return 7

        def count_all(self):
            return 9

        def lacking(self, documents):
            assert documents == 9
            return iter([Rejected(3, "It has no title.", "x"), Accepted(4, papers(1)[0]), Rejected(5, "No.", "y")])

    monkeypatch.setattr(attaching, "AttachedIndex", Index)
    attachment = SimpleNamespace(name="shelf", target="books", schema=SimpleNamespace(model="none"))
    report = only_searched(SimpleNamespace(cluster="c", dialect="d"), attachment, tmp_path)
    assert counts(report) == expect(unchanged=7, rejected=2, papers=7)
    assert report.dead_letter == tmp_path / "rejected" / "shelf.jsonl"
    assert [json.loads(line)["line"] for line in report.dead_letter.read_text().splitlines()] == [3, 5]
    told = report.to_dict()
    assert (told["index"], told["origin"], told["generation"], told["model"]) == ("shelf", "books", 1, "none")
    assert 0 <= told["seconds"] < 30
    rest = ("revalued", "deletions", "deleted_by_corpus", "deleted", "kept", "absent", "encoding_seconds")
    assert [told[name] for name in rest] == [0] * 7
    monkeypatch.setattr(Index, "lacking", lambda *_: iter(()))
    assert only_searched(SimpleNamespace(cluster="c", dialect="d"), attachment, tmp_path).dead_letter is None
