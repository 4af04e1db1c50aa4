"""Values of options as the command line writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError

if TYPE_CHECKING:
    from search_plugin.contract.schema import Bm25

_SETTINGS = ("engine", "model", "runtime", "precision", "long_text", "tuned", "synonyms")


def settings_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a command that are settings."""
    return {name: options[name] for name in _SETTINGS if name in options}


def parse_bm25(text: str) -> Bm25:
    """Read BM25's constants, `K1,B`; `InputError` if the form is wrong or a value is out of bounds."""
    from search_plugin.contract.schema import Bm25

    try:
        k1, b = map(float, text.split(","))
    except ValueError:
        raise InputError(f"BM25's constants {text!r} can't be read; write them as K1,B, such as 0.9,0.4.") from None
    return Bm25(k1, b)


def parse_columns(texts: Sequence[str]) -> dict[str, str]:
    """Read which column holds which attribute.

    Args:
        texts: Each as `ATTRIBUTE=COLUMN`.

    Returns:
        Columns by attribute.

    Raises:
        InputError: If one has another form, or an attribute is given twice.
    """
    pairs = [text.partition("=") for text in texts]
    for text, (attribute, equals, column) in zip(texts, pairs, strict=True):
        if not (attribute and equals and column):
            raise InputError(f"The mapping {text!r} can't be read; write it as ATTRIBUTE=COLUMN, such as title=Titel.")
    columns: dict[str, str] = {}
    for attribute, _, column in pairs:
        name = attribute.strip()
        if name in columns:
            raise InputError(
                f"{name} is given twice, as {columns[name]} and as {column.strip()}; leave one of them out."
            )
        columns[name] = column.strip()
    return columns
