"""Names of indexes that every engine can hold."""

import re

from corpora.errors import InputError

EVALUATION = "eval-"
"""The names of the indexes that evaluations make begin with it; such an index is never the default."""

_INDEX_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


def check_index_name(name: str) -> str:
    """Return the name if every engine can hold an index of that name, or raise `InputError`."""
    if not _INDEX_NAME.fullmatch(name):
        raise InputError(
            f"An index can't be named {name!r}; "
            "use up to 64 lower-case letters, digits, - and _, a letter or digit first."
        )
    return name
