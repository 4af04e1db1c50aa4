"""The forecasters of a library: `library.forecasts`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.custom import check_field_name
from corpora.lazy import np
from corpora.progress import Silent
from encoders.models.formats import Format
from products.forecasts.forecaster import apply_forecaster, read_forecaster, write_forecaster
from products.forecasts.training import ForecastOptions, cited_papers, ranked_papers, train_forecaster
from products.words import texts_of
from search_plugin.filters.resolve import read_filter
from ses.argument_validation import checked, checked_methods
from ses.models.stored_vectors import note_of_format

if TYPE_CHECKING:
    from corpora.progress import Progress
    from products.forecasts.forecaster import Forecaster, ForecastReport
    from search_plugin.contract.engine import Index
    from ses.library_parts import LibraryParts


@checked_methods
@dataclass(frozen=True, slots=True)
class Forecasts:
    """Forecasters by name: training and applying them.

    Attributes:
        folder: Folder of the forecasters, each in a folder of its own.
        open: Returns a published index.
        writing: Provides an index for writing, under its lock.

    Example:
        >>> forecaster, notes = library.forecasts.train("impact", "papers", "cited")
        >>> library.forecasts.apply("impact", "papers").papers
        400
    """

    folder: Path
    open: Callable[[str], Index]
    writing: Callable[[str], AbstractContextManager[Index]]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of all forecasters."""
        from products.trained import names_in

        return iter(names_in([self.folder]))

    def __getitem__(self, name: str) -> Forecaster:
        """Read a forecaster, or raise `NotFoundError` with the available names."""
        from products.trained import place_of

        return replace(read_forecaster(place_of([self.folder], name, "forecaster")), name=name)

    def train(
        self, name: str, index: str, citations: str, *, within: str = "venue", **options: Any
    ) -> tuple[Forecaster, tuple[str, ...]]:
        """Train a forecaster on the RGN vectors and words of an index's papers, and keep it; nothing is encoded.

        Args:
            name: Name of the forecaster, and of the field that will hold its forecasts.
            index: Index that holds the papers.
            citations: Field of their numbers of citations.
            within: Field within which papers of a year are compared; empty for all papers of the year.
            **options: Attributes of `products.forecasts.training.ForecastOptions`.

        Returns:
            The forecaster, and what the user should know, one sentence each.

        Raises:
            InputError: If there are too few papers with citations, year and vector.
            UnavailableError: If scikit-learn isn't installed.
        """
        from products.trained import all_vectors, vectors_for

        check_field_name(name)
        chosen = checked(ForecastOptions)(**options)
        opened = self.open(index)
        source = vectors_for(opened, Format.RGN)
        papers = cited_papers(opened, citations, within)
        ranked = ranked_papers(papers, chosen.fewest)
        years = {paper.id: paper.group[1] for paper in papers}
        percentiles = dict(zip(ranked.ids, ranked.percentiles, strict=True))
        ids, vectors = all_vectors(opened, source, ranked.ids)
        made_from = (
            f"{citations} within {ranked.groups:,} groups of {within or 'all papers'} and year in the index {index}"
        )
        forecaster = train_forecaster(
            name,
            source,
            vectors,
            np.array([percentiles[id_] for id_ in ids]),
            [years[id_] for id_ in ids],
            chosen,
            texts=() if chosen.vectors_only else texts_of(opened, ids),
            language=opened.schema.language,
            made_from=made_from,
        )
        write_forecaster(self.folder / name, forecaster)
        notes = note_of_format(opened, Format.RGN, source.format, asked=False)
        if ranked.left_out:
            notes += (f"Papers of years with fewer than {chosen.fewest} papers, left out: {ranked.left_out:,}",)
        return forecaster, notes

    def apply(
        self,
        name: str,
        index: str,
        *,
        filter: str | Sequence[str] = (),  # noqa: A002 - the option's name
        progress: Progress | None = None,
    ) -> ForecastReport:
        """Write forecasts into an index, in the fields `NAME`, `NAME_low` and `NAME_high`; nothing is encoded.

        Args:
            name: Name of the forecaster.
            index: Index whose papers are forecast.
            filter: Papers to forecast; all if empty.
            progress: Receives progress reports.

        Returns:
            What was done.

        Raises:
            InputError: If the forecaster is of another model, or the index has another field of its name.
            ConflictError: If another run is writing the index.
        """
        forecaster = self[name]
        with self.writing(index) as opened:
            return apply_forecaster(opened, forecaster, read_filter(filter, opened), progress or Silent())


def room(library: LibraryParts) -> Forecasts:
    """Return the forecasters of a library."""
    return Forecasts(library.settings.data_dir / "forecasters", library.open, library.writing)
