"""Queries in a language that an index does not analyse, told by small words, endings and letters.

A word list alone takes Latin names and "de novo" for another language. So the index decides too: at least half of the
other words must be in none of its papers.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import zip_longest

from search_plugin.understanding.spelling import Corrected
from search_plugin.words.names import PARTICLES
from search_plugin.words.terms import TOKEN, term_of

_SMALL_WORDS = {
    "english": "the of and in is are for with by on that this from does do what how which between not can has have "
    "was as an at be to or no it if into such their",
    "german": "der die das den dem des ein eine einer und oder bei mit von vom zum zur für fur ist sind wie was nach "
    "nicht durch auf im über uber gegen",
    "french": "le la les un une des du de et ou dans chez avec pour sur par est sont aux au en ce que qui pas",
    "spanish": "el la los las un una unos de del y en con para por que es son como al se su sobre entre",
    "portuguese": "o os as um uma de do da dos das e em no na nos nas com para por que não nao ao sobre entre",
    "italian": "il lo la gli le un una di del della dei delle degli e in con per che sono nel nella dal da tra",
    "dutch": "de het een van en bij met voor op is zijn niet door naar tussen hoe wat",
    "swedish": "och hos med för av är en ett som vid till från hur",
    "danish": "og hos med for af er en et som ved til fra hvordan",
    "polish": "w z na i do u przy jest oraz dla przez jak czy się",
    "turkish": "ve ile bir için olan bu mi",
    "finnish": "ja on ei tai sekä miten että",
    "indonesian": "dan pada yang dengan untuk dari di dalam adalah",
}
_ALL_SMALL_WORDS = frozenset(" ".join(_SMALL_WORDS.values()).split())
_ENDINGS = {
    "german": r"(?<=...)(ung|ungen|heit|keit|lich|ische[nrsm]?|krankheit|schaft)$",
    "french": r"(ement|aux|euse|eux|ique|iques|ées?)$",
    "spanish": r"(ci[oó]n|ciones|miento|dad|dades|ica|ico|icas|icos)$",
    "portuguese": r"([cç][aã]o|[cç][oõ]es|mento|dade|dades)$",
    "italian": r"(zione|zioni|mento|ità|ico|ica|ici|iche)$",
    "dutch": r"(heid|lijk|lijke|ziekte)$",
    "polish": r"(owy|owa|owe|nia|nie|ego|ych)$",
    "swedish": r"(ning|ningar|het|lig)$",
}
_LETTERS = {
    "german": "ßäöü",
    "french": "èêëçùœ",
    "spanish": "ñ¿¡",
    "portuguese": "ãõ",
    "italian": "ìò",
    "swedish": "å",
    "danish": "ø",
    "polish": "ąćęłńśźż",
    "turkish": "\u011f\u0131\u015f",
}


FEWEST_WORDS = 4
"""A query of fewer words, small ones aside, may look like another language by chance: `robot grasping`."""

FEWEST_SIGNS = 2
"""Different words that speak for the language of such a query."""


def foreign_language(looked: Corrected, language: str) -> str:
    """Return the language that a query seems to be in, in small letters, if the index does not analyse it; else ""."""
    unknown = {word.lower() for word in looked.unknown}
    typed = [token[0] for token in TOKEN.finditer(looked.words)]
    words = [word.lower() for word in typed]
    others = [word for word in dict.fromkeys(words) if term_of(word, language)]
    few = len(set(others) - _ALL_SMALL_WORDS) < FEWEST_WORDS
    if few:
        words = [word.lower() for word, after in zip_longest(typed, typed[1:], fillvalue="") if not _named(word, after)]
    signs = {name: _signs(words, unknown, name) for name in _SMALL_WORDS}
    best = max(signs, key=lambda name: signs[name].total())
    if best == language or not signs[best] or signs[best].total() <= signs.get(language, Counter()).total():
        return ""
    if few and len(signs[best]) < FEWEST_SIGNS:
        return ""
    small = _SMALL_WORDS[best].split()
    others = [word for word in others if word not in small]
    missing = sum(word in unknown for word in others)
    # One word alone may be a misspelling, or a name.
    return best if missing and 2 * missing >= len(others) and len(words) > 1 else ""


def _named(word: str, after: str) -> bool:
    """Return whether a small word may be part of a name, such as "van der Waals", "de la Torre"."""
    return word.lower() in PARTICLES and (after.lower() in PARTICLES or after[:1].isupper())


def _signs(words: list[str], unknown: set[str], name: str) -> Counter[str]:
    """Return the words that speak for a language, with weights; endings and letters count in unknown words."""
    small = {word for word in _SMALL_WORDS[name].split() if len(word) > 1}
    ending, letters = re.compile(_ENDINGS.get(name, "$^")), _LETTERS.get(name, "")
    # Languages share letters: an ending such as "ção" tells more than its "ç", which is French too.
    found = {word: bool(ending.search(word)) + bool(set(letters) & set(word)) for word in unknown}
    signs = Counter({word: count for word, count in found.items() if count})
    for word in words:
        if word in small:
            signs[word] += 2
    return signs


def foreign_note(found: str, language: str) -> str:
    """Return the sentence for a query in another language."""
    return (
        f"The query seems to be in {found.capitalize()}. This index analyses words as {language}, and its model may "
        "not know the language either."
    )
