"""The state of a cluster: health, licence, disks, memory, and indexes of ses. It only reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from search_plugin.contract.diagnosis import Diagnosis, Finding, collected
from search_plugin.engines.cluster.diagnosis.checks import CHECKS, HYBRID, Examined
from search_plugin.engines.cluster.diagnosis.indexes import check_attached, check_index
from search_plugin.engines.cluster.diagnosis.nodes import FILTER, read_nodes
from search_plugin.engines.cluster.diagnosis.questions import Questions, dig

if TYPE_CHECKING:
    from search_plugin.contract.legs import Join
    from search_plugin.engines.cluster.attached.attachment import Attachment
    from search_plugin.engines.cluster.dialect import Dialect
    from search_plugin.engines.cluster.generation import Generation
    from search_plugin.engines.cluster.transport import Cluster

_NOTHING: Mapping[str, Any] = {"standard": {"query": {"match_none": {}}}}
_WEIGHTED = {"retriever": _NOTHING, "weight": 1.0, "normalizer": "minmax"}
_RETRIEVERS: Sequence[Mapping[str, Any]] = (
    {"linear": {"retrievers": [_WEIGHTED, _WEIGHTED]}},
    {"rrf": {"retrievers": [_NOTHING, _NOTHING]}},
)
"""Elasticsearch can join legs with either. The licence's name is not enough: features differ by build."""


def diagnose(
    cluster: Cluster, dialect: Dialect, generations: Sequence[Generation], attachments: Sequence[Attachment] = ()
) -> Diagnosis:
    """Return the state of a cluster and of the given indexes; raise `UnavailableError` if it stops answering."""
    questions = Questions(cluster)
    names = sorted({generation.name for generation in generations})
    own = [check_index(questions, dialect, name, [g for g in generations if g.name == name]) for name in names]
    indexes = (*own, *(check_attached(questions, dialect, attachment) for attachment in attachments))
    faiss = frozenset(generation.name for generation in generations if _uses_faiss(generation))
    nodes = read_nodes(dig(questions.ask("/_nodes/stats/os,jvm,fs", filter_path=FILTER)))
    told = dig(questions.ask("/_cluster/settings", include_defaults=True, flat_settings=True))
    settings = {**dig(told, "defaults"), **dig(told, "persistent"), **dig(told, "transient")}
    examined = Examined(questions, dialect, indexes, faiss, nodes, settings)
    findings = [finding for check in CHECKS for finding in check(examined)]
    troubles = [*(trouble for index in indexes for trouble in index.troubles), *questions.refused]
    known = collected([*findings, *(Finding(trouble=trouble) for trouble in troubles)])
    joins: tuple[Join, ...] = ("ses", "engine") if _can_join(questions, known["details"]["plugins"]) else ("ses",)
    return Diagnosis(cluster.product.name.partition(" ")[0], cluster.product.number, joins, indexes, **known)


def _uses_faiss(generation: Generation) -> bool:
    fields = dig(generation.mappings, "properties").values()
    return generation.published and any(dig(field, "method").get("engine") == "faiss" for field in fields)


def _can_join(questions: Questions, plugins: Mapping[str, str] | None) -> bool:
    if questions.cluster.product.kind == "opensearch":
        return HYBRID in (plugins or ())
    bodies = ({"size": 0, "retriever": retriever} for retriever in _RETRIEVERS)
    return any(questions.attempt("/ses.*/_search", body) is not None for body in bodies)
