"""What a search asks of an engine, independent of the engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from corpora.errors import InputError
from corpora.lazy import np
from corpora.options import Option
from search_plugin.contract.legs import Sort
from search_plugin.contract.schema import IndexSchema, SparseField, VectorField
from search_plugin.contract.tree import Filter

TITLE_BOOST = 0.3
"""Default weight of the title's own BM25, added to that of title and abstract together (docs/benchmarks.md)."""

TITLE_WEIGHT = Option("Weight of the title's BM25 beside that of the whole text", least=0, most=1_000)
"""What `title_boost` may be."""

TABLE_WEIGHT = 2 / 3
"""How much a query's vector by a table counts beside its words: it only imitates the vector of the papers' model, so
words count .6 of the whole (docs/results.md, Queries by a table)."""

LEXICAL = "lexical"
"""Name of the BM25 leg; the vector legs carry the name of their vector field."""


LISTED = "all that match the filter"
"""The papers that facets count in a listing."""


class TermVariant(NamedTuple):
    """Another spelling of a part of a query: words that have to stand side by side, and the weight of their score."""

    text: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class TermGroup:
    """A part of a query as it was typed, of which any word counts, and its other spellings."""

    typed: str
    others: tuple[TermVariant, ...]


@dataclass(frozen=True, slots=True)
class VectorClause:
    """Find the papers whose vector in `field` is nearest to `vector`.

    The vector is float32 (dimension,), or for a field of sparse vectors (entries, 2), tokens and weights. `weight` is
    how much it counts beside the words, where a request says nothing.
    """

    field: str
    vector: np.ndarray
    weight: float = 1.0


def check_vector(clause: VectorClause, schema: IndexSchema) -> VectorField:
    """Return the clause's vector field, or raise `InputError` if its vector can't be one of the field's."""
    field = schema.leg(clause.field)
    if clause.vector.shape != (field.dimension,):
        foreign = schema.beside(clause.field)
        raise InputError(
            f"The query's vector has {clause.vector.size} numbers and the index holds vectors of {field.dimension}",
            f"search with the model that made it, {foreign.model if foreign else schema.model}",
        )
    return field


def check_sparse(clause: VectorClause, schema: IndexSchema) -> SparseField:
    """Return the field of a sparse vector, or raise `InputError` if the vector can't be one of the field's."""
    field = schema.leg(clause.field)
    if not isinstance(field, SparseField):
        raise TypeError(f"{clause.field} is no field of sparse vectors")
    vector = clause.vector
    if vector.ndim != 2 or vector.shape[1] != field.width or (len(vector) and vector[-1, 0] >= field.dimension):
        raise InputError(
            f"The query's sparse vector is not of the {field.dimension:,} tokens that the index knows",
            f"search with the model that made it, {field.model}",
        )
    return field


@dataclass(frozen=True, slots=True)
class Plan:
    """One search, leg by leg.

    Attributes:
        words: The query of the BM25 leg as plain text, never as query syntax; empty for no such leg.
        vectors: One clause for each vector leg.
        filter: A filter that holds in every leg.
        window: Maximum papers per leg.
        exact: Whether vector legs compare with every vector instead of using an approximate index.
        title_boost: Weight of the title's own BM25, added to that of title and abstract together.
        column: Single-valued field that each leg returns beside id and score; empty for none.
        order: Order of a listing, a search without words: it has no legs, and lists the papers that match the filter.
        plain: The words that have one spelling; None if all have.
        groups: The other words, each with its spellings, of which the one that matches best counts.
        added: Words that the query does not have, each with the weight of its score: they only rank and find papers.
    """

    words: str
    vectors: tuple[VectorClause, ...]
    filter: Filter | None
    window: int
    exact: bool = False
    title_boost: float = TITLE_BOOST
    column: str = ""
    order: Sort | None = None
    plain: str | None = None
    groups: tuple[TermGroup, ...] = ()
    added: tuple[TermVariant, ...] = ()

    @property
    def legs(self) -> tuple[str, ...]:
        """The names of the legs, lexical first."""
        return (*([LEXICAL] if self.words else []), *(clause.field for clause in self.vectors))


@dataclass(frozen=True, slots=True)
class Counting:
    """Facets to count, over all papers that match a plan's words and those that its legs found.

    In a listing, all papers that match the plan's filter are counted.

    Attributes:
        plan: The plan, for its words and its filter.
        found: Ids of the papers that the legs found.
        fields: The fields to count by.
        size: Number of values of each field.
        include: Values of the fields, which are of keywords, that are counted; all if there are none.
    """

    plan: Plan
    found: Sequence[str]
    fields: Sequence[str]
    size: int
    include: tuple[str, ...] = ()


def counted_papers(plan: Plan) -> str:
    """Return which papers the facets of a page count."""
    nearest = f"the {plan.window} nearest papers"
    if plan.order:
        return LISTED
    if plan.words:
        return "papers that hold a word of the query" + (f", and {nearest}" if plan.vectors else "")
    return nearest
