"""Which tokens of sparse vectors gave a paper its score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from search_plugin.contract.schema import SPARSE
from search_plugin.ranking.planning import encoder_of

if TYPE_CHECKING:
    from encoders.sparse import SparseEncoder
    from search_plugin.contract.engine import Index
    from search_plugin.contract.plan import Plan
    from search_plugin.ranking.planning import EncoderSource


class TokenPart(NamedTuple):
    """What a token of both query and paper adds to the score of the sparse leg.

    Attributes:
        token: The token, as the model's vocabulary writes it.
        query: Its weight in the query.
        paper: Its weight in the paper.
    """

    token: str
    query: float
    paper: float

    @property
    def value(self) -> float:
        """The product of the two weights, of which the score is the sum."""
        return self.query * self.paper


def token_parts(
    index: Index, plan: Plan, ids: Sequence[str], encoder: EncoderSource, most: int = 10
) -> Mapping[str, tuple[TokenPart, ...]]:
    """Return by id of a paper the `most` tokens that gave most to its sparse score, the largest part first.

    There are none if the search has no sparse leg. The encoder is that of `search`.
    """
    clause = next((clause for clause in plan.vectors if clause.field == SPARSE), None)
    if clause is None or not ids:
        return {}
    weights = {int(token): float(weight) for token, weight in clause.vector.tolist()}
    held = {
        id_: [one for one in rows.tolist() if int(one[0]) in weights]
        for id_, rows in index.vectors(ids, SPARSE).items()
    }
    known = sorted({int(token) for rows in held.values() for token, _ in rows})
    names = dict(zip(known, cast("SparseEncoder", encoder_of(index, SPARSE, encoder)).tokens(known), strict=True))
    parts = {
        id_: [TokenPart(names[int(token)], weights[int(token)], weight) for token, weight in rows]
        for id_, rows in held.items()
    }
    return {id_: tuple(sorted(rows, key=lambda one: -one.value)[:most]) for id_, rows in parts.items()}
