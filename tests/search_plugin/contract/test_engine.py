"""What an engine must do is little, and what it need not do is right without it."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import search_plugin
from corpora.custom import CustomField
from corpora.errors import InputError, UnavailableError
from corpora.paper import Paper
from search_plugin.contract.engine import Document, Engine, Index, Refused, rank_in_engine, scored_by
from search_plugin.contract.legs import BY_ID, NEWEST_FIRST, Sort
from search_plugin.contract.plan import LISTED, Counting, Plan
from search_plugin.contract.schema import PAPER_FIELDS, Bm25, IndexSchema, custom_fields, paper_vector
from search_plugin.engines.embedded.engine import EmbeddedEngine
from tests.engines.numpy_engine import NumpyEngine, NumpyIndex

FIELDS = custom_fields([CustomField("seen", "date"), CustomField("shelf", "keyword"), CustomField("worth", "number")])
SCHEMA = IndexSchema("tiny", "0" * 16, (paper_vector("prx", 4, "dot"),), fields=(*PAPER_FIELDS, *FIELDS))
PAPERS = (
    Paper("a", "Viruses of the lung", "A virus", ("Ada",), 2001, "Nature", identifiers=("doi:1",), retracted=True),
    Paper("b", "A vaccine", "For viral lungs", ("Bo", "Ada"), 2003, "Science", extra={"seen": "2020-05", "worth": 2.5}),
    Paper("c", "\u00dcber vaccines", "", ("Cy",), None, "Nature", extra={"shelf": "x", "seen": "2020-01-09"}),
    Paper("d", "and a masks vaccination", "", (), 2003, "", types=("Review",), extra={"worth": 7}),
)


def filled(engine):
    index = engine.build("papers", SCHEMA, "source")
    rows = np.eye(4, dtype=np.float32)
    assert (
        index.upsert([Document(one, f"h{one.id}", {"prx": row}) for one, row in zip(PAPERS, rows, strict=True)]) == []
    )
    index.finish()
    engine.publish(index)
    return engine.open("papers")


@pytest.fixture
def both(tmp_path):
    """The same papers where the defaults answer, and where an engine has ways of its own."""
    return filled(NumpyEngine(f"numpy:{tmp_path}")), filled(EmbeddedEngine(f"embedded:{tmp_path}"))


def plain(answer):
    """An answer without what each engine writes in its own way: the order of sets, and keys of positions."""
    if isinstance(answer, dict):
        return {key: plain(one) for key, one in answer.items()}
    return sorted(answer) if isinstance(answer, list) and all(isinstance(one, str) for one in answer) else answer


def test_an_engine_must_do_14_things():
    assert len(Index.__abstractmethods__) == len(Engine.__abstractmethods__) == 7
    for kind, most in ((NumpyIndex, Index), (NumpyEngine, Engine)):
        own = {name for name in vars(kind) if not name.startswith("_")}
        assert own == most.__abstractmethods__


@pytest.mark.parametrize(
    "ask",
    [
        lambda index: index.find_papers(["b", "none"], ["doi:1", "doi:2"]),
        lambda index: index.matching_values({"venue": ["N.*", "Sci"], "authors": ["(Ada|Cy)"], "shelf": ["x|y"]}),
        lambda index: index.document_frequencies(["virus", "lungs", "vaccine", "the", "none"]),
        lambda index: sorted(one.id for one in index.fuzzy_matches(["vaccim"], 1, 9)),
        lambda index: sorted(one.id for one in index.fuzzy_matches(["vriu"], 1, 9)),
        lambda index: sorted(one.id for one in index.fuzzy_matches(["vuris", "vacinc"], 2, 9)),
        lambda index: len(index.fuzzy_matches(["vaccin"], 1, 2)),
        lambda index: (index.count(), index.count("prx")),
        lambda index: index.hashes(["a", "none"]),
        lambda index: index.values(["a", "b", "none"], ["year", "worth", "retracted", "seen", "shelf"]),
        lambda index: {id_: row.tolist() for id_, row in index.vectors(["d", "b"], "prx").items()},
        *(
            lambda index, name=name, size=size: [*map(tuple, index.value_counts(name, size))]
            for name in ("venue", "authors", "year", "seen", "worth", "retracted", "types")
            for size in (1, 9)
        ),
    ],
)
def test_a_default_answers_as_an_engine_with_ways_of_its_own(both, ask):
    ours, theirs = map(ask, both)
    assert plain(ours) == plain(theirs)


@pytest.mark.parametrize("order", [BY_ID, NEWEST_FIRST, Sort("year"), Sort("title"), Sort("title", True), Sort("seen")])
def test_an_order_goes_on_behind_a_paper_that_is_gone(both, order):
    whole = [list(index.listed(None, order, 9).ids) for index in both]
    assert whole[0] == whole[1]
    for index in both:
        first = index.listed(None, order, 2)
        assert (list(first.ids), first.matches) == (whole[0][:2], 4)
        index.delete([first.ids[-1]])
        for size in (1, 9):
            assert list(index.listed(None, order, size, first.positions[-1]).ids) == whole[0][2 : 2 + size]


def test_an_order_goes_on_at_the_key_that_a_paper_had(both):
    for index in both:
        first = index.listed(None, Sort("worth"), 1)
        assert list(first.ids) == ["b"]
        index.update({"b": {"worth": 9}})
        assert list(index.listed(None, Sort("worth"), 9, first.positions[0]).ids) == ["d", "b", "a", "c"]


def test_facets_count_what_the_words_and_the_legs_find(both):
    fields = ["venue", "year", "authors", "seen"]
    for plan, found in (
        (Plan("virus", (), None, 1), ["a"]),
        (Plan("virus", (), None, 1), ["d"]),
        (Plan("", (), None, 3), ["c", "d"]),
        (Plan("", (), None, 1, order=NEWEST_FIRST), []),
    ):
        ours, theirs = (index.fetch(["a"], Counting(plan, found, fields, 2)) for index in both)
        assert ours == theirs
    assert ours[1].counted == LISTED


def test_values_are_written_and_nothing_else(both):
    for index in both:
        assert index.update({"a": {"shelf": "new"}, "none": {"shelf": "y"}, "b": {"worth": None}}) == ["none"]
        with pytest.raises(InputError, match="part of a paper's content"):
            index.update({"a": {"title": "x"}})
    (ours, our), (theirs, their) = ((index.papers(["a", "b"]), index.documents(["a"], ["prx"])["a"]) for index in both)
    assert ours == theirs
    assert ours["a"].extra == {"shelf": "new"}
    assert "worth" not in ours["b"].extra
    assert (our.content_hash, our.vectors["prx"].tolist()) == (their.content_hash, [1, 0, 0, 0])


def test_a_copy_that_is_refused_leaves_nothing(both, tmp_path, monkeypatch):
    engine = NumpyEngine(f"numpy:{tmp_path}")
    counted = []
    assert engine.copy("papers", "twin", counted.append).papers(["a"]) == both[0].papers(["a"])
    assert counted == [4]
    monkeypatch.setattr(NumpyIndex, "upsert", lambda *_: [Refused("b", "it is too long")])
    with pytest.raises(UnavailableError, match="The paper b can't be copied: it is too long"):
        engine.copy("papers", "other", counted.append)
    assert engine.names() == ["twin", "papers"]
    assert "other" not in engine._begun


def test_what_an_engine_lacks_is_refused(both):
    index = both[0]
    with pytest.raises(InputError, match="This engine can't join the legs of a search; let ses join them"):
        rank_in_engine(index, Plan("virus", (), None, 5), "rrf", {})
    with scored_by(index, Bm25()):
        pass
    with pytest.raises(InputError, match=r"k1 1.2, b 0.75, which can't be changed"):
        scored_by(index, Bm25(2, 0.5))


def test_an_engine_says_of_its_indexes_what_it_knows(both, tmp_path):
    engine = NumpyEngine(f"numpy:{tmp_path}")
    found = engine.diagnose()
    assert (found.product, found.joins, found.troubles) == ("numpy", ("ses",), ())
    (index,) = found.indexes
    assert (index.name, index.papers, [one.count for one in index.vectors]) == ("papers", 4, [4])
    assert (engine.published_at("papers"), engine.schema("papers"), engine.schema("none")) == (0.0, SCHEMA, None)


@pytest.mark.lint
def test_nothing_above_the_engines_asks_which_one_it_is():
    root = Path(search_plugin.__file__).parent
    above = [path for path in root.rglob("*.py") if "engines" not in path.parts]
    above += [path for name in ("ses", "products", "eval", "indexer") for path in (root.parent / name).rglob("*.py")]
    asked = [
        f"{path.name}:{node.lineno}"
        for path in above
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "isinstance"
        and any(name in ast.unparse(node.args[1]) for name in ("ClusterIndex", "ClusterEngine", "EmbeddedIndex"))
    ]
    assert asked == []
