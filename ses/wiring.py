"""From settings to the things commands work with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError

if TYPE_CHECKING:
    from encoders.encoder import Encoder
    from encoders.registry import Model
    from search_plugin.engines.base import Engine, Index
    from search_plugin.request import SearchRequest
    from ses.settings import Settings


def make_encoder(settings: Settings, model: Model) -> Encoder:
    """Load a model as the settings say."""
    from encoders.cache import EmbeddingCache
    from encoders.encoder import load_encoder

    cache = EmbeddingCache(settings.cache_dir / "embeddings.sqlite") if settings.embedding_cache else None
    return load_encoder(
        model,
        cache_dir=settings.cache_dir,
        runtime=settings.runtime,
        precision=settings.precision,
        threads=settings.threads,
        cache=cache,
    )


def open_index(engine: Engine, name: str | None) -> Index:
    """Open an index by name, or the one published last.

    Args:
        engine: Where it is.
        name: As the user gave it, if at all.

    Returns:
        The published generation.

    Raises:
        InputError: If there is no such index, or none at all.
    """
    if name:
        return engine.open(name)
    names = engine.names()
    if not names:
        raise InputError(f"There is no index in {engine.url} yet; make one with `ses index --corpus NAME`.")
    return engine.open(names[0])


def parse_weights(texts: Iterable[str]) -> dict[str, float]:
    """Read the weights of legs.

    Args:
        texts: Each as `LEG=NUMBER`.

    Returns:
        Weights by leg.

    Raises:
        InputError: If one is written otherwise.
    """
    weights = {}
    for text in texts:
        leg, _, number = text.partition("=")
        try:
            weights[leg.strip()] = float(number)
        except ValueError:
            raise InputError(
                f"The weight {text!r} can't be read; write it as LEG=NUMBER, such as lexical=0.7."
            ) from None
    return weights


def settings_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of a command's options that are settings."""
    return {name: options[name] for name in ("engine", "model", "runtime", "precision") if name in options}


def page_request(query: str, options: Mapping[str, Any]) -> SearchRequest:
    """Return the search that a query and the options of `page_options` ask for."""
    from search_plugin.filters.parse import parse_filters
    from search_plugin.request import SearchRequest

    return SearchRequest(
        query=query,
        mode=options["mode"] or "hybrid",
        fusion=options["fusion"],
        weights=parse_weights(options["weights"]),
        filter=parse_filters(options["filters"]),
        facets=options["facets"],
        size=options["size"],
        offset=options["offset"],
        window=options["window"],
        exact=options["exact"],
        collapse=options["collapse"],
        executor=options["executor"],
    )
