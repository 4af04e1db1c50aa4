"""Labels in CSV: a column `included` with 1, 0, or nothing for an unread paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from corpora.assembling import assemble
from corpora.errors import InputError
from corpora.identifiers import identifier_of
from corpora.outgoing import cell, in_a_line, text_of_cell
from corpora.paper import Accepted, Paper, Rejected
from corpora.tables import open_table
from corpora.writing import replacing
from products.screening.decisions import Decision
from products.screening.files.labels import COLUMNS, REASONS, SCREENERS, FileLabel, LabelFile, column_of, parse_decision


def read(path: Path) -> LabelFile:
    """Read the labels of CSV or TSV with a header, plain or compressed.

    Records need an id, a DOI or PMID, or a title. Raises `InputError` if it is no table, or has no column of decisions.
    """
    labels, undecided, rejected = [], 0, 0
    with open_table(path, "a CSV or TSV table", ("csv",)) as table:
        column, why, who = (column_of(table.header, names) for names in (COLUMNS, REASONS, SCREENERS))
        if not column:
            raise InputError(f"{path} has no column of decisions; name it one of {', '.join(COLUMNS)}.")
        for row in table.rows:
            if isinstance(row, Rejected):
                rejected += 1
                continue
            cells = {name: text_of_cell(text) for name, text in row.cells.items()}
            try:
                decision = parse_decision(cells.get(column, ""))
            except ValueError as error:
                raise InputError(f"Line {row.line} of {path}: {error}") from None
            filled = {name: text for name, text in cells.items() if text}
            record = assemble(row.line, {"id": f"line {row.line}", **filled}, {})
            title = record.paper.title if isinstance(record, Accepted) else ""
            if not title:  # an id or an identifier is enough
                record = assemble(row.line, {**filled, "title": "none"}, {})
            if decision is None:
                undecided += 1
            elif isinstance(record, Accepted):
                paper = record.paper
                reason, by = (in_a_line(cells.get(name, "")) for name in (why, who))
                labels.append(FileLabel(row.line, paper.id, title, paper.identifiers, decision, reason, by))
            else:
                rejected += 1
    return LabelFile(path, tuple(labels), undecided, rejected)


def write(
    path: Path, papers: Iterable[Paper], decisions: Mapping[str, Decision], *, without_labels: bool = False
) -> None:
    """Write papers with the decisions on them, as ASReview and the corpus csv read them.

    Columns of reasons, of who decided and of when are written where a decision says it. `without_labels` leaves the
    column `included` empty.
    """
    import csv

    attribute_of = {REASONS[0]: "reason", SCREENERS[0]: "by", "decided_at": "at"}
    more = [name for name, part in attribute_of.items() if any(getattr(one, part) for one in decisions.values())]
    with replacing(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("id", "title", "abstract", "authors", "year", "journal", "doi", "url", "included", *more))
        for paper in papers:
            one = decisions.get(paper.id)
            doi = identifier_of(paper, "doi")
            texts = (paper.id, paper.title, paper.abstract, "; ".join(paper.authors), str(paper.year or ""))
            label = str(int(one.included)) if one and not without_labels else ""
            rest = (cell(getattr(one, attribute_of[name], "")) for name in more)
            writer.writerow([*map(cell, (*texts, paper.venue, doi, paper.url)), label, *rest])
