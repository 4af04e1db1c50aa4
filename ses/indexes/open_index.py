"""An open index: searching it and reading its papers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Unpack, cast

from corpora.errors import SesError, require
from corpora.options import Option
from corpora.outgoing import titled
from search_plugin.contract.schema import SENTENCES
from search_plugin.contract.tree import all_of
from search_plugin.filters.resolve import read_filter
from search_plugin.ranking.planning import text_vector
from search_plugin.request import (
    MAX_FACET_SIZE,
    MAX_QUERY,
    MAX_WINDOW,
    Mode,
    PageOptions,
    RankingOptions,
    make_request,
    typed_query,
)
from search_plugin.search import prepare_similar
from ses.argument_validation import checked_methods
from ses.indexes.searchable import SearchableIndex

if TYPE_CHECKING:
    from corpora.paper import Paper
    from encoders.text_encoder import TextEncoder
    from products.citations import IndexedReference
    from products.maps.maps import PaperMap
    from products.suggestions import Suggestion
    from products.support.support import Support
    from products.topics.topics import Projection
    from search_plugin.contract.engine import Index
    from search_plugin.contract.legs import Facets
    from search_plugin.contract.trace import Clock
    from search_plugin.fusion.search_settings import SearchSettings
    from search_plugin.pages.hit import Hit
    from search_plugin.pages.page import Page
    from search_plugin.ranking.planning import QueryModels
    from search_plugin.ranking.state import SearchState
    from search_plugin.ranking.tokens import TokenPart
    from search_plugin.request import SearchRequest
    from search_plugin.understanding.completion import Completions
    from search_plugin.understanding.expansion import Synonyms
    from search_plugin.understanding.queries import TranslatedQuery
    from ses.evaluation.result import Evaluation


_LONGEST_QUERY = 1_000
MOST_SUPPORTING = 30
"""Papers, and sentences of each, that are compared with a sentence at once."""


def title_and_abstract(text: str) -> tuple[str, str]:
    """Return the first line of a manuscript, and the rest as one line; `InputError` if it is empty."""
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    require(lines, "The text is empty: give a title, and an abstract in the lines after it.")
    return lines[0], " ".join(lines[1:])


@checked_methods
@dataclass(frozen=True, repr=False, eq=False)
class OpenIndex(SearchableIndex):
    """The published version of an index; made by `library[name]`.

    It can be pickled: another process opens the version that is published then, when it is first used.

    Attributes:
        open: Function that opens the engine's own index.
        models: The models that its searches use.
        tuned: Fitted settings, used where a search gives none.
        writing: Function that provides the index for writing, under its lock.
        synonyms: File of synonyms from the settings.

    Example:
        >>> index = library["mine"]
        >>> [hit.paper.id for hit in index.search("virus", mode="lexical", filter="year>=2020")]
        ['c', 'a']
        >>> index["a"].title
        'Masks and the spread of a virus'
    """

    open: Callable[[], Index]
    models: QueryModels
    tuned: SearchSettings | None
    writing: Callable[[], AbstractContextManager[Index]]
    synonyms: Synonyms = field(default_factory=dict)

    @functools.cached_property
    def index(self) -> Index:
        """The engine's own index."""
        return self.open()

    @property
    def name(self) -> str:
        """Name of the index."""
        return self.index.name

    def search(self, query: str = "", **options: Unpack[PageOptions]) -> Page:
        """Search by words and by meaning at once.

        Args:
            query: Words, phrases, fields and operators, as docs/guide/queries.md describes; without words, the papers
                that match the filter are listed, newest first.
            **options: See `search_plugin.request.PageOptions`.

        Returns:
            One page of hits.

        Raises:
            InputError: If an option can't be used so, or the model is not the index's.
            UnavailableError: If the engine does not answer, or the model is missing.
        """
        from search_plugin.search import search

        request = request_of(self, query, options)
        return search(self.index, request, encoders_for(self, request), self.models.scorer)

    def translate(self, query: str) -> TranslatedQuery:
        """Say what a query means, also one that was pasted from PubMed, Ovid, Scopus or the like; nothing is searched.

        Args:
            query: As of `search`.

        Returns:
            The condition that every hit meets, the words that rank, and what could not be read as it may be meant.

        Raises:
            InputError: If the query is too long, or joins lines of a search history.
        """
        from search_plugin.understanding.queries import translate_query

        return translate_query(typed_query(query), self.index.schema.fields, self.index.schema.language)

    def tokens(
        self, query: str, papers: Sequence[str | Paper | Hit], *, most: int = 10, **options: Unpack[PageOptions]
    ) -> Mapping[str, tuple[TokenPart, ...]]:
        """Say which tokens of sparse vectors gave how much to the scores of papers for a query.

        Args:
            query: As of `search`.
            papers: Papers, hits or ids.
            most: Maximum tokens of a paper.
            **options: Those of the search.

        Returns:
            The parts by id, the largest first; nothing for an index without sparse vectors, or a search by words.

        Raises:
            InputError: If an option can't be used so, or the model is not the index's.
            UnavailableError: If the engine does not answer, or the model is missing.
        """
        from search_plugin.contract.trace import Clock
        from search_plugin.ranking.tokens import token_parts
        from search_plugin.search import prepare_search

        request = replace(request_of(self, query, options), rerank="", collapse="")  # neither changes the scores
        state = prepare_search(self.index, request, encoders_for(self, request), Clock())
        ids = [one if isinstance(one, str) else one.id for one in papers]
        return token_parts(self.index, state.plan, ids, self._encoder, most)

    def iterate(self, query: str = "", **options: Unpack[PageOptions]) -> Iterator[Hit]:
        """Yield all hits of a search, any number of them, also while the index is updated.

        No paper comes twice, and none that stays in the index is left out. The ranked ones come first; after them, by
        id, come the other papers that hold a word of the query.

        Args:
            query: As of `search`.
            **options: Options of `search` except `offset`; `size` is the number of papers read at a time, 100 if not
                given, and `window` the number of ranked ones by leg, 10,000 if not given.

        Yields:
            The hits, the best first.

        Raises:
            InputError: If an option can't be used so, or the model is not the index's.
            UnavailableError: If the engine does not answer, or the model is missing.
        """
        from search_plugin import reading
        from search_plugin.contract.trace import Clock

        clock = Clock()
        state = reading_of(self, query, {"size": 100, **options}, clock)
        for page in reading.pages(state, clock):
            yield from page

    def similar(self, paper: str | Paper | Hit, **options: Unpack[PageOptions]) -> Page:
        """Find papers like one in the index, by its vector; no model is needed.

        Args:
            paper: The paper, a hit, or its id or another identifier; it is not among the hits.
            **options: Options of `search`; the mode is `vector` if none is given.

        Returns:
            One page of hits.

        Raises:
            NotFoundError: If the paper is not in the index, or is another one there.
        """
        from search_plugin.search import similar

        paper_id = self._id_of(paper)
        return similar(self.index, paper_id, request_like(self, paper_id, options), self.models.scorer)

    def similar_text(self, text: str, **options: Unpack[PageOptions]) -> Page:
        """Find papers like a manuscript.

        Args:
            text: Title, and abstract in the lines after it.
            **options: Options of `search`; the mode is `vector` if none is given.

        Returns:
            One page of hits.

        Raises:
            InputError: If the text is empty.
            UnavailableError: If the model is missing.
        """
        from search_plugin.search import similar_text

        title, abstract = title_and_abstract(text)
        request = request_like(self, title[:_LONGEST_QUERY], options)
        return similar_text(self.index, title, abstract, request, self._encoder, self.models.scorer)

    def complete(
        self, text: str, *, size: Annotated[int, Option("Suggestions of each kind", least=1, most=100)] = 5
    ) -> Completions:
        """Suggest titles, authors, subjects and venues for what somebody has typed so far.

        A value or title is suggested if every word that was typed begins one of its words, in any order, without case
        and accents. The most frequent values come first. Of titles, the newest 50 are compared, and those that begin
        with the whole text come first; one letter alone suggests none.

        Args:
            text: What was typed. Nothing is suggested without a letter or digit, or for more than 200 characters.
            size: Suggestions of each kind, at most.

        Returns:
            The suggestions, by kind.

        Raises:
            InputError: If the size is out of bounds.
            UnavailableError: If the engine does not answer.
        """
        from search_plugin.understanding.completion import complete

        return complete(self.index, text, size)

    def facet(
        self,
        field: str,
        query: Annotated[
            str,
            Option("The query of the search; without words, all papers of the filter are counted", longest=MAX_QUERY),
        ] = "",
        *,
        value: Annotated[str, Option("A text that values contain: each of its words begins a word of the value")] = "",
        size: Annotated[int, Option("Values", least=1, most=MAX_FACET_SIZE)] = 20,
        filter: Annotated[str | Sequence[str], Option("Condition for every paper")] = (),  # noqa: A002 - its name
        narrow: Annotated[str | Sequence[str], Option("Condition that leaves some of the papers found")] = (),
        mode: Annotated[Mode, Option("Search by words, by meaning, or by both")] = "hybrid",
        window: Annotated[int, Option("Candidates of each leg of the search", least=1, most=MAX_WINDOW)] = 100,
    ) -> Facets:
        """Count the values of one field, as the facets of a search do, or only those that contain a text.

        Args:
            field: The field or its alias.
            query: The query of the search; without words, all papers that match the filter are counted.
            value: A text that the values contain: each of its words begins a word of the value.
            size: Values, at most.
            filter: Filters of the search.
            narrow: What narrows the papers that it found.
            mode: Mode of the search.
            window: Papers that each leg of the search finds.

        Returns:
            The most frequent values with their counts: in `counts`, under the field as it was named.

        Raises:
            InputError: If the values of the field can't be counted, or an option can't be used so.
            UnavailableError: If the engine does not answer, or the model is missing.
        """
        from search_plugin.search import search

        counted: PageOptions = {"facets": [field], "facet_size": size, "size": 0}
        searched: PageOptions = {"filter": filter, "narrow": narrow, "mode": mode, "window": window}
        request = replace(request_of(self, query, {**counted, **searched}), facet_typed=value)
        page = search(self.index, request, encoders_for(self, request))
        return cast("Facets", page.facets)

    def map(
        self,
        query: str = "",
        *,
        topics: int | None = None,
        projection: Projection = "tsne",
        **options: Unpack[PageOptions],
    ) -> PaperMap:
        """Place the best papers of a search by meaning, with topics; the same search has the same map.

        Args:
            query: As `search` takes it; without words, the papers that match the filter, newest first.
            topics: Number of topics from 1 to 50; if None, up to 8, by the number of papers.
            projection: `tsne` shows near papers near; `pca` is the two principal components, which is faster.
            **options: Options of `search`; `size` is the number of papers, up to 500, and 300 if it is not given.

        Returns:
            The papers with their places and topics.

        Raises:
            InputError: If an option can't be used so, or the model is not the index's.
            UnavailableError: If the engine does not answer, or the model is missing.
        """
        from products.maps.search import MapSettings, map_of

        size = options.pop("size", None)
        settings = MapSettings(topics=topics, projection=projection)
        settings = settings if size is None else replace(settings, size=size)
        return map_of(self.index, self.search, query, options, settings)

    def support(
        self,
        sentence: Annotated[str, Option("The sentence", longest=1_000, example="masks slow the spread of a virus")],
        *,
        size: Annotated[int, Option("Papers", least=1, most=MOST_SUPPORTING)] = 10,
        sentences: Annotated[int, Option("Sentences shown of each paper", least=1, most=MOST_SUPPORTING)] = 3,
        filter: Annotated[  # noqa: A002 - the option's name
            str | Sequence[str], Option("Only papers that match this filter", "EXPRESSION", example=["year>=2020"])
        ] = (),
        mode: Annotated[Mode, Option("Mode of the search")] = "hybrid",
    ) -> Support:
        """Find the papers that have a sentence near in meaning to a sentence, such as a claim that needs a citation.

        A search finds the papers, and their sentences are compared. A near sentence may also contradict the one asked
        for.

        Args:
            sentence: The sentence, of 1,000 characters at most; it is read as plain words, without operators.
            size: Papers, 30 at most.
            sentences: Sentences shown of each paper, 30 at most.
            filter: Filters of the search.
            mode: Mode of the search.

        Returns:
            The papers in the order of the search, each with its nearest sentences.

        Raises:
            InputError: If the sentence is empty or too long, an option is out of bounds, or the model is not the
                index's.
            UnavailableError: If the engine does not answer, or the model is missing.
        """
        from products.support.support import support_of

        asked = " ".join(sentence.split())
        require(asked, "The sentence is empty: give the one that papers should support.")
        page = self.search(asked, literal=True, size=size, filter=filter, mode=mode)
        stored = self.index.schema.passages == SENTENCES
        held = self.index.vectors([hit.id for hit in page], SENTENCES) if stored else None
        return support_of(asked, page, self._encoder(), sentences, held)

    def suggest(
        self,
        what: Literal["venues", "references", "reviewers", "labels"],
        *,
        text: str = "",
        paper_id: str | Paper | Hit = "",
        field: str = "",
        size: int = 10,
    ) -> list[Suggestion]:
        """Suggest venues, references, reviewers or labels for a manuscript, from the 100 papers most like it.

        Args:
            what: Kind of suggestions; `labels` are values of a field, such as subject headings.
            text: The manuscript: its title, and its abstract in the lines after that.
            paper_id: Id of a paper in the index instead, as `similar` takes it.
            field: Field of the labels; they are those of the 100 papers most like it that have any.
            size: Number of suggestions.

        Returns:
            The best first, each with the papers that speak for it.

        Raises:
            InputError: If neither or both of text and paper are given, or the field does not hold labels.
            NotFoundError: If the paper is not in the index.
        """
        from products import suggestions as near

        require(bool(text) != bool(paper_id), "Give the manuscript as a text, or name a paper in the index.")
        require(size >= 1, f"{size} suggestions can't be made", "give <size> of 1 or more")
        labelled = what == "labels"
        require(
            bool(field) == labelled, "To suggest labels, and only then, name the field of the index that holds them."
        )
        where = [self._labels_field(field)] if field else []
        authors: tuple[str, ...] = ()
        leg = self.index.schema.legs[0]
        if text:
            vector = text_vector(self.index, *title_and_abstract(text), self._encoder())
            page = self.similar_text(text, size=near.NEAREST, window=near.NEAREST, filter=where)
        else:
            paper = self.show(self._id_of(paper_id))
            authors = paper.authors
            held = self.index.vectors([paper.id], leg)
            require(paper.id in held, f"The paper {paper.id[:100]} has no vector", "give its text instead")
            vector = held[paper.id]
            page = self.similar(paper.id, size=near.NEAREST, window=near.NEAREST, filter=where)
        found = near.read_neighbours(self.index, [hit.id for hit in page], vector, leg)
        if what == "venues":
            return near.suggest_venues(found)[:size]
        if what == "reviewers":
            return near.suggest_reviewers(found, authors)[:size]
        if labelled:
            values = self.index.values([one.paper.id for one in found], [field])
            labels = {id_: own[field] for id_, own in values.items() if field in own}
            listed = {id_: one if isinstance(one, tuple) else (str(one),) for id_, one in labels.items()}
            return near.suggest_labels(found, listed)[:size]
        return near.suggest_references(found, self._titles)[:size]

    def _labels_field(self, name: str) -> str:
        """Return the filter of papers with labels in a field, or raise `InputError` if it holds none."""
        kind = self.index.schema.field(name).kind
        known = kind in ("keyword", "keywords")
        require(known, f"The field {name} is of the kind {kind}; labels are in keyword and keywords.")
        return f"{name} exists"

    def evaluate(
        self,
        data: str | Path = "",
        *,
        topics: Any = None,
        qrels: Any = None,
        split: str = "test",
        modes: Sequence[Mode] = (),
        fusions: Sequence[str] = (),
        measures: Any = (),
        depth: int | None = None,
        drop_same_id: bool = False,
        **options: Unpack[RankingOptions],
    ) -> Evaluation:
        """Search judged queries in every mode as `search` does, measure the runs and compare them.

        Args:
            data: A folder in BEIR's form, or `irds:ID` of ir_datasets, whose papers are in the index.
            topics: Instead of `data`, queries as `ses.experiment` takes them.
            qrels: Their judgments, as `ses.measure` takes them.
            split: Name of a folder's judgments.
            modes: Modes to compare: `lexical`, `vector`, `hybrid`; all if none is named.
            fusions: Fusions of the hybrid mode to compare; the default one if none is named.
            measures: Measures of ir_measures; nDCG@10, MAP, Recall@100 and MRR@10 if none is named.
            depth: Hits of each query; if None, 100, or as many as a measure needs.
            drop_same_id: Whether to leave out hits whose id is the query's, where queries are papers themselves.
            **options: See `search_plugin.request.RankingOptions`.

        Returns:
            The measures of all modes with intervals, and tests of their differences.

        Raises:
            InputError: If a measure, fusion or option is unknown, or the queries can't be read or have no judgments.
            UnavailableError: If the engine does not answer, or the model or a library is missing.
        """
        from ses.evaluation.inputs import names_of
        from ses.evaluation.retrieval import evaluate_index, judged_of, protocol_of

        names = names_of(measures) if measures else ()
        named = {"modes": modes, "fusions": fusions, "measures": names, "depth": depth, "drop_same_id": drop_same_id}
        protocol = protocol_of(self.index, self.tuned, self.synonyms, options, **named)
        judged, files = judged_of(data, split, topics, qrels)
        return evaluate_index(self.index, self.models, judged, protocol, files)

    def _encoder(self, leg: str = "") -> TextEncoder:
        return self.models.of_leg(self.index, leg)

    def _titles(self, ids: Sequence[str]) -> dict[str, str]:
        return {name: paper.title for name, paper in self.index.papers(ids).items()}

    def find(self, name: str) -> list[Paper]:
        """Return the papers that an identifier names: an id, DOI, PMID, PMCID, arXiv id, in any form people type.

        Args:
            name: The identifier.

        Returns:
            One paper; several if they share the identifier.

        Raises:
            NotFoundError: If there is none.
        """
        from search_plugin.understanding.meaning import find

        return find(self.index, name)

    def references(self, paper: str | Paper | Hit) -> list[IndexedReference]:
        """Return the references of a paper in their order, with those papers that the index holds.

        Args:
            paper: The paper, a hit, or its id or another identifier.

        Returns:
            Each reference once: its identifier, and the paper or None.

        Raises:
            NotFoundError: If the paper is not in the index, or is another one there.
        """
        from products.citations import cited_papers

        return cited_papers(self.index, self.show(self._id_of(paper)))

    def cited_by(self, paper: str | Paper | Hit, **options: Unpack[PageOptions]) -> Page:
        """List the papers of the index that cite a paper, newest first.

        Args:
            paper: The paper, a hit, or its id or another identifier.
            **options: Options of `search`.

        Returns:
            One page of hits; its `candidates` are all papers that cite it.

        Raises:
            NotFoundError: If the paper is not in the index, or is another one there.
        """
        from products.citations import citing

        given = options.get("filter", ())
        where = read_filter(given, self.index) if isinstance(given, str | Sequence) else given
        asked: PageOptions = {**options}
        if cites := all_of(citing(self.show(self._id_of(paper))), where):
            asked["filter"] = cites
        return self.search("", **asked)

    def delete(self, ids: Iterable[str]) -> list[str]:
        """Delete papers; indexing a corpus that holds them brings them back.

        Args:
            ids: Ids of the papers.

        Returns:
            The ids that the index does not hold.

        Raises:
            ConflictError: If another run is writing the index.
        """
        wanted = list(dict.fromkeys([ids] if isinstance(ids, str) else ids))
        with self.writing() as index:
            there = index.hashes(wanted)
            index.delete([id_ for id_ in wanted if id_ in there])
            index.finish()
        return [id_ for id_ in wanted if id_ not in there]

    def _held(self, paper_id: str) -> Paper | None:
        return self.index.papers([paper_id]).get(paper_id)

    def __iter__(self) -> Iterator[Paper]:
        from products.indexed import in_blocks

        for ids in in_blocks(self.index.ids()):
            yield from self.index.papers(ids).values()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "index"}

    def __len__(self) -> int:
        return self.index.count()

    def __repr__(self) -> str:
        try:
            index = self.index
            return f"<index {self.name}, version {index.generation}: {len(self):,} papers, {index.schema.model}>"
        except SesError as error:  # a debugger shows it too
            return f"<index: {error}>"

    def _repr_html_(self) -> str:
        index, schema = self.index, self.index.schema
        facts = {
            "papers": f"{index.count():,}",
            "version": index.generation,
            "model": schema.model,
            "vectors": tuple(field.format for field in (*schema.written, *schema.foreign)),
            "language": schema.language,
            "own fields": tuple(f"{field.name} ({field.kind})" for field in schema.added),
        }
        return titled(index.name, facts)


def reading_like(opened: OpenIndex, paper_id: str, options: PageOptions, clock: Clock) -> SearchState:
    """Return what a reading of all papers like one asks: the search before its first stage, measured by a clock."""
    from search_plugin import reading

    request = request_like(opened, paper_id, reading.of_all(options))
    return prepare_similar(opened.index, paper_id, request, clock, opened.models.scorer)


def reading_of(
    opened: OpenIndex, query: str, options: PageOptions, clock: Clock, *, ranked: bool = False
) -> SearchState:
    """Return what a reading of all results of a search asks: the search before its first stage.

    `search_plugin.reading` reads it. The options are those of `OpenIndex.iterate`. The clock measures the steps;
    `ranked` says that the papers are ranked already.
    """
    from search_plugin import reading
    from search_plugin.search import prepare_search

    request = replace(request_of(opened, query, reading.of_all(options)), near=reading.near_of(options))
    encoders = encoders_for(opened, request)
    return prepare_search(opened.index, request, encoders, clock, opened.models.scorer, ranked=ranked)


def request_of(opened: OpenIndex, query: str, options: PageOptions) -> SearchRequest:
    """Return a search of an index as a request, with the tuned settings and the synonyms of the index."""
    schema = opened.index.schema
    given: PageOptions = {"synonyms": opened.synonyms, **options}
    return make_request(query, tuned=opened.tuned, fields=schema.fields, language=schema.language, **given)


def request_like(opened: OpenIndex, text: str, options: PageOptions) -> SearchRequest:
    """Return a search for papers like one as a request; the text, such as its id, is not read as a query."""
    given: PageOptions = {"mode": "vector", **options, "literal": True}
    return make_request(text, tuned=opened.tuned, fields=opened.index.schema.fields, **given)


def encoders_for(opened: OpenIndex, request: SearchRequest) -> Callable[[str], TextEncoder]:
    """Return a function that loads what encodes a request for a vector leg."""
    return lambda leg: opened.models.of_leg(opened.index, leg, request.query_encoder)
