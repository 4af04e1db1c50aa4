"""Labels in RIS: notes ASReview_relevant, ASReview_irrelevant and ASReview_not_seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from corpora.custom import CustomField
from corpora.identifiers import identifier_of
from corpora.outgoing import in_a_line, plain
from corpora.paper import Accepted, Paper
from corpora.readers import ris
from corpora.writing import replacing
from products.screening.decisions import Decision
from products.screening.files.labels import NOT_SEEN, NOTES, FileLabel, LabelFile, parse_notes

_REASON, _BY, _AT = "Exclusion reason: ", "Decided by: ", "Decided at: "


def read(path: Path) -> LabelFile:
    """Read the labels of RIS records; `InputError` if the file is no RIS, `UnavailableError` without rispy."""
    labels, undecided, rejected = [], 0, 0
    for record in ris.read(path, {}, [CustomField("notes", "keywords")]):
        if not isinstance(record, Accepted):
            rejected += 1
            continue
        paper = record.paper
        held = paper.extra.get("notes")
        notes = held if isinstance(held, tuple) else ()
        decision = parse_notes(" ".join(notes))
        if decision is None:
            undecided += 1
        else:
            # The file's own ID is that of the index from which the file came.
            own = identifier_of(paper, "key") or paper.id
            reason, by = _told(notes, _REASON), _told(notes, _BY)
            labels.append(FileLabel(record.line, own, paper.title, paper.identifiers, decision, reason, by))
    return LabelFile(path, tuple(labels), undecided, rejected)


def _told(notes: Sequence[str], name: str) -> str:
    return next((in_a_line(note.removeprefix(name)) for note in notes if note.startswith(name)), "")


def write(path: Path, papers: Iterable[Paper], decisions: Mapping[str, Decision]) -> None:
    """Write papers with the decisions on them, as ASReview and the corpus ris read them.

    The reason, who decided and when are notes of their own.
    """
    with replacing(path) as part, part.open("w", encoding="utf-8") as file:
        for paper in papers:
            file.writelines(
                f"{tag}  - {' '.join(plain(value).split())}\n"
                for tag, value in _lines(paper, decisions.get(paper.id))
                if value
            )
            file.write("ER  - \n\n")


def _lines(paper: Paper, decision: Decision | None) -> Iterator[tuple[str, str]]:
    yield "TY", "JOUR" if paper.venue else "GEN"
    yield "ID", paper.id
    yield "TI", paper.title
    yield from (("AU", author) for author in paper.authors)
    yield "PY", str(paper.year or "")
    yield "T2", paper.venue
    yield "AB", paper.abstract
    yield "DO", identifier_of(paper, "doi")
    yield "UR", paper.url
    if decision is None:
        yield "N1", NOT_SEEN
        return
    yield "N1", next(note for note, included in NOTES.items() if included is decision.included)
    notes = {_REASON: decision.reason, _BY: decision.by, _AT: decision.at}
    yield from (("N1", f"{name}{text}") for name, text in notes.items() if text)
