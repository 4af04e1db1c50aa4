"""What other people's front ends need of an index in a cluster: made by `Library.cluster`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal, Unpack

from corpora.errors import InputError
from corpora.options import Option
from search_plugin.contract.engine import InCluster, check_index_name
from search_plugin.request import PageOptions
from ses.argument_validation import checked_methods
from ses.indexes.cluster_requests import cluster_requests
from ses.indexes.query_words import words_to_keep

if TYPE_CHECKING:
    from encoders.word_vectors import WordVectors
    from search_plugin.contract.engine import Engine, Index
    from search_plugin.engines.cluster.frontends.installation import Installation, Installed
    from ses.indexes.cluster_requests import Requests
    from ses.indexes.open_index import OpenIndex


@checked_methods
@dataclass(frozen=True)
class ClusterTools:
    """Requests and artifacts by which other programs search the indexes of a cluster without ses.

    Attributes:
        opened: Function that opens an index by its name, or the default index.
        engine: Function that connects to the engine.
        word_vectors: Function that returns what makes the vectors of words for queries of an index, by the table of a
            name, if one is given.
        connector_key: Key of the service that a cluster asks for vectors; empty if it has none.
    """

    opened: Callable[[str], OpenIndex]
    engine: Callable[[], Engine]
    word_vectors: Callable[[Index, str], WordVectors]
    connector_key: str = field(default="", repr=False)

    def request(
        self,
        query: str = "",
        *,
        index: str = "",
        similar: str = "",
        parameters: Sequence[Literal["vector", "words"]] = (),
        vector: Literal["words", "table", "feedback", "service"] | None = None,
        **options: Unpack[PageOptions],
    ) -> Requests:
        """Return the requests of a page, for other programs to send.

        With `join="engine"`, and wherever there is only one leg, it is one request. Otherwise these are the two
        requests that ses sends, between which the sender joins the legs.

        Args:
            query: As of `OpenIndex.search`.
            index: Name of the index; the default index if empty.
            similar: Id of a paper in the index, to find papers like it instead.
            parameters: What the sender fills: the query's vector, its words.
            vector: Where a program that takes any words gets their vector: from the words that the cluster holds, a
                table in a file, the first papers by words, or the service; None for the requests alone.
            **options: Options of `OpenIndex.search`, without those that ses follows itself: `sort` of a search with
                words, `boost`, `rerank` and `collapse`.

        Returns:
            The requests, which `text` writes in a language.

        Raises:
            InputError: If the index is not in a cluster, or an option can't be used so.
            NotFoundError: If there is no such index or paper.
            UnavailableError: If the cluster does not answer, or the model is missing.
        """
        return cluster_requests(self.opened(index), query, similar, parameters, options, vector)

    def install(
        self,
        index: str = "",
        *,
        fusion: Annotated[
            str, Option("How the hybrid template joins words and vectors on OpenSearch: minmax, rrf, or zscore", "NAME")
        ] = "minmax",
        patterns: Annotated[
            str | Sequence[str],
            Option(
                "Give the fields of this index to new indexes of such names, as papers-*",
                "PATTERN",
                default_help="no index template",
                flag="pattern",
            ),
        ] = (),
        connector: Annotated[
            str,
            Option(
                "Let the cluster ask `ses serve` at this URL for vectors, so that front ends send words only; its key "
                "is in SES_CONNECTOR_KEY",
                "URL",
                default_help="clients send vectors",
            ),
        ] = "",
        query_words: Annotated[
            bool,
            Option(
                "Keep the vectors of words too, which front ends add up to the vector of a query, without a model or a "
                "service",
                default_help="only where they are kept already",
            ),
        ] = False,
    ) -> list[Installed]:
        """Keep search templates, a search pipeline and a component template for an index in its cluster.

        What exists already is not written again. Nothing is deleted (`remove`). With a connector, the cluster also
        asks the service for vectors; the key is the setting `connector_key`.

        Args:
            index: Name of the index; the default index if empty.
            fusion: How the hybrid template joins its legs on OpenSearch.
            patterns: Patterns of the names of new indexes that get the fields of this one, such as `papers-*`; without
                any, there is no index template.
            connector: URL at which the cluster reaches the service (`ses serve`), such as
                `http://library.example:8765`; if empty, the cluster asks for no vectors.
            query_words: Keep the vectors of words too, which front ends add up to the vector of a query. Once kept,
                they are brought up to date here, and after each run that indexes papers.

        Returns:
            What was done with each artifact.

        Raises:
            InputError: If the index is not in a cluster, the cluster has no such fusion, a pattern reaches too far,
                there is no table of queries for the model of the index, or somebody else has something of the same
                name; then nothing is written.
            UnavailableError: If the cluster does not answer, or the user may not do this, or the service does not
                answer the cluster.
        """
        return self._installation(index, fusion, patterns, connector, query_words=query_words).install()

    def diff(
        self,
        index: str = "",
        *,
        fusion: str = "minmax",
        patterns: str | Sequence[str] = (),
        connector: str = "",
        query_words: bool = False,
    ) -> list[Installed]:
        """Return what `install` would do, without doing it; arguments and errors are the same."""
        return self._installation(index, fusion, patterns, connector, query_words=query_words).difference()

    def installed(self, index: str = "") -> list[str]:
        """Return the names of what is kept for an index in its cluster; the index may be deleted already."""
        return [artifact.name for artifact in self._kept(index).there()]

    def remove(self, index: str = "") -> list[Installed]:
        """Delete all that `install` has ever made for an index, which may be deleted already.

        Args:
            index: Name of the index; the default index if empty.

        Returns:
            What was deleted.

        Raises:
            InputError: If the index is not in a cluster, or others still use one of them.
            UnavailableError: If the cluster does not answer, or the user may not do this.
        """
        return self._kept(index).remove()

    def _installation(
        self, name: str, fusion: str, patterns: str | Sequence[str], connector: str, *, query_words: bool
    ) -> Installation:
        from search_plugin.engines.cluster.frontends.index_artifacts import installation_of
        from search_plugin.engines.cluster.frontends.service_artifacts import service_artifacts
        from search_plugin.engines.cluster.frontends.vector_service import vector_service
        from search_plugin.engines.cluster.index import index_in_cluster

        opened = self.opened(name).index
        index = index_in_cluster(opened)
        if index is None:
            raise _in_no_cluster(opened.name)
        given = (patterns,) if isinstance(patterns, str) else tuple(patterns)
        service = vector_service(connector, self.connector_key) if connector else None
        more = service_artifacts(index, service, fusion=fusion) if service else ()
        if words := words_to_keep(index, self.word_vectors, asked=query_words):
            more = (*more, words)
        return installation_of(index, fusion=fusion, patterns=given, more=more)

    def _kept(self, name: str) -> Installation:
        from search_plugin.engines.cluster.frontends.installation import Installation

        named = check_index_name(name) if name else self.opened("").name
        engine = self.engine()
        if not isinstance(engine, InCluster):
            raise _in_no_cluster(named)
        return Installation(engine.cluster, named)


def _in_no_cluster(name: str) -> InputError:
    return InputError(f"The index {name} is not in a cluster", "name one with <engine>")
