"""Trains the tagger that comes with ses."""

from __future__ import annotations

from pathlib import Path

from benchmarks.tags.papers import arxiv_papers, vectors
from encoders.registry import DEFAULT_MODEL
from products.tags.apply import measure_tagger
from products.tags.labels import labelled_papers
from products.tags.tagger import write_tagger
from products.tags.training import TaggerOptions, train_tagger


def ship(folder: str) -> None:
    """Train the tagger that comes with ses, without frozen papers, and measure it on them too."""
    held, rest, hierarchy = arxiv_papers()
    judged = {row["id"]: dict.fromkeys(row["categories"], True) for row in (*rest, *held)}
    source, matrix = vectors(DEFAULT_MODEL, "prx", [*rest, *held])
    learnt = labelled_papers({row["id"]: judged[row["id"]] for row in rest}, judged, hierarchy, 50)
    options = TaggerOptions(fewest=50)
    made_from = "arXiv categories of 7,000 papers"
    tagger = train_tagger("arxiv", source, matrix[: len(rest)], learnt, hierarchy, options, made_from=made_from)
    write_tagger(Path(folder), tagger)
    own = labelled_papers({row["id"]: judged[row["id"]] for row in held}, judged, hierarchy, 2)
    frozen = measure_tagger(tagger, own, matrix[len(rest) :], "the frozen papers")
    for measures in filter(None, (tagger.measures, frozen.measures)):
        print(
            f"{measures.how}: {len(measures.labels)} labels, macro F1 {measures.macro_f1:.3f}, micro F1 "
            f"{measures.micro_f1:.3f}, ECE {measures.ece:.3f}, mean of labels {measures.label_ece:.3f}, untagged "
            f"{measures.untagged:.1%}"
        )
