"""Reviewers for submissions, as Python programs and the commands find them: `library.reviewers`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError, NotFoundError, require
from corpora.lazy import np
from corpora.paper import Accepted, Rejected
from encoders.models.formats import Format
from products.reviewers.conflicts import INSTITUTIONS
from products.reviewers.factors import ReferencesBuilder, VectorsBuilder, WordsBuilder, stored
from products.reviewers.matching import MatchingOptions
from products.reviewers.pool import FIELD, make_pool, read_pool
from products.reviewers.profiles import gather_profiles, read_notes, read_openreview
from search_plugin.words.space import words_text
from ses.argument_validation import checked, checked_methods

if TYPE_CHECKING:
    from corpora.paper import Paper
    from corpora.progress import Progress
    from encoders.models.model import Model
    from encoders.text_encoder import TextEncoder
    from indexer.job import IndexReport
    from products.reviewers.factors import FactorBuilder
    from products.reviewers.matching import Explanation, Matched
    from products.reviewers.pool import ReviewerPool
    from products.reviewers.profiles import ProfilePapers
    from products.reviewers.venue import Reviewer, Venue
    from search_plugin.contract.engine import Document, Index
    from ses.library_parts import LibraryParts

OPENREVIEW = "openreview"
"""The name of OpenReview's form, beside the corpora."""

FACTORS = ("semantic", "topic", "words", "citation")
"""By PRX vectors, by CLF vectors, by words, and by references or an instruction for citations."""

_FORMATS = {"semantic": "prx", "topic": "clf"}
_BLOCK = 512


@dataclass(frozen=True, slots=True)
class Profiled:
    """What indexing reviewers did.

    Attributes:
        report: Report of indexing the papers.
        profiles: The papers read, what was rejected, and reviewers without papers.
    """

    report: IndexReport
    profiles: ProfilePapers


@checked_methods
@dataclass(frozen=True, slots=True)
class Reviewers:
    """Reviewers whose papers are in indexes of a library; made by `library.reviewers`.

    Attributes:
        write: Indexes papers (`Library.index`).
        open: Function that opens an index by name, or the default index if the name is empty.
        load: Function that loads the model of an index.
        encoder: Function that loads a model.

    Example:
        >>> done = library.reviewers.index("reviewers", "reviewers.csv")
        >>> found = library.reviewers.match([ses.Paper("s", "Masks in schools")], per_paper=1)
        >>> [(one.submission, one.reviewer) for one in found.matches]
        [('s', 'Ada Byron')]
    """

    write: Callable[..., IndexReport]
    open: Callable[[str], Index]
    load: Callable[[Index], TextEncoder]
    encoder: Callable[[Model], TextEncoder]

    def index(
        self,
        name: str,
        path: str | Path,
        *,
        corpus: str = "csv",
        columns: Mapping[str, str] | None = None,
        formats: Sequence[str] = ("prx",),
        progress: Progress | None = None,
    ) -> Profiled:
        """Index the papers of reviewers; papers that reviewers no longer have are deleted.

        Args:
            name: Name of the index.
            path: A file or folder.
            corpus: Reader of the file: a corpus whose papers name their reviewers, or `openreview`.
            columns: Columns by attribute; `reviewers` is in the column `reviewer` if nothing else is said.
            formats: Task formats to store vectors for.
            progress: Receives progress reports.

        Returns:
            What was done.

        Raises:
            InputError: If the file can't be read, or names no reviewer.
            UnavailableError: If the engine, the model or the disk fails.
        """
        if corpus == OPENREVIEW:
            profiles = read_openreview(Path(path))
        else:
            named = {FIELD: "reviewer", **(columns or {})}
            profiles = gather_profiles(self._records(path, corpus, {FIELD: "keywords"}, named))
        report = self.write(
            name, profiles.papers, fields={FIELD: "keywords"}, formats=formats, prune=True, progress=progress
        )
        return Profiled(report, profiles)

    def match(
        self,
        submissions: str | Path | Iterable[Paper],
        *,
        index: str = "reviewers",
        corpus: str = "csv",
        columns: Mapping[str, str] | None = None,
        factors: Sequence[str] = ("semantic",),
        people: str | Path | None = None,
        conflicts: str | Path | None = None,
        bids: str | Path | None = None,
        progress: Progress | None = None,
        **options: Any,
    ) -> Matched:
        """Find reviewers for submissions.

        Args:
            submissions: File of the submissions, or the papers.
            index: Index of the reviewers' papers; if empty, the default index.
            corpus: Reader of the file: a corpus, or `openreview`.
            columns: Columns by attribute; `institutions` are those of the authors.
            factors: Names of factors, of those in `FACTORS`.
            people: Table of the reviewers to choose from: `reviewer`, `name`, `institution`, `capacity`. All of the
                index if None.
            conflicts: Table of declared conflicts: `paper`, `reviewer`.
            bids: Table of bids: `paper`, `reviewer`, `bid`.
            progress: Receives progress reports.
            **options: The attributes of `products.reviewers.matching.MatchingOptions`.

        Returns:
            The matches.

        Raises:
            InputError: If an id is not known, the reviewers have too little room, or an option can't be used so.
            UnavailableError: If the engine, the model or scipy is missing.
        """
        checked(MatchingOptions)(**options)  # before papers are read
        venue = self.venue(
            submissions, index=index, corpus=corpus, columns=columns, people=people, conflicts=conflicts, bids=bids
        )
        return self.match_venue(venue, factors, progress=progress, **options)

    def match_venue(
        self, venue: Venue, factors: Sequence[str] = ("semantic",), *, progress: Progress | None = None, **options: Any
    ) -> Matched:
        """Find reviewers for the submissions of `venue`; parameters and errors as of `match`."""
        from corpora.progress import Silent
        from products.reviewers.matching import MatchingOptions, match

        chosen, progress = checked(MatchingOptions)(**options), progress or Silent()
        builders = _factor_builders(self, venue, factors, progress)
        progress.stage("comparing", len(venue.submissions))
        return match(venue, builders, chosen, lambda count: progress.advance(count))

    def explain(
        self,
        submissions: str | Path | Iterable[Paper],
        paper: str,
        reviewer: str,
        *,
        factors: Sequence[str] = ("semantic",),
        aggregate: str = "top3",
        **given: Any,
    ) -> Explanation:
        """Say why a reviewer suits a submission: the nearest of their papers by each factor, rank, and conflict.

        Args:
            submissions: Submissions, in a form that `match` takes.
            paper: Id of a submission.
            reviewer: Id of the reviewer.
            factors: Factors, as `match` takes them.
            aggregate: Aggregate over a reviewer's papers, `top3` or `max`.
            **given: `index`, `corpus`, `columns`, `people`, `conflicts` and `bids` of `match`.

        Returns:
            The explanation.

        Raises:
            NotFoundError: If there is no such submission or reviewer.
        """
        from corpora.progress import Silent
        from products.reviewers.matching import MatchingOptions, explain

        options = checked(MatchingOptions)(aggregate=aggregate)  # type: ignore[arg-type]  # so it is checked
        venue = self.venue(submissions, **given)
        own = [one for one in venue.submissions if one.id == paper]
        if not own:
            known = venue.submissions[0].id if venue.submissions else ""
            raise NotFoundError(f"There is no submission {paper!r}", f"give an id such as {known}")
        venue = replace(venue, submissions=own)
        return explain(venue, reviewer, _factor_builders(self, venue, factors, Silent()), options)

    def venue(
        self,
        submissions: str | Path | Iterable[Paper],
        *,
        index: str = "reviewers",
        corpus: str = "csv",
        columns: Mapping[str, str] | None = None,
        people: str | Path | None = None,
        conflicts: str | Path | None = None,
        bids: str | Path | None = None,
    ) -> Venue:
        """Return submissions and reviewers, checked; parameters and errors as of `match`."""
        from products.reviewers.bids import read_bids
        from products.reviewers.venue import Venue, check_submissions, read_declared, read_people

        opened = self.open(index)
        papers = self._submissions(submissions, corpus, columns or {})
        check_submissions(papers)
        table = read_people(Path(people)) if people else {}
        pool = _only(read_pool(opened), table)
        known = {paper.id for paper in papers}, {*pool.reviewers, *table}
        declared = read_declared(Path(conflicts), *known) if conflicts else set()
        return Venue(papers, pool, opened, table, declared, read_bids(Path(bids), *known) if bids else {})

    def _submissions(
        self, submissions: str | Path | Iterable[Paper], corpus: str, columns: Mapping[str, str]
    ) -> list[Paper]:
        if not isinstance(submissions, str | Path):
            return list(submissions)
        custom = {INSTITUTIONS: "keywords"} if INSTITUTIONS in columns else {}
        path = Path(submissions)
        records = read_notes(path) if corpus == OPENREVIEW else self._records(path, corpus, custom, columns)
        papers = []
        for record in records:
            if isinstance(record, Rejected):
                raise InputError(f"{path}, record on line {record.line}: {record.reason}")
            if isinstance(record, Accepted):
                papers.append(record.paper)
        return papers

    def _records(self, path: str | Path, corpus: str, fields: Mapping[str, str], columns: Mapping[str, str]) -> Any:
        from corpora.custom import declared
        from ses.papers import of_corpus

        custom, rest = declared(fields, columns)
        return of_corpus(corpus, path, Path(), columns=rest, fields=custom).records()


def _only(pool: ReviewerPool, people: Mapping[str, Reviewer]) -> ReviewerPool:
    """Return the reviewers of a table; all if there is none."""
    if not people:
        return pool
    held = zip(pool.reviewers, pool.papers, strict=True)
    return make_pool({reviewer: papers for reviewer, papers in held if reviewer in people})


def _factor_builders(
    reviewers: Reviewers, venue: Venue, factors: Sequence[str], progress: Progress
) -> Callable[[Path], Mapping[str, FactorBuilder]]:
    """Return what builds each factor: submissions are encoded now, the reviewers' papers are read later.

    Args:
        reviewers: Loads models.
        venue: The submissions and reviewers.
        factors: Names of factors, of those in `FACTORS`.
        progress: Receives progress reports.

    Returns:
        A function that makes a builder for each factor, given a folder for files.

    Raises:
        InputError: If a factor is unknown, or can't be computed for this index.
    """
    chosen = tuple(dict.fromkeys(factors))
    if not chosen or set(chosen) - set(FACTORS):
        raise InputError(f"Give one or more of the factors {', '.join(FACTORS)}, not {', '.join(chosen) or 'none'}.")
    makers: dict[str, Callable[[Path], FactorBuilder]] = {}
    for name in chosen:
        if name == "words":
            makers[name] = lambda _: WordsBuilder(venue.submissions)
        elif name == "citation" and any(paper.references for paper in venue.submissions):
            makers[name] = lambda _: ReferencesBuilder(venue.submissions)
        elif name == "citation":
            makers[name] = _by_instruction(reviewers, venue, name, progress)
        else:
            makers[name] = _by_format(reviewers, venue, _FORMATS[name], progress)
    return lambda folder: {name: make(folder) for name, make in makers.items()}


def _by_format(
    reviewers: Reviewers, venue: Venue, task_format: str, progress: Progress
) -> Callable[[Path], FactorBuilder]:
    from encoders.registry import find_model

    schema, wanted = venue.index.schema, Format(task_format)
    made_by = schema.maker(task_format)
    encoder = reviewers.load(venue.index) if made_by is schema else reviewers.encoder(find_model(made_by.model))
    other = f"<formats=prx,{task_format}>, for vectors with the papers' words beside them"
    if encoder.card.similarity != "cosine":
        other = "a <model> that has them"
    require(
        made_by is not schema or wanted in encoder.card.distinct([Format.PRX, wanted]),
        f"The model {encoder.card.name} has no {task_format} vectors of its own, so the factor topic would be the same "
        "as semantic",
        f"leave topic out, or index again with <fresh> and {other}",
    )
    schema.vector(task_format)
    own = _encoded(encoder, wanted, venue.submissions, progress)
    for words in schema.words:
        own = words.beside(own, list(map(words_text, venue.submissions))).get(task_format, own)
    return lambda folder: VectorsBuilder(own, stored(task_format), folder / f"{task_format}.vectors")


def _by_instruction(
    reviewers: Reviewers, venue: Venue, factor: str, progress: Progress
) -> Callable[[Path], FactorBuilder]:
    """Encode submissions and reviewers' papers by the model's instruction for a factor, which no index holds."""
    from encoders.layouts.unipr import factor_models, instructions_for
    from encoders.registry import find_model

    instructed = factor_models(find_model(venue.index.schema.model), instructions_for(""))
    if factor not in instructed:
        raise InputError(
            f"The submissions have no references, and the model of the index has no instruction for {factor}",
            "give submissions with references, or leave the factor citation out",
        )
    encode = partial(_encoded, reviewers.encoder(instructed[factor]), Format.PRX)
    own = encode(venue.submissions, progress)
    return lambda folder: VectorsBuilder(own, partial(_read_again, encode), folder / f"{factor}.vectors")


def _encoded(encoder: Any, task_format: Any, papers: Sequence[Paper], progress: Progress | None = None) -> np.ndarray:
    if progress:
        progress.stage("encoding", len(papers))
    texts = [encoder.card.text(paper.title, paper.abstract) for paper in papers]
    parts = []
    for start in range(0, len(texts), _BLOCK):
        parts.append(encoder.encode(texts[start : start + _BLOCK], task_format))
        if progress:
            progress.advance(len(parts[-1]))
    return np.concatenate(parts)


def _read_again(encode: Callable[[Sequence[Paper]], np.ndarray], documents: Sequence[Document]) -> np.ndarray:
    return encode([document.paper for document in documents])


def room(library: LibraryParts) -> Reviewers:
    """Return what finds reviewers by the papers of a library."""
    return Reviewers(
        library.indexed, lambda name: library.opened(name).index, library.models.of_leg, library.models.encoder
    )
