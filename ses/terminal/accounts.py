"""Prints what became of the columns, tags and keys of a corpus, and what its papers lack."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from corpora.errors import short_list

if TYPE_CHECKING:
    from corpora.accounting import CorpusAccount

_MANY = {"title": 0.2, "abstract": 0.2, "year": 0.2, "authors": 0.2, "venue": 0.5, "doi": 0.5}
"""Shares of records that lack something; what more of them lack is printed."""
_OFTEN_ABSENT = ("authors", "year", "venue", "doi")
"""Not printed of a corpus that has none at all."""
_LONGEST_NAME = 40


def account_summary(account: CorpusAccount, *, takes_columns: bool, place: str = "") -> Iterator[str]:
    """Yield what matters of an account: what many papers lack, what is not read, and what may have been overlooked.

    `place` is what the command that shows all takes.
    """
    records = account.records
    many = {
        name: count
        for name, count in account.lacking.items()
        if count > _MANY[name] * records and not (name in _OFTEN_ABSENT and count == records)
    }
    if many:
        counted = ", ".join(f"{_named(name)} {count:,} of {records:,}" for name, count in many.items())
        yield f"Many papers lack: {counted}"
    if unread := [_cut(one.name) for one in account.unread]:
        yield f"Not read: {short_list(unread, 3)}" + (f"; `ses corpora check {place}` shows all" if place else "")
    yield from overlooked(account, takes_columns=takes_columns)


def overlooked(account: CorpusAccount, *, takes_columns: bool) -> Iterator[str]:
    """Yield a sentence for each column that may hold what papers lack, with the option that reads it."""
    for one in account.overlooked:
        hint = f"; try --column {one.attribute}={shlex.quote(one.column)}" if takes_columns else ""
        yield f"{one.sentence}{hint}."


def account_table(account: CorpusAccount) -> Iterator[str]:
    """Yield a line for each name of an account, and what papers lack."""
    head = ("name", "read as", "records", "example")
    rows = [
        (_cut(one.name), _became(one.read_as, one.kept_as), f"{one.records:,}", one.example) for one in account.columns
    ]
    widths = [max(len(row[place]) for row in (head, *rows)) for place in range(3)]
    for name, became, records, example in (head, *rows):
        line = f"{name:{widths[0]}}  {became:{widths[1]}}  {records:>{widths[2]}}  {example}"
        yield line.rstrip()
    if account.more_names:
        yield "There are more names, which are not listed."
    lacking = (f"{_named(name)} {count:,}" for name, count in account.lacking.items())
    yield f"Of {account.records:,} records lack: {', '.join(lacking)}"


def _became(read_as: tuple[str, ...], kept_as: tuple[str, ...]) -> str:
    kept = (f"field {name}" for name in kept_as)
    return ", ".join([*read_as, *kept]) or "not read"


def _named(attribute: str) -> str:
    return "DOI" if attribute == "doi" else attribute


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
