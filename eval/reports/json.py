"""A report as JSON, in full precision."""

from __future__ import annotations

from dataclasses import asdict

import orjson

from corpora.outgoing import json_text
from eval.reports.report import Report


def render(report: Report) -> str:
    """Return title, values and provenance as one JSON document; a number that isn't finite is null."""
    told = {"title": report.title, **report.values, "provenance": asdict(report.provenance)}
    return json_text(orjson.dumps(told, option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY)) + "\n"
