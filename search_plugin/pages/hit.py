"""A paper that a search found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from corpora.identifiers import identifier_of, link_of
from corpora.lazy import np
from corpora.outgoing import as_html, linked
from corpora.paper import Paper
from search_plugin.contract.legs import Contribution
from search_plugin.pages.highlights import Snippet

if TYPE_CHECKING:
    from search_plugin.words.sentences import Sentence


@dataclass(frozen=True, slots=True)
class NearSentence:
    """A sentence of a paper, near in meaning to a query.

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
class Version:
    """Another paper of the same work, which is not shown by itself.

    Attributes:
        id: Its id.
        title: Its title.
        year: Year of publication.
        venue: Where it appeared.
        retracted: Whether it was retracted.
    """

    id: str
    title: str
    year: int | None = None
    venue: str = ""
    retracted: bool = False


@dataclass(frozen=True, slots=True, repr=False)
class Hit:
    """One paper found.

    Attributes:
        rank: Position from 1, over all pages.
        paper: The paper as indexed.
        score: Fused score; comparable within one search only.
        legs: Each leg's rank, raw score and contribution; legs that did not find it are absent.
        snippets: Where the query's words stand.
        collapsed: Candidates not shown because they share this one's value of the field collapsed by, or are the same
            work.
        known_by: What the query named the paper by, such as `DOI 10.1000/182` or `title`; empty if it was ranked.
        weak: Whether the paper matches weakly; never for models without a fitted threshold (docs/ranking.md).
        versions: The other versions of the work that were found, if they were collapsed.
        sentence: Its sentence that is nearest to the query, in an index with vectors of sentences.

    Example:
        >>> hit = library["mine"].search("masks", mode="lexical")[0]
        >>> hit.rank, hit.title, hit.paper.year
        (1, 'Masks and the spread of a virus', 2020)
    """

    rank: int
    paper: Paper
    score: float
    legs: Mapping[str, Contribution] = field(hash=False)
    snippets: tuple[Snippet, ...]
    collapsed: int = 0
    known_by: str = ""
    weak: bool = False
    versions: tuple[Version, ...] = ()
    sentence: NearSentence | None = None

    @property
    def id(self) -> str:
        """The paper's id."""
        return self.paper.id

    @property
    def title(self) -> str:
        """The paper's title."""
        return self.paper.title

    @property
    def doi(self) -> str:
        """The paper's DOI; empty where it has none."""
        return identifier_of(self.paper, "doi")

    @property
    def link(self) -> str:
        """Where to read the paper: by its DOI, its own address or another identifier; empty where there is none."""
        return link_of(self.paper)

    def __repr__(self) -> str:
        facts = ", ".join(str(fact) for fact in (self.paper.year, self.paper.venue, self.id) if fact)
        return f"{self.rank:3}. {self.title} ({facts}) {self.score:.4f}"

    def _repr_html_(self) -> str:
        return hits_html([self])


def unshown_sentence(hit: Hit) -> str:
    """Return the nearest sentence of a hit's abstract, unless a snippet shows it; empty if there is none."""
    if hit.sentence is None or hit.sentence.field != "abstract":
        return ""
    text = hit.sentence.text
    shown = any(one.field == "abstract" and (one.text in text or text in one.text) for one in hit.snippets)
    return "" if shown else text


def near_sentence(paper: Paper, place: Sentence, score: float) -> NearSentence:
    """Return a sentence of a paper, given where it stands and how near it is."""
    text = getattr(paper, place.field)[place.start : place.end]
    return NearSentence(place.field, text, place.start, place.end, score)


def near_sentences(paper: Paper, scores: np.ndarray) -> list[NearSentence]:
    """Return the sentences of a paper, the nearest first, given how near each is, (sentences,), in their order.

    Raises `ValueError` if the paper has another number of sentences.
    """
    from search_plugin.words.sentences import sentences_of

    places = sentences_of(paper.title, paper.abstract)
    found = [near_sentence(paper, place, score) for place, score in zip(places, scores.tolist(), strict=True)]
    return sorted(found, key=lambda one: (-one.score, one.start))


def hits_html(hits: Iterable[Hit]) -> str:
    """Return hits as a table: rank, title with its link, year, venue and the text around the query's words, score."""
    rows = "".join(
        f"<tr><td>{hit.rank}</td><td style='text-align: left'>{_title(hit)}{_abstract(hit)}</td>"
        f"<td>{hit.paper.year or ''}</td><td>{as_html(hit.paper.venue)}</td><td>{hit.score:.4f}</td></tr>"
        for hit in hits
    )
    names = "".join(f"<th>{name}</th>" for name in ("", "paper", "year", "venue", "score"))
    return f"<table><thead><tr>{names}</tr></thead><tbody>{rows}</tbody></table>"


def _title(hit: Hit) -> str:
    shown = next((_marked(snippet) for snippet in hit.snippets if snippet.field == "title"), as_html(hit.title))
    return f"{'<b>[retracted]</b> ' if hit.paper.retracted else ''}{linked(shown, hit.link)}"


def _abstract(hit: Hit) -> str:
    return "".join(f"<br><small>{_marked(snippet)}</small>" for snippet in hit.snippets if snippet.field == "abstract")


def _marked(snippet: Snippet) -> str:
    parts, done = [], 0
    for start, end in snippet.spans:
        parts += [as_html(snippet.text[done:start]), f"<mark>{as_html(snippet.text[start:end])}</mark>"]
        done = end
    return "".join([*parts, as_html(snippet.text[done:])])
