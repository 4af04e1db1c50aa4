"""The default index: what a search uses if the user names no index.

It is the setting `index`, else the choice of `ses indexes use`, else the first index that the engine had. The choice
and the first index are kept in the data folder, per engine, each in a file of its own: a search that notes the first
index can't undo a choice that is made meanwhile. No index becomes the default because it was written last.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import orjson

from corpora.documents import read_json
from corpora.errors import NotFoundError, UnavailableError
from corpora.writing import WRITABLE_DATA, explaining, replacing
from ses.settings import Settings

_FILE = "default-indexes.json"
_FIRST = "first-indexes.json"


def default_index(settings: Settings, names: Sequence[str]) -> str:
    """Return the name of the default index of the settings' engine.

    `names` are those of the engine's indexes, without those of evaluations, the most recently published first. Raises
    `NotFoundError` if there is no index, or the chosen one does not exist.
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
    path = settings.data_dir / _FIRST
    first = _read(path).get(shown_url(settings), "")
    if first not in names:
        first = names[-1]
        with suppress(UnavailableError):  # a folder that can't be written; it is found again the next time
            _keep(path, settings, first)
    return first


def chosen_index(settings: Settings) -> str:
    """Return the index that was chosen as the default of the engine; empty if there is none."""
    return _read(default_file(settings)).get(shown_url(settings), "")


def choose_index(settings: Settings, name: str) -> None:
    """Make an index the default of the engine; none if the name is empty. Raises `UnavailableError` as files do."""
    _keep(default_file(settings), settings, name)


def default_file(settings: Settings) -> Path:
    """Return the file that keeps the default index of each engine."""
    return settings.data_dir / _FILE


def shown_url(settings: Settings) -> str:
    """Return the engine's URL without a password; a folder as its whole path."""
    scheme, _, place = settings.engine_url.partition(":")
    if not place.startswith("//"):
        return f"embedded:{Path(place).expanduser().resolve()}"
    return f"{scheme}://{place[2:].rpartition('@')[2]}"


def _keep(path: Path, settings: Settings, name: str) -> None:
    kept = {**_read(path), shown_url(settings): name}
    content = orjson.dumps({url: one for url, one in kept.items() if one}, option=orjson.OPT_INDENT_2)
    with explaining(path, WRITABLE_DATA):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path, private=True) as part:
            part.write_bytes(content)


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
