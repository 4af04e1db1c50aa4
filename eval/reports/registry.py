"""The forms of reports, by the file's ending: a new one is one file and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

import orjson

from corpora.errors import UnavailableError, require
from corpora.installed import extra
from corpora.outgoing import json_text
from eval.files.text import write_lines
from eval.reports import html, latex, markdown
from eval.reports.report import Report


def as_json(report: Report) -> str:
    """Return title, values and provenance as one JSON document; a number that isn't finite is null."""
    content = {"title": report.title, **report.values, "provenance": asdict(report.provenance)}
    return json_text(orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY)) + "\n"


FORMS: Mapping[str, Callable[[Report], str]] = {
    ".md": markdown.render,
    ".html": html.render,
    ".tex": latex.render,
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
