"""Scores of words with several spellings in the embedded engine."""

from __future__ import annotations

import numpy as np

from corpora.paper import Paper
from search_plugin.contract.engine import Document
from search_plugin.contract.plan import Plan, TermGroup, TermVariant
from search_plugin.contract.schema import IndexSchema, paper_vector
from search_plugin.engines.registry import connect

SCHEMA = IndexSchema("tiny", "f", (paper_vector("prx", 2, "cosine"),))
TITLES = {
    "us": "tumor",
    "uk": "tumour",
    "both": "tumor tumour",
    "phrase": "a tumor growth",
    "apart": "growth of a tumor",
}


def test_a_notion_scores_as_the_best_of_its_spellings(tmp_path):
    index = connect(f"embedded:{tmp_path}").build("papers", SCHEMA, "s")
    vector = {"prx": np.array([1, 0], np.float32)}
    index.upsert([Document(Paper(id_, title), "h", vector) for id_, title in TITLES.items()])

    def scores(words, *groups, boost=0):
        plain = "" if groups else None
        plan = Plan(words, (), None, 10, title_boost=boost, plain=plain, groups=groups)
        return {hit.id: hit.score for hit in index.search(plan)["lexical"]}

    us, uk = scores("tumor"), scores("tumour")
    every = scores("tumor", TermGroup("tumor", (TermVariant("tumour"),)))
    for id_ in us.keys() | uk.keys():
        assert np.isclose(every[id_], max(us.get(id_, 0), uk.get(id_, 0)))
    half = scores("tumor", TermGroup("tumor", (TermVariant("tumour", 0.5),)))
    assert np.isclose(half["uk"], uk["uk"] / 2)
    # Spellings of the same stem are the same word.
    assert scores("tumor", TermGroup("tumor", (TermVariant("tumors"),)), boost=0.3) == scores("tumor", boost=0.3)
    # Words of another spelling have to stand side by side.
    assert scores("x", TermGroup("x", (TermVariant("tumor growth"),))).keys() == {"phrase"}
