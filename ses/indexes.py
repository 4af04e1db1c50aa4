"""The indexes of an engine by name, and opening one: what the other parts of a library build on."""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from corpora.errors import InputError, require
from search_plugin.contract.engine import EVALUATION
from ses.checked import checked_methods
from ses.opened import OpenIndex

if TYPE_CHECKING:
    from encoders.models.model import Model
    from encoders.text_encoder import TextEncoder
    from search_plugin.contract.engine import Engine, Index
    from search_plugin.fusion.search_settings import SearchSettings
    from search_plugin.understanding.expansion.expand import Synonyms
    from ses.settings import Settings


@checked_methods
class Indexes:
    """The indexes of an engine, by name.

    Args:
        settings: Settings of the engine and the model.
    """

    def __init__(self, settings: Settings) -> None:
        from search_plugin.fusion.search_settings import read_search_settings
        from search_plugin.understanding.expansion.expand import read_synonyms

        self._settings = settings
        self._tuned: SearchSettings | None = read_search_settings(settings.tuned) if settings.tuned else None
        self._synonyms: Synonyms = read_synonyms(settings.synonyms) if settings.synonyms else {}
        self._secrets: tuple[str, ...] = ()  # settings that another process left out
        self._encoders: dict[str, TextEncoder] = {}
        self._connected: Engine | None = None
        self._closed = False
        self._connect()

    @property
    def _engine(self) -> Engine:
        require(not self._closed, "This library is closed", "open it again")
        return self._connected or self._connect()

    def _connect(self) -> Engine:
        from search_plugin.engines.registry import connect
        from ses.credentials import with_secrets

        settings = with_secrets(self._settings, self._secrets)
        self._connected = connect(settings.engine_url, settings.connection)
        self._settings, self._secrets = settings, ()
        return self._connected

    def close(self) -> None:
        """Release the models and the engine; a library in a `with` block is closed at its end.

        Indexes that were opened before can still be searched by words.
        """
        self._closed = True
        self._connected = None
        self._encoders.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        from ses.credentials import without_secrets

        # Another process connects by itself.
        settings, secrets = without_secrets(self._settings)
        return {
            **vars(self),
            "_settings": settings,
            "_secrets": secrets or self._secrets,
            "_connected": None,
            "_encoders": {},
        }

    def indexes(self, *, evaluations: bool = False) -> list[str]:
        """Return the names of the indexes, the most recently published first; those of evaluations only on wish."""
        return [name for name in self._engine.names() if evaluations or not name.startswith(EVALUATION)]

    def __contains__(self, name: str) -> bool:
        return name in self._engine.names()

    def __iter__(self) -> Iterator[str]:
        return iter(self.indexes())

    def __len__(self) -> int:
        return len(self.indexes())

    def __getitem__(self, name: str) -> OpenIndex:
        """Open an index, or raise `NotFoundError` with the available names."""
        found = OpenIndex(
            functools.partial(self._open, name),
            self._load,
            self._tuned,
            functools.partial(self._writing, name),
            self._synonyms,
        )
        opened = found.index
        if self._tuned and self._tuned.bm25 != opened.schema.bm25:
            logging.getLogger("ses").warning(
                "The tuned settings were fitted with BM25's %s, and the index %s has %s; index again with fresh and "
                "tuned.",
                *(self._tuned.bm25, opened.name, opened.schema.bm25),
            )
        return found

    def _ipython_key_completions_(self) -> list[str]:
        return self.indexes()

    def default(self) -> OpenIndex:
        """Open the default index: that of the settings, else the one that `use` chose, else the only one.

        Raises `NotFoundError` if it does not exist, and `InputError` if there are several and none was chosen.
        """
        from ses.default_index import default_index

        return self[default_index(self._settings, self.indexes())]

    def _opened(self, name: str) -> OpenIndex:
        return self[name] if name else self.default()

    def _default_name(self) -> str:
        from ses.default_index import default_index

        try:
            return default_index(self._settings, self.indexes())
        except InputError:
            return ""

    def _open(self, name: str) -> Index:
        return self._engine.open(name)

    @contextmanager
    def _writing(self, name: str) -> Iterator[Index]:
        """Provide an index for writing, under its lock."""
        with self._engine.lock(name):
            yield self._engine.open(name)

    def _load(self, index: Index) -> TextEncoder:
        require(not self._closed, "This library is closed", "open it again")
        from encoders.registry import find_model
        from search_plugin.ranking.planning import check_model

        model = find_model(self._settings.model or index.schema.model)
        check_model(index, model.card.name, model.card.fingerprint)
        return self._encoder(model)

    def _encoder(self, model: Model) -> TextEncoder:
        from ses.loaded_model import make_encoder

        key = model.card.fingerprint
        if key not in self._encoders:
            self._encoders[key] = make_encoder(self._settings, model)
        return self._encoders[key]
