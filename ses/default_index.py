"""The default index: what a search uses if the user names no index.

It is the setting `index`, else the choice of `ses indexes use`, else the only index. The choice is kept in the data
folder, per engine. No index becomes the default because it was written last.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from corpora.documents import read_json
from corpora.errors import InputError, NotFoundError, UnavailableError
from corpora.writing import WRITABLE_DATA, explaining, replacing

if TYPE_CHECKING:
    from ses.settings import Settings

_FILE = "default-indexes.json"


def default_index(settings: Settings, names: Sequence[str]) -> str:
    """Return the name of the default index.

    Args:
        settings: Settings with the engine's URL.
        names: Names of the engine's indexes, without those of evaluations.

    Returns:
        The name.

    Raises:
        NotFoundError: If there is no index, or the chosen one does not exist.
        InputError: If there are several, and none was chosen.
    """
    if settings.index:
        return settings.index
    known = ", ".join(sorted(names))
    chosen = chosen_index(settings)
    if chosen in names:
        return chosen
    if not names:
        raise NotFoundError(
            f"There is no index in {shown_url(settings)} yet", "index some papers first, with `ses index`"
        )
    if chosen:
        raise NotFoundError(
            f"The default index {chosen} does not exist any more",
            f"choose another with `ses indexes use NAME`: {known}",
        )
    if len(names) > 1:
        raise InputError(
            f"There are several indexes ({known})",
            "name one with <index>, or choose the default with `ses indexes use NAME`",
        )
    return names[0]


def chosen_index(settings: Settings) -> str:
    """Return the index that was chosen as the default of the engine; empty if there is none."""
    return _read(default_file(settings)).get(shown_url(settings), "")


def choose_index(settings: Settings, name: str) -> None:
    """Make an index the default of the engine; none if the name is empty. Raises `UnavailableError` as files do."""
    path = default_file(settings)
    chosen = {**_read(path), shown_url(settings): name}
    content = orjson.dumps({url: kept for url, kept in chosen.items() if kept}, option=orjson.OPT_INDENT_2)
    with explaining(path, WRITABLE_DATA):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path, private=True) as part:
            part.write_bytes(content)


def default_file(settings: Settings) -> Path:
    """Return the file that keeps the default index of each engine."""
    return settings.data_dir / _FILE


def shown_url(settings: Settings) -> str:
    """Return the engine's URL without a password; a folder as its whole path."""
    scheme, _, place = settings.engine_url.partition(":")
    if not place.startswith("//"):
        return f"embedded:{Path(place).expanduser().resolve()}"
    return f"{scheme}://{place[2:].rpartition('@')[2]}"


def _read(path: Path) -> dict[str, str]:
    try:
        kept = read_json(path)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UnavailableError(f"{path} can't be read ({error}); delete it, and choose the default again.") from error
    if not isinstance(kept, dict) or not all(isinstance(name, str) for name in kept.values()):
        raise UnavailableError(f"{path} was not written by ses; delete it, and choose the default again.")
    return kept
