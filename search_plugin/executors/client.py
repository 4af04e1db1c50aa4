"""The default: legs in one request, joined here. It works on every engine, version and licence, and can explain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search_plugin.executors.registry import Ranking
from search_plugin.fusion.registry import fusion_of

if TYPE_CHECKING:
    from search_plugin.engines.base import Index
    from search_plugin.plan import Plan
    from search_plugin.request import SearchRequest


def execute(index: Index, plan: Plan, request: SearchRequest) -> Ranking:
    """Run the legs, and join them by the request's fusion."""
    legs = index.search(plan)
    fused = fusion_of(request.fusion)(legs, request.weights)
    return Ranking(fused, {leg: len(found) for leg, found in legs.items()}, "client")
