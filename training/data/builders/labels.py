"""Papers with labels, for classification: journals (MIReAD), arXiv categories, MeSH headings, concepts."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping

from corpora.errors import InputError
from training.data.builders.base import (
    Builder,
    BuilderOptions,
    BuilderSource,
    Made,
    PaperRecord,
    drawn,
    id_of,
    identity_of,
)
from training.data.records import labels_in


def build(source: BuilderSource, options: BuilderOptions) -> Iterator[Made]:
    """Make a record of every paper with a label, or several in a list, that enough papers have.

    The file `classes` has lines of a label and its class, with a tab or semicolon between, and replaces labels by
    classes; those that it lacks are left out. NLM's file of MeSH trees is of this form. Options: `field` holds a label,
    a list of labels, or a list of [label, level, score], as OpenAlex's concepts are. Labels of another `level` (-1 for
    all) or a lower `score` are left out of such lists. A label ends before the first `until`, if given: with `.`,
    `cs.CL` becomes `cs`. Labels of fewer than `fewest` papers are left out. `most` papers of a label are drawn, 0 for
    all; with `multi_label`, a paper is kept if it is drawn for any of its labels. Without `multi_label`, a paper's
    first label counts. `InputError` if fewer than two labels are left.
    """
    classes = _classes(source)
    chances: dict[str, array[float]] = {}
    for paper in source.papers():
        for label in _labels(paper, options, classes):
            chances.setdefault(label, array("d")).append(drawn(source.seed, id_of(paper)))
    kept = {
        label: sorted(found)[int(options["most"]) - 1] if 0 < options["most"] < len(found) else math.inf
        for label, found in chances.items()
        if len(found) >= options["fewest"]
    }
    if len(kept) < 2:
        raise InputError(
            f"{len(kept)} labels under {options['field']!r} have {options['fewest']:g} papers or more, and a task "
            "needs two; check field and fewest."
        )
    for paper in source.papers():
        found = _labels(paper, options, classes)
        labels = [label for label in found if label in kept]
        if not labels:
            source.left_out["only rare labels" if found else f"no label under {options['field']}"] += 1
        elif not (text := source.text_of(paper)):
            source.left_out["no text"] += 1
        elif all(drawn(source.seed, id_of(paper)) > kept[label] for label in labels):
            source.left_out["of labels with enough papers"] += 1
        else:
            yield Made((identity_of(paper),), {**text, "label": labels if options["multi_label"] else labels[0]})


def _labels(paper: PaperRecord, options: BuilderOptions, classes: Mapping[str, tuple[str, ...]] | None) -> list[str]:
    """Return the labels of a paper, each once; the first only without `multi_label`."""
    names = [
        name.partition(options["until"])[0] if options["until"] else name
        for name, level, score in labels_in(paper, options["field"])
        if (options["level"] < 0 or level == options["level"]) and (score is None or score >= options["score"])
    ]
    if classes is not None:
        names = [name for label in names for name in classes.get(label, ())]
    unique = list(dict.fromkeys(names))
    return unique if options["multi_label"] else unique[:1]


def _classes(source: BuilderSource) -> dict[str, tuple[str, ...]] | None:
    if "classes" not in source.files:
        return None
    found: dict[str, list[str]] = {}
    for line in source.files["classes"].read_text(encoding="utf-8").splitlines():
        label, _, name = line.partition("\t" if "\t" in line else ";")
        if name.strip():
            found.setdefault(label.strip(), []).append(name.strip())
    return {label: tuple(dict.fromkeys(names)) for label, names in found.items()}


BUILDER = Builder(
    "classification",
    {"field": "label", "fewest": 8, "most": 0, "multi_label": False, "level": -1, "score": 0.0, "until": ""},
    build,
    files=("classes",),
)
