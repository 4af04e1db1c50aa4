"""Figures of the service for Prometheus: `/metrics`.

Every label has few values: a route is named by its template, never by the path that a client sent. With several
workers, each writes its figures into files of one folder, and any of them answers for all
(https://prometheus.github.io/client_python/multiprocess/).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, multiprocess

from corpora.errors import SesError
from corpora.lazy import np
from encoders.models.formats import Format
from encoders.text_encoder import EncodingProgress, TextEncoder, ignore
from ses.service.wrapped_encoders import WrappedEncoder

if TYPE_CHECKING:
    from starlette.types import Scope

    from ses.service.index_watcher import WatchedIndex


_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS")
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """The figures of one service."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        registry = self._registry
        self._requests = Counter(
            "ses_requests", "Requests by route and status.", ("method", "route", "status"), registry=registry
        )
        self._seconds = Histogram(
            "ses_request_seconds", "Time until the answer was sent.", ("route",), registry=registry, buckets=_SECONDS
        )
        self._stages = Histogram(
            "ses_stage_seconds", "Time of each stage of a search.", ("stage",), registry=registry, buckets=_SECONDS
        )
        self._cache = Counter(
            "ses_cache", "Questions to a cache: hit, miss, or shared with one at the same time.", ("cache", "result"),
            registry=registry,
        )  # fmt: skip
        self._encoded = Counter("ses_encoded_texts", "Texts that a model encoded.", ("format",), registry=registry)
        self._encoding = Histogram(
            "ses_encoding_seconds", "Time of each call of a model.", registry=registry, buckets=_SECONDS
        )
        self._refused = Counter("ses_refused", "Requests refused because too many waited.", registry=registry)
        self._late = Counter("ses_late", "Requests that took longer than they may.", registry=registry)
        modes = {"registry": registry, "multiprocess_mode": "mostrecent"}
        self._generation = Gauge("ses_index_generation", "Version of an index that is searched.", ("index",), **modes)  # type: ignore[arg-type]
        self._papers = Gauge("ses_index_papers", "Papers of an index.", ("index",), **modes)  # type: ignore[arg-type]

    def text(self) -> bytes:
        """Return all figures in the text format of Prometheus, of all workers."""
        if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
            return generate_latest(self._registry)
        together = CollectorRegistry()
        multiprocess.MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)

    def counts_cache(self, name: str) -> Callable[[str], None]:
        """Return what counts the questions to a cache by their results."""
        return lambda result: self._cache.labels(name, result).inc()

    def observe_request(self, scope: Scope, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        route = getattr(scope.get("route"), "path", "") or "other"
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def observe_stages(self, milliseconds: Mapping[str, float]) -> None:
        """Count the time of the stages of a search."""
        for stage, spent in milliseconds.items():
            self._stages.labels(stage).observe(spent / 1000)

    def count_refused(self) -> None:
        """Count a request that was refused because too many waited."""
        self._refused.inc()

    def count_late(self) -> None:
        """Count a request that took longer than it may."""
        self._late.inc()

    def show_index(self, held: WatchedIndex) -> None:
        """Show the version and the papers of an index that was opened."""
        index = held.opened.index
        with suppress(SesError):  # the next request meets it too
            papers = index.count()
            self._generation.labels(index.name).set(index.generation)
            self._papers.labels(index.name).set(papers)

    def counting(self, encoder: TextEncoder) -> TextEncoder:
        """Return an encoder whose calls are counted."""
        return _Counted(encoder, self)

    def observe_encoding(self, task_format: Format, texts: int, seconds: float) -> None:
        """Count texts that a model encoded in one call."""
        self._encoded.labels(task_format.value).inc(texts)
        self._encoding.observe(seconds)


class _Counted(WrappedEncoder):
    """Counts the calls of an encoder."""

    def __init__(self, encoder: TextEncoder, metrics: Metrics) -> None:
        super().__init__(encoder)
        self._metrics = metrics

    def encode(self, texts: Sequence[str], task_format: Format = Format.PRX) -> np.ndarray:
        """Encode texts for one task format; see `TextEncoder`."""
        began = time.perf_counter()
        vectors = self._encoder.encode(texts, task_format)
        self._metrics.observe_encoding(task_format, len(texts), time.perf_counter() - began)
        return vectors

    def encode_formats(
        self, texts: Sequence[str], formats: Sequence[Format], done: EncodingProgress = ignore
    ) -> dict[Format, np.ndarray]:
        """Encode texts for several task formats; see `TextEncoder`."""
        began = time.perf_counter()
        vectors = self._encoder.encode_formats(texts, formats, done)
        for task_format in vectors:
            self._metrics.observe_encoding(task_format, len(texts), (time.perf_counter() - began) / len(vectors))
        return vectors
