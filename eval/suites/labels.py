"""Papers with labels in suites: a linear probe, and clusters, as MIReAD measures both."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from encoders.formats import Format
from eval.outcome import Outcome
from eval.suites.base import Bench, Entry

if TYPE_CHECKING:
    import numpy as np

    from eval.files.labelled import Labelled

DRAWN = 6_000
"""Papers at most: enough that a probe's interval is about a point wide, few enough to be encoded in two minutes."""


def labelled_entries(name: str, file: str, *, label: str = "label", fewest: int = 8) -> tuple[Entry, Entry]:
    """Return the entries of a file of labelled papers, of which some are drawn where there are many.

    Args:
        name: For the table.
        file: In the suite's folder, JSON lines.
        label: The member that holds a paper's label or labels; the first is its class.
        fewest: Classes of fewer papers in the file are left out.

    Returns:
        The probe, and the clusters of the papers that it tests on.
    """

    def read(folder: Path) -> Labelled:
        from eval.files.labelled import read_labelled

        data = read_labelled(folder / file, label=label, fewest=fewest)
        if len(data.papers) > DRAWN:
            drawn = sorted(Random(0).sample(range(len(data.papers)), DRAWN))  # noqa: S311 - not for secrets
            data = data.only(drawn, "papers_not_drawn")
        return data

    def tested(data: Labelled) -> Labelled:
        # Of the others, the labels may have been seen in training.
        return data.only([row for row, test in enumerate(data.test) if test], "papers_to_learn_from")

    def embedded(bench: Bench, data: Labelled) -> np.ndarray:
        return bench.embed(list(data.papers), Format.CLF).of([text.id for text in data.papers])

    def by_probe(bench: Bench) -> Outcome:
        from eval.miread import probe

        data = read(bench.data)
        return probe(embedded(bench, data), data.classes, data.test)

    def by_clusters(bench: Bench) -> Outcome:
        from eval.miread import cluster

        data = tested(read(bench.data))
        found = cluster(embedded(bench, data), data.classes, (count := len(set(data.classes)),))
        # Of files of other numbers of classes the measure has one name in the table.
        cells = {measure.removesuffix(f" k={count}"): cell for measure, cell in found.cells.items()}
        return Outcome(cells, found.per_unit, {**found.counts, "classes": count})

    def ids(folder: Path) -> set[str]:
        return {paper.id for paper in tested(read(folder)).papers}

    return (
        Entry(f"{name}, probe", "accuracy", (file,), by_probe, tested=ids),
        Entry(f"{name}, clusters", "NMI", (file,), by_clusters, tested=ids),
    )
