"""The formats of labels by the suffix of a file: a new one is one file and one line here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from corpora.errors import InputError
from corpora.paper import Paper
from products.screening.decisions import Decision
from products.screening.files import asreview, csv, ris
from products.screening.files.labels import LabelFile


@dataclass(frozen=True, slots=True)
class LabelFormat:
    """Reads and writes labels; the last argument of `write` is the decisions by the id of their paper."""

    read: Callable[[Path], LabelFile]
    write: Callable[[Path, Iterable[Paper], Mapping[str, Decision]], None]


FORMATS = {
    ".csv": LabelFormat(csv.read, csv.write),
    ".ris": LabelFormat(ris.read, ris.write),
    ".asreview": LabelFormat(asreview.read, asreview.write),
}


def label_format(path: Path) -> LabelFormat:
    """Return the format of a file by its name, or raise `InputError`."""
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise InputError(f"Labels can't be kept in {path.name}", f"give it a name that ends in {', '.join(FORMATS)}")
    return FORMATS[suffix]
