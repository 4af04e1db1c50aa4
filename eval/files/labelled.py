"""Papers with labels, from JSON lines, for classification, clustering and pairing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from corpora.cleaning import text_of, texts_of
from corpora.errors import require
from corpora.readers.jsonl import read_objects
from eval.embedder import Text
from eval.files.text import json_objects, paper_text, require_line

TEST_SHARE = 5
"""One of this many papers of each class is tested on, where the file has no split."""

ID_KEYS = ("id", "doc_id", "paper_id", "corpus_id", "_id")
"""Members in which files of papers keep a paper's identifier."""

_SPLITS = {"train": False, "training": False, "test": True}


@dataclass(frozen=True, slots=True)
class Labelled:
    """Papers with one or more labels, of which the first is a paper's class, and whether each is for testing.

    What was left out is counted.
    """

    papers: tuple[Text, ...]
    labels: tuple[tuple[str, ...], ...]
    test: tuple[bool, ...]
    counts: dict[str, int]

    @property
    def classes(self) -> tuple[str, ...]:
        """The class of each paper."""
        return tuple(labels[0] for labels in self.labels)

    def only(self, rows: Sequence[int], counted_as: str) -> Labelled:
        """Return some of the papers, and count those left out."""
        return Labelled(
            tuple(self.papers[row] for row in rows),
            tuple(self.labels[row] for row in rows),
            tuple(self.test[row] for row in rows),
            {**self.counts, counted_as: len(self.papers) - len(rows)},
        )

    def at_most(self, count: int) -> Labelled:
        """Return at most so many of the papers, always the same ones; those left out are counted."""
        if len(self.papers) <= count:
            return self
        rows = Random(0).sample(range(len(self.papers)), count)  # noqa: S311 - not for secrets
        return self.only(sorted(rows), "papers_not_drawn")


def read_labelled(path: Path, *, label: str = "label", split: str = "split", fewest: int = 8) -> Labelled:
    """Read labelled papers: JSON lines with an id, `title`, `abstract` and two members that are named here.

    `label` names the member that holds a paper's label, or a list of them; `split` the one that says `train` (or
    `training`) or `test`: papers with another value are left out. If no paper has it, a fifth of every class is drawn
    for testing, always the same. Papers without a title or label, of a class of fewer than `fewest` papers, or repeated
    are left out and counted. Raises `InputError` if the file is malformed or holds no paper with such a label.
    """
    papers: dict[str, tuple[Text, tuple[str, ...], str]] = {}
    counts = Counter[str]()
    for line, members in json_objects(path, read_objects):
        text, found = paper_text(members, *ID_KEYS), _labels(members.get(label))
        require_line(text.id, path, line, f"there is no id under any of {', '.join(ID_KEYS)}")
        if text.id in papers or not text.title or not found:
            why = "twice" if text.id in papers else "without_label" if text.title else "without_title"
            counts[f"papers_{why}"] += 1
        else:
            papers[text.id] = text, found, text_of(members.get(split))
    require(papers, f"{path} holds no paper with a title and a label under {label!r}", "name another <label>")
    texts, labels, splits = zip(*papers.values(), strict=True)
    read = Labelled(texts, labels, (False,) * len(papers), dict(counts))
    if any(splits):
        kept = [row for row, name in enumerate(splits) if name in _SPLITS]
        read = replace(read, test=tuple(_SPLITS.get(name, False) for name in splits)).only(kept, "papers_of_no_split")
    sizes = Counter(read.classes)
    read = read.only([row for row, name in enumerate(read.classes) if sizes[name] >= fewest], "papers_of_rare_classes")
    return read if any(splits) else replace(read, test=_drawn(read.classes))


def _labels(value: object) -> tuple[str, ...]:
    # A string is one label: `texts_of` would divide "Acta A; Acta B" in two.
    return texts_of(value) if isinstance(value, list) else tuple(filter(None, (text_of(value),)))


def _drawn(classes: Sequence[str]) -> tuple[bool, ...]:
    rows_of: dict[str, list[int]] = {}
    for row, name in enumerate(classes):
        rows_of.setdefault(name, []).append(row)
    draw = Random(0)  # noqa: S311 - nothing secret
    drawn = {row for rows in rows_of.values() for row in draw.sample(rows, len(rows) // TEST_SHARE)}
    return tuple(row in drawn for row in range(len(classes)))
