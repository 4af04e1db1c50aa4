"""Acronyms and what the papers of an index mean by them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.paper import Paper
from search_plugin.contract.engine import Document
from search_plugin.contract.schema import IndexSchema, paper_vector
from search_plugin.engines.registry import connect
from search_plugin.understanding.expansion import acronyms_of, definitions, long_forms


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("Activity of nuclear factor (NF) in cells.", [("NF", "nuclear factor")]),
        ("We found heat shock transcription factor (HSF) here.", [("HSF", "heat shock transcription factor")]),
        ("It is amyotrophic lateral sclerosis (ALS; a disease).", [("ALS", "amyotrophic lateral sclerosis")]),
        ("The mechanistic target of rapamycin (mTOR)", [("mTOR", "mechanistic target of rapamycin")]),
        ("Seen by many (2019) in cells (x)", []),
        ("Nothing that fits (QZX) is here.", []),
        ("In a sentence. Cells (ABC) differ.", []),
        ("Seen in Asia. Big cats (ABC) live there.", []),
        ("(ABC)", []),
        ("new big wide forms (NF)", [("NF", "new big wide forms")]),
        ("new old big wide forms (NF)", []),
        ("at b c d e x x x x f (ABCDEF)", [("ABCDEF", "at b c d e x x x x f")]),
        ("at b c d e x x x x x x f (ABCDEF)", []),
        ("interleukin (IL)", [("IL", "interleukin")]),
        ("Ills (IL)", [("IL", "Ills")]),
        ("ILs (IL)", []),
        ("by the third of parts (T P)", [("T P", "third of parts")]),
        ("by the third of one part (T O P)", []),
        ("parts by two (-P)", []),
    ],
)
def test_definitions(text, pairs):
    assert list(definitions(text)) == pairs


@given(st.text(max_size=200))
def test_long_forms_stand_before_their_acronym(text):
    for short, long in definitions(text):
        assert long in " ".join(text.split())
        assert long[0].lower() == short[0].lower() or not short[0].isalnum()


def test_acronyms_are_words_with_two_capitals():
    assert acronyms_of("HIV and mTOR in BRCA1, not p53 or Aspirin") == ["HIV", "mTOR", "BRCA1"]
    assert acronyms_of("ALS") == ["ALS"]
    assert acronyms_of("A TITLE IN CAPITALS") == []
    assert acronyms_of("AB CD EF GH of") == ["AB", "CD", "EF"]


def test_long_forms_are_those_that_most_papers_give(tmp_path):
    schema = IndexSchema("tiny", "f", (paper_vector("prx", 2, "cosine"),))
    texts = (
        "Patients with multiple sclerosis (MS).",
        "Multiple Sclerosis (MS) in women.",
        "Mass spectrometry (MS) of proteins.",
        "Alpha beta (AB), and MS.",
        "Another bird (AB).",
        "Arctic bear (AB).",
    )
    index = connect(f"embedded:{tmp_path}").build("papers", schema, "s")
    vector = {"prx": np.array([1, 0], np.float32)}
    index.upsert([Document(Paper(str(at), "A title", text), "h", vector) for at, text in enumerate(texts)])
    index.finish()
    found = long_forms(index, "MS, AB and XYZ")
    assert list(found) == [("ms",)]
    assert found[("ms",)][0].lower() == "multiple sclerosis"
    half = connect(f"embedded:{tmp_path}").build("half", schema, "s")
    half.upsert([Document(Paper(str(at), "A title", texts[at]), "h", vector) for at in (0, 2)])
    assert long_forms(half, "MS") == {("ms",): ("multiple sclerosis",)}
    text = "Multiple sclerosis (Ms), not mass spectrometry (MSP)."
    assert list(definitions(text, "MS")) == [("Ms", "Multiple sclerosis")]


def test_a_long_form_is_looked_for_once_in_each_commit(tmp_path, monkeypatch):
    schema = IndexSchema("tiny", "f", (paper_vector("prx", 2, "cosine"),))
    index = connect(f"embedded:{tmp_path}").build("papers", schema, "s")

    def write(*texts):
        index.upsert([Document(Paper(text, "A title", text), "h", {"prx": np.ones(2, np.float32)}) for text in texts])

    searched, search = [], index.search
    monkeypatch.setattr(index, "search", lambda plan: searched.append(plan.words) or search(plan))
    write("Mass spectrometry (MS) of proteins.")
    assert [long_forms(index, "MS or XYZ") for _ in range(2)] == [{("ms",): ("Mass spectrometry",)}] * 2
    assert searched == ["MS", "XYZ"]
    write("Women with multiple sclerosis (MS).", "Men with multiple sclerosis (MS).")
    assert long_forms(index, "MS") == {("ms",): ("multiple sclerosis",)}
    assert searched == ["MS", "XYZ", "MS"]
