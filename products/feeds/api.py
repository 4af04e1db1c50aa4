"""Feeds over the indexes of a library: `library.feeds`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from corpora.errors import NotFoundError
from corpora.options import Option
from products.feeds.feed import Feed, FeedEntry, add_seeds, held_words, recommend, remove_seeds
from products.feeds.feed import since as arrived
from products.feeds.formats import feed_format
from search_plugin.contract.tree import And, Filter
from search_plugin.filters.parse import parse_filters
from search_plugin.filters.resolve import read_filter
from search_plugin.request import PageOptions, make_request
from ses.argument_validation import checked_methods
from ses.indexes.named_states import NamedStates
from ses.indexes.open_index import OpenIndex
from ses.library_parts import LibraryParts

SIZE, DATE_FIELD = 20, "year"
_SINCE = Option("Only papers from this year, month or day on, such as 2024-05", "DATE", example="2024-05")
_ENTRIES = Option("Papers, the best first", least=1, most=500)


@checked_methods
@dataclass(frozen=True, slots=True)
class Feeds(NamedStates["Feed"]):
    """Feeds by name; made by `library.feeds`.

    Example:
        >>> feed = library.feeds.create("air", index="mine", liked=["a"], title="Air and health")
        >>> len(library.feeds.show("air", size=2))
        2
    """

    def create(
        self,
        name: str,
        *,
        index: str = "",
        liked: Sequence[str] = (),
        disliked: Sequence[str] = (),
        query: str = "",
        filter: str = "",  # noqa: A002 - as everywhere in ses
        title: str = "",
    ) -> Feed:
        """Create a feed.

        Args:
            name: Name of the feed.
            index: Index that the feed ranks; the default index if empty.
            liked: Papers to find more of, by id or another identifier.
            disliked: Papers to find less of.
            query: A saved query instead of papers.
            filter: Expression that all its papers match.
            title: Title that readers see.

        Returns:
            The feed.

        Raises:
            NotFoundError: If the index does not hold a paper.
            InputError: If the name is taken, a paper is given as both, or the filter or query can't be read.
        """
        feed = self._made(index, liked, disliked, query, filter, title)
        self.kept.create(name, feed)
        return feed

    def preview(
        self,
        *,
        index: str = "",
        liked: Sequence[str] = (),
        disliked: Sequence[str] = (),
        query: str = "",
        filter: str = "",  # noqa: A002
        since: Annotated[str, _SINCE] = "",
        date_field: str = DATE_FIELD,
        size: Annotated[int, _ENTRIES] = SIZE,
    ) -> list[FeedEntry]:
        """Rank the papers of a feed that is not saved; arguments as of `create` and `show`, and their errors."""
        feed = self._made(index, liked, disliked, query, filter, "")
        return self._ranked(feed, since=since, date_field=date_field, size=size)

    def add(self, name: str, *, liked: Sequence[str] = (), disliked: Sequence[str] = ()) -> Feed:
        """Add papers to a feed; errors as of `create`."""
        with self.kept.changing(name) as changing:
            opened = self._index_of(changing.state)
            changing.state = add_seeds(changing.state, _ids(opened, liked), _ids(opened, disliked))
        return changing.state

    def remove(self, name: str, papers: Sequence[str]) -> Feed:
        """Take papers out of a feed by their ids, or raise `InputError` if it has not all of them."""
        with self.kept.changing(name) as changing:
            opened = self._index_of(changing.state)
            seeds = changing.state.seeds
            ids = [one if one in seeds else _id_or_same(opened, one) for one in papers]
            changing.state = remove_seeds(changing.state, ids)
        return changing.state

    def show(
        self,
        name: str,
        *,
        since: Annotated[str, _SINCE] = "",
        date_field: str = DATE_FIELD,
        size: Annotated[int, _ENTRIES] = SIZE,
    ) -> list[FeedEntry]:
        """Rank the papers of a feed.

        Args:
            name: Name of the feed.
            since: Only papers from this year, month or day on: `2024`, `2024-05` or `2024-05-31`.
            date_field: The field that `since` compares: `year`, or a custom field with dates or numbers.
            size: Entries at most.

        Returns:
            The entries, the best first.

        Raises:
            NotFoundError: If there is no such feed, or the index does not hold one of its papers any more.
            InputError: If it has no papers and no query, or an argument can't be used.
        """
        return self._ranked(self.kept.load(name), since=since, date_field=date_field, size=size)

    def _made(
        self,
        index: str,
        liked: Sequence[str],
        disliked: Sequence[str],
        query: str,
        filter: str,  # noqa: A002
        title: str,
    ) -> Feed:
        """Return a feed whose parts are checked; it is not saved."""
        opened = self.opened(index)
        fields = opened.index.schema.fields
        if filter:
            parse_filters([filter], fields)
        feed = Feed(opened.name, self.engine, query=query, filter=filter, title=title)
        if query:
            make_request(query, fields=fields, language=opened.index.schema.language)
        return add_seeds(feed, _ids(opened, liked), _ids(opened, disliked)) if liked or disliked else feed

    def _ranked(self, feed: Feed, *, since: str, date_field: str, size: int) -> list[FeedEntry]:
        """Return the entries of a feed; arguments and errors as of `show`."""
        opened = self._index_of(feed)
        new = arrived(opened.index, date_field, since) if since else None
        if not feed.query:
            return recommend(opened.index, feed, _where(opened, feed, new), size)
        options: PageOptions = {"size": size, "window": max(100, size)}
        if where := _where(opened, feed, new):
            options["filter"] = where
        page = opened.search(feed.query, **options)
        language = opened.index.schema.language
        return [
            FeedEntry(hit.rank, hit.paper, hit.score, words=held_words(page.query, hit.paper, language)) for hit in page
        ]

    def export(
        self,
        name: str,
        format: str = "atom",  # noqa: A002
        *,
        since: str = "",
        date_field: str = DATE_FIELD,
        size: int = SIZE,
        address: str = "",
    ) -> str:
        """Return a feed as `atom` or as `html` for e-mail.

        Args:
            name: Name of the feed.
            format: `atom` or `html`.
            since: As of `show`.
            date_field: As of `show`.
            size: Entries at most.
            address: Where feed readers find the Atom document, which then names it; empty if that is not known.

        Returns:
            The document.

        Raises:
            NotFoundError: If there is no such feed, or the index does not hold one of its papers any more.
            InputError: If it has no papers and no query, or an argument can't be used.
        """
        render = feed_format(format)
        entries = self.show(name, since=since, date_field=date_field, size=size)
        return render(name, self.kept.load(name).title or name, entries, datetime.now(UTC), address)


def _where(opened: OpenIndex, feed: Feed, new: Filter | None) -> Filter | None:
    """Return the filter of a feed and its new papers, with the values that the index holds."""
    own = read_filter(feed.filter, opened.index)
    return And((own, new)) if own and new else own or new


def _ids(opened: OpenIndex, names: Sequence[str]) -> list[str]:
    """Return the ids of papers by any identifier; `NotFoundError` for one that the index does not hold."""
    return [opened.show(name).id for name in names]


def _id_or_same(opened: OpenIndex, name: str) -> str:
    with suppress(NotFoundError):
        return opened.show(name).id
    return name


def room(library: LibraryParts) -> Feeds:
    """Return the feeds of a library."""
    return Feeds(*library.states("feeds", Feed, "feed"), library.opened)
