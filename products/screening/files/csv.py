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
from products.screening.files.labels import COLUMNS, REASONS, FileLabel, LabelFile, column_of, parse_decision


def read(path: Path) -> LabelFile:
    """Read the labels of CSV or TSV with a header, plain or compressed.

    Records need an id, a DOI or PMID, or a title. Raises `InputError` if it is no table, or has no column of decisions.
    """
    labels, undecided, rejected = [], 0, 0
    with open_table(path, "a CSV or TSV table", ("csv",)) as table:
        column, why = column_of(table.header, COLUMNS), column_of(table.header, REASONS)
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
                reason = "" if decision else in_a_line(cells.get(why, ""))
                labels.append(FileLabel(row.line, paper.id, title, paper.identifiers, decision, reason))
            else:
                rejected += 1
    return LabelFile(path, tuple(labels), undecided, rejected)


def write(path: Path, papers: Iterable[Paper], labels: Mapping[str, bool], reasons: Mapping[str, str]) -> None:
    """Write papers with their labels, as ASReview and the corpus csv read them, and the reasons if there are any."""
    import csv

    with replacing(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        header = ("id", "title", "abstract", "authors", "year", "journal", "doi", "url", "included")
        writer.writerow((*header, REASONS[0]) if reasons else header)
        for paper in papers:
            doi = identifier_of(paper, "doi")
            decision = "" if paper.id not in labels else str(int(labels[paper.id]))
            texts = (paper.id, paper.title, paper.abstract, "; ".join(paper.authors), str(paper.year or ""))
            reason = [cell(reasons.get(paper.id, ""))] if reasons else []
            writer.writerow([*map(cell, (*texts, paper.venue, doi, paper.url)), decision, *reason])
