"""The models that a library has loaded: each once, and when it is first needed."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from corpora.errors import SesError, UnavailableError, require
from encoders.projection import projected, projected_card
from search_plugin.contract.engine import check_model
from search_plugin.contract.schema import SparseField

if TYPE_CHECKING:
    from encoders.models.formats import QueryEncoder
    from encoders.models.model import Model
    from encoders.rerankers.scorer import PairScorer
    from encoders.sparse import SparseEncoder
    from encoders.text_encoder import TextEncoder
    from encoders.word_vectors import WordVectors
    from search_plugin.contract.engine import Index
    from search_plugin.contract.schema import IndexSchema
    from ses.settings import Settings

T = TypeVar("T")


class LibraryModels:
    """Encoders and rerankers, loaded as the settings say.

    Args:
        settings: Settings of the library.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._held: dict[Hashable, Any] = {}
        self._closed = False

    def to_write(self, schema: IndexSchema | None) -> Model:
        """Return the model to write an index with: an existing index, of which there is a schema, keeps its own."""
        from encoders.registry import find_model

        settings = self._settings
        return find_model(schema.model if schema and not settings.model else settings.model_name)

    def of_leg(self, index: Index, leg: str = "", by: QueryEncoder | None = None) -> TextEncoder:
        """Return the encoder of a vector leg of an index, of its first one without a name; errors as of `check_model`.

        `by` says what encodes queries, if not the settings. Raises `InputError` if no table stands in for the model.
        Raises `UnavailableError` if a model of sparse vectors can't be used: a search can do without that leg.
        """
        leg = leg or index.schema.legs[0]
        made_by = index.schema.beside(leg) or index.schema

        def load() -> TextEncoder:
            from encoders.registry import find_model

            # The model of the settings is that of the vectors of ses.
            own = self._settings.model if made_by is index.schema else ""
            try:
                model = find_model(own or made_by.model)
            except SesError as error:
                if not isinstance(made_by, SparseField):
                    raise
                raise UnavailableError(
                    f"The sparse vectors of the index {index.name} are of the model {made_by.model}, which can't be "
                    f"used ({error.sentence.rstrip('.')})",
                    f"bring it back there, or search without them by <weights={leg}=0>",
                ) from error
            projection = index.schema.projection if made_by is index.schema else ()
            card = projected_card(model.card, projection)
            check_model(index, card.name, card.fingerprint, leg, papers_by=card.papers_by)
            if isinstance(made_by, SparseField):
                # Queries of a leg are encoded by `encode` alone, which both kinds of encoders have.
                return cast("TextEncoder", self.sparse_encoder(model))
            return projected(self.encoder(model), projection)

        # To find a model reads and hashes its files, which takes longer than a search.
        key = ("leg", made_by.model, made_by.fingerprint)
        if isinstance(made_by, SparseField) or (by or self._settings.query_encoder) != "table":
            return self._once(key, load)

        def load_table() -> TextEncoder:
            from encoders.query_tables import queries_by_table
            from encoders.static import load_static

            def loaded(table: Model) -> TextEncoder:
                return load_static(table, self._settings.cache_dir)

            projection = index.schema.projection if made_by is index.schema else ()
            imitated = projection[0].fingerprint if projection else made_by.fingerprint
            found = queries_by_table(imitated, made_by.model, loaded, lambda: self._once(key, load))
            require(
                found,
                f"There is no table of queries for the model {made_by.model} of the index {index.name}",
                "make one with `ses train --query-table` and name its folder as <model>, or take <query_encoder=model>",
            )
            assert found is not None  # noqa: S101
            encoder = projected(found, projection)
            check_model(index, encoder.card.name, encoder.card.fingerprint, leg, papers_by=encoder.card.papers_by)
            return encoder

        return self._once(("table", *key), load_table)

    def of_papers(self, index: Index, task_format: str) -> TextEncoder:
        """Return the encoder of an index's vectors of papers of a format: that of the format's own model if it has one.

        If the papers' words stand beside the vectors, it is the encoder of those without words. Raises `InputError` if
        another model has the name now.
        """
        from encoders.registry import find_model

        made_by, schema = index.schema.maker(task_format), index.schema
        if made_by is schema:
            return self.of_leg(index)
        wanted = schema.model_fingerprint if made_by in schema.worded else made_by.fingerprint

        def load() -> TextEncoder:
            model = find_model(made_by.model)
            require(
                model.card.fingerprint == wanted,
                f"The {task_format} vectors of the index {index.name} were made by another {made_by.model} than the "
                "one here",
                "restore that model, or index again with <fresh>",
            )
            return self.encoder(model)

        return self._once(("papers", made_by.model, wanted), load)

    def word_vectors(self, index: Index, name: str = "") -> WordVectors:
        """Return what makes the vectors of words for queries of the first leg of an index.

        Args:
            index: The index.
            name: Name of a table; without one, and without one in the settings, it is the one that ses ships.

        Returns:
            The vectors.

        Raises:
            InputError: If no table stands in for the model, or its words have no vectors of their own.
        """
        from encoders.architectures.registry import STATIC
        from encoders.query_tables import table_for
        from encoders.registry import find_model
        from encoders.static import load_static
        from encoders.word_vectors import WordVectors

        made_by = index.schema.beside(index.schema.legs[0]) or index.schema
        projection = index.schema.projection if made_by is index.schema else ()
        imitated = projection[0].fingerprint if projection else made_by.fingerprint
        # The settings may name the model of the index itself, too, and the other name is of words that may be old.
        given = [(one, find_model(one)) for one in (self._settings.model, name) if one]
        tables = [(one, model) for one, model in given if model.card.architecture == STATIC]
        fitting = [one for one in tables if one[1].card.papers_by == imitated or one[0] == self._settings.model]
        own, table = fitting[0] if fitting else ("", table_for(imitated))
        require(
            table is None or table.card.papers_by == imitated,
            f"The table {own} stands in for another model than {made_by.model}, of the index {index.name}",
            "name the table that was made for that model as <model>",
        )
        require(
            table,
            f"There is no table of queries for the model {made_by.model} of the index {index.name}, so its words have "
            "no vectors",
            "make one with `ses train --query-table`, and name its folder as <model>",
        )
        assert table is not None  # noqa: S101
        return WordVectors(load_static(table, self._settings.cache_dir), own, projection)

    def encoder(self, model: Model) -> TextEncoder:
        """Return the encoder of a model."""
        from ses.models.loaded_model import make_encoder

        return self._once(("dense", model.card.fingerprint), lambda: make_encoder(self._settings, model))

    def sparse_encoder(self, model: Model) -> SparseEncoder:
        """Return the encoder of a model of sparse vectors."""
        from ses.models.loaded_model import make_sparse_encoder

        return self._once(("sparse", model.card.fingerprint), lambda: make_sparse_encoder(self._settings, model))

    def scorer(self, name: str) -> PairScorer:
        """Return a reranker by its name."""
        from ses.models.loaded_model import make_scorer

        return self._once(("scorer", name), lambda: make_scorer(self._settings, name))

    def close(self) -> None:
        """Release the models; no other is loaded afterwards."""
        self._closed = True
        self._held.clear()

    def __getstate__(self) -> dict[str, Any]:
        # Another process loads them by itself.
        settings, _ = self._settings.without_secrets()
        return {**vars(self), "_settings": settings, "_held": {}}

    def _once(self, key: Hashable, load: Callable[[], T]) -> T:
        require(not self._closed, "This library is closed", "open it again")
        if key not in self._held:
            self._held[key] = load()
        found: T = self._held[key]
        return found
