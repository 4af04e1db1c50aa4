"""An index's own papers, as the corpus of its next version."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from corpora.errors import UnavailableError
from encoders.models.formats import Format
from indexer.moving import own_papers, readable, rebuilding
from search_plugin.contract.schema import Bm25, Field, IndexSchema
from tests.tiny import papers

FROM_CORPUS = "index its corpus again, with <corpus> and <fresh>"


class Index:
    """An index that lists ids, and has papers for some of them; `after` is what it lists at the end."""

    name = "mine"

    def __init__(self, written, ids, after=None):
        self.written = {paper.id: paper for paper in written}
        self.lists, self.asked = [ids, ids if after is None else after], []

    def ids(self):
        return iter(self.lists.pop(0))

    def papers(self, ids):
        self.asked.append(len(ids))
        return {id_: self.written[id_] for id_ in ids if id_ in self.written}


def test_papers_come_in_the_order_of_their_ids_by_the_thousand():
    written = papers(1_501)
    index = Index(written, [paper.id for paper in reversed(written)])
    read = list(own_papers(index))
    assert [record.paper for record in read] == written
    assert [record.line for record in read] == list(range(1, 1_502))
    assert index.asked == [1_000, 501]


def test_papers_that_were_deleted_meanwhile_are_passed_over():
    written = papers(3)
    ids = [paper.id for paper in written]
    read = list(own_papers(Index(written[:1] + written[2:], ids, after=ids[:1])))
    assert [(record.line, record.paper.id) for record in read] == [(1, ids[0]), (2, ids[2])]
    with pytest.raises(UnavailableError, match="lists 2 papers that it does not have, such as 'p00001'") as caught:
        list(own_papers(Index(written[:1], ids)))
    assert caught.value.hint == FROM_CORPUS


def test_advice_that_would_build_of_the_damaged_papers_is_replaced():
    def fail(hint):
        with readable("mine"):
            raise UnavailableError("A file is torn", hint)

    with pytest.raises(
        UnavailableError, match=r"The papers of the index mine can't be read \(A file is torn"
    ) as caught:
        fail("index again with <fresh>")
    assert caught.value.hint == FROM_CORPUS
    with pytest.raises(UnavailableError, match=r"^A file is torn") as caught:
        fail("free some disk")
    assert caught.value.hint == "free some disk"


def test_a_rebuilt_index_keeps_fields_and_what_was_chosen(tmp_path):
    def job_of(schema, generation=1, **options):
        index = SimpleNamespace(name="mine", schema=schema, generation=generation)
        given = {"card": None, "encoder": None, "state_dir": tmp_path, "formats": (Format.PRX,), "settings": {}}
        return rebuilding(index, **{**given, **options})

    shelf, kept = Field("shelf", "keyword"), Field("publication", "keyword", facet=False, origin="paper")
    schema = IndexSchema("m", "f", (), quantization="int8", bm25=Bm25(2, 0.5)).with_fields([shelf])
    job = job_of(schema)
    assert job.fields == (*schema.kept, shelf)
    assert job_of(schema.with_fields([kept])).fields == (kept, shelf)
    assert job.settings == {"quantization": "int8", "bm25": Bm25(2, 0.5)}
    assert (job.fresh, job.cached, job.sparse, job.own, job.worded, job.words) == (True, True, None, (), (), ())
    # An interrupted build goes on only from the same papers.
    assert job_of(schema).source == job.source
    assert job_of(schema, generation=2).source != job.source
    assert job_of(IndexSchema("m", "g", ())).source != job.source
    given = {"cached": False, "sparse": "s", "own": ("o",), "worded": (Format.CLF,), "words": ("w",)}
    chosen = job_of(schema, **given)
    assert {name: getattr(chosen, name) for name in given} == given
