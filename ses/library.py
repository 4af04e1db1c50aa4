"""The library: the indexes of an engine by name, and all that is done with them."""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from corpora.custom import declared
from corpora.errors import InputError, NotFoundError, StoppedError, UnavailableError, require
from corpora.options import Option
from encoders.models.formats import parse_formats
from encoders.projection import projected_card
from indexer.options import SETTINGS, AttachedOptions, EncodingOptions, IndexOptions, RebuildOptions, VersionOptions
from search_plugin.contract.engine import EVALUATION, AttachesIndexes, check_index_name
from search_plugin.contract.schema import PUBLICATION, custom_fields
from ses.argument_validation import checked_methods
from ses.indexes.default_index import choose_index, chosen_index, default_index
from ses.indexes.searchable import SearchableLibrary
from ses.library_parts import LibraryParts
from ses.models.library_models import LibraryModels
from ses.products import Products

if TYPE_CHECKING:
    from corpora.obtaining import Harvest, Order
    from corpora.progress import Progress
    from encoders.models.card import ModelCard
    from encoders.models.formats import Format
    from encoders.models.model import Model
    from indexer.job import IndexJob, IndexReport
    from products.topics.topics import Projection, Topics
    from products.trained import TrainedVectors
    from search_plugin.contract.engine import Engine, Index
    from search_plugin.contract.schema import IndexSchema
    from search_plugin.engines.cluster.attached.engine import AttachingEngine, Detached
    from search_plugin.fusion.search_settings import SearchSettings
    from search_plugin.understanding.expansion import Synonyms
    from ses.indexes.cluster_tools import ClusterTools
    from ses.indexes.index_facts import IndexFacts
    from ses.indexes.open_index import OpenIndex
    from ses.papers import Papers
    from ses.settings import Settings
    from ses.training import Formats


@checked_methods
class Library(Products, SearchableLibrary):
    """The indexes of an engine, by name; made by `open`.

    Args:
        settings: Settings of the engine and the model.

    Example:
        >>> report = library.index("new", [ses.Paper("a", "A virus", year=2020), {"id": "b", "title": "A lung"}])
        >>> report.new, library["new"].search("virus", mode="lexical")[0].title
        (2, 'A virus')
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._tuned: SearchSettings | None = None
        if settings.tuned:
            from search_plugin.fusion.search_settings import read_search_settings

            self._tuned = read_search_settings(settings.tuned)
        self._synonyms: Synonyms = {}
        if settings.synonyms:
            from search_plugin.understanding.expansion import read_synonyms

            self._synonyms = read_synonyms(settings.synonyms)
        self._secrets: tuple[str, ...] = ()  # settings that another process left out
        self._models = LibraryModels(settings)
        self._connected: Engine | None = None
        self._closed = False
        self._connect()

    @property
    def _engine(self) -> Engine:
        require(not self._closed, "This library is closed", "open it again")
        return self._connected or self._connect()

    def _connect(self) -> Engine:
        from search_plugin.engines.registry import connect

        settings = self._settings.with_secrets(self._secrets)
        self._connected = connect(settings.engine_url, settings.connection)
        self._settings, self._secrets = settings, ()
        return self._connected

    @property
    def _address(self) -> str:
        return self._settings.engine_url

    @property
    def data_dir(self) -> Path:
        """Folder of what is kept beside the indexes: taggers, feeds, keys of the service."""
        return self._settings.data_dir

    def close(self) -> None:
        """Release the models and the engine; a library in a `with` block is closed at its end.

        Indexes that were opened before can still be searched by words.
        """
        self._closed = True
        self._connected = None
        self._models.close()

    def __getstate__(self) -> dict[str, Any]:
        # Another process connects by itself.
        settings, secrets = self._settings.without_secrets()
        return {**vars(self), "_settings": settings, "_secrets": secrets or self._secrets, "_connected": None}

    def indexes(self, *, evaluations: bool = False) -> list[str]:
        """Return the names of the indexes, the most recently published first; those of evaluations only on wish."""
        return [name for name in self._engine.names() if evaluations or not name.startswith(EVALUATION)]

    def __contains__(self, name: str) -> bool:
        return name in self._engine.names()

    def __getitem__(self, name: str) -> OpenIndex:
        """Open an index, or raise `NotFoundError` with the available names."""
        from ses.indexes.open_index import OpenIndex

        found = OpenIndex(
            functools.partial(self._open, name),
            self._models,
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
        if self._tuned and self._tuned.weights and opened.schema.foreign:
            logging.getLogger("ses").warning(
                "The tuned weights are not used, since the index %s has other vectors too: %s.",
                *(opened.name, ", ".join(opened.schema.legs)),
            )
            return replace(found, tuned=replace(self._tuned, weights={}))
        return found

    def default(self) -> OpenIndex:
        """Open the default index: that of the settings, else the one that `use` chose, else the first one.

        Raises `NotFoundError` if it does not exist.
        """
        return self[default_index(self._settings, self.indexes())]

    def use(self, name: str) -> None:
        """Make an index the default of this engine, or raise `NotFoundError` if there is none of that name."""
        _no_evaluation(self._engine.open(name).name)
        choose_index(self._settings, name)

    def describe(self, name: str) -> IndexFacts:
        """Return the counts, model, fields, origins and size of an index, or raise `NotFoundError`."""
        from ses.indexes.index_facts import facts_of

        return facts_of(self._engine.open(name), self._engine.published_at(name), default=name == self._default_name())

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
        self._note_first()
        with self._engine.lock(name):
            require(to not in self, f"There is an index {to} already", "drop it, or choose another name")
            progress.stage("copying", self._engine.open(name).count())
            with self._engine.lock(_no_evaluation(to)):
                self._engine.copy(name, to, progress.advance)
        return self[to]

    def update(self, name: str, values: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """Write some fields of existing papers; nothing is encoded again.

        Args:
            name: Name of the index.
            values: New values by id and field; None takes a field's value away.

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
        with self._writing(name) as index:
            index.add_fields(custom_fields(declared(fields, {})[0]))

    def topics(
        self,
        name: str,
        *,
        count: Annotated[
            int | None,
            Option(
                "Number of topics",
                least=1,
                default_help="the root of half the number of papers, 100 at most",
                flag="topics",
            ),
        ] = None,
        task_format: Annotated[str, Option("The vectors to cluster", "NAME", flag="format")] = "prx",
        projection: Annotated[
            Projection, Option("Coordinates: two principal components, or t-SNE, which is slow", flag="map")
        ] = "pca",
        field: Annotated[str, Option("Field for labels; NAME_x and NAME_y hold coordinates", "NAME")] = "topic",
        seed: Annotated[int, Option("Seed of k-means and t-SNE", least=0, below=2**32)] = 0,
        progress: Progress | None = None,
    ) -> Topics:
        """Cluster the papers of an index into topics with labels, and write them into its fields.

        Args:
            name: Name of the index.
            count: Number of topics; the root of half the number of papers if None, 100 at most.
            task_format: The vectors to cluster.
            projection: Method for coordinates: `pca`, or `tsne`, which is slow.
            field: Field for labels; coordinates are in two more, with `_x` and `_y` after the name. If empty, nothing
                is written.
            seed: Seed of the clusters and the coordinates.
            progress: Receives progress reports.

        Returns:
            The topics, and each paper's topic and coordinates.

        Raises:
            InputError: If there are fewer papers than topics, or a field can't have that name.
            UnavailableError: If scikit-learn is missing.
        """
        from corpora.progress import Silent
        from products.topics.api import topics_of, write_topics
        from products.topics.topics import clean_field

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

    def drop(self, name: str) -> None:
        """Delete an index with all its versions and unfinished builds, or raise `NotFoundError` if there are none."""
        was_chosen = chosen_index(self._settings) == name
        with self._engine.lock(name):
            self._engine.drop(name)
        if was_chosen:
            choose_index(self._settings, "")

    def index(
        self,
        name: str,
        papers: str | Path | Papers | None = None,
        *,
        harvest: Harvest | None = None,
        progress: Progress | None = None,
        **options: Unpack[IndexOptions],
    ) -> IndexReport:
        """Index papers, or update their index; unchanged papers are skipped, and an interrupted run resumes.

        Args:
            name: Name of the index.
            papers: File or folder of a corpus, the URL of an index or of a server to harvest, or the papers: a table of
                pandas, polars or pyarrow, or an iterable of `Paper`, dictionaries, dataclasses or named tuples. If
                None, the corpus is found or fetched where it can be.
            harvest: Which records of a server to harvest; all of them, and later what has changed, if None.
            progress: Receives progress reports.
            **options: See `indexer.options.IndexOptions`.

        Returns:
            What was done. Records that could not be indexed are listed in the file that it names.

        Raises:
            InputError: If the papers can't be read, or the index was made by another model.
            UnavailableError: If the engine, the model or the disk fails.
            ConflictError: If another run is writing the index.
            StoppedError: If the user stopped it; the message says what is kept.
        """
        from corpora.registry import CORPORA
        from indexer.job import IndexJob
        from indexer.pipeline import index_corpus
        from indexer.projecting import kept_projection, kept_words
        from ses.models.remote_encoding import remotely_encoded
        from ses.models.stored_vectors import formats_to_store, formats_with_words, own_jobs, sparse_job
        from ses.papers import of_corpus, of_program

        corpus, encoding, tags = (options.get("corpus", ""), options.get("encoding", ""), options.get("tags", ""))
        fresh, prune = options.get("fresh", False), options.get("prune", False)
        limit = options.get("limit")
        if prune and limit:
            raise InputError(
                "Pruning to a limit would delete all papers after the first few", "give <limit> or <prune>"
            )
        self._note_first()
        schema = None if fresh else self._engine.schema(name)
        if not schema and name not in self:
            _no_evaluation(check_index_name(name))
        custom, rest = declared(options.get("fields") or {}, options.get("columns") or {})
        reading: dict[str, Any] = {"columns": rest, "fields": custom, "limit": limit, "origin": options.get("origin")}
        if papers is None or isinstance(papers, str | Path):
            if not (corpus or name in CORPORA):
                raise NotFoundError(
                    f"There is no corpus {name!r}, so it is not known how to read the papers",
                    f"give <corpus>, one of {', '.join(CORPORA)}",
                )
            place, connection = self._settings.data_dir, self._settings.connection_to(papers)
            order = self._order(str(papers), harvest, limit, progress)
            source = of_corpus(
                corpus or name, papers, place, **reading, encoding=encoding, connection=connection, order=order
            )
        elif encoding or corpus or harvest:
            unused = "encoding" if encoding else "corpus" if corpus else "harvest"
            raise InputError(f"Papers of a program have no {unused}", f"leave <{unused}> out")
        else:
            source = of_program(papers, name, **reading)
        require(
            source.whole or not prune,
            "Pruning to what has changed would delete all papers that have not",
            "read the whole library, or leave <prune> out",
        )
        model = self._models.to_write(schema)
        schema_before = self._schema_before(name, fresh=fresh)
        own_models = own_jobs(self._models, schema_before, options.get("own"))
        others = [one for job in own_models for one in job.formats]
        asked, new = _asked_formats(options.get("formats")), fresh or schema is None
        # Words of formats that are asked for are fitted again.
        words = kept_words(schema_before, options.get("language")) if asked is None or not new else ()
        needed: list[Format] = []
        if tags:
            dimension = options.get("dimension")
            projection = schema.projection if schema else kept_projection(model.card, schema_before, dimension)
            cards = [projected_card(model.card, projection), *(one.card for one in own_models)]
            with_words = {one.fingerprint_after(model.card.fingerprint) for one in words}
            reads = self._checked_tagger(tags, name, cards, with_words, schema)
            needed += [reads.format] if reads.fingerprint not in with_words else []
        worded = formats_with_words(model.card, schema_before, others, needed, new=new)
        formats = formats_to_store(model.card, asked, schema_before, others, needed, worded, new=new)
        job = IndexJob(
            records=source.records,
            source=source.mark,
            index=name,
            formats=formats,
            fresh=fresh,
            prune=prune,
            origin=source.origin,
            fields=(PUBLICATION, *custom_fields(custom)),
            whole=limit is None and source.whole,
            sparse=sparse_job(self._models, schema_before, options),
            own=own_models,
            worded=tuple(one for one in formats if one in worded),
            words=words,
            settings=self._settings_of_version(options),
            **self._encoding(model),
        )
        with remotely_encoded(self._settings, job, options) as job:
            report = index_corpus(job, self._engine, progress)
        if source.obtained:
            report = replace(report, harvest=source.obtained.to_dict())
        self._update_words(name)
        if tags:
            self.tags.apply(tags, name, progress=progress)
        return report

    def rebuild(self, name: str, *, progress: Progress | None = None, **options: Unpack[RebuildOptions]) -> IndexReport:
        """Build an index again from its own papers: for the model of the settings, another language, or a new form.

        What no option names stays as before. Vectors that the cache of embeddings holds are not encoded again.

        Args:
            name: Name of the index. Origins, custom fields, tags and forecasts stay.
            progress: Receives progress reports.
            **options: See `indexer.options.RebuildOptions`.

        Returns:
            What was done.

        Raises:
            NotFoundError: If there is no such index.
            UnavailableError: If the engine, the model or the disk fails.
        """
        from encoders.registry import find_model
        from indexer.moving import readable, rebuilding
        from indexer.pipeline import index_corpus
        from indexer.projecting import kept_words
        from ses.models.remote_encoding import check_own_papers, remotely_encoded
        from ses.models.stored_vectors import formats_to_store, formats_with_words, own_jobs, sparse_job

        check_own_papers(options)
        self._note_first()
        with readable(name):
            index = self._engine.open(name)
        model = find_model(self._settings.model or index.schema.model)
        own = own_jobs(self._models, index.schema, options.get("own"))
        others = [one for made in own for one in made.formats]
        asked = _asked_formats(options.get("formats"))
        worded = formats_with_words(model.card, index.schema, others, new=True)
        formats = formats_to_store(model.card, asked, index.schema, others, (), worded, new=True)
        job = rebuilding(
            index,
            formats=formats,
            sparse=sparse_job(self._models, index.schema, options),
            own=own,
            worded=tuple(one for one in formats if one in worded),
            words=kept_words(index.schema, options.get("language")) if asked is None else (),
            settings=self._settings_of_version(options),
            **self._encoding(model),
        )
        with remotely_encoded(self._settings, job, options) as job:
            report = index_corpus(job, self._engine, progress)
        self._update_words(name)
        return report

    def attach(
        self,
        target: str,
        *,
        title: Annotated[str, Option("Its field of titles", "FIELD", default_help="title")] = "",
        abstract: Annotated[str, Option("Its field of abstracts", "FIELD", default_help="none")] = "",
        fields: Annotated[
            Mapping[str, str] | None,
            Option(
                "A field for filters, facets and records: year=pub_year, authors=authors.name, doi=doi_s, or a name of "
                "your choice",
                "NAME=FIELD",
                flag="facet",
            ),
        ] = None,
        name: Annotated[str, Option("What to call it", "NAME", default_help="its own name", flag="index")] = "",
        beside: Annotated[bool, Option("Write nothing into its documents: keep vectors in an index beside it")] = False,
        vectors: Annotated[
            Mapping[str, str] | None,
            Option(
                "A field of vectors that its documents hold already, and the model that made them; searches use it as "
                "one more leg of this name",
                "FIELD=MODEL",
                flag="vector",
            ),
        ] = None,
        unchecked: Annotated[
            bool, Option("Take the models of <vector> as named, also if their vectors differ")
        ] = False,
        progress: Progress | None = None,
        **options: Unpack[AttachedOptions],
    ) -> IndexReport:
        """Make an index of others searchable by meaning, where it is; an interrupted run resumes.

        Vectors are written into its documents, in one field `ses` of their own. Where that is impossible, an index of
        ses beside it holds them. No other field is changed. Vectors that the documents hold already can be searched
        too, or alone; then nothing is written into them.

        Args:
            target: The index, or an alias.
            title: Field of titles; `title` if empty.
            abstract: Field of abstracts; empty if there is none.
            fields: Fields for filters, facets and records, by attribute of a paper or by a name of your choice,
                such as `{"year": "pub_year", "authors": "authors.name", "shelf": "extra.shelf"}`.
            name: Name of the index in ses; its own name if empty.
            beside: Keep the vectors beside the documents in any case.
            vectors: Models by the field of vectors that they made, such as `{"embedding": "all-MiniLM-L6-v2"}`.
                Each is one more leg of a search, named as the field.
            unchecked: Take these models as they are named, also if they give other vectors for the documents.
            progress: Receives progress reports.
            **options: See `indexer.options.AttachedOptions`; the formats `none` make no vectors.

        Returns:
            What was done. Documents that are no papers are listed in the file that it names.

        Raises:
            NotFoundError: If there is no such index.
            InputError: If the engine is no cluster, a field can't serve, or a model did not make the vectors.
            StoppedError: If the user stopped it; the message says what is kept.
        """
        from encoders.registry import find_model
        from indexer.attaching import follow, only_searched, schema_for
        from indexer.comparing import compare
        from search_plugin.engines.cluster.attached.engine import Wanted
        from search_plugin.engines.cluster.attached.vectors import NamedVectors
        from search_plugin.engines.cluster.scan import check_plain_name
        from ses.models.remote_encoding import check_own_papers, remotely_encoded
        from ses.models.stored_vectors import formats_to_store

        check_own_papers(options)
        self._note_first()
        engine = self._attaching()
        formats, language, quantization = (options.get("formats"), options.get("language"), options.get("quantization"))
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
        models = {field: find_model(model) for field, model in (vectors or {}).items()}
        named = tuple(NamedVectors.of(field, model.card) for field, model in models.items())
        wanted = Wanted(_no_evaluation(name or _own_name(target)), target, fields, beside, named)
        loaders = {field: functools.partial(self._models.encoder, model) for field, model in models.items()}
        found = engine.found(wanted) if named else None
        compared = compare(engine, found, loaders, unchecked=unchecked) if found else ()
        if formats is not None and tuple(formats) == ("none",):
            if found is None:
                raise InputError(
                    "Without vectors, nothing can be searched by meaning", "name a <vector>, or other <formats>"
                )
            require(not beside, "No vectors are made that could be beside the documents", "leave <beside> out")
            require(not quantization, "No vectors are made that could be quantized", "leave <quantization> out")
            schema = replace(found.schema, language=language) if language else found.schema
            attachment = engine.attach(wanted, schema)
            return replace(only_searched(engine, attachment, self._settings.data_dir), vectors=compared)
        job = self._vectors_job(wanted.name, settings={"language": language} if language else {})
        held = self._engine.schema(wanted.name)
        job = replace(job, formats=formats_to_store(job.card, _asked_formats(formats), held, new=held is None))
        with remotely_encoded(self._settings, job, options) as job:
            engine.attach(wanted, schema_for(job, quantization or (held.quantization if held else "none")))
            report = replace(follow(job, engine, progress), vectors=compared)
        self._update_words(wanted.name)
        return report

    def follow(self, name: str, *, progress: Progress | None = None, **options: Unpack[EncodingOptions]) -> IndexReport:
        """Bring the vectors of an attached index up to date with its documents.

        Args:
            name: Name of the index.
            progress: Receives progress reports.
            **options: See `indexer.options.EncodingOptions`.

        Returns:
            What was done.

        Raises:
            NotFoundError: If no index of this name is attached.
            StoppedError: If the user stopped it; the message says what is kept.
        """
        from encoders.models.formats import Format
        from indexer.attaching import follow, only_searched
        from ses.models.remote_encoding import check_own_papers, remotely_encoded

        check_own_papers(options)
        engine = self._attaching()
        attachment = engine.attached(name)
        if attachment.schema.vectors:
            formats = tuple(Format(field.format) for field in attachment.schema.vectors)
            job = self._vectors_job(name, formats=formats)
            with remotely_encoded(self._settings, job, options) as job:
                report = follow(job, engine, progress, changes_only=True)
        else:
            engine.renew(attachment)
            report = only_searched(engine, attachment, self._settings.data_dir)
        self._update_words(name)
        return report

    def detach(self, name: str, *, progress: Progress | None = None) -> Detached:
        """Remove all that ses has written into an attached index or beside it.

        Args:
            name: Name of the index.
            progress: Receives progress reports.

        Returns:
            How many documents were restored, and in which mappings an unused field stays.

        Raises:
            NotFoundError: If no index of this name is attached.
            StoppedError: If the user stopped it.
        """
        from corpora.progress import Silent

        progress = progress or Silent()
        try:
            begin = functools.partial(progress.stage, "restoring")
            detached = self._attaching().detach(name, begin, progress.advance)
        except KeyboardInterrupt:
            raise StoppedError(f"Stopped: some documents of {name} still hold vectors", "detach it again") from None
        if chosen_index(self._settings) == name:
            choose_index(self._settings, "")
        return detached

    @property
    def cluster(self) -> ClusterTools:
        """What other people's front ends need of the indexes in a cluster."""
        from ses.indexes.cluster_tools import ClusterTools

        return ClusterTools(self._opened, lambda: self._engine, self._models.word_vectors, self._settings.connector_key)

    @property
    def formats(self) -> Formats:
        """Formats of one's own, trained by the papers of an index."""
        from ses.training import Formats

        return Formats(self._engine.open, self._models.encoder)

    @property
    def _parts(self) -> LibraryParts:
        return LibraryParts(self._settings, self._engine, self._models, self._opened, self._writing, self.index)

    def _opened(self, name: str) -> OpenIndex:
        return self[name] if name else self.default()

    def _default_name(self) -> str:
        try:
            return default_index(self._settings, self.indexes())
        except NotFoundError:
            return ""

    def _note_first(self) -> None:
        """Note which index is the first, before there may be a second one."""
        self._default_name()

    def _open(self, name: str) -> Index:
        return self._engine.open(name)

    @contextmanager
    def _writing(self, name: str) -> Iterator[Index]:
        """Provide an index for writing, under its lock."""
        with self._engine.lock(name):
            yield self._engine.open(name)

    def _encoding(self, model: Model) -> dict[str, Any]:
        """Return what jobs of indexing need to encode by a model, which is loaded when the first paper is encoded."""
        return {
            "card": model.card,
            "encoder": functools.partial(self._models.encoder, model),
            "state_dir": self._settings.data_dir,
            "cached": self._settings.embedding_cache,
        }

    def _settings_of_version(self, options: VersionOptions) -> dict[str, Any]:
        """Return the settings of a new version that the user chose; BM25's constants may be those of the tuned file."""
        tuned = {"bm25": self._tuned.bm25} if self._tuned else {}
        return tuned | {name: options[name] for name in SETTINGS if options.get(name) is not None}  # type: ignore[literal-required]  # its own keys

    def _schema_before(self, name: str, *, fresh: bool) -> IndexSchema | None:
        """Return the schema of the published version; None if there is none, or if a fresh build can't read it."""
        try:
            return self._engine.schema(name)
        except UnavailableError:
            if not fresh:
                raise
            # A fresh build replaces a damaged version; `published_generation` logs that nothing of it is taken over.
            return None

    def _checked_tagger(
        self, tagger: str, name: str, cards: Sequence[ModelCard], with_words: Set[str], schema: IndexSchema | None
    ) -> TrainedVectors:
        """Return what a tagger reads, or raise `InputError` before any work if it is of another model.

        The index will have vectors of the models of these cards, and those with words of these fingerprints.
        """
        source = self.tags[tagger].source
        if source.fingerprint not in {*with_words, *(card.fingerprint for card in cards)}:
            given = cards[0]
            raise InputError(
                f"The tagger {tagger} was trained on vectors of the model {source.model} ({source.fingerprint}), not "
                f"of {given.name} ({given.fingerprint})",
                f"give <model={source.model}>, or another tagger",
            )
        if schema:
            self.tags.check(tagger, name)
        return source

    def _order(self, place: str, harvest: Harvest | None, limit: int | None, progress: Progress | None) -> Order:
        """Return what to obtain for an index."""
        from corpora.obtaining import Order, Visitor
        from corpora.progress import Silent

        settings = self._settings
        visitor = Visitor(settings.contact, settings.harvest_username, settings.harvest_password)
        return Order(place, settings.data_dir, harvest, visitor, limit, settings.crossref_url, progress or Silent())

    def _attaching(self) -> AttachingEngine:
        if not isinstance(self._engine, AttachesIndexes):
            raise InputError(
                "Only an index of OpenSearch or Elasticsearch can be attached", "give <engine> as http://HOST:PORT"
            )
        from search_plugin.engines.cluster.attached.engine import AttachingEngine

        return AttachingEngine(self._engine.url, self._settings.connection)

    def _update_words(self, name: str) -> None:
        """Add the words of new papers to those that front ends of a cluster know."""
        from ses.indexes.query_words import update_words

        update_words(self._engine, name, self._models.word_vectors)

    def _vectors_job(self, name: str, **options: Any) -> IndexJob:
        from indexer.job import IndexJob

        model = self._models.to_write(self._engine.schema(name))
        return IndexJob(records=lambda: iter(()), source="", index=name, **self._encoding(model), **options)


def _asked_formats(formats: Sequence[str] | None) -> tuple[Format, ...] | None:
    return None if formats is None else parse_formats(*formats)


def _no_evaluation(name: str) -> str:
    """Return the name, or raise `InputError` if it is that of an evaluation's index."""
    if name.startswith(EVALUATION):
        raise InputError(
            f"Names that begin with {EVALUATION} are for the indexes of evaluations", "choose another name"
        )
    return name


def _own_name(target: str) -> str:
    """Return the name of an index if ses can call it so too, or raise `InputError`."""
    try:
        return check_index_name(target)
    except InputError as error:
        raise InputError(
            f"ses can't call an index {target!r}",
            "give it another name here by <index>: up to 64 lower-case letters, digits, - and _, a letter first",
        ) from error
