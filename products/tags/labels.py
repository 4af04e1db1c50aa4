"""Labelled papers: which labels are true of which papers, by whom, as a tagger learns them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from corpora.custom import LONGEST_KEYWORD
from corpora.errors import InputError, require
from corpora.lazy import np
from corpora.tables import read_rows
from products.indexed import read_values
from products.tags.hierarchy import Hierarchy
from products.trained import TrainedVectors, all_vectors
from search_plugin.contract.engine import Index

YES, NO, UNKNOWN = 1, 0, -1

LabelJudgments = Mapping[str, Mapping[str, bool]]
"""By paper and label, whether the label is true of the paper."""

_TRUE, _FALSE = ("yes", "true", "1", "y", "+"), ("no", "false", "0", "n", "-")
_SHOWN = 3


@dataclass(frozen=True, slots=True, eq=False)
class LabelledPapers:
    """Papers with their labels.

    Attributes:
        ids: Ids of the papers.
        labels: The labels, in order.
        truth: int8 (papers, labels) of `YES`, `NO` and `UNKNOWN`.
        rare: Labels left out because too few papers have them, with their numbers of papers.
        unknown_ids: Papers that were labelled and that the index does not hold.
    """

    ids: tuple[str, ...]
    labels: tuple[str, ...]
    truth: np.ndarray
    rare: Mapping[str, int]
    unknown_ids: tuple[str, ...]


def read_judgments(path: Path) -> dict[str, dict[str, bool]]:
    """Read the labels that a person gave, by paper and label.

    The table has the columns id and label, and perhaps value: yes (or empty, if no row has a value), or no. A cell of
    labels may hold several, with `;` between. Raises `InputError` if it can't be read so, or says both yes and no of a
    paper and a label.
    """
    found: dict[str, dict[str, bool]] = {}
    twice: list[str] = []
    for line, cells in read_rows(path, "a table of labels", ("csv", "")):
        if not {"id", "label"} <= cells.keys():
            raise InputError(f"{path} needs the columns id and label; it has {', '.join(cells)}.")
        judged = _judged(path, line, cells)
        if judged is None:
            continue  # a suggestion that nobody has judged yet
        id_ = cells["id"].strip()
        for label in filter(None, (part.strip() for part in cells["label"].split(";"))):
            if len(label) > LONGEST_KEYWORD:
                raise InputError(f"{path}, line {line}: a label has at most {LONGEST_KEYWORD:,} characters.")
            if found.setdefault(id_, {}).setdefault(label, judged) != judged:
                twice.append(f"{id_} ({label})")
    if twice:
        raise InputError(
            f"{path} says both yes and no of {len(twice):,} papers and labels, such as "
            f"{', '.join(twice[:_SHOWN])}; keep one of the two."
        )
    require(found, f"{path} holds no judged label; give each row an id, a label, and yes or no as its value.")
    return found


def _judged(path: Path, line: int, cells: Mapping[str, str]) -> bool | None:
    value = cells.get("value", "yes").strip().lower()
    if value not in (*_TRUE, *_FALSE, ""):
        raise InputError(f"{path}, line {line}: the value {value[:40]!r} is neither yes nor no.")
    return value in _TRUE if value else None


def judgments_of_index(index: Index, name: str) -> dict[str, dict[str, bool]]:
    """Return the labels that papers have in a field of their index, from their corpora, by paper and label.

    Raises `InputError` if the field does not hold labels, or a model gave them.
    """
    field = index.schema.field(name)
    if field.origin in ("tag", "forecast"):
        raise InputError(
            f"The values of {field.name} come from a model, and a tagger learns from people or corpora only."
        )
    if field.kind not in ("keyword", "keywords"):
        raise InputError(f"The field {field.name} is of the kind {field.kind}; labels are in keyword and keywords.")
    found: dict[str, dict[str, bool]] = {}
    for id_, values in read_values(index, [field.name]):
        value = values.get(field.name, ())
        listed = (value,) if isinstance(value, str) else value if isinstance(value, tuple) else ()
        if listed:
            found[id_] = dict.fromkeys(listed, True)
    require(found, f"No paper of the index {index.name} has a value in {field.name}.")
    return found


def judgments_from(index: Index, labels: str | Path | LabelJudgments) -> tuple[LabelJudgments, str]:
    """Return labels that are in a field of an index, in a table, or given; and where they came from, in words."""
    if isinstance(labels, str):
        return judgments_of_index(index, labels), f"the field {labels} of the index {index.name}"
    if isinstance(labels, Path):
        return read_judgments(labels), f"a person, in {labels.name}"
    return labels, "a program"


def labelled_papers(
    judgments: LabelJudgments, held: Iterable[str], hierarchy: Hierarchy, fewest: int
) -> LabelledPapers:
    """Make the labels that a tagger learns, of the papers that have a vector.

    A paper has all labels that are broader than one of its own. If a label has a no anywhere, its other papers are
    unknown; otherwise they don't have it. `judgments` say whether labels are true, by paper and label (names and
    aliases of concepts in any case), `held` are the ids of papers that have a vector, in order, and only labels of
    `fewest` papers or more are kept. Raises `InputError` if a label is stated as false of a paper with a narrower
    label, or no label is left.
    """
    there = set(held)
    names = hierarchy.names()
    rows = {
        id_: _closed(id_, {names.get(label.lower(), label): said for label, said in judged.items()}, hierarchy)
        for id_, judged in judgments.items()
        if id_ in there
    }
    unknown = tuple(id_ for id_ in judgments if id_ not in there)
    require(judgments, "No paper is labelled", "give <labels>")
    if not rows:
        raise InputError(f"The index holds none of the {len(unknown):,} labelled papers, such as {unknown[0][:60]!r}.")
    counts: dict[str, int] = {}
    for row in rows.values():
        for label, said in row.items():
            counts[label] = counts.get(label, 0) + said
    labels = tuple(sorted(label for label, count in counts.items() if count >= max(fewest, 2)))
    if not labels:
        most = max(counts, key=lambda label: counts[label])
        raise InputError(
            f"No label has {max(fewest, 2)} papers; the most frequent, {most[:60]!r}, has {counts[most]}",
            "label more papers, or lower <fewest>",
        )
    denied = {label for row in rows.values() for label, said in row.items() if not said}
    place = {label: number for number, label in enumerate(labels)}
    start = [UNKNOWN if label in denied else NO for label in labels]
    truth = np.tile(np.array(start, np.int8), (len(rows), 1))
    for number, row in enumerate(rows.values()):
        for label, said in row.items():
            if label in place:
                truth[number, place[label]] = YES if said else NO
    rare = {label: count for label, count in sorted(counts.items()) if label not in place}
    return LabelledPapers(tuple(rows), labels, truth, rare, unknown)


def labelled_vectors(
    index: Index, source: TrainedVectors, judgments: LabelJudgments, hierarchy: Hierarchy, fewest: int
) -> tuple[LabelledPapers, np.ndarray]:
    """Return `labelled_papers` of an index, and their vectors, float32 (papers, dimension)."""
    ids, vectors = all_vectors(index, source, list(judgments))
    papers = labelled_papers(dict(sorted(judgments.items())), ids, hierarchy, fewest)
    return papers, vectors


def _closed(id_: str, judged: Mapping[str, bool], hierarchy: Hierarchy) -> dict[str, bool]:
    """Return the judgments of a paper with all broader labels of those that are true."""
    closed = dict(judged)
    for label, said in judged.items():
        for above in hierarchy.ancestors(label) if said else ():
            if not closed.setdefault(above, True):
                raise InputError(
                    f"The paper {id_[:60]!r} has the label {label[:60]!r} and not the broader {above[:60]!r}; correct "
                    "one of the two."
                )
    return closed


def judged_yes(judged: Mapping[str, bool]) -> tuple[str, ...]:
    """Return the labels that are true of a paper, in order."""
    return tuple(sorted(label for label, said in judged.items() if said))
