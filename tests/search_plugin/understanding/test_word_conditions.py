"""Words of a query as conditions: phrases, patterns, and both together."""

import pytest

from search_plugin.contract.tree import And, Says, Wild, WildPhrase
from search_plugin.filters.parse import saying, saying_each


@pytest.mark.parametrize(
    ("words", "read"),
    [
        ("stem cell therap*", ("stem", "cell", "therap*")),
        ("cell-based therap* of wom?n", ("cell", "based", "therap*", "of", "wom?n")),
        ("therap* and/or surgery (heart)", ("therap*", "and", "or", "surgery", "heart")),
    ],
)
def test_a_phrase_with_patterns_has_all_its_words_in_order(words, read):
    parts = tuple(Wild("title", part) if set("*?") & set(part) else part for part in read)
    assert saying("title", words, "english") == WildPhrase("title", words, parts)


def test_one_word_and_phrases_without_patterns():
    assert saying("text", "vaccin*", "english") == Wild("text", "vaccin*")
    assert saying("text", "lung cancer", "english") == Says("text", "lung cancer")
    assert saying("text", "of the", "english") is None
    assert saying("text", "of the", "german") == Says("text", "of the")


def test_each_word_counts_once_and_stop_words_do_not():
    both = And((Says("text", "lung"), Wild("text", "vaccin*")))
    assert saying_each("text", "lung of vaccin* lung", "english") == both
    assert saying_each("text", "of the", "english") is None
