"""JSON files of a model folder, as untrusted input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from corpora import documents
from corpora.errors import InputError

LARGEST_TOKENIZER = 64 << 20
"""In bytes. Vocabularies of many languages take a half of it."""


_TRANSFORMER = tuple(
    f"sentence_{family}_config.json"
    for family in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
"""Names that the library has had for the settings of its module Transformer; it reads the first that exists."""


def read_json(path: Path, kind: type, missing: Any = None, largest: int = documents.LARGEST) -> Any:
    """Read a JSON file.

    Args:
        path: Of the file.
        kind: What it must hold: dict or list.
        missing: What to return if there is no file; None if there must be one.
        largest: In bytes.

    Returns:
        Its content.

    Raises:
        InputError: If it is not there, is too large, is no JSON, or holds something else.
    """
    try:
        content = documents.read_json(path, largest)
    except FileNotFoundError:
        if missing is not None:
            return missing
        raise InputError(f"{path.parent} is not a model folder: it has no {path.name}.") from None
    except (ValueError, OSError) as error:
        raise InputError(f"{path} can't be read as JSON ({error}); fetch the model again.") from error
    if not isinstance(content, kind):
        raise InputError(f"{path} doesn't hold what a model folder's {path.name} does; fetch the model again.")
    return content


def inside(folder: Path, part: str) -> Path:
    """Return a path that a file of a folder names, or raise `InputError` if it leads out of the folder."""
    path = folder / part
    if "\0" in part or not path.resolve().is_relative_to(folder.resolve()):
        raise InputError(f"{folder} names {part!r}, which is outside of it; fetch the model from a source you trust.")
    return path


def transformer_settings(folder: Path) -> dict[str, Any]:
    """Return the settings of a folder's module Transformer: `max_seq_length`, `do_lower_case`."""
    found = next((folder / name for name in _TRANSFORMER if (folder / name).is_file()), None)
    settings: dict[str, Any] = read_json(found, dict) if found else {}
    return settings
