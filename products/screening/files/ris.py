"""Labels in RIS: notes ASReview_relevant, ASReview_irrelevant and ASReview_not_seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from corpora.custom import CustomField
from corpora.identifiers import identifier_of
from corpora.outgoing import in_a_line, plain
from corpora.paper import Accepted, Paper
from corpora.readers import ris
from corpora.writing import replacing
from products.screening.files.labels import NOT_SEEN, NOTES, FileLabel, LabelFile, parse_notes

_REASON = "Exclusion reason: "


def read(path: Path) -> LabelFile:
    """Read the labels of RIS records; `InputError` if the file is no RIS, `UnavailableError` without rispy."""
    labels, undecided, rejected = [], 0, 0
    for record in ris.read(path, {}, [CustomField("notes", "text")]):
        if not isinstance(record, Accepted):
            rejected += 1
            continue
        paper = record.paper
        notes = str(paper.extra.get("notes", ""))
        decision = parse_notes(notes)
        if decision is None:
            undecided += 1
        else:
            # The file's own ID is that of the index from which the file came.
            reason = "" if decision else in_a_line(notes.partition(_REASON)[2])
            own = identifier_of(paper, "key") or paper.id
            labels.append(FileLabel(record.line, own, paper.title, paper.identifiers, decision, reason))
    return LabelFile(path, tuple(labels), undecided, rejected)


def write(path: Path, papers: Iterable[Paper], labels: Mapping[str, bool], reasons: Mapping[str, str]) -> None:
    """Write papers with their labels, as ASReview and the corpus ris read them; a reason is a note of its own."""
    with replacing(path) as part, part.open("w", encoding="utf-8") as file:
        for paper in papers:
            file.writelines(
                f"{tag}  - {' '.join(plain(value).split())}\n" for tag, value in _lines(paper, labels, reasons) if value
            )
            file.write("ER  - \n\n")


def _lines(paper: Paper, labels: Mapping[str, bool], reasons: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield "TY", "JOUR" if paper.venue else "GEN"
    yield "ID", paper.id
    yield "TI", paper.title
    yield from (("AU", author) for author in paper.authors)
    yield "PY", str(paper.year or "")
    yield "T2", paper.venue
    yield "AB", paper.abstract
    yield "DO", identifier_of(paper, "doi")
    yield "UR", paper.url
    yield "N1", next((note for note, decision in NOTES.items() if labels.get(paper.id) is decision), NOT_SEEN)
    if paper.id in reasons:
        yield "N1", f"{_REASON}{reasons[paper.id]}"
