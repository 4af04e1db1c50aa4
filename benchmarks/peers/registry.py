"""The peers, ours first: a new one is one file and one line here."""

from __future__ import annotations

from collections.abc import Mapping

OURS = "ours"

PEERS: Mapping[str, str] = {
    OURS: "benchmarks.peers.ours",
    "lancedb": "benchmarks.peers.lancedb",
    "txtai": "benchmarks.peers.txtai",
    "chroma": "benchmarks.peers.chroma",
    "qdrant": "benchmarks.peers.qdrant",
    "qdrant_edge": "benchmarks.peers.qdrant_edge",
    "duckdb": "benchmarks.peers.duckdb",
    "sqlite": "benchmarks.peers.sqlite",
    "libraries": "benchmarks.peers.libraries",
}
"""Modules by name."""
