"""What an index remembers of the words that it was asked for."""

from __future__ import annotations

from search_plugin.contract.engine import Remembered


def looked_up(words, asked, found):
    """Look words up, and return the answers and the words that had to be found."""
    new = []

    def find(wanted):
        new.extend(wanted)
        return {word: found[word] for word in wanted}

    return words.look_up(asked, find), new


def test_only_words_without_an_answer_are_found():
    words = Remembered()
    assert looked_up(words, ["a", "b"], {"a": 1, "b": 0}) == ({"a": 1, "b": 0}, ["a", "b"])
    assert looked_up(words, ["b", "c", "a"], {"c": 3}) == ({"a": 1, "b": 0, "c": 3}, ["c"])
    assert looked_up(words, ["a", "b"], {}) == ({"a": 1, "b": 0}, [])


def test_only_answers_to_keep_are_remembered():
    words = Remembered(bool)
    assert looked_up(words, ["a", "b"], {"a": 1, "b": 0}) == ({"a": 1, "b": 0}, ["a", "b"])
    assert looked_up(words, ["a", "b"], {"b": 2}) == ({"a": 1, "b": 2}, ["b"])


def test_the_newest_of_a_limited_number_are_remembered():
    words = Remembered(most=2)
    looked_up(words, ["a", "b"], {"a": 1, "b": 2})
    looked_up(words, ["c"], {"c": 3})
    assert looked_up(words, ["b", "c"], {}) == ({"b": 2, "c": 3}, [])
    assert looked_up(words, ["a"], {"a": 4}) == ({"a": 4}, ["a"])
