"""Blocks of papers: how they are cut, which vectors a plan covers, and what an encoder makes of a plan."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import numpy as np
import pytest

from corpora.paper import Accepted, Paper, Rejected
from encoders.models.formats import Format
from encoders.sparse import rounded
from indexer.blocks import EncodedBlock, OwnPlan, PaperBlock, PaperEncoder, SparsePlan, VectorPlan, cut_blocks
from search_plugin.contract.engine import Document, Refused

SPARSE = SparsePlan("sparse", "words", "w", 2, 0.1)
OWN = OwnPlan("rgn", "other", "o")
PLAN = VectorPlan("model", "m", ("prx", "clf"), True, (SPARSE,), (OWN,), (("precision", "int8"),))
PAPERS = [Paper("a", "Masks", "They help. They are cheap."), Paper("b", "Lungs", "They heal."), Paper("c", "Eyes")]


@pytest.mark.parametrize(
    ("changes", "covered"),
    [
        ({}, True),
        ({"formats": ("clf",), "sentences": False, "sparse": (), "own": ()}, True),
        ({"running": ()}, True),
        ({"model": "a new name"}, True),
        ({"fingerprint": "n"}, False),
        ({"formats": ("prx", "rgn")}, False),
        ({"sparse": (replace(SPARSE, most=3),)}, False),
        ({"own": (replace(OWN, fingerprint="p"),)}, False),
    ],
)
def test_a_plan_covers_another_if_it_makes_the_same_vectors_and_perhaps_more(changes, covered):
    assert bool(PLAN.covers(replace(PLAN, **changes))) == covered
    assert not replace(PLAN, sentences=False).covers(replace(PLAN, **{**changes, "sentences": True}))


def test_a_plan_is_kept_as_json():
    assert VectorPlan.from_dict(json.loads(json.dumps(PLAN.to_dict()))) == PLAN
    assert PLAN.names == ("prx", "clf", "sentences", "sparse", "rgn")
    assert VectorPlan("model", "m", ("prx",)).names == ("prx",)


@dataclass
class Encoder:
    """Gives a text its length in each format, and is done with two texts at a time."""

    asked: list[tuple[list[str], list[Format]]] = field(default_factory=list)
    card = SimpleNamespace(text=lambda title, abstract: f"{title}/{abstract}")

    def encode_formats(self, texts, formats, done):
        self.asked.append((list(texts), list(formats)))
        for start in range(0, len(texts), 2):
            done(len(texts[start : start + 2]))
        lengths = np.array([[len(text)] for text in texts], np.float32)
        return {name: lengths + place for place, name in enumerate(formats)}


class SparseEncoder:
    """Gives each text the same three tokens."""

    card = SimpleNamespace(text=lambda title, abstract: f"{title} {abstract}")
    entries = np.array([[1, 0.05], [2, 1.23456789], [3, 0.9]], np.float32)

    def encode(self, texts, task_format, done):
        assert (texts[0], task_format) == ("Masks They help. They are cheap.", Format.PRX)
        done(len(texts))
        return [self.entries for _ in texts]


def test_all_vectors_of_a_plan_are_made_and_each_paper_is_counted_once():
    encoder, own, steps = Encoder(), Encoder(), []
    made = PaperEncoder(PLAN, encoder, SparseEncoder(), {"o": own}).encode(
        PAPERS, lambda texts, *, block=0.0: steps.append(texts)
    )
    whole = ["Masks/They help. They are cheap.", "Lungs/They heal.", "Eyes/"]
    parts = ["Masks/They help.", "Masks/They are cheap.", "Lungs/They heal.", "Eyes/"]
    assert encoder.asked == [(whole, [Format.PRX, Format.CLF]), (parts, [Format.PRX])]
    assert own.asked == [(whole, [Format.RGN])]
    assert set(made) == set(PLAN.names)
    assert [row.tolist() for row in made["clf"]] == [[len(text) + 1] for text in whole]
    assert [rows.ravel().tolist() for rows in made["sentences"]] == [[16, 21], [16], [5]]
    assert [row.tolist() for row in made["sparse"]] == [rounded(SparseEncoder.entries[1:]).tolist()] * 3
    assert [row.tolist() for row in made["rgn"]] == [[len(text)] for text in whole]
    # Three passes: the model's, in which a text counts by its length, the sparse one and the other model's.
    characters = [sum(map(len, texts)) for texts in (whole, parts)]
    of_model = [3 * share / sum(characters) for share in characters]
    assert steps == pytest.approx(
        [*(of_model[0] * n / 9 for n in (2, 1)), *(of_model[1] * n / 12 for n in (2, 2)), 1, 2 / 3, 1 / 3]
    )
    assert sum(steps) == pytest.approx(3)


def test_an_encoder_makes_only_what_is_planned():
    steps = []
    plan = replace(PLAN, sentences=False, sparse=(), own=())
    made = PaperEncoder(plan, Encoder()).encode(PAPERS, lambda texts, *, block=0.0: steps.append(texts))
    assert (set(made), steps) == ({"prx", "clf"}, [2, 1])


def test_a_model_of_its_own_makes_its_formats_alone():
    plan = replace(PLAN, own=(OWN, OwnPlan("qry", "third", "t")), sentences=False, sparse=())
    models = {"o": Encoder(), "t": Encoder()}
    PaperEncoder(plan, Encoder(), own=models).encode(PAPERS)
    assert {name: model.asked[0][1] for name, model in models.items()} == {"o": [Format.RGN], "t": [Format.QRY]}


def block(**vectors):
    return EncodedBlock(PAPERS[:2], vectors, [Refused("c", "It has no text.")])


def test_only_the_searched_vectors_are_made_shorter():
    rows = {name: [np.arange(4.0) + n for n in range(2)] for name in ("prx", "clf", "sentences", "sparse")}
    shorter = block(**rows).projected(SimpleNamespace(shortened=lambda row: row[:2]))
    assert {name: len(held[0]) for name, held in shorter.vectors.items()} == {
        "prx": 2,
        "clf": 4,
        "sentences": 2,
        "sparse": 4,
    }
    assert (shorter.papers, shorter.refused) == (PAPERS[:2], [Refused("c", "It has no text.")])


def test_words_stand_beside_the_searched_vectors_in_the_formats_that_have_them():
    def beside(vectors, texts):
        assert texts == ["Masks They help. They are cheap.", "Lungs They heal."]
        return {"clf": np.hstack([vectors, [[7], [8]]])}

    words = SimpleNamespace(beside=beside)
    rows = [np.array([1.0, 2.0]), np.array([3.0, 4.0])]
    worded = block(prx=rows).worded(words)
    assert {name: [row.tolist() for row in held] for name, held in worded.vectors.items()} == {
        "prx": [[1, 2], [3, 4]],
        "clf": [[1, 2, 7], [3, 4, 8]],
    }
    assert (worded.papers, worded.refused) == (PAPERS[:2], [Refused("c", "It has no text.")])
    nothing = EncodedBlock([], {"prx": []})
    assert nothing.worded(words) is nothing


def test_documents_have_the_rows_of_their_papers():
    one, other = block(prx=["first", "second"], clf=["third", "fourth"]).documents()
    assert one == Document(PAPERS[0], PAPERS[0].content_hash(), {"prx": "first", "clf": "third"})
    assert other == Document(PAPERS[1], PAPERS[1].content_hash(), {"prx": "second", "clf": "fourth"})


def test_blocks_are_cut_by_position_and_hold_what_is_wanted():
    written = [Paper(f"p{n}", "t") for n in range(12)]
    records = [Rejected(1, "No."), *(Accepted(n, paper) for n, paper in enumerate(written)), Rejected(20, "No.")]
    wanted = [(0, ("x",)), (2, ("x", "y")), (3, ("x",)), (9, ())]
    reading = iter(records)
    assert list(cut_blocks(reading, iter(wanted), 3)) == [
        PaperBlock(0, [replace(written[0], origins=("x",)), replace(written[2], origins=("x", "y"))]),
        PaperBlock(1, [replace(written[3], origins=("x",))]),
        PaperBlock(3, [replace(written[9], origins=())]),
    ]
    assert next(reading).paper == written[11], "nothing is read after the last paper"
    assert list(cut_blocks(records, iter([]), 3)) == []
