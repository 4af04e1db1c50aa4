"""Which papers are the same work: preprint and article, versions, and papers that were indexed twice.

Two papers are the same work if they share an identifier, or if their titles say the same and authors, years and, where
there are some, vectors agree. Notices (errata, retractions, replies) are never the same work as their article. A wrong
group hides a paper, so what is doubtful stays apart. docs/ranking.md has the measurement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from corpora.identifiers import FORMAL, normal, other_names
from corpora.paper import Paper
from search_plugin.words.languages import DEFAULT_LANGUAGE
from search_plugin.words.names import same_person
from search_plugin.words.terms import distinct_words, terms_of

FIELDS = ("title", "authors", "year", "venue", "types", "identifiers", "retracted")
"""What is compared, and told of a version."""

PaperPair = tuple[str, str]
"""Ids of two papers, in ascending order."""

MOST_ALIKE = 100
"""Papers with one identifier, title or first author that are compared; if there are more, it names no single work."""

_YEARS = 2
_FEWEST_TERMS, _FEWEST_LETTERS = 3, 16
_OVERLAP, _SHARED = 0.5, 0.3
"""Least Jaccard index of the terms of two titles, and of their words, of which forms differ."""

_MOST_AUTHORS = 12


@dataclass(frozen=True, slots=True)
class LikeVectors:
    """The cosines of two papers' vectors from which on they may be the same work; they depend on the model.

    Attributes:
        same_title: Where title, authors and years agree.
        other_title: Where titles only resemble each other, are short, or authors are missing.
    """

    same_title: float
    other_title: float


SIMILARITIES: Mapping[str, LikeVectors] = {
    "3b9a20da48be8dfb": LikeVectors(same_title=0.6, other_title=0.94)  # ses-minilm, which is all-MiniLM-L6-v2
}
"""Similarities of versions by fingerprint of the model; docs/ranking.md says how they were fitted."""

_VERSION = re.compile(r"(?:(?<=\d)|[./_-])v\d{1,2}(?:\.full(?:\.pdf|-text)?)?$")
_VERSION_OF = (
    (re.compile(r"^10\.12688/\w+\.\d+(\.\d+)$"), 1),  # F1000 and its platforms: 10.12688/f1000research.123.2
    (re.compile(r"^10\.2196/(preprints\.)\d+$"), 1),  # JMIR: the article has the preprint's number
)
_NOTICE = re.compile(
    r"(?:(?:authors?|publishers?|editors?|editorial|invited|notice of|notification of|partial|letters?)\s+)*"
    r"(?P<kind>erratum|errata|corrigend\w+|correction|addendum|retraction|withdrawal|removal|expressions? of concern"
    r"|repl(?:y|ies)|in reply|responses?|comments?|commentary|rebuttal|discussion|re)(?:\s+(?:note|notice))?"
    r"(?:\s+(?:to|on|for|regarding)\b|\s+of\s+(?:(?:the|this)\s+)?(?:article|paper|publication)\b"
    r"|(?:\s+of)?\s*[:.(\[\"\u2013\u2014\u2018\u201c]|\s+-|\s*$)",
    re.IGNORECASE,
)
_NOTICE_TYPES = {
    "published erratum": "erratum",
    "retraction of publication": "retraction",
    "expression of concern": "concern",
    "retraction notice": "retraction",
}
_MARKED = r"(?:retracted|withdrawn|removed)(?: (?:article|paper|chapter))?"
_MARK = re.compile(rf"(?:[\[(]{_MARKED}[\])]|{_MARKED}\s*[:\u2013\u2014-])\s*", re.IGNORECASE)
_HARMLESS = re.compile(
    r"[\[(](?:extended abstract|abridged|preprint|authors? transl\w*|full version|extended version"
    r"|version \d+[^\])]*)[\])]|:\s*extended abstract$",
    re.IGNORECASE,
)
_SECTIONS = (
    *(
        "abstracts?",
        "proceedings",
        "posters?",
        "oral (?:presentations?|abstracts?)",
        "index",
        "contents",
        "program(?:me)?",
    ),
    *(
        "acknowledge?ments?",
        "book reviews?",
        "news",
        "obituar(?:y|ies)",
        "introduction",
        "preface",
        "foreword",
        "editors?",
    ),
    *(
        "editorial",
        "guest editorial",
        "in memoriam",
        "front matter",
        "back matter",
        "cover",
        "masthead",
        "in this issue",
    ),
    *("announcements?", "letters?", "correspondence", "whats new", "highlights", "special issue", "case report"),
    *("supplement", "list of", "instructions", "call for", "meeting", "thank you", "note", "overview", "summary"),
)
_GENERIC = re.compile(
    rf"(?:{'|'.join(_SECTIONS)})(?:\s*$|\s*[:.(\[\u2013\u2014-]|\s+(?:to|of|for|in)(?: the| this)?\s+(?:\w+\s+)?"
    r"(?:editors?|reviewers?|authors?|(?:special |theme )?issue|section|volume|meeting|congress|conference|symposium"
    r"|workshop|proceedings|journal|supplement)\b)",
    re.IGNORECASE,
)
_NUMBER_WORDS = frozenset(
    (
        *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "first", "second", "third"),
        *("fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "i", "ii", "iii", "iv", "v", "vi", "vii"),
        *("viii", "ix", "x", "xi", "xii", "alpha", "beta", "gamma", "delta", "no", "not", "non", "without"),
    )
)
_DIGIT = re.compile(r"\d")
_NUMBERED = re.compile(r"(?<=[\w,;] )[A-Z](?=$|[\s:.,;)])")


@dataclass(frozen=True, slots=True)
class _Described:
    """What a paper is compared by.

    Attributes:
        paper: The paper.
        names: Its identifiers, without versions.
        notice: The kind of notice that it is; empty for an article.
        comment: Whether it says that it comments on another paper.
        title: The terms of its title, joined.
        terms: The terms, each once.
        numbers: What numbers parts, editions and the like in the title.
        generic: Whether many papers have such a title.
    """

    paper: Paper
    names: frozenset[str]
    notice: str
    comment: bool
    title: str
    terms: frozenset[str]
    numbers: frozenset[str]
    generic: bool


def works(
    papers: Sequence[Paper],
    *,
    language: str = DEFAULT_LANGUAGE,
    similarity: LikeVectors | None = None,
    cosines: Callable[[Sequence[PaperPair]], Mapping[PaperPair, float]] | None = None,
) -> list[list[str]]:
    """Group papers that are the same work; the order of the papers changes nothing.

    Args:
        papers: The papers, with at least their `FIELDS`.
        language: Language of the titles, for stems and stop words.
        similarity: Least cosines; None if nothing is known of the model.
        cosines: Function from pairs of ids to the cosines of their vectors, without the pairs that have none. It is
            called at most once, with the pairs that depend on it.

    Returns:
        The ids of each work that has several papers, in ascending order.
    """
    described: dict[str, _Described] = {}
    same: list[PaperPair] = []
    open_: dict[PaperPair, bool] = {}
    for alike in _alike(sorted(papers, key=lambda paper: paper.id)):
        for paper in alike:
            if paper.id not in described:
                described[paper.id] = _described(paper, language)
        pair = (alike[0].id, alike[1].id)
        one, other = described[pair[0]], described[pair[1]]
        if _share_a_name(one, other):
            same.append(pair)
        elif (certain := _by_title(one, other)) is not None:
            open_[pair] = certain
    known = cosines(list(open_)) if open_ and cosines and similarity else {}
    for pair, certain in open_.items():
        least = similarity and (similarity.same_title if certain else similarity.other_title)
        if (known[pair] >= least) if least and pair in known else certain:
            same.append(pair)
    return _joined(same)


def _described(paper: Paper, language: str) -> _Described:
    title = _title(paper)
    types = {one.lower() for one in paper.types}
    named = _NOTICE.match(title)
    notice = (
        named["kind"].lower()
        if named
        else next((_NOTICE_TYPES[one] for one in sorted(types) if one in _NOTICE_TYPES), "")
    )
    terms = [term for term in terms_of(title, language) if term]
    joined = "".join(terms)
    return _Described(
        paper,
        frozenset(_names(paper)),
        notice,
        "comment" in types,
        joined,
        frozenset(terms),
        _numbers(title),
        bool(_GENERIC.match(title)),
    )


def _title(paper: Paper) -> str:
    """Return a title without apostrophes, brackets around it, and marks of a retraction or a form of publication."""
    whole = _HARMLESS.sub("", re.sub("['\u2019]", "", paper.title)).strip(" .")
    return whole[marked.end() :] if (marked := _MARK.match(whole)) else whole.removeprefix("[").removesuffix("]")


def _names(paper: Paper) -> Iterator[str]:
    """Yield the names of a paper's work: its formal identifiers, without the version of a preprint."""
    for identifier in (*paper.identifiers, paper.id):
        kind, colon, value = identifier.partition(":")
        kind = kind.lower()
        if not colon or kind not in FORMAL or not value:
            continue
        name = normal(kind, value)
        if kind == "doi":
            name = _VERSION.sub("", name)
            for pattern, group in _VERSION_OF:
                if found := pattern.match(name):
                    name = name[: found.start(group)] + name[found.end(group) :]
        yield f"{kind}:{name}"
        yield from (f"{other}:{_VERSION.sub('', named)}" for other, named in other_names(kind, name))


def _numbers(title: str) -> frozenset[str]:
    letters = () if title.isupper() else _NUMBERED.findall(title)
    # A word with a digit, such as WMT20 or COVID-19, is a number too.
    words = distinct_words(title)
    return frozenset((*(words & _NUMBER_WORDS), *filter(_DIGIT.search, words), *map(str.lower, letters)))


def _alike(papers: Sequence[Paper]) -> Iterator[tuple[Paper, Paper]]:
    """Yield the pairs that are worth a closer look, each once: most papers are in none, so this has to be quick.

    They share an identifier, all words of the title, or many of them and a name of the first author.
    """
    words = [distinct_words(_title(paper)) for paper in papers]
    by_name: dict[str, list[int]] = {}
    by_words: dict[str, list[int]] = {}
    for at, paper in enumerate(papers):
        for name in frozenset(_names(paper)):
            by_name.setdefault(name, []).append(at)
        for key in (
            f"title {' '.join(sorted(words[at]))}",
            *(distinct_words(paper.authors[0]) if paper.authors else ()),
        ):
            by_words.setdefault(key, []).append(at)
    pairs = dict.fromkeys(_pairs(by_name.values()))
    for pair in _pairs(by_words.values()):
        one, other = words[pair[0]], words[pair[1]]
        if len(one & other) >= _SHARED * len(one | other):
            pairs[pair] = None
    for first, second in pairs:
        yield papers[first], papers[second]


def _pairs(blocks: Iterable[Sequence[int]]) -> Iterator[tuple[int, int]]:
    return (pair for block in blocks if 1 < len(block) <= MOST_ALIKE for pair in combinations(block, 2))


def _share_a_name(one: _Described, other: _Described) -> bool:
    """Return whether two papers share an identifier, and nothing says that it is that of a collection or a notice."""
    if one.notice != other.notice or one.names.isdisjoint(other.names):
        return False
    return _overlap(one, other) >= _OVERLAP or _authors_agree(one.paper, other.paper) is True


def _by_title(one: _Described, other: _Described) -> bool | None:
    """Return whether two papers are the same work by all but their vectors; None if vectors can't change that."""
    if one.notice or other.notice or one.comment != other.comment or one.generic or other.generic:
        return None
    same = one.title == other.title
    if not same and _overlap(one, other) < _OVERLAP:
        return None
    if one.numbers != other.numbers or not _near_in_time(one.paper, other.paper):
        return None
    # Last, since names are slow to compare.
    agree = _authors_agree(one.paper, other.paper)
    if agree is False or (agree is None and not same):
        return None
    long = len(one.terms) >= _FEWEST_TERMS and len(one.title) >= _FEWEST_LETTERS
    return same and long and agree is True


def _overlap(one: _Described, other: _Described) -> float:
    """Return the Jaccard index of the terms of two titles."""
    return len(one.terms & other.terms) / max(1, len(one.terms | other.terms))


def _near_in_time(one: Paper, other: Paper) -> bool:
    return one.year is None or other.year is None or abs(one.year - other.year) <= _YEARS


def _authors_agree(one: Paper, other: Paper) -> bool | None:
    """Return whether half of the authors of the shorter list are among the others; None if one has none."""
    fewer, more = sorted((one.authors, other.authors), key=lambda names: (len(names), names))
    fewer, more = fewer[:_MOST_AUTHORS], more[: 2 * _MOST_AUTHORS]
    if not fewer:
        return None
    shared = sum(any(same_person(name, named) for named in more) for name in fewer)
    return 2 * shared >= len(fewer)


def _joined(pairs: Sequence[PaperPair]) -> list[list[str]]:
    """Return the connected components of pairs."""
    leader: dict[str, str] = {}

    def find(id_: str) -> str:
        while (above := leader.setdefault(id_, id_)) != id_:
            leader[id_] = leader[above]
            id_ = above
        return id_

    for one, other in pairs:
        first, second = sorted((find(one), find(other)))
        leader[second] = first
    groups: dict[str, list[str]] = {}
    for id_ in sorted(leader):
        groups.setdefault(find(id_), []).append(id_)
    return sorted(groups.values())
