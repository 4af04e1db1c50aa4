"""From a request to the plan that an engine runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from corpora.errors import InputError
from encoders.models.formats import Format
from search_plugin.contract.engine import Index
from search_plugin.contract.ordering import NEWEST_FIRST
from search_plugin.contract.plan import Plan, VectorClause
from search_plugin.request import SearchRequest
from search_plugin.understanding.expansion.acronyms import long_forms
from search_plugin.understanding.expansion.expand import expand

if TYPE_CHECKING:
    import numpy as np

    from encoders.text_encoder import TextEncoder

SEARCHED = Format.PRX.value
"""Queries search the document vectors."""


def make_plan(index: Index, request: SearchRequest, encoder: TextEncoder | None) -> Plan:
    """Return the plan of a request that `plan_of` takes, with the vector of its words; errors as of `search.search`."""
    vectors: tuple[VectorClause, ...] = ()
    if request.mode != "lexical" and request.searched:
        vectors = (VectorClause(SEARCHED, _query_vector(index, encoder, request.searched)),)
    return plan_of(index, request, vectors)


def plan_of(index: Index, request: SearchRequest, vectors: tuple[VectorClause, ...] = ()) -> Plan:
    """Return the plan of a request whose filter compares exactly, as `filters.resolve` makes it."""
    words = request.searched if request.mode != "vector" else ""
    column = index.schema.single(request.collapse).name if request.collapse else ""
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
    plain, notions = expand(words, index.schema.language, synonyms=synonyms)
    return replace(plan, plain=plain, notions=notions)


def _query_vector(index: Index, encoder: TextEncoder | None, query: str) -> np.ndarray:
    index.schema.vector(SEARCHED)
    if encoder is None:
        raise InputError(
            "A hybrid or vector search needs the model that made the index; give one, or search lexically."
        )
    check_model(index, encoder.card.name, encoder.card.fingerprint)
    vector: np.ndarray = encoder.encode([query], Format.QRY)[0]
    return vector


def text_vector(index: Index, title: str, abstract: str, encoder: TextEncoder) -> np.ndarray:
    """Return the vector of a paper that is not in the index, float32 (dimension,); errors as of `check_model`."""
    check_model(index, encoder.card.name, encoder.card.fingerprint)
    row: np.ndarray = encoder.encode([encoder.card.text(title, abstract)], Format(SEARCHED))[0]
    return row


def check_model(index: Index, name: str, fingerprint: str) -> None:
    """Raise `InputError`, naming both, where a model is not the one that made the index."""
    schema = index.schema
    if schema.fingerprint != fingerprint:
        raise InputError(
            f"The index {index.name} was made by the model {schema.model} ({schema.fingerprint}), not by {name} "
            f"({fingerprint})",
            f"give <model={schema.model}>, or index again with <fresh> and <model={name}>",
        )
