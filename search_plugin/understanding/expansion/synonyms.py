"""A file of synonyms: one group a line, `heart attack, myocardial infarction`, or one direction, `MI => infarction`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from corpora.documents import read_text
from corpora.errors import InputError
from search_plugin.words.terms import TOKEN, folded

Synonyms = Mapping[tuple[str, ...], tuple[str, ...]]
"""By words in small letters, what else to search for."""

MOST_BYTES = 8 << 20


def read_synonyms(path: Path) -> Synonyms:
    """Read a file of synonyms.

    Args:
        path: Text in UTF-8. In each line there are words or phrases with commas between them: a paper with any of
            them counts for all. Of `a, b => c, d`, only c and d are searched for beside a or b. What follows `#` is a
            comment.

    Returns:
        The synonyms.

    Raises:
        InputError: If it can't be read, or a line has another form; the message names it.
    """
    try:
        lines = read_text(path, MOST_BYTES).splitlines()
    except (OSError, ValueError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or error
        raise InputError(f"The synonyms in {path} can't be read ({reason}); give a text file in UTF-8.") from None
    found: dict[tuple[str, ...], dict[str, None]] = {}
    for number, line in enumerate(lines, 1):
        content = line.partition("#")[0].strip()
        if not content:
            continue
        left, arrow, right = content.partition("=>")
        typed, meant = _listed(left), _listed(right if arrow else left)
        if not typed or not meant or (not arrow and len(typed) < 2) or "=>" in right:
            raise InputError(
                f"Line {number} of {path} is no group of synonyms",
                "write it as `heart attack, infarction` or `MI => infarction`",
            )
        for one in typed:
            others = found.setdefault(key_of(one), {})
            others |= {other: None for other in meant if key_of(other) != key_of(one)}
    return {words: tuple(others) for words, others in found.items()}


def _listed(text: str) -> list[str]:
    return [one.strip() for one in text.split(",") if key_of(one)]


def key_of(text: str) -> tuple[str, ...]:
    """Return the words of a text in small letters without accents."""
    return tuple(folded(token[0]) for token in TOKEN.finditer(text))
