"""Where the sentences of a text are: abbreviations, initials and numbers with a full stop end none."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from encoders.models.card import ModelCard

MOST = 200
"""Sentences of a paper, of which an abstract has about nine; the last one also holds the rest of a longer text."""

# It begins with a set of characters, which is found quickly.
_END = re.compile(
    r"""[.!?\u3002\uff01\uff1f\u061f\u06d4](?:"""
    r"""(?<=[.!?])["')\]\u2019\u201d]*(?:\s+(?=["'(\[\u2018\u201c]?[A-Z0-9])"""
    # Abstracts of several paragraphs often lack the space between them: "in children.Data were collected".
    r"""|(?<=[a-z)\]%][.!?])(?=[A-Z][a-z]))"""
    # Scripts whose full stops end nothing but sentences: Chinese, Japanese, Arabic, Urdu.
    r"""|(?<=[\u3002\uff01\uff1f\u061f\u06d4])[\u300d\u300f\uff09\u201d]*\s*)"""
)
_LONGEST = 12
"""Characters before the end of a sentence that an abbreviation fits in, with what precedes it."""

_ABBREVIATED = re.compile(
    r"(?:\b(?:e\.g|i\.e|al|vs|cf|figs?|eqs?|refs?|nos?|approx|ca|resp|spp?|subsp|var|dr|prof|mrs?|st|pp|proc|natl|acad)|\b[A-Z])\.$",
    re.IGNORECASE,
)


def sentences(text: str) -> list[tuple[int, int]]:
    """Return where each sentence of a text begins and ends, in order; only blanks are between them.

    For English; other languages that end sentences with a full stop do as well, and so do Chinese and Japanese.
    """
    found, start = [], len(text) - len(text.lstrip())
    for end in _END.finditer(text):
        stop = start + len(text[start : end.end()].rstrip())
        if stop > start and not _ABBREVIATED.search(text[max(start, stop - _LONGEST) : stop]):
            found.append((start, stop))
            start = end.end()
    last = len(text.rstrip())
    return [*found, (start, last)] if last > start else found


class Sentence(NamedTuple):
    """A sentence of a paper.

    Attributes:
        field: Where it stands; the title is one only if the paper has no abstract.
        start: Its first character in the field, from 0.
        end: The character after its last one.
    """

    field: Literal["title", "abstract"]
    start: int
    end: int


def sentences_of(title: str, abstract: str) -> list[Sentence]:
    """Return the sentences of a paper, at least one: those of its abstract in their order, or else the title."""
    found = [Sentence("abstract", start, end) for start, end in sentences(abstract)]
    if len(found) > MOST:
        found[MOST - 1 :] = [found[MOST - 1]._replace(end=found[-1].end)]
    return found or [Sentence("title", 0, len(title))]


def sentence_texts(title: str, abstract: str, card: ModelCard) -> list[str]:
    """Return the text of each sentence of a paper for a model.

    A sentence is encoded like a paper, since a model knows documents and queries alone. Its title is put in front, as
    the title of a paper is: the sentence alone often does not say what it is about.
    """
    found = sentences_of(title, abstract)
    return [card.text(title, abstract[one.start : one.end] if one.field == "abstract" else "") for one in found]
