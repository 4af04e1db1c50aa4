"""Indexing papers into an engine: the part of a library that reads, encodes and writes."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import InputError, NotFoundError, require
from search_plugin.contract.index_name import EVALUATION
from ses.checked import checked_methods
from ses.indexes import Indexes

if TYPE_CHECKING:
    from encoders.models.model import Model
    from indexer.report import IndexReport, Progress
    from search_plugin.contract.schema import Bm25, Quantization
    from ses.papers import Papers
    from ses.tags import Tags


@checked_methods
class Indexing(Indexes):
    """Writes papers into the indexes of an engine."""

    @property
    def tags(self) -> Tags:
        """The taggers of this library: training, applying and measuring them."""
        from ses.tags import Tags

        return Tags(self._settings.data_dir / "taggers", self._engine.open, self._writing, self._load)

    def index(
        self,
        name: str,
        papers: str | Path | Papers | None = None,
        *,
        corpus: str = "",
        columns: Mapping[str, str] | None = None,
        fields: Mapping[str, str] | None = None,
        formats: Sequence[str] = ("prx",),
        limit: int | None = None,
        fresh: bool = False,
        prune: bool = False,
        origin: str | None = None,
        encoding: str = "",
        quantization: Quantization | None = None,
        bm25: Bm25 | None = None,
        language: str | None = None,
        tags: str = "",
        progress: Progress | None = None,
    ) -> IndexReport:
        """Index papers, or update their index; unchanged papers are skipped, and an interrupted run resumes.

        Args:
            name: Of the index.
            papers: File or folder of a corpus, the URL of an index, or the papers: a table of pandas, polars or
                pyarrow, or an iterable of `Paper`, dictionaries, dataclasses or named tuples. If None, the corpus is
                found or fetched where it can be.
            corpus: How to read the file; the index's name if empty.
            columns: Columns or keys by attribute of a paper, for CSV, JSON and the papers of a program, or by custom
                field.
            fields: Custom fields to keep, kinds by name, such as `{"collection": "keyword"}`.
            formats: Task formats to store vectors for; `prx` always is.
            limit: Index the first papers only.
            fresh: Build a new version beside the existing one, and swap at the end.
            prune: Delete papers that the source no longer holds; those of other sources stay.
            origin: Name of the source within the index.
            encoding: Of text files, such as `cp1252`; UTF-8 if empty.
            quantization: How a cluster stores vectors in memory, in a new index.
            bm25: BM25's constants in a new index of a cluster; those of the tuned settings if None.
            language: How words are analysed in a new index; English if None.
            tags: Name of a tagger that tags the papers when they are written; its vectors are stored too.
            progress: Receives progress reports.

        Returns:
            What was done. Records that could not be indexed are listed in the file that it names.

        Raises:
            InputError: If the papers can't be read, or the index was made by another model.
            UnavailableError: If the engine, the model or the disk fails.
            ConflictError: If another run is writing the index.
            StoppedError: If the user stopped it; the message says what is kept.
        """
        from corpora.custom import declared
        from corpora.registry import CORPORA
        from encoders.models.formats import Format, parse_formats
        from indexer.job import IndexJob
        from indexer.pipeline import index_corpus
        from search_plugin.contract.fields import custom_fields
        from search_plugin.contract.index_name import check_index_name
        from ses.papers import of_corpus, of_program

        require(limit is None or limit >= 1, f"A limit of {limit} leaves no paper", "give <limit> of 1 or more")
        if prune and limit:
            raise InputError(
                "Pruning to a limit would delete all papers after the first few", "give <limit> or <prune>"
            )
        if name not in self:
            check_own(check_index_name(name))
        custom, rest = declared(fields or {}, columns or {})
        if papers is None or isinstance(papers, str | Path):
            if not (corpus or name in CORPORA):
                raise NotFoundError(
                    f"There is no corpus {name!r}, so it is not known how to read the papers",
                    f"give <corpus>, one of {', '.join(CORPORA)}",
                )
            data_dir = self._settings.data_dir
            source = of_corpus(
                corpus or name,
                papers,
                data_dir,
                columns=rest,
                fields=custom,
                limit=limit,
                origin=origin,
                encoding=encoding,
                connection=self._settings.connection_to(papers),
            )
        elif encoding or corpus:
            unused = "encoding" if encoding else "corpus"
            raise InputError(f"Papers of a program have no {unused}", f"leave <{unused}> out")
        else:
            source = of_program(papers, name, custom, columns=rest, limit=limit, origin=origin)
        model = self._model_for(name, fresh=fresh)
        if tags:
            formats = [*formats, self._checked_tagger(tags, name, model, fresh=fresh)]
        job = IndexJob(
            records=source.records,
            source=source.mark,
            index=name,
            card=model.card,
            encoder=functools.partial(self._encoder, model),
            state_dir=self._settings.data_dir,
            # Searches use the prx vectors, so they are always stored.
            formats=tuple(dict.fromkeys([Format.PRX, *parse_formats(*formats)])),
            fresh=fresh,
            prune=prune,
            origin=source.origin,
            quantization=quantization,
            bm25=bm25 or (self._tuned.bm25 if self._tuned else None),
            fields=custom_fields(custom),
            language=language,
            whole=limit is None,
            cached=self._settings.embedding_cache,
        )
        report = index_corpus(job, self._engine, progress)
        if tags:
            self.tags.apply(tags, name, progress=progress)
        return report

    def rebuild(
        self,
        name: str,
        *,
        quantization: Quantization | None = None,
        bm25: Bm25 | None = None,
        language: str | None = None,
        progress: Progress | None = None,
    ) -> IndexReport:
        """Build an index again from its own papers: for the model of the settings, another language, or a new form.

        Args:
            name: Of the index. Origins, custom fields, tags and forecasts stay.
            quantization: How a cluster stores vectors in memory; as before if None.
            bm25: BM25's constants; those of the tuned settings, or as before, if None.
            language: How words are analysed; as before if None.
            progress: Receives progress reports.

        Returns:
            What was done.

        Raises:
            NotFoundError: If there is no such index.
            UnavailableError: If the engine, the model or the disk fails.
        """
        from encoders.registry import find_model
        from indexer.moving import readable, rebuilding
        from indexer.pipeline import index_corpus

        with readable(name):
            index = self._engine.open(name)
        model = find_model(self._settings.model or index.schema.model)
        job = rebuilding(
            index,
            card=model.card,
            encoder=functools.partial(self._encoder, model),
            state_dir=self._settings.data_dir,
            quantization=quantization,
            bm25=bm25 or (self._tuned.bm25 if self._tuned else None),
            language=language,
            cached=self._settings.embedding_cache,
        )
        return index_corpus(job, self._engine, progress)

    def _checked_tagger(self, tagger: str, name: str, model: Model, *, fresh: bool) -> str:
        """Return the format that a tagger reads, or raise `InputError` before any work if it is of another model."""
        source = self.tags[tagger].source
        if source.fingerprint != model.card.fingerprint:
            raise InputError(
                f"The tagger {tagger} was trained on vectors of the model {source.model} ({source.fingerprint}), not "
                f"of {model.card.name} ({model.card.fingerprint})",
                f"give <model={source.model}>, or another tagger",
            )
        if name in self and not fresh:
            self.tags.check(tagger, name)
        return source.format.value

    def _model_for(self, name: str, *, fresh: bool) -> Model:
        """Return the model to write an index with: an existing index is updated with its own."""
        from encoders.registry import find_model

        if name in self and not fresh and not self._settings.model:
            return find_model(self._engine.open(name).schema.model)
        return find_model(self._settings.model_name)


def check_own(name: str) -> str:
    """Return the name, or raise `InputError` if it is that of an evaluation's index."""
    if name.startswith(EVALUATION):
        raise InputError(
            f"Names that begin with {EVALUATION} are for the indexes of evaluations", "choose another name"
        )
    return name
