"""Attaching indexes of others: the part of a library that adds vectors to them."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from corpora.errors import InputError, StoppedError
from ses.checked import checked_methods
from ses.indexing import Indexing, check_own

if TYPE_CHECKING:
    from indexer.job import IndexJob
    from indexer.report import IndexReport, Progress
    from search_plugin.engines.cluster.attached.engine import AttachingEngine, Detached


@checked_methods
class Attaching(Indexing):
    """Attaches indexes of the engine's cluster that ses did not make."""

    def attach(
        self,
        target: str,
        *,
        title: str = "",
        abstract: str = "",
        fields: Mapping[str, str] | None = None,
        name: str = "",
        formats: Sequence[str] = ("prx",),
        language: str | None = None,
        beside: bool = False,
        progress: Progress | None = None,
    ) -> IndexReport:
        """Make an index of others searchable by meaning, where it is; an interrupted run resumes.

        Vectors are written into its documents, in one field `ses` of their own. Where that is impossible, an index of
        ses beside it holds them. No other field is changed.

        Args:
            target: The index, or an alias.
            title: Its field of titles; `title` if empty.
            abstract: Its field of abstracts; empty if there is none.
            fields: Its fields for filters, facets and records, by attribute of a paper or by a name of your choice,
                such as `{"year": "pub_year", "authors": "authors.name", "shelf": "extra.shelf"}`.
            name: What to call it; the index's own name if empty.
            formats: Task formats to make vectors for; `prx` always is.
            language: Of its texts, for highlights and queries; English if None.
            beside: Keep the vectors beside the documents in any case.
            progress: Receives progress reports.

        Returns:
            What was done. Documents that are no papers are listed in the file that it names.

        Raises:
            NotFoundError: If there is no such index.
            InputError: If the engine is no cluster, or a field can't serve.
            StoppedError: If the user stopped it; the message says what is kept.
        """
        from encoders.models.formats import Format, parse_formats
        from indexer.attaching import follow, schema_for
        from search_plugin.engines.cluster.attached.engine import Wanted
        from search_plugin.engines.cluster.scan import check_plain_name

        engine = self._attaching()
        fields = dict(fields or {})
        for attribute, own in (("title", title), ("abstract", abstract)):
            if own and fields.setdefault(attribute, own) != own:
                raise InputError(
                    f"The field {attribute} is given twice, as {own} and as {fields[attribute]}",
                    "leave one of them out",
                )
        if "title" not in {given.strip().lower() for given in fields}:
            fields["title"] = "title"
        check_plain_name(target)
        wanted = Wanted(check_own(name or _callable(target)), target, fields, beside)
        chosen = tuple(dict.fromkeys([Format.PRX, *parse_formats(*formats)]))
        job = self._vectors_job(wanted.name, formats=chosen, language=language)
        engine.attach(wanted, schema_for(job))
        return follow(job, engine, progress)

    def follow(self, name: str, *, progress: Progress | None = None) -> IndexReport:
        """Bring the vectors of an attached index up to date with its documents.

        Args:
            name: What it is called.
            progress: Receives progress reports.

        Returns:
            What was done.

        Raises:
            NotFoundError: If no index of this name is attached.
            StoppedError: If the user stopped it; the message says what is kept.
        """
        from encoders.models.formats import Format
        from indexer.attaching import follow

        engine = self._attaching()
        formats = tuple(Format(field.format) for field in engine.attached(name).schema.vectors)
        return follow(self._vectors_job(name, formats=formats), engine, progress)

    def detach(self, name: str, *, progress: Progress | None = None) -> Detached:
        """Remove all that ses has written into an attached index or beside it.

        Args:
            name: What it is called.
            progress: Receives progress reports.

        Returns:
            How many documents were restored, and in which mappings an unused field stays.

        Raises:
            NotFoundError: If no index of this name is attached.
            StoppedError: If the user stopped it.
        """
        from indexer.report import Silent
        from ses.default_index import choose_index, chosen_index

        progress = progress or Silent()
        try:
            begin = functools.partial(progress.stage, "restoring")
            detached = self._attaching().detach(name, begin, progress.advance)
        except KeyboardInterrupt:
            raise StoppedError(f"Stopped: some documents of {name} still hold vectors", "detach it again") from None
        if chosen_index(self._settings) == name:
            choose_index(self._settings, "")
        return detached

    def _attaching(self) -> AttachingEngine:
        if not self._engine.url.startswith("http"):
            raise InputError(
                "Only an index of OpenSearch or Elasticsearch can be attached", "give <engine> as http://HOST:PORT"
            )
        from search_plugin.engines.cluster.attached.engine import AttachingEngine

        return AttachingEngine(self._engine.url, self._settings.connection)

    def _vectors_job(self, name: str, **options: object) -> IndexJob:
        from indexer.job import IndexJob

        model = self._model_for(name, fresh=False)
        return IndexJob(
            records=lambda: iter(()),
            source="",
            index=name,
            card=model.card,
            encoder=functools.partial(self._encoder, model),
            state_dir=self._settings.data_dir,
            cached=self._settings.embedding_cache,
            **options,  # type: ignore[arg-type]  # formats and language
        )


def _callable(target: str) -> str:
    """Return the name of an index if ses can call it so too, or raise `InputError`."""
    from search_plugin.contract.index_name import check_index_name

    try:
        return check_index_name(target)
    except InputError as error:
        raise InputError(
            f"ses can't call an index {target!r}",
            "give it another name here by <index>: up to 64 lower-case letters, digits, - and _, a letter first",
        ) from error
