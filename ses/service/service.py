"""What all requests share: the library, its open indexes, and what was found before."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any, TypeVar

from corpora.errors import SesError, UnavailableError
from ses.indexes.default_index import shown_url
from ses.service.cache import Cache
from ses.service.changes import Changes
from ses.service.index_watcher import IndexWatcher, WatchedIndex
from ses.service.metrics import Metrics
from ses.service.models import ServiceModels

if TYPE_CHECKING:
    from datetime import datetime

    from products.feeds.feed import Feed, FeedEntry
    from products.maps.maps import PaperMap
    from search_plugin.pages.page import Page
    from ses.indexes.open_index import OpenIndex
    from ses.library import Library
    from ses.service.settings import ServiceSettings

PAGE_SECONDS = 60.0
"""How long a page is kept. A copy of a cluster's shard may be behind the one that gave the revision."""


_HIT_BYTES = 6_000
"""Bytes of a hit without its texts: the objects of a paper, its authors and its legs."""

_MOST_NAMES = 1_000
"""Names of indexes that are followed at once."""

R = TypeVar("R")


class _WarmingError(UnavailableError):
    """The service has just started."""


class Service:
    """Answers requests over the indexes of a library; threads may share it.

    Args:
        library: The library.
        settings: Settings of the service.
        warmed: Receives None when the default index can be searched at once, and before that, once, why not.
    """

    def __init__(
        self, library: Library, settings: ServiceSettings, warmed: Callable[[SesError | None], object] = lambda _: None
    ) -> None:
        self.library, self.settings, self._warmed = library, settings, warmed
        self.metrics = Metrics()
        self._watchers: dict[str, IndexWatcher] = {}
        self._lock = Lock()
        self._answers: Cache[Any] = Cache(
            settings.page_cache, answer_bytes, seconds=PAGE_SECONDS, counted=self.metrics.counts_cache("pages")
        )
        self.models = ServiceModels(library._models, settings.rerankers, self.metrics)
        self._changes = Changes(library._settings.cache_dir / "serve-changes")
        self._warmth: SesError | None = _WarmingError("The service has just started, and loads the model; wait.")
        self._closed = Event()
        self.stopping = False  # or the process was asked to stop: then an answer is the last one of its connection
        answering = repr((library._tuned, library._synonyms))
        self._fitted = blake2b(answering.encode(), digest_size=6).hexdigest()

    def opened(self, name: str = "") -> OpenIndex:
        """Return an index by its name, the default index if that is empty.

        It is the version that is published, at most `fresh_seconds` late. Raises `NotFoundError` if there is none, and
        `UnavailableError` if the engine does not answer.
        """
        return self._watcher(name).current().opened

    def revision(self, name: str = "") -> str:
        """Return a text that changes whenever what searches of an index find may have changed."""
        held = self._watcher(name).current()
        return f"{held.opened.name}-{held.revision}-{self._fitted}"

    def ask(self, name: str, question: Callable[[OpenIndex], R]) -> R:
        """Return the answer of an index to a question; if the index was replaced meanwhile, it is asked again.

        The question is any method that reads; an empty name is the default index. Raises `NotFoundError` if there is no
        such index, and `UnavailableError` if the engine does not answer.
        """
        return self._ask(name, lambda held: question(held.opened))

    def search(self, index: str, query: str, options: dict[str, Any]) -> Page:
        """Search an index; arguments and errors as of `OpenIndex.search`."""
        return self._page(index, ("search", query, options), lambda opened: opened.search(query, **options))

    def similar(self, index: str, paper: str, options: dict[str, Any]) -> Page:
        """Find papers like one in an index; arguments and errors as of `OpenIndex.similar`."""
        return self._page(index, ("similar", paper, options), lambda opened: opened.similar(paper, **options))

    def similar_text(self, index: str, text: str, options: dict[str, Any]) -> Page:
        """Find papers like a manuscript; arguments and errors as of `OpenIndex.similar_text`."""
        return self._page(index, ("similar_text", text, options), lambda opened: opened.similar_text(text, **options))

    def map(self, index: str, query: str, options: dict[str, Any]) -> PaperMap:
        """Return the map of a search of an index; arguments and errors as of `OpenIndex.map`."""
        return self._kept(index, ("map", query, options), lambda held: held.opened.map(query, **options))

    def feed(self, feed: Feed, rank: Callable[[], list[FeedEntry]], **options: Any) -> list[FeedEntry]:
        """Return the entries of a feed that `rank` finds with some options."""
        return self._kept(feed.index, ("feed", repr(feed), options), lambda _: rank())

    def changed(self, name: str = "") -> datetime:
        """Return when what searches of an index find has changed: seen here, or published before that."""
        held = self._watcher(name).current()
        place = f"{shown_url(self.library._settings)} {held.opened.name}"
        return self._changes.changed_at(place, self.revision(name), self.library._engine.published_at(held.opened.name))

    def feed_changed(self, name: str, feed: Feed) -> datetime:
        """Return when a feed has changed: its index, or the feed itself."""
        place = f"{shown_url(self.library._settings)} {feed.index} feed {name}"
        itself = self._changes.changed_at(place, repr(feed), 1.0)  # a feed that is new here counts by its index
        return max(self.changed(feed.index), itself)

    def warm(self, after: Callable[[], object] = lambda: None) -> None:
        """Open the default index, load its model and search once, in a thread; try again until it works.

        The values for suggestions are read after that, while requests are answered, and `after` is called.
        """
        Thread(target=self._warm, args=(after,), name="ses-warm", daemon=True).start()

    def ready(self) -> str:
        """Return the name of the default index, which can be searched at once.

        Raises `NotFoundError` if there is no index yet, and `UnavailableError` if the model is being loaded, or the
        engine does not answer.
        """
        if self._warmth:
            raise self._warmth
        return self.opened().name

    def close(self) -> None:
        """Release the library."""
        self._closed.set()
        self._watchers.clear()
        self.models.close()
        self.library.close()

    def _warm(self, after: Callable[[], object]) -> None:
        while not self._closed.is_set():
            try:
                # Not through the cache: a reader's first search should be no slower than the next one.
                self.ask("", lambda opened: opened.search("warm start", mode="hybrid", size=1))
            except SesError as error:
                if type(self._warmth) is not type(error):
                    self._warmed(error)
                self._warmth = error
            else:
                self._warmth = None
                self._warmed(None)
                with suppress(SesError):  # readers meet it too
                    # The first suggestion after a commit reads all values, which may take seconds.
                    self.ask("", lambda opened: opened.complete("a"))
                after()
                return
            self._closed.wait(self.settings.fresh_seconds)

    def _page(self, index: str, asked: tuple[str, str, dict[str, Any]], find: Callable[[OpenIndex], Page]) -> Page:
        """Return a page of hits, as of `_kept`."""
        return self._kept(index, asked, lambda held: self._timed(find(held.opened)))

    def _kept(self, index: str, asked: tuple[str, str, dict[str, Any]], find: Callable[[WatchedIndex], R]) -> R:
        """Return what was found before for the same question in the same revision, or find it."""
        key = json.dumps(asked, sort_keys=True).encode()  # orjson refuses numbers of more than 64 bits

        def found(held: WatchedIndex) -> R:
            answer: R = self._answers.get((held.opened.name, held.revision, key), lambda: find(held))
            return answer

        return self._ask(index, found)

    def _timed(self, page: Page) -> Page:
        self.metrics.observe_stages(page.milliseconds)
        return page

    def _ask(self, name: str, question: Callable[[WatchedIndex], R]) -> R:
        watcher = self._watcher(name)
        held = watcher.current()
        try:
            return question(held)
        except UnavailableError:
            # Files of a version that was replaced twice are gone; so is one that was dropped and made again.
            published = watcher.current(now=True)
            if published is held:
                raise
            return question(published)

    def _watcher(self, name: str) -> IndexWatcher:
        with self._lock:
            if name not in self._watchers:
                if len(self._watchers) >= _MOST_NAMES:
                    self._watchers.clear()  # names that nobody has, since an engine holds fewer
                self._watchers[name] = IndexWatcher(
                    lambda: self._open(name), self.settings.fresh_seconds, self.metrics.show_index
                )
            return self._watchers[name]

    def _open(self, name: str) -> OpenIndex:
        found = self.library[name] if name else self.library.default()
        return dataclasses.replace(found, open=lambda: found.index, models=self.models)


def answer_bytes(answer: Page | PaperMap | list[FeedEntry]) -> int:
    """Return about how much memory a page, a map or the entries of a feed take (bytes); rather too much."""
    parts: Any = getattr(answer, "hits", getattr(answer, "points", answer))
    papers = [part.paper for part in parts]
    texts = sum(len(one.title) + len(one.abstract) + len(one.references) * 90 for one in papers)
    facets = getattr(answer, "facets", None)
    return _HIT_BYTES * (1 + len(papers)) + 4 * texts + 200 * (sum(map(len, facets.counts.values())) if facets else 0)
