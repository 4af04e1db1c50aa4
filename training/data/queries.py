"""Makes queries without judgments from papers: the query is a part of the paper that answers it.

The query's words are removed from its paper's text. Otherwise the paper would contain a copy of the query.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from search_plugin.words.sentences import sentences
from training.data.builders.base import BuilderOptions, PaperRecord, drawn, id_of

MOST_KEYWORDS = 4
"""Keywords in one query."""

OPTIONS: BuilderOptions = {
    "titles": 1.0,
    "conclusions": 1.0,
    "keywords": 1.0,
    "citations": 1.0,
    "keyword_fields": "keywords,mesh_major",
    "citation_field": "citation_sentences",
    "shortest": 3,
    "longest": 64,
    "least": 30,
}
"""Shares of the kinds, 0 for none; the fields that keywords and citing sentences are in; fewest and most words of a
query, and fewest of the text that answers it."""

PaperFields = Mapping[str, Any]
"""The fields of a paper that a task reads."""


@dataclass(frozen=True, slots=True)
class AnsweredQuery:
    """A query and the paper that answers it.

    Attributes:
        key: Id of the paper.
        kind: `titles`, `conclusions`, `keywords` or `citations`; empty if the query is from a file.
        content: Plain text; or a paper, where a file gives one.
        answer: The paper, without the query's text.
    """

    key: str
    kind: str
    content: str | PaperFields
    answer: PaperFields


def query_of(paper: PaperRecord, text: PaperFields, options: BuilderOptions, seed: int) -> AnsweredQuery | None:
    """Make one query of a paper, or return None if it gives none.

    `text` has the fields that the task reads. The seed and the paper's id decide the kind among those that the paper
    can give, by their shares in the options.
    """
    key = id_of(paper)
    shares = {kind: float(options[kind]) for kind in KINDS if options[kind] > 0}
    while shares:
        place = drawn(seed, f"{key}\tkind\t{len(shares)}") * sum(shares.values())
        for kind in shares:
            place -= shares[kind]
            if place < 0:
                break
        query = AnsweredQuery(key, kind, KINDS[kind](paper, options, seed), shown(kind, text))
        if _fits(query, options):
            return query
        del shares[kind]
    return None


def shown(kind: str, text: PaperFields) -> dict[str, Any]:
    """Return a paper in the form of an answer: without its title, or without its conclusion.

    Wrong answers have the same form. Otherwise a model would recognize right answers by their missing part.
    """
    if kind == "titles":
        return {name: value for name, value in text.items() if name != "title"} or dict(text)
    if kind == "conclusions" and (rest := without_conclusion(str(text.get("abstract") or ""))[1]):
        return {**text, "abstract": rest}
    return dict(text)


def _fits(query: AnsweredQuery, options: BuilderOptions) -> bool:
    words, answer = str(query.content), " ".join(str(value) for value in query.answer.values())
    if not options["shortest"] <= len(words.split()) <= options["longest"] or len(answer.split()) < options["least"]:
        return False
    # Keywords are words of the paper, as a user's are; a sentence that it repeats would be a copy.
    return query.kind == "keywords" or folded(words) not in folded(answer)


def folded(text: str) -> str:
    """Return only the words of a text, so that a copy with other punctuation is still recognized."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def _title(paper: PaperRecord, options: BuilderOptions, seed: int) -> str:  # noqa: ARG001
    return " ".join(str(paper.get("title") or "").split())


def _conclusion(paper: PaperRecord, options: BuilderOptions, seed: int) -> str:  # noqa: ARG001
    return without_conclusion(str(paper.get("abstract") or ""))[0]


def _keywords(paper: PaperRecord, options: BuilderOptions, seed: int) -> str:
    """Return two to four of the paper's keywords, of the first field that has two."""
    for field in str(options["keyword_fields"]).split(","):
        given = paper.get(field.strip()) or []
        words = given.split(";") if isinstance(given, str) else given if isinstance(given, list) else []
        words = list(dict.fromkeys(text for word in words if (text := str(word).strip())))
        if len(words) > 1:
            key = id_of(paper)
            words.sort(key=lambda word: drawn(seed, f"{key}\t{word}"))
            return " ".join(words[: 2 + int((MOST_KEYWORDS - 1) * drawn(seed, f"{key}\tkeywords"))])
    return ""


def _citation(paper: PaperRecord, options: BuilderOptions, seed: int) -> str:
    """Return one of the sentences with which others cite the paper."""
    given = paper.get(str(options["citation_field"])) or []
    found = [str(one).strip() for one in (given if isinstance(given, list) else [given])]
    return min(found, key=lambda one: drawn(seed, f"{id_of(paper)}\t{one}"), default="")


KINDS: Mapping[str, Callable[[PaperRecord, BuilderOptions, int], str]] = {
    "titles": _title,
    "conclusions": _conclusion,
    "keywords": _keywords,
    "citations": _citation,
}
"""Makes a query from a paper, options and a seed; empty if the paper gives none."""


_HEADING = re.compile(r"(?:[A-Z][A-Z /&'-]{2,60}|[A-Z][a-z]+)\s*:\s*")
_CONCLUSION = re.compile(r"\W*conclusions?(?: and \w+| & \w+)?\s*[:.\u2013\u2014]+\s*", re.IGNORECASE)
_ASIDE = re.compile(
    r"https?:|www\.|copyright|\u00a9|rights reserved|regist(?:ration|ered|ry)|\bNCT\d|level of evidence|published with"
    r"|\b(?:codes?|data|models?|supplement\w*)\b.*\b(?:available|released?)\b",
    re.IGNORECASE,
)
"""Endings of abstracts that are no conclusion: links, licences, trial numbers."""


def without_conclusion(abstract: str) -> tuple[str, str]:
    """Return the sentence that concludes an abstract, without its heading, and the abstract without it.

    The first sentence under a heading such as `CONCLUSIONS:`; else the last one that is no link, licence or number of
    a trial. Both are empty if nothing would be left of the abstract.
    """
    places = sentences(abstract)
    headed = (place for place in places if _CONCLUSION.match(abstract, *place))
    plain = (place for place in reversed(places) if not _ASIDE.search(abstract, *place))
    start, end = next(headed, None) or next(plain, (0, 0))
    rest = " ".join(part for part in (abstract[:start].rstrip(), abstract[end:].lstrip()) if part)
    if start == end or not rest:
        return "", ""
    heading = _CONCLUSION.match(abstract, start, end) or _HEADING.match(abstract, start, end)
    return abstract[heading.end() if heading else start : end].strip(), rest
