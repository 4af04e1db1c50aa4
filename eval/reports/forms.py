"""The forms of reports, by the file's ending: Markdown, LaTeX in the manner of booktabs, HTML and JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

import orjson

from corpora.errors import UnavailableError, require
from corpora.installed import deferred, extra
from corpora.outgoing import json_text
from eval.files.text import write_lines
from eval.reports.report import Report, TextTable

_SPECIAL = re.compile(r"([\\`*_\[\]|~$])")


def as_markdown(report: Report) -> str:
    """Return the report as Markdown, without plots, which only HTML has."""
    tables = [*report.tables, report.provenance.table()]
    return "\n\n".join([f"# {escape_markdown(report.title)}", *map(_markdown_table, tables)]) + "\n"


def escape_markdown(text: str) -> str:
    """Return a text as Markdown that shows exactly that text: markup, HTML and ends of cells are escaped."""
    safe = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", safe)


def _markdown_table(table: TextTable) -> str:
    marks = ["---" if column < table.text_columns else "---:" for column in range(len(table.header))]
    rows = [map(escape_markdown, table.header), marks, *(map(escape_markdown, row) for row in table.rows)]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    notes = [f"- {escape_markdown(note)}" for note in table.notes]
    return "\n".join([f"## {escape_markdown(table.caption)}", "", *lines, *([""] if notes else []), *notes])


_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        **{special: f"\\{special}" for special in "{}$&#_%"},
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        # After a \\ these would start its optional argument or its starred form.
        "[": "{[}",
        "]": "{]}",
        "*": "{*}",
        # Without the braces, LaTeX joins two of them to one dash.
        "-": "-{}",
        '"': "{''}",
        "`": "{`}",
    }
)


def as_latex(report: Report) -> str:
    """Return the tables; the provenance is in comments before them, so that it is kept but not printed."""
    # Cells contain no line ends, so that a comment ends where it should.
    made = [f"% {what}: {value}" for what, value in report.provenance.table().rows]
    head = ["% " + report.title, *made, r"% Needs \usepackage{booktabs}."]
    return "\n".join([*head, *map(_latex_table, report.tables)]) + "\n"


def escape_latex(text: str) -> str:
    """Return a text as LaTeX that prints exactly that text."""
    return text.translate(_ESCAPES)


def _number(text: str) -> str:
    return text.translate({**_ESCAPES, ord("-"): "$-$"})


def _latex_table(table: TextTable) -> str:
    columns = "".join("l" if column < table.text_columns else "r" for column in range(len(table.header)))
    caption = ". ".join([table.caption, *table.notes])
    lines = [
        "",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escape_latex(caption)}.}}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        " & ".join(map(escape_latex, table.header)) + r" \\",
        r"\midrule",
        *(_latex_row(table, cells) for cells in table.rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines)


def _latex_row(table: TextTable, cells: tuple[str, ...]) -> str:
    texts, numbers = cells[: table.text_columns], cells[table.text_columns :]
    return " & ".join([*map(escape_latex, texts), *map(_number, numbers)]) + r" \\"


def as_json(report: Report) -> str:
    """Return title, values and provenance as one JSON document; a number that isn't finite is null."""
    content = {"title": report.title, **report.values, "provenance": asdict(report.provenance)}
    return json_text(orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY)) + "\n"


FORMS: Mapping[str, Callable[[Report], str]] = {
    ".md": as_markdown,
    ".html": deferred("eval.reports.html", "render"),
    ".tex": as_latex,
    ".json": as_json,
}


def check_report(path: Path) -> None:
    """Check before long work that its report can be written.

    Raises `InputError` if its ending is of no form, or its folder is not there, and `UnavailableError` if its form has
    plots and matplotlib isn't installed.
    """
    require(path.suffix.lower() in FORMS, f"The report {path} needs a name that ends in one of: {', '.join(FORMS)}.")
    require(
        path.parent.is_dir() and not path.is_dir(),
        f"The report {path} can't be written there: name a file in a folder that exists.",
    )
    if path.suffix.lower() == ".html" and not find_spec("matplotlib"):
        raise UnavailableError("An HTML report draws plots with matplotlib", f"run `pip install {extra('eval')}`")


def write_report(report: Report, path: Path) -> None:
    """Write a report in the form its file's ending asks for, whole or not at all; an older file is replaced.

    Raises what `check_report` raises, and `UnavailableError` if it can't be written.
    """
    check_report(path)
    write_lines(path, FORMS[path.suffix.lower()](report).removesuffix("\n").split("\n"))
