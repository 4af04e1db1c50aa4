"""Sentences of papers that are near in meaning to a sentence: what it may be supported by.

Nearness says that two sentences are about the same thing. It does not say that they agree: a paper that contradicts the
sentence is found like one that supports it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import Any

from corpora.errors import InputError
from corpora.lazy import np
from encoders.models.formats import Format
from encoders.text_encoder import TextEncoder
from search_plugin.contract.legs import closeness
from search_plugin.contract.schema import SEARCHED
from search_plugin.pages.hit import Hit, NearSentence, near_sentences
from search_plugin.pages.page import FORMATS, Page
from search_plugin.words.sentences import sentence_texts, sentences_of


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
        """Return the papers as text for other programs, with its last line ended, in the formats of a page but `json`.

        These are `jsonl`, `csv`, `bibtex` and `ris`; `InputError` if there is no such format.
        """
        if name not in FORMATS:
            raise InputError(f"There is no format {name!r}; choose one of {', '.join(FORMATS)}.")
        return FORMATS[name]([replace(one.hit, rank=one.rank, score=one.sentences[0].score) for one in self.papers])


def support_of(
    sentence: str, page: Page, encoder: TextEncoder, most: int, held: Mapping[str, np.ndarray] | None = None
) -> Support:
    """Compare a sentence with those of the papers of a page, in one batch.

    Args:
        sentence: The sentence asked for, encoded as a query.
        page: The papers.
        encoder: Encoder of the model that made the index of the page.
        most: Most sentences of each.
        held: Vectors of the sentences of papers by id, float32 (sentences, dimension), if the index has them; else the
            sentences are encoded.

    Returns:
        The papers in the order of the page, with their nearest sentences.
    """
    hits = [hit for hit in page if hit.paper.abstract.strip() or hit.title]
    query = encoder.encode([sentence], Format.QRY)[0]
    made = dict(zip([hit.id for hit in hits], _vectors_of(hits, encoder, held or {}), strict=True))
    similarity = encoder.card.similarity
    near = {hit.id: near_sentences(hit.paper, closeness(made[hit.id], query, similarity)) for hit in hits}
    papers = (SupportingPaper(rank, hit, tuple(near[hit.id][:most])) for rank, hit in enumerate(hits, start=1))
    return Support(page.index, sentence, tuple(papers), len(page), sum(map(len, near.values())), page.notes)


def _vectors_of(hits: Sequence[Hit], encoder: TextEncoder, held: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """Return the vectors of the sentences of papers, float32 (sentences, dimension); those not held are encoded."""
    texts = {
        hit.id: sentence_texts(hit.title, hit.paper.abstract, encoder.card)
        for hit in hits
        if len(held.get(hit.id, ())) != len(sentences_of(hit.title, hit.paper.abstract))
    }
    if texts:
        rows = encoder.encode([*chain(*texts.values())], Format(SEARCHED))
        parts = np.split(rows, np.cumsum([*map(len, texts.values())])[:-1])
        held = {**held, **dict(zip(texts, parts, strict=True))}
    return [held[hit.id] for hit in hits]
