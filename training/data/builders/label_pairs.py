"""Papers with their labels' names and definitions, against labels of papers close to them (SciMult section 3.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from heapq import nsmallest
from typing import Any

from corpora.cleaning import text_of
from corpora.errors import InputError
from training.data.builders.base import Builder, BuilderOptions, BuilderSource, Made, drawn, id_of, identity_of
from training.data.records import Related, draw_any, names_in, read_records

_FEWEST_LABELS = 2


def build(source: BuilderSource, options: BuilderOptions) -> Iterator[Made]:
    """Pair each paper with each of its labels; yield the paper, its label and a negative label, as a triplet.

    The file `labels`, in the form of SciMult's `_label.json`, gives each `label` its `name` and `definition`; labels
    that it lacks are left out. Without it, a label is its own name. Options: `field` holds the labels; of [name, level,
    ...] those of a lower `level` are left out. A label is in `most` pairs at most, drawn; 0 for all. The negative is a
    label of a paper with the same `related` (a field such as the venue, the authors, or the ids of cited papers) that
    this paper lacks, or else of any paper. `InputError` if the papers have fewer than two labels, or the file of labels
    is malformed.
    """
    known = _known(source)

    def labels_of(paper: Mapping[str, Any]) -> list[str]:
        names = names_in(paper, options["field"], options["level"])
        return [name for name in names if known is None or name in known]

    keys, labels = [], []
    for paper in source.papers():
        keys.append(id_of(paper))
        labels.append(labels_of(paper))
    kept = _kept(keys, labels, int(options["most"]), source.seed)
    if len(kept) < _FEWEST_LABELS:
        raise InputError(f"The papers have {len(kept)} labels under {options['field']!r}, and pairs need two.")
    related = Related(source.papers(), options["related"])
    for row, paper in enumerate(source.papers()):
        text = source.text_of(paper)
        if not text or not labels[row]:
            source.left_out["no text" if labels[row] else f"no label under {options['field']}"] += 1
            continue
        for name in labels[row]:
            if row not in kept[name]:
                source.left_out["pair of a label with enough pairs"] += 1
                continue
            wrong = _wrong(row, labels, related, f"{source.seed}\t{keys[row]}\t{name}")
            if wrong is None:
                source.left_out["pair without a label that the paper lacks"] += 1
                continue
            parts = (_text(label, known) for label in (name, wrong))
            yield Made((identity_of(paper),), {"query": text, **dict(zip(("pos", "neg"), parts, strict=True))})


def _kept(keys: list[str], labels: list[list[str]], most: int, seed: int) -> dict[str, frozenset[int]]:
    """Return the rows of the papers that are paired with each label."""
    rows: dict[str, list[int]] = {}
    for row, names in enumerate(labels):
        for name in names:
            rows.setdefault(name, []).append(row)
    return {
        name: frozenset(nsmallest(most or len(found), found, key=lambda row: drawn(seed, f"{name}\t{keys[row]}")))
        for name, found in rows.items()
    }


def _wrong(row: int, labels: list[list[str]], related: Related, seed: str) -> str | None:
    """Draw a label that the paper lacks: of a paper close to it if possible."""

    def fits(other: int) -> bool:
        return not set(labels[other]) <= set(labels[row])

    other = related.draw(row, seed, fits)
    if other is None:
        other = draw_any(len(labels), seed, fits)
    lacking = [name for name in labels[other] if name not in labels[row]] if other is not None else []
    return lacking[int(drawn(seed, "label") * len(lacking))] if lacking else None


def _known(source: BuilderSource) -> dict[str, tuple[str, str]] | None:
    if "labels" not in source.files:
        return None
    path, found = source.files["labels"], dict[str, tuple[str, str]]()
    for line, record in read_records(path):
        if isinstance(record, str):
            raise InputError(f"{path}, line {line}: {record}")
        names = record.get("name")
        name = text_of(names[0] if isinstance(names, list) and names else names)
        label = text_of(record.get("label")) or name
        if not label:
            raise InputError(f"{path}, line {line}: a label needs label or name.")
        found[label] = (name or label, text_of(record.get("definition")))
    return found


def _text(label: str, known: Mapping[str, tuple[str, str]] | None) -> dict[str, str]:
    name, definition = known[label] if known else (label, "")
    return {"title": name} | ({"abstract": definition} if definition else {})


BUILDER = Builder("triplet", {"field": "label", "level": -1, "most": 100, "related": "venue"}, build, files=("labels",))
