"""A report as LaTeX tables to put into a paper, in the manner of booktabs."""

from __future__ import annotations

from eval.reports.report import Report
from eval.reports.tables import TextTable

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


def render(report: Report) -> str:
    """Return the tables; the provenance is in comments before them, so that it is kept but not printed."""
    # Cells contain no line ends, so that a comment ends where it should.
    made = [f"% {what}: {value}" for what, value in report.provenance.table().rows]
    head = ["% " + report.title, *made, r"% Needs \usepackage{booktabs}."]
    return "\n".join([*head, *map(_table, report.tables)]) + "\n"


def escape(text: str) -> str:
    """Return a text as LaTeX that prints exactly that text."""
    return text.translate(_ESCAPES)


def _number(text: str) -> str:
    return text.translate({**_ESCAPES, ord("-"): "$-$"})


def _table(table: TextTable) -> str:
    columns = "".join("l" if column < table.text_columns else "r" for column in range(len(table.header)))
    told = ". ".join([table.caption, *table.notes])
    lines = [
        "",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escape(told)}.}}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        " & ".join(map(escape, table.header)) + r" \\",
        r"\midrule",
        *(_row(table, cells) for cells in table.rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines)


def _row(table: TextTable, cells: tuple[str, ...]) -> str:
    texts, numbers = cells[: table.text_columns], cells[table.text_columns :]
    return " & ".join([*map(escape, texts), *map(_number, numbers)]) + r" \\"
