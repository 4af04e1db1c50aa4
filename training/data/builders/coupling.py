"""Triplets of papers that share references (bibliographic coupling) or, of the field `authors`, an author."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import cycle
from random import Random

from corpora.cleaning import texts_of
from corpora.errors import InputError
from training.data.builders.base import Builder, BuilderOptions, BuilderSource, Made
from training.data.builders.graph import PaperRows, others


def build(source: BuilderSource, options: BuilderOptions) -> Iterator[Made]:
    """Make triplets of papers that share entries of a list; the texts of those with entries are kept in memory.

    Options: `field` holds the list. Positives share `fewest` entries or more, negatives none; those between are
    neither. Up to `per_query` positives of a paper are drawn, each with a negative. `InputError` if no two papers share
    so many.
    """
    papers, entries = _with_entries(source, options["field"])
    having: dict[str, list[int]] = {}
    for row, of_paper in enumerate(entries):
        for entry in of_paper:
            having.setdefault(entry, []).append(row)
    made = 0
    for query, of_paper in enumerate(entries):
        shared = Counter(row for entry in of_paper for row in having[entry] if row != query)
        positives = sorted(row for row, count in shared.items() if count >= options["fewest"])
        if not positives:
            source.left_out["shares too little"] += 1
            continue
        draw = Random(f"{source.seed} {papers.ids[query]}")  # noqa: S311 - not for secrets
        drawn = draw.sample(positives, min(int(options["per_query"]), len(positives)))
        negatives = others(draw, len(drawn), len(entries), {query, *shared})
        for positive, negative in zip(drawn, cycle(negatives), strict=False):
            made += 1
            yield papers.triplet(query, positive, negative)
    if not made:
        raise InputError(f"No two papers share {options['fewest']:g} entries of {options['field']!r}; lower fewest.")


def _with_entries(source: BuilderSource, field: str) -> tuple[PaperRows, Sequence[list[str]]]:
    papers, entries = PaperRows(), []
    for paper in source.papers():
        found = list(dict.fromkeys(entry.casefold() for entry in texts_of(paper.get(field))))
        text = source.text_of(paper)
        if not found or not text:
            source.left_out["no text" if found else f"nothing under {field}"] += 1
            continue
        papers.add(paper, text)
        entries.append(found)
    return papers, entries


BUILDER = Builder("triplet", {"field": "references", "fewest": 2, "per_query": 5}, build)
