"""From a request to the plan that an engine runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, TypeAlias

from corpora.errors import InputError
from corpora.lazy import np
from encoders.models.formats import Format
from search_plugin.contract.engine import Index, check_model
from search_plugin.contract.legs import NEWEST_FIRST
from search_plugin.contract.plan import TABLE_WEIGHT, Plan, VectorClause
from search_plugin.contract.schema import MOST_TOKENS, SEARCHED, SENTENCES, SPARSE, SparseField
from search_plugin.request import SAME_WORK, SearchRequest
from search_plugin.understanding.expansion import expand, long_forms

if TYPE_CHECKING:
    from encoders.models.formats import QueryEncoder
    from encoders.rerankers.scorer import PairScorer
    from encoders.text_encoder import TextEncoder

EncoderSource: TypeAlias = "TextEncoder | Callable[[str], TextEncoder]"
"""An encoder of the index's model, or a function that loads that of a leg: a query without vectors loads no model."""


class QueryModels(Protocol):
    """The models of searches, each loaded when it is first needed."""

    def of_leg(self, index: Index, leg: str = "", by: QueryEncoder | None = None) -> TextEncoder:
        """Return the encoder of the queries of a vector leg of an index, of its first one without a name.

        `by` is what encodes queries; if None, what the settings say.
        """

    def scorer(self, name: str) -> PairScorer:
        """Return a reranker by its name."""


def make_plan(index: Index, request: SearchRequest, encoder: EncoderSource | None) -> Plan:
    """Return the plan of a request that `plan_of` takes, with the vectors of its words; errors as of `search.search`.

    Every vector leg of the index gets a vector of its own model, and sentences are searched by that of whole papers.
    """
    vectors: tuple[VectorClause, ...] = ()
    if request.mode != "lexical" and request.searched:
        legs = legs_of(request, index.schema.legs)
        made = {leg: _clause(index, leg, encoder, request.searched) for leg in legs if leg != SENTENCES}
        vectors = tuple(replace(made[SEARCHED if leg == SENTENCES else leg], field=leg) for leg in legs)
    return plan_of(index, request, vectors)


def legs_of(request: SearchRequest, legs: Sequence[str]) -> list[str]:
    """Return those of some vector legs that a request asks for: all but sparse vectors of no weight."""
    return [leg for leg in legs if leg != SPARSE or request.weights.get(SPARSE) != 0]


def plan_of(index: Index, request: SearchRequest, vectors: tuple[VectorClause, ...] = ()) -> Plan:
    """Return the plan of a request whose filter compares exactly, as `filters.resolve` makes it."""
    words = request.searched if request.mode != "vector" else ""
    column = index.schema.single(request.collapse).name if request.collapse not in ("", SAME_WORK) else ""
    order = None if request.searched else request.sort or NEWEST_FIRST
    plan = Plan(
        words,
        vectors,
        request.filter,
        request.window,
        exact=request.exact,
        title_boost=request.title_boost,
        column=column,
        order=order,
    )
    if request.verbatim:
        return plan
    synonyms = {**long_forms(index, words), **request.synonyms}
    plain, groups = expand(words, index.schema.language, synonyms=synonyms)
    return replace(plan, plain=plain, groups=groups)


def encoder_of(index: Index, leg: str, encoder: EncoderSource | None) -> TextEncoder:
    """Return the encoder of a vector leg; errors as of `check_model`, and `InputError` if there is none."""
    if not index.schema.beside(leg):
        index.schema.leg(leg)
    if encoder is None:
        raise InputError(
            "A hybrid or vector search needs the model that made the index; give one, or search lexically."
        )
    loaded = encoder(leg) if callable(encoder) else encoder
    check_model(index, loaded.card.name, loaded.card.fingerprint, leg, papers_by=loaded.card.papers_by)
    return loaded


def _clause(index: Index, leg: str, encoder: EncoderSource | None, query: str) -> VectorClause:
    loaded = encoder_of(index, leg, encoder)
    vector: np.ndarray = loaded.encode([query], Format.QRY)[0]
    # Only tables for the queries of another model have its papers.
    by_table = loaded.card.papers_by and loaded.card.architecture == "static"
    return VectorClause(leg, _as_compared(index, leg, vector), TABLE_WEIGHT if by_table else 1.0)


def text_vector(index: Index, title: str, abstract: str, encoder: EncoderSource, leg: str = "") -> np.ndarray:
    """Return the vector of a paper that is not in the index, float32 (dimension,); errors as of `check_model`.

    It is that of a leg, or of the first one.
    """
    leg = leg or index.schema.legs[0]
    loaded = encoder_of(index, leg, encoder)
    row: np.ndarray = loaded.encode([loaded.card.text(title, abstract)], Format(SEARCHED))[0]
    return _as_compared(index, leg, row)


def _as_compared(index: Index, leg: str, vector: np.ndarray) -> np.ndarray:
    """Return a vector of length one where others' vectors are compared by cosine: some fields take no other.

    A sparse vector keeps only as many tokens as an engine takes.
    """
    field = index.schema.beside(leg)
    if isinstance(field, SparseField):
        from encoders.sparse import pruned

        return pruned(vector, MOST_TOKENS)
    if field is None or field.similarity != "cosine":
        return vector
    return np.asarray(vector / (np.linalg.norm(vector) or 1.0), np.float32)
