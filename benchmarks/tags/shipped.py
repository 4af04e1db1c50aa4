"""Trains the tagger that comes with ses."""

from __future__ import annotations

from pathlib import Path

from benchmarks.tags.papers import arxiv_papers, vectors
from products.tags.labels import labelled_papers
from products.tags.measures import measured
from products.tags.store import write_tagger
from products.tags.training import TaggerOptions, train_tagger


def ship(folder: str) -> None:
    """Train the tagger that comes with ses, without frozen papers, and measure it on them too."""
    held, rest, hierarchy = arxiv_papers()
    judged = {row["id"]: dict.fromkeys(row["categories"], True) for row in (*rest, *held)}
    source, matrix = vectors("ses-minilm", "clf", [*rest, *held])
    learnt = labelled_papers({row["id"]: judged[row["id"]] for row in rest}, judged, hierarchy, 50)
    options = TaggerOptions(fewest=50)
    told = "arXiv categories of 7,000 papers"
    tagger = train_tagger("arxiv", source, matrix[: len(rest)], learnt, hierarchy, options, made_from=told)
    write_tagger(Path(folder), tagger)
    own = labelled_papers({row["id"]: judged[row["id"]] for row in held}, judged, hierarchy, 2)
    shared = [label for label in tagger.labels if label in own.labels]
    columns = [tagger.labels.index(label) for label in shared]
    said = tagger.probabilities(matrix[len(rest) :])
    found = measured(
        said[:, columns],
        tagger.given(said)[:, columns],
        own.truth[:, [own.labels.index(label) for label in shared]],
        shared,
        thresholds=tagger.thresholds[columns],
        trained=[0] * len(shared),
        how=f"{len(held):,} frozen papers",
    )
    for measures in filter(None, (tagger.measures, found)):
        print(
            f"{measures.how}: {len(measures.labels)} labels, macro F1 {measures.macro_f1:.3f}, micro F1 "
            f"{measures.micro_f1:.3f}, ECE {measures.ece:.3f}, mean of labels {measures.label_ece:.3f}, untagged "
            f"{measures.untagged:.1%}"
        )
