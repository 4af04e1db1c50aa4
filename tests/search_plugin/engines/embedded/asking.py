"""What can be asked of an embedded index, and what it answers."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from corpora.errors import InputError, UnavailableError
from search_plugin.contract.legs import Sort
from search_plugin.contract.plan import Counting, Plan, VectorClause
from search_plugin.contract.tree import Says
from search_plugin.engines.embedded.engine import EmbeddedEngine
from tests.search_plugin.engines.embedded.small import DIMENSION, SCHEMA, document
from tests.search_plugin.filters.filtered import exact_filter

COUNT = 40


def reads(index):
    """What can be asked of an index, each by itself."""
    query, where = np.ones(DIMENSION, np.float32), exact_filter("year>=2001")
    by_author = Plan("virus", (VectorClause("prx", query),), exact_filter("author=A"), 50)
    ids = [f"p{number}" for number in range(COUNT)]
    return {
        "ids": lambda: sorted(index.ids()),
        "count": lambda: (index.count(), index.count("prx")),
        "papers": lambda: index.papers(ids),
        "hashes": lambda: index.hashes(ids),
        "vectors": lambda: {id_: vector.tolist() for id_, vector in index.vectors(ids, "rgn").items()},
        "words": lambda: scored(index.search(Plan("virus lung cell", (), None, 50))),
        "legs": lambda: scored(
            index.search(Plan("gene", (VectorClause("prx", query), VectorClause("clf", query[:3])), None, 50))
        ),
        "filtered": lambda: scored(index.search(by_author)),
        "matching": lambda: [sorted(index.ids(exact_filter(text, SCHEMA.fields))) for text in FILTERS],
        "facets": lambda: index.fetch(ids, Counting(Plan("virus", (), where, 9), ids, ["year", "authors"], 3)),
        "value counts": lambda: index.value_counts("authors", 9),
        "by title": lambda: index.listed(None, Sort("title"), 50),
        "by number": lambda: index.listed(where, Sort("score"), 50),
        "phrase": lambda: sorted(index.ids(Says("title", "virus lung"))),
        "spelled": lambda: index.matching_values({"authors": ["[A-B]"]}),
        "word counts": lambda: index.document_frequencies(["virus", "star", "none"]),
    }


FILTERS = ("author=A", "open=true", "seen>=2020-03-04", "not score<5", "id=p3")


def scored(legs):
    return {name: [(hit.id, round(hit.score, 4)) for hit in hits] for name, hits in legs.items()}


def answers(folder, *, diagnosed=False):
    """What an index answers to everything, before and after papers are written; without what ends in a sentence.

    It may be diagnosed before papers are written.
    """
    found = {}
    for written in (False, True):
        with suppress(UnavailableError, InputError):
            engine = EmbeddedEngine(f"embedded:{folder}")
            index = engine.open("papers")
            if written:
                assert not diagnosed or engine.diagnose("papers").indexes
                with engine.lock("papers"):
                    index.upsert([document("again", 5), document("p3", 8)])
                    index.finish()
            for name, ask in reads(index).items():
                with suppress(UnavailableError, InputError):
                    found[name, written] = ask()
    return found
