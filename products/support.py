"""Sentences of papers that are near in meaning to a sentence: what it may be supported by.

Nearness says that two sentences are about the same thing. It does not say that they agree: a paper that contradicts the
sentence is found like one that supports it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from corpora.errors import InputError
from encoders.models.formats import Format
from search_plugin.contract.schema import SEARCHED
from search_plugin.engines.embedded.vectors import closeness
from search_plugin.pages.hit import Hit
from search_plugin.pages.page import FORMATS
from search_plugin.words.sentences import sentences

if TYPE_CHECKING:
    import numpy as np

    from encoders.text_encoder import TextEncoder
    from search_plugin.pages.page import Page

READ = 30
"""Most papers whose sentences are compared."""

LONGEST = 1_000
"""Characters of the sentence that is asked for."""

_MOST_COMPARED = 200
"""Sentences of one paper that are compared; an abstract has about ten."""


@dataclass(frozen=True, slots=True)
class NearSentence:
    """A sentence of a paper.

    Attributes:
        field: Where it stands; the title is compared only if the paper has no abstract.
        text: The sentence.
        start: Its first character in the field, from 0.
        end: The character after its last one.
        score: How near it is, by the similarity of the model.
    """

    field: Literal["title", "abstract"]
    text: str
    start: int
    end: int
    score: float


@dataclass(frozen=True, slots=True)
class SupportingPaper:
    """A paper with its sentences that are nearest to the one asked for.

    Attributes:
        rank: Its rank in the search, from 1.
        hit: The paper as the search found it.
        sentences: Its nearest sentences, the nearest first.
    """

    rank: int
    hit: Hit
    sentences: tuple[NearSentence, ...]


@dataclass(frozen=True, slots=True)
class Support:
    """Papers with sentences that are near in meaning to a sentence.

    Attributes:
        index: Name of the index.
        sentence: The sentence asked for.
        papers: The papers in the order of the search, which is better than that by their nearest sentences
            (docs/benchmarks.md, Support for a sentence).
        read: Papers of the search whose sentences were compared.
        compared: Sentences that were compared.
        notes: What the user should know, one sentence each.
    """

    index: str
    sentence: str
    papers: tuple[SupportingPaper, ...]
    read: int
    compared: int
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, ready for JSON."""
        return asdict(self)

    def format(self, name: str) -> str:
        """Return the papers as text for other programs, in the formats of a page but `json`.

        Args:
            name: `jsonl`, `csv`, `bibtex` or `ris`.

        Returns:
            The text, with its last line ended.

        Raises:
            InputError: If there is no such format.
        """
        if name not in FORMATS:
            raise InputError(f"There is no format {name!r}; choose one of {', '.join(FORMATS)}.")
        return FORMATS[name]([replace(one.hit, rank=one.rank, score=one.sentences[0].score) for one in self.papers])


def support_of(sentence: str, page: Page, encoder: TextEncoder, most: int) -> Support:
    """Compare a sentence with those of the papers of a page, in one batch.

    A sentence of a paper is encoded like a paper, since the model knows documents and queries alone. Its title is put
    in front, as the title of a paper is: the sentence alone often does not say what it is about.

    Args:
        sentence: The sentence asked for, encoded as a query.
        page: The papers.
        encoder: Encoder of the model that made the index of the page.
        most: Most sentences of each.

    Returns:
        The papers in the order of the page, with their nearest sentences.
    """
    found = [list(_sentences_of(hit)) for hit in page]
    texts = [_text(hit, one, encoder) for hit, ones in zip(page, found, strict=True) for one in ones]
    scores = iter(near(sentence, texts, encoder).tolist() if texts else ())
    nearest = [_nearest([replace(one, score=next(scores)) for one in ones], most) for ones in found]
    held = [(hit, ones) for hit, ones in zip(page, nearest, strict=True) if ones]
    papers = (SupportingPaper(rank, hit, ones) for rank, (hit, ones) in enumerate(held, start=1))
    return Support(page.index, sentence, tuple(papers), len(page), len(texts), page.notes)


def near(sentence: str, texts: Sequence[str], encoder: TextEncoder) -> np.ndarray:
    """Return how near texts are to a sentence, float32 (texts,), higher for nearer."""
    asked = encoder.encode([sentence], Format.QRY)[0]
    return closeness(encoder.encode(texts, Format(SEARCHED)), asked, encoder.card.similarity)


def _text(hit: Hit, one: NearSentence, encoder: TextEncoder) -> str:
    return encoder.card.text(hit.title, one.text if one.field == "abstract" else "")


def _sentences_of(hit: Hit) -> Iterator[NearSentence]:
    """Yield the sentences of a paper in their order, not compared yet."""
    abstract = hit.paper.abstract
    places = sentences(abstract)[:_MOST_COMPARED]
    for start, end in places:
        yield NearSentence("abstract", abstract[start:end], start, end, 0.0)
    if not places and hit.title:
        yield NearSentence("title", hit.title, 0, len(hit.title), 0.0)


def _nearest(ones: Sequence[NearSentence], most: int) -> tuple[NearSentence, ...]:
    return tuple(sorted(ones, key=lambda one: (-one.score, one.start))[:most])
