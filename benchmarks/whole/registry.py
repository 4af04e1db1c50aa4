"""The contenders, ours first: a new one is one file and one line here."""

from __future__ import annotations

from collections.abc import Mapping

OURS = "ses"

CONTENDERS: Mapping[str, str] = {
    OURS: "benchmarks.whole.ours",
    "txtai": "benchmarks.whole.txtai",
    "haystack": "benchmarks.whole.haystack",
    "lancedb": "benchmarks.whole.lancedb",
    "opensearch": "benchmarks.whole.opensearch",
}
"""Modules by name."""

FURTHER: Mapping[str, str] = {"opensearch_int8": "benchmarks.whole.opensearch_int8"}
"""Modules of contenders that run only where they are named: their packages need an environment of their own."""
