"""The taggers of a library: `library.tags`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from corpora.custom import check_field_name
from corpora.errors import require
from corpora.options import Option
from corpora.progress import Silent
from encoders.models.formats import Format, parse_format
from products.tags.apply import apply_tagger, measure_tagger, reasons, record_labels, suggested
from products.tags.hierarchy import hierarchy_from
from products.tags.labels import judgments_from, labelled_vectors
from products.tags.tagger import SHIPPED, read_tagger, write_tagger
from products.tags.training import TaggerOptions, train_tagger
from products.trained import all_vectors, check_vectors
from products.words import texts_of
from search_plugin.filters.resolve import read_filter
from ses.argument_validation import checked, checked_methods
from ses.models.stored_vectors import note_of_format

if TYPE_CHECKING:
    from corpora.progress import Progress
    from encoders.text_encoder import TextEncoder
    from products.tags.apply import LabelSuggestion, TaggingReport, TagReason
    from products.tags.hierarchy import Hierarchy
    from products.tags.tagger import Tagger
    from search_plugin.contract.engine import Index
    from ses.library_parts import LibraryParts

_FORMAT = Option("Format of the vectors to learn from: clf, rgn or prx", "NAME", default_help="clf")
_SAMPLE = 20_000
"""Papers with which the names of labels are compared, and among which some are suggested."""


@checked_methods
@dataclass(frozen=True, slots=True)
class Tags:
    """Taggers by name: training, applying and measuring them.

    Attributes:
        folder: Folder of the user's own taggers, each in a folder of its own.
        open: Returns a published index.
        writing: Provides an index for writing, under its lock.
        load: Function that loads the model of an index.

    Example:
        >>> tagger, notes = library.tags.train("subject", "papers", "topics")
        >>> library.tags.apply("subject", "papers").papers
        400
    """

    folder: Path
    open: Callable[[str], Index]
    writing: Callable[[str], AbstractContextManager[Index]]
    load: Callable[[Index], TextEncoder]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of all taggers: own ones, and those that come with ses."""
        from products.trained import names_in

        return iter(names_in(self._folders))

    def __getitem__(self, name: str) -> Tagger:
        """Read a tagger, or raise `NotFoundError` with the available names."""
        from products.trained import place_of

        return replace(read_tagger(place_of(self._folders, name, "tagger")), name=name)

    def train(
        self,
        name: str,
        index: str,
        labels: str | Path | Mapping[str, Mapping[str, bool]],
        *,
        hierarchy: Path | Hierarchy | None = None,
        format: Annotated[str, _FORMAT] = "",  # noqa: A002 - the option's name
        progress: Progress | None = None,
        **options: Any,
    ) -> tuple[Tagger, tuple[str, ...]]:
        """Train a tagger on the vectors and words of an index's papers, and keep it; nothing is encoded.

        Args:
            name: Name of the tagger, and of the field that will hold its tags.
            index: Index that holds the papers.
            labels: A field of the index whose values are the labels; a path of a table of labels that a person gave; or
                such labels, by paper and label.
            hierarchy: Hierarchy of the labels, or its file.
            format: Task format of the vectors, `clf` if empty; those for search are used where the index holds no such
                vectors.
            progress: Receives progress reports; it counts labels.
            **options: Attributes of `products.tags.training.TaggerOptions`.

        Returns:
            The tagger, and what the user should know, one sentence each.

        Raises:
            InputError: If the labels can't be used so.
            UnavailableError: If scikit-learn isn't installed.
        """
        from products.trained import vectors_for

        check_field_name(name)
        chosen = checked(TaggerOptions)(**options)
        opened, known = self.open(index), hierarchy_from(hierarchy)
        judgments, made_from = judgments_from(opened, labels)
        wanted = parse_format(format or "clf")
        source = vectors_for(opened, wanted)
        papers, rows = labelled_vectors(opened, source, judgments, known, chosen.fewest)
        notes = [*note_of_format(opened, wanted, source.format, asked=bool(format))]
        if papers.unknown_ids:
            notes.append(f"Labelled papers that the index does not hold, left out: {len(papers.unknown_ids):,}")
        if papers.rare:
            notes.append(f"Labels of fewer than {chosen.fewest} papers, left out: {len(papers.rare):,}")
        progress = progress or Silent()
        progress.stage(f"training {len(papers.labels):,} labels", None)
        tagger = train_tagger(
            name,
            source,
            rows,
            papers,
            known,
            chosen,
            texts=() if chosen.vectors_only else texts_of(opened, papers.ids),
            language=opened.schema.language,
            made_from=made_from,
            done=progress.advance,
        )
        if alone := set(papers.labels) - set(tagger.labels):
            notes.append(f"Labels that too few papers lack or have in the training part, left out: {len(alone):,}")
        write_tagger(self.folder / name, tagger)
        return tagger, tuple(notes)

    def from_names(
        self, name: str, index: str, hierarchy: Path | Hierarchy, *, near: float | None = None, most: int | None = None
    ) -> Tagger:
        """Make a tagger without labelled papers, from the names and definitions of labels, and keep it.

        Args:
            name: Name of the tagger.
            index: Index whose papers the labels are compared with; its model encodes the labels.
            hierarchy: The labels, or their file.
            near: Standard deviations above a label's mean from which a paper gets it.
            most: Labels of a paper at most, beside the broader ones.

        Returns:
            The tagger; its scores are no probabilities.

        Raises:
            InputError: If there are no labels, or no papers.
            UnavailableError: If the model is missing.
        """
        from products.tags.names import MOST, NEAR, tagger_of_names
        from products.trained import all_vectors, vectors_for

        check_field_name(name)
        require(
            most is None or most >= 1,
            f"A paper can't have at most {most} labels",
            "give 1 or more, or None for any number",
        )
        opened, known = self.open(index), hierarchy_from(hierarchy)
        origin = hierarchy.name if isinstance(hierarchy, Path) else "a program"
        source = vectors_for(opened, Format.PRX)
        _, vectors = all_vectors(opened, source, list(islice(opened.ids(), _SAMPLE)))
        tagger = tagger_of_names(
            name,
            source,
            known,
            self.load(opened),
            vectors,
            near=NEAR if near is None else near,
            most=MOST if most is None else most,
            made_from=f"names of labels in {origin}",
        )
        write_tagger(self.folder / name, tagger)
        return tagger

    def check(self, name: str, index: str) -> None:
        """Raise `InputError` if a tagger can't be applied to an index."""
        check_vectors(f"The tagger {name}", self[name].source, self.open(index))

    def apply(
        self,
        name: str,
        index: str,
        *,
        filter: str | Sequence[str] = (),  # noqa: A002 - the option's name
        progress: Progress | None = None,
    ) -> TaggingReport:
        """Tag the papers of an index, in the field of the tagger's name; nothing is encoded.

        Args:
            name: Name of the tagger.
            index: Index to tag.
            filter: Papers to tag; all if empty.
            progress: Receives progress reports.

        Returns:
            What was done.

        Raises:
            InputError: If the tagger is of another model, or the index has another field of its name.
            ConflictError: If another run is writing the index.
        """
        tagger = self[name]
        with self.writing(index) as opened:
            return apply_tagger(opened, tagger, read_filter(filter, opened), progress or Silent())

    def probabilities(self, name: str, index: str, papers: Sequence[str]) -> dict[str, dict[str, float]]:
        """Return how likely each label of a tagger is for papers of an index; nothing is encoded.

        Args:
            name: Name of the tagger.
            index: Index that holds the papers.
            papers: Ids of the papers.

        Returns:
            Probabilities from 0 to 1 by id and label; papers that the index does not hold are left out.

        Raises:
            InputError: If the tagger can't be applied to the index, or was made without labelled papers, so that its
                scores are no probabilities.
        """
        tagger, opened = self[name], self.open(index)
        require(tagger.method == "labels", f"The scores of the tagger {name} are no probabilities.")
        check_vectors(f"The tagger {name}", tagger.source, opened)
        ids, vectors = all_vectors(opened, tagger.source, list(papers))
        rows = tagger.probabilities(vectors, _texts(tagger, opened, ids)).tolist() if ids else []
        return {id_: dict(zip(tagger.labels, row, strict=True)) for id_, row in zip(ids, rows, strict=True)}

    def explain(self, name: str, index: str, papers: Sequence[str]) -> dict[str, list[TagReason]]:
        """Say why papers get their tags: how likely each is, and the words of the paper that speak most for it.

        Args:
            name: Name of the tagger.
            index: Index that holds the papers.
            papers: Ids of the papers.

        Returns:
            The tags by id, the most probable first; papers that the index does not hold are left out. A tagger that
            learned from vectors alone names no words.

        Raises:
            InputError: If the tagger can't be applied to the index.
        """
        tagger, opened = self[name], self.open(index)
        check_vectors(f"The tagger {name}", tagger.source, opened)
        ids, vectors = all_vectors(opened, tagger.source, list(papers))
        return dict(zip(ids, reasons(tagger, vectors, _texts(tagger, opened, ids)), strict=True)) if ids else {}

    def record(self, name: str, index: str, labels: Path | Mapping[str, Mapping[str, bool]]) -> list[str]:
        """Write labels that a person gave into the field `NAME_by_person`; return ids that the index does not hold."""
        with self.writing(index) as opened:
            return record_labels(opened, name, judgments_from(opened, labels)[0])

    def measure(self, name: str, index: str, labels: str | Path | Mapping[str, Mapping[str, bool]]) -> Tagger:
        """Return a tagger with its measures on the labelled papers of an index; parameters as of `train`."""
        tagger, opened = self[name], self.open(index)
        check_vectors(f"The tagger {name}", tagger.source, opened)
        judgments, made_from = judgments_from(opened, labels)
        papers, rows = labelled_vectors(opened, tagger.source, judgments, tagger.hierarchy, 1)
        return measure_tagger(tagger, papers, rows, made_from, _texts(tagger, opened, papers.ids))

    def suggest(
        self,
        name: str,
        index: str,
        *,
        count: Annotated[int, Option("Papers to suggest", least=1)] = 20,
        labelled: str | Path | Mapping[str, Mapping[str, bool]] | None = None,
    ) -> list[LabelSuggestion]:
        """Return which papers to label next: those that a tagger is unsure of, and that differ from each other.

        Args:
            name: Name of the tagger.
            index: Index that holds the papers.
            count: Number of papers.
            labelled: Labels that papers already have, as `train` takes them; these papers are left out.

        Returns:
            Papers, each with the label in doubt; of more than 20,000 unlabelled papers, only so many are considered.
        """
        tagger, opened = self[name], self.open(index)
        check_vectors(f"The tagger {name}", tagger.source, opened)
        done = judgments_from(opened, labelled)[0] if labelled else {}
        unlabelled = islice((id_ for id_ in opened.ids() if id_ not in done), _SAMPLE)
        ids, vectors = all_vectors(opened, tagger.source, list(unlabelled))
        return suggested(tagger, ids, vectors, count, _texts(tagger, opened, ids))

    @property
    def _folders(self) -> list[Path]:
        return [self.folder, SHIPPED]


def _texts(tagger: Tagger, index: Index, ids: Sequence[str]) -> list[str]:
    """Return title and abstract of papers, if a tagger reads their words."""
    return texts_of(index, ids) if tagger.words else []


def room(library: LibraryParts) -> Tags:
    """Return the taggers of a library."""
    return Tags(library.settings.data_dir / "taggers", library.open, library.writing, library.models.of_leg)
