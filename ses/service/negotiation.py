"""The format of an answer: the one that the parameter `format` names, else the one that `Accept` prefers (RFC 9110)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus

from fastapi import Request

from ses.service.problems import RefusedError

_WEIGHT = re.compile(r"0(\.\d{0,3})?|1(\.0{0,3})?")


@dataclass(frozen=True, slots=True)
class AnswerFormat:
    """A format of answers.

    Attributes:
        name: Its name in the parameter `format`.
        media_type: What it is sent as.
        suffix: How the names of its files end.
        also: Other media types by which clients ask for it.
    """

    name: str
    media_type: str
    suffix: str
    also: tuple[str, ...] = ()


JSON = AnswerFormat("json", "application/json", "json")
ANSWER_FORMATS = (
    JSON,
    AnswerFormat("jsonl", "application/jsonl", "jsonl", ("application/x-ndjson", "application/x-jsonlines")),
    AnswerFormat("csv", "text/csv; charset=utf-8; header=present", "csv"),
    AnswerFormat("bibtex", "application/x-bibtex; charset=utf-8", "bib", ("text/x-bibtex",)),
    AnswerFormat("ris", "application/x-research-info-systems; charset=utf-8", "ris"),
    AnswerFormat("csl", "application/vnd.citationstyles.csl+json", "json"),
)
"""The formats of papers; the first is sent to a client that has no preference."""


def chosen_format(request: Request, name: str | None = None) -> AnswerFormat:
    """Return the format of an answer.

    Args:
        request: The request; its header `Accept` counts if no format is named.
        name: The format's name, as the client gave it.

    Returns:
        The format.

    Raises:
        RefusedError: If the client accepts none of the formats (406).
    """
    if name:
        return next(one for one in ANSWER_FORMATS if one.name == name)
    accepted = request.headers.get("accept", "")
    if not accepted.strip() or accepted == "*/*":
        return JSON
    best = max(ANSWER_FORMATS, key=lambda one: _quality_of(one, accepted))
    if _quality_of(best, accepted) == 0:
        raise RefusedError(
            HTTPStatus.NOT_ACCEPTABLE,
            "Papers can't be sent in a format that the header Accept names",
            f"add format= with one of {', '.join(one.name for one in ANSWER_FORMATS)}",
            {"Vary": "Accept"},
        )
    return best


def _quality_of(one: AnswerFormat, accepted: str) -> float:
    return max(quality(accepted, kind.partition(";")[0]) for kind in (one.media_type, *one.also))


def quality(accepted: str, wanted: str) -> float:
    """Return how much a client wants something, from 0 to 1, by a header such as `Accept` (RFC 9110, section 12.4).

    Args:
        accepted: The header's value. Parts of another form are ignored.
        wanted: A media type, or an encoding.

    Returns:
        The weight of the most specific part that names it; 0 if none does.
    """
    group = f"{wanted.partition('/')[0]}/*"
    weights = dict(_weights(accepted))
    return next((weights[name] for name in (wanted, group, "*/*", "*") if name in weights), 0.0)


def _weights(accepted: str) -> Iterator[tuple[str, float]]:
    for part in accepted.lower().split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        yield name, _weight(parameters)


def _weight(parameters: Sequence[str]) -> float:
    given = next((one.removeprefix("q=") for one in parameters if one.startswith("q=")), "1")
    return float(given) if _WEIGHT.fullmatch(given) else 0.0
