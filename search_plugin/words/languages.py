"""Languages whose words ses analyses: the same stop words and stemmer for matching in every engine and for highlights.

A language is one entry here. Stemmers are Snowball's (snowballstem.org), which Lucene, tantivy and PyStemmer all carry.
"""

from __future__ import annotations

from dataclasses import dataclass

from corpora.errors import InputError

DEFAULT_LANGUAGE = "english"


@dataclass(frozen=True, slots=True)
class Language:
    """How words of a language are analysed.

    Attributes:
        name: The value of the setting `language`.
        stemmer: Name of the Snowball stemmer; empty for none.
        stop_words: Words too common to search for, in lower case.
        bigrams: Whether text without spaces (Chinese, Japanese, Korean) is split into pairs of characters.
    """

    name: str
    stemmer: str
    stop_words: frozenset[str]
    bigrams: bool = False


_ENGLISH = """
a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to was
will with
"""
"""Lucene's list."""

_GERMAN = """
aber als am an auch auf aus bei bin bis da damit das dass dem den denn der des die dies diese diesem diesen dieser
dieses doch dort durch ein eine einem einen einer eines er es für gegen haben hat hatte hier ich ihr ihre im in ist ja
kann kein keine man mit nach nicht noch nur ob oder ohne sehr sein seine sich sie sind so sowie über um und uns unter
vom von vor war waren was wenn werden wie wir wird wurde wurden zu zum zur zwischen
"""
_FRENCH = """
à au aux avec c ce ces cet cette d dans de des du elle en entre est et été être eu il ils j je l la le les leur leurs
lui m mais même n ne nos notre nous on ont ou où par pas plus pour qu que qui s sa sans se ses si son sont sous sur t
tous tout toute toutes très un une vos votre vous y
"""
_SPANISH = """
a al algo ante antes como con contra cual cuando de del desde donde durante e el él ella ellas ellos en entre era es esa
ese eso esta está están estas este esto estos fue ha han hasta hay la las le les lo los más me mi muy ni no nos o otra
otro para pero por porque que qué se ser si sí sin sobre son su sus también tanto tiene todo todos un una uno y ya yo
"""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ALL = (
    Language("english", "english", _words(_ENGLISH)),
    Language("german", "german", _words(_GERMAN)),
    Language("french", "french", _words(_FRENCH)),
    Language("spanish", "spanish", _words(_SPANISH)),
    Language("cjk", "", _words(_ENGLISH), bigrams=True),
)

LANGUAGES: dict[str, Language] = {language.name: language for language in _ALL}
"""Every language by its name; `cjk` is Chinese, Japanese and Korean."""


def get_language(name: str) -> Language:
    """Return the language of a name, or raise `InputError` that names the available ones."""
    language = LANGUAGES.get(name)
    if language is None:
        raise InputError(f"There is no language {name!r} to analyse words in; choose one of {', '.join(LANGUAGES)}.")
    return language
