"""Names of groups of papers: phrases of their titles that stand alone there, and that no other group has so often."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial

import numpy as np

SEPARATOR = " / "
"""Between the phrases of a label; lists of labels have commas."""

WORD = r"(?u)\b[^\W\d_][\w-]+\b"
"""A word of a phrase."""

MOST_TITLES = 50_000
"""Titles that are read, evenly drawn; more would name groups no better."""

_LENGTH = {1: 0.5, 2: 1.5, 3: 2.0}
"""Weight of a phrase of so many words: two say far more than one."""

_EMPTY = (
    "about after against among analysis application applications approach based before between both can case "
    "comparison different do does during effect effects evaluation evidence following from has have her his how "
    "improve improved improving its may method methods more most much new novel our out over really review role "
    "should some studies study than their through toward towards under use used using versus via vs we what when "
    "which within without"
)
"""Words of English titles that say nothing of what a paper is about, beside the stop words of a search."""

_MARKS = re.compile(r"\(author's transl\)|['\u2019]s\b")
"""A possessive, and what PubMed adds to a title that the author has translated."""

_SHOWN = 8
_IN_LABEL, _WORDS_IN_LABEL = 3, 4
_RARE = 2
"""Titles of a group that a phrase needs, where some phrase has so many."""

_PRIOR = 2
"""Titles without the phrase that each group has in addition, for in small groups every word is frequent."""


def phrases_of(
    titles: Sequence[str], group_of: np.ndarray, count: int, stop_words: Collection[str] = ()
) -> list[tuple[str, ...]]:
    """Return the best phrases of each group, the best first.

    A phrase is up to three words between punctuation marks, numbers and stop words, and a title has it once. Its weight
    in a group is the number of titles in which it is no part of the most frequent longer phrase (after the C-value:
    Frantzi et al., "Automatic recognition of multi-word terms", 2000), times .5, 1.5 or 2 for one, two or three words,
    times 1 - b / a, where a is its share of the group's titles and b its largest share in another group. So a phrase
    names one group only, and where nothing tells a group from others, its phrase is one that most of its titles have.
    One that has more than half of its words in common with a better one is left out, singular and plural being one.

    Args:
        titles: Titles of the papers.
        group_of: The group of each, int64 (papers,).
        count: Number of groups.
        stop_words: Words that no phrase has.

    Returns:
        At most eight phrases of each group; none of a group whose titles have no words.
    """
    step = -(-len(titles) // MOST_TITLES) or 1
    sizes = np.bincount(group_of[::step], minlength=count) + _PRIOR
    empty = {*_EMPTY.split(), *stop_words}
    found = [Counter[str]() for _ in range(count)]
    for title, group in zip(titles[::step], group_of[::step].tolist(), strict=True):
        found[group].update(set(_phrases(title, empty)))
    shares = [
        {phrase: held / float(size) for phrase, held in own.items()} for own, size in zip(found, sizes, strict=True)
    ]
    return [_best(counts, own) for counts, own in zip(found, _distinct(shares), strict=True)]


def _distinct(shares: Sequence[Mapping[str, float]]) -> list[dict[str, float]]:
    """Return for each group and phrase 1 - b / a, where b is the largest share in another group; 0 where b is more."""
    largest = dict[str, tuple[float, float]]()
    for own in shares:
        for phrase, share in own.items():
            most, next_most = largest.get(phrase, (0.0, 0.0))
            largest[phrase] = (max(share, most), max(next_most, min(share, most)))
    return [
        {phrase: 1 - largest[phrase][share == largest[phrase][0]] / share for phrase, share in own.items()}
        for own in shares
    ]


def labels_of(phrases: Sequence[Sequence[str]]) -> list[str]:
    """Return a label for each group, of its phrases: no phrase of a label holds all words of one of another label.

    A label has three phrases, or as many as have four words. All groups take their first phrase, then their second: of
    two phrases of which one holds the other, the group that comes first has its own. A single word that is part of a
    longer phrase of another group is the last that a group takes. A group that is left with nothing has its best
    phrases all the same, and a number if another one has that label.
    """
    words = [{phrase: _stems(phrase) for phrase in own} for own in phrases]
    chosen: list[list[str]] = [[] for _ in phrases]
    for _ in range(_IN_LABEL):
        for group, own in enumerate(phrases):
            if len(" ".join(chosen[group]).split()) >= _WORDS_IN_LABEL:
                continue
            # The sort is stable, so that all phrases keep their order except for those that come last.
            ordered = sorted(own, key=partial(_is_part_elsewhere, group=group, words=words))
            free = [phrase for phrase in ordered if _is_free(phrase, group, words, chosen)]
            chosen[group] += free[:1]
    labels = [SEPARATOR.join(own or best[:1]) for own, best in zip(chosen, phrases, strict=True)]
    return _numbered([label or "no terms" for label in labels])


_PhraseStems = Sequence[Mapping[str, frozenset[str]]]
"""By group and phrase, the stems of its words."""


def _stems(phrase: str) -> frozenset[str]:
    from Stemmer import Stemmer

    return frozenset(Stemmer("english").stemWords(re.findall(r"\w+", phrase)))


def _is_part_elsewhere(phrase: str, group: int, words: _PhraseStems) -> bool:
    """Return whether a phrase is a single word that a longer phrase of another group holds."""
    own = words[group][phrase]
    others = (held for place, of_group in enumerate(words) if place != group for held in of_group.values())
    return len(own) == 1 and any(len(held) > 1 and own <= held for held in others)


def _is_free(phrase: str, group: int, words: _PhraseStems, chosen: Sequence[Sequence[str]]) -> bool:
    """Return whether neither this group has chosen a phrase, nor another one a part of it or a phrase that holds it."""
    own = words[group][phrase]
    others = [words[place][one] for place, taken in enumerate(chosen) if place != group for one in taken]
    return phrase not in chosen[group] and not any(own <= held or held <= own for held in others)


def _numbered(labels: Sequence[str]) -> list[str]:
    """Return labels, each with a number behind it if an earlier one is the same."""
    shown: dict[str, None] = {}
    for label in labels:
        name, number = label, 1
        while name in shown:
            number += 1
            name = f"{label} ({number})"
        shown[name] = None
    return list(shown)


def _phrases(title: str, empty: Collection[str]) -> Iterator[str]:
    """Return the phrases of a title, some twice."""
    # After this sign, catalogues repeat a title in another language (ISBD), which has other stop words.
    title = title.partition(" = ")[0]
    run: list[str] = []
    for word in re.findall(r"[\w-]+|[^\w\s-]", _MARKS.sub("", title.lower())):
        run = [*run, word] if word not in empty and re.fullmatch(WORD, word) else []
        yield from (" ".join(run[-size:]) for size in range(1, min(len(_LENGTH), len(run)) + 1))


def _best(counts: Mapping[str, int], own: Mapping[str, float]) -> tuple[str, ...]:
    """Return the best phrases of a group: `counts` says how many titles have each, `own` how far it is the group's."""
    longer = Counter[str]()  # titles of the most frequent phrase with one word more
    for phrase, titles in counts.items():
        for part in (phrase.partition(" ")[2], phrase.rpartition(" ")[0]):
            longer[part] = max(longer[part], titles)
    fewest = min(_RARE, max(counts.values(), default=0))
    weights = {}
    for phrase, titles in counts.items():
        if titles >= fewest:
            weight = _LENGTH[len(phrase.split())] * (titles - longer[phrase])
            weights[phrase] = (weight * own[phrase], weight)
    chosen = dict[str, frozenset[str]]()
    for phrase in sorted(weights, key=lambda one: (-weights[one][0], -weights[one][1], -counts[one], one)):
        words = _stems(phrase)
        # Where nothing tells the group from the others, the best phrase is taken all the same.
        useful = weights[phrase][0] > 0 or not chosen
        if useful and not any(2 * len(words & held) > min(len(words), len(held)) for held in chosen.values()):
            chosen[phrase] = words
        if len(chosen) == _SHOWN:
            break
    return tuple(chosen)
