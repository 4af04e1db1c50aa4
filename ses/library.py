"""The indexes of an engine: choosing, opening, updating, copying, rolling back and dropping them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.errors import SesError, require
from ses.attaching import Attaching
from ses.checked import checked, checked_methods
from ses.indexing import check_own

if TYPE_CHECKING:
    from corpora.progress import Progress
    from products.kept import Kept
    from products.topics import Projection, Topics
    from ses.feeds import Feeds
    from ses.forecasts import Forecasts
    from ses.index_facts import IndexFacts
    from ses.kept import State
    from ses.opened import OpenIndex
    from ses.reviewers import Reviewers
    from ses.screening import Screening


@checked
def open(engine: str | Path | None = None, **settings: Any) -> Library:  # noqa: A001 - read as `ses.open()`
    """Open the library of an engine.

    Args:
        engine: URL of a cluster, `embedded:DIR`, or a folder; if None, that of the settings, else one in the data
            folder.
        **settings: Such as `model`, `runtime`, `data_dir` or `engine_api_key`; they override `SES_*` and `ses.toml`.

    Returns:
        The library.

    Raises:
        InputError: If a setting is wrong.
        UnavailableError: If the engine does not answer, or its folder can't be used.
    """
    from ses.settings import load_settings

    url = f"embedded:{engine}" if isinstance(engine, Path) else engine
    return Library(load_settings(engine=url, **settings))


@checked_methods
class Library(Attaching):
    """The indexes of an engine, by name; made by `open`."""

    @property
    def reviewers(self) -> Reviewers:
        """Finds reviewers for submissions, by the reviewers' papers in an index."""
        from ses.reviewers import Reviewers

        return Reviewers(self, lambda name: (self[name] if name else self.default()).index)

    @property
    def feeds(self) -> Feeds:
        """The feeds over this library's indexes."""
        from products.feeds.feed import Feed
        from ses.feeds import Feeds

        return Feeds(*self._kept("feeds", Feed, "feed"), self._opened)

    @property
    def screening(self) -> Screening:
        """The systematic reviews over this library's indexes."""
        from products.screening.screening import ReviewState
        from ses.screening import Screening

        return Screening(*self._kept("screening", ReviewState, "review"), self._opened)

    def use(self, name: str) -> None:
        """Make an index the default of this engine, or raise `NotFoundError` if there is none of that name."""
        from ses.default_index import choose_index

        check_own(self._engine.open(name).name)
        choose_index(self._settings, name)

    def describe(self, name: str) -> IndexFacts:
        """Return the counts, model, fields, origins and size of an index, or raise `NotFoundError`."""
        from ses.index_facts import facts_of

        return facts_of(self._engine.open(name), self._engine.moment(name), default=name == self._default_name())

    def copy(self, name: str, to: str, progress: Progress | None = None) -> OpenIndex:
        """Copy an index within its engine; nothing is encoded.

        Args:
            name: The index; nobody may write it meanwhile.
            to: Name of the copy.
            progress: Receives progress reports.

        Returns:
            The copy.

        Raises:
            NotFoundError: If there is no index to copy.
            InputError: If there is an index of the new name.
            ConflictError: If another run is writing one of them.
        """
        from corpora.progress import Silent

        progress = progress or Silent()
        with self._engine.lock(name):
            require(to not in self, f"There is an index {to} already", "drop it, or choose another name")
            progress.stage("copying", self._engine.open(name).count())
            with self._engine.lock(check_own(to)):
                self._engine.copy(name, to, progress.advance)
        return self[to]

    def update(self, name: str, values: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """Write some fields of existing papers; nothing is encoded again.

        Args:
            name: Of the index.
            values: By id and field, as of papers of a program; None takes a field's value away.

        Returns:
            The ids that the index does not hold.

        Raises:
            InputError: If the index has no such field, or a value is of another kind.
            ConflictError: If another run is writing the index.
        """
        with self._writing(name) as index:
            missing = list(index.update(values))
            # Other readers of a cluster would see the values only after its next refresh.
            index.finish()
        return missing

    def add_fields(self, name: str, fields: Mapping[str, str]) -> None:
        """Add custom fields to an index, kinds by name; no paper has a value in them yet.

        Raises `InputError` if a field's name is not allowed, or the index has a field of that name and another kind.
        """
        from corpora.custom import declared
        from search_plugin.contract.fields import custom_fields

        with self._writing(name) as index:
            index.add_fields(custom_fields(declared(fields, {})[0]))

    def topics(
        self,
        name: str,
        *,
        count: int | None = None,
        task_format: str = "prx",
        projection: Projection = "pca",
        field: str = "topic",
        seed: int = 0,
        progress: Progress | None = None,
    ) -> Topics:
        """Cluster the papers of an index into topics with labels, and write them into its fields.

        Args:
            name: Of the index.
            count: Number of topics; the root of half the number of papers if None, 100 at most.
            task_format: The vectors to cluster.
            projection: How to make coordinates: `pca`, or `tsne`, which is slow.
            field: For labels; coordinates are in two more, with `_x` and `_y` after the name. If empty, nothing is
                written.
            seed: Of the clusters and the coordinates.
            progress: Receives progress reports.

        Returns:
            The topics, and each paper's topic and coordinates.

        Raises:
            InputError: If there are fewer papers than topics, or a field can't have that name.
            UnavailableError: If scikit-learn is missing.
        """
        from corpora.progress import Silent
        from products.topics import clean_field
        from ses.topics import topics_of, write_topics

        require(count is None or count >= 1, f"{count} topics can't be found", "give <count> of 1 or more")
        require(0 <= seed < 2**32, f"The seed can't be {seed}", "give <seed> from 0 to 4294967295")
        if field:
            clean_field(field)  # before the work
        progress = progress or Silent()
        index = self._engine.open(name)
        found = topics_of(
            index, count=count, task_format=task_format, projection=projection, seed=seed, progress=progress
        )
        if field:
            with self._writing(name) as writable:
                write_topics(writable, found, field, progress)
        return found

    def rollback(self, name: str) -> OpenIndex:
        """Search the version before the last fresh one again, or raise `NotFoundError` if there is none.

        The newer version is not searched again; it is deleted when the next one is published.
        """
        with self._engine.lock(name):
            self._engine.rollback(name)
        return self[name]

    @property
    def forecasts(self) -> Forecasts:
        """The forecasters of this library: training, applying and measuring them."""
        from ses.forecasts import Forecasts

        return Forecasts(self._settings.data_dir / "forecasters", self._engine.open, self._writing)

    def drop(self, name: str) -> None:
        """Delete an index with all its versions and unfinished builds, or raise `NotFoundError` if there are none."""
        from ses.default_index import choose_index, chosen_index

        was_chosen = chosen_index(self._settings) == name
        with self._engine.lock(name):
            self._engine.drop(name)
        if was_chosen:
            choose_index(self._settings, "")

    def __repr__(self) -> str:
        try:
            held = ", ".join(self.indexes()) or "no indexes yet"
        except SesError as error:  # a debugger shows it too
            held = str(error)
        return f"<library {self._settings.engine_url}: {held}>"

    def _kept(self, folder: str, kind: type[State], noun: str) -> tuple[Kept[State], str]:
        """Return the states of a kind in the data folder, and the URL of the engine that new ones are over."""
        from products.kept import Kept
        from ses.default_index import shown_url

        return Kept(self._settings.data_dir / folder, kind, noun), shown_url(self._settings)
