"""`ses corpora`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import rich_click as click

from corpora.custom import declared
from corpora.errors import require
from corpora.paper import Accepted, Deleted, Rejected
from corpora.registry import CORPORA, get_corpus
from indexer.options import IndexOptions
from ses.settings import load_settings
from ses.terminal.accounts import account_table, overlooked
from ses.terminal.options import described_options, given_of, json_option
from ses.terminal.results import say

_REASONS_SHOWN = 3


@click.group()
def corpora() -> None:
    """Check what is read of a file before it is indexed."""


@corpora.command()
@click.argument("file", metavar="FILE")
@click.option("--corpus", metavar="NAME", help=f"How to read it: {', '.join(CORPORA)} [default: by its beginning].")
@described_options(IndexOptions, "encoding", "columns", "fields", "limit")
@json_option
@click.pass_context
def check(context: click.RichContext, /, file: str, corpus: str | None, *, as_json: bool, **options: Any) -> None:
    """Show what each column, tag, key or element of a file or folder is read as, and what papers lack.

    Nothing is indexed. A name is that in the file; it is read as attributes of papers or kinds of identifiers, kept as
    a custom field, or not read. The exit code is 1 if records are rejected.
    """
    from corpora.accounting import Account
    from ses.papers import of_corpus

    require("://" not in file, f"{file} is an address", "save it as a file, or index it")
    chosen = get_corpus(corpus or _likely(Path(file)))
    given = given_of(IndexOptions, options)
    custom, rest = declared(given.get("fields", {}), given.get("columns", {}))
    source = of_corpus(
        chosen.name,
        file,
        load_settings().data_dir,
        columns=rest,
        fields=custom,
        limit=given.get("limit"),
        encoding=given.get("encoding", ""),
    )
    account, papers, deleted = Account(), 0, 0
    rejected: list[Rejected] = []
    for record in account.watch(source.records()):
        if isinstance(record, Accepted):
            papers += 1
        elif isinstance(record, Deleted):
            deleted += 1
        else:
            rejected.append(record)
    found = account.result()
    document = {
        "corpus": chosen.name,
        "papers": papers,
        "deleted": deleted,
        "rejected": [{"line": one.line, "reason": one.reason, "id": one.id} for one in rejected],
        "account": found.to_dict() if found else None,
    }
    lines = [f"{file} as {chosen.name}: {papers:,} papers, {deleted:,} deleted, {len(rejected):,} rejected"]
    lines += _reasons(rejected)
    if found:
        lines += [*account_table(found), *overlooked(found, takes_columns=chosen.takes_columns)]
    say(document, lines, as_json=as_json)
    context.exit(1 if rejected else 0)


def _reasons(rejected: list[Rejected]) -> Iterator[str]:
    for one in islice(rejected, _REASONS_SHOWN):
        yield f"Line {one.line:,} is rejected: {one.reason}"
    if len(rejected) > _REASONS_SHOWN:
        yield f"{len(rejected) - _REASONS_SHOWN:,} more are rejected; --json has all."


def _likely(path: Path) -> str:
    """Return the corpus that a file looks like, or raise `InputError` if it is not clear."""
    from corpora.sniffing import likely_corpus

    require(path.exists(), f"There is no file {path}: check its name.")
    likely = "xlsx" if path.suffix.lower() in (".xlsx", ".xls", ".xlsb", ".ods") else likely_corpus(path)
    require(
        likely in CORPORA, f"It is not clear how to read {path}", f"say it with <corpus>, one of {', '.join(CORPORA)}"
    )
    return likely
