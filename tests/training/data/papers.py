"""Papers made up for builders."""

from __future__ import annotations

from collections import Counter
from functools import cache

from training.data.builders.base import BuilderSource, identity_of
from training.data.builders.registry import BUILDERS


def source(papers, **values):
    """Return a source of papers in memory."""

    def no_model():
        raise AssertionError("this builder needs no model")

    return BuilderSource(lambda: iter(papers), **({"model": no_model, "seed": 1, "left_out": Counter()} | values))


def build(builder, given, **options):
    """Return what a builder makes of a source or of papers, with its default options unless given."""
    given = given if isinstance(given, BuilderSource) else source(given)
    return list(BUILDERS[builder].build(given, {**BUILDERS[builder].options, **options}))


def paper(number, **values):
    return {"id": f"p{number}", "title": f"Paper {number}", "abstract": f"About {number}."} | values


@cache
def _numbered():
    return {identity_of(paper(number)): f"p{number}" for number in range(300)}


def asks(made):
    """Return the id of the paper made up here that a record asks about."""
    return _numbered()[made.papers[0]]
