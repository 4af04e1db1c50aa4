"""From settings to the things commands work with."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError
from corpora.registry import CORPORA
from encoders.formats import Format

if TYPE_CHECKING:
    from corpora.registry import Corpus
    from encoders.model import Model
    from encoders.text_encoder import TextEncoder
    from search_plugin.engines.base import Engine, Index
    from search_plugin.request import Mode, SearchRequest
    from search_plugin.schema import Bm25
    from search_plugin.search_settings import SearchSettings
    from ses.settings import Settings


def make_encoder(settings: Settings, model: Model) -> TextEncoder:
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
        long_text=settings.long_text,
    )


def open_index(engine: Engine, name: str | None, tuned: SearchSettings | None = None) -> Index:
    """Open an index by name, or the one published last; warn if words are scored otherwise there than settings expect.

    Args:
        engine: Where it is.
        name: As the user gave it, if at all.
        tuned: What it will be searched with.

    Returns:
        The published generation.

    Raises:
        InputError: If there is no such index, or none at all.
    """
    if not name:
        names = engine.names()
        if not names:
            raise InputError(f"There is no index in {engine.url} yet; make one with `ses index --corpus NAME`.")
        name = names[0]
    index = engine.open(name)
    if tuned and tuned.bm25 != index.schema.bm25:
        logging.getLogger("ses").warning(
            "The tuned settings were fitted with BM25's %s, and the index %s has %s; index again with --fresh --tuned.",
            *(tuned.bm25, index.name, index.schema.bm25),
        )
    return index


def tuned_settings(settings: Settings) -> SearchSettings | None:
    """Return the fitted settings that --tuned, the environment or ses.toml name."""
    from search_plugin.search_settings import read_search_settings

    return read_search_settings(settings.tuned) if settings.tuned else None


def parse_bm25(text: str) -> Bm25:
    """Read BM25's constants, `K1,B`; `InputError` if they are written otherwise or out of bounds."""
    from search_plugin.schema import Bm25

    try:
        k1, b = map(float, text.split(","))
    except ValueError:
        raise InputError(f"BM25's constants {text!r} can't be read; write them as K1,B, such as 0.9,0.4.") from None
    return Bm25(k1, b)


def parse_columns(corpus: Corpus, texts: Sequence[str]) -> dict[str, str]:
    """Read where a corpus keeps what.

    Args:
        corpus: Whose columns they are.
        texts: Each as `ATTRIBUTE=COLUMN`.

    Returns:
        Columns by attribute.

    Raises:
        InputError: If one is written otherwise, or the corpus's columns are fixed.
    """
    if texts and not corpus.takes_columns:
        takers = ", ".join(name for name, other in CORPORA.items() if other.takes_columns)
        raise InputError(f"The layout of {corpus.name} is fixed; --column works with {takers}.")
    pairs = [text.partition("=") for text in texts]
    for text, (attribute, equals, column) in zip(texts, pairs, strict=True):
        if not (attribute and equals and column):
            raise InputError(f"The mapping {text!r} can't be read; write it as ATTRIBUTE=COLUMN, such as title=Titel.")
    return {attribute.strip(): column.strip() for attribute, _, column in pairs}


def located(corpus: Corpus, settings: Settings) -> Path:
    """Return where a corpus is that the user gave no path of, fetched if need be; `InputError` if it has no place."""
    if corpus.locate is None:
        raise InputError(f"Say where the papers are, with --path; the corpus {corpus.name} has no place of its own.")
    return corpus.locate(settings.data_dir / "corpora")


def parse_formats(*texts: str) -> tuple[Format, ...]:
    """Read task formats, with commas between; `InputError` if one is none."""
    names = [part.strip().lower() for text in texts for part in text.split(",") if part.strip()]
    known = [task_format.value for task_format in Format]
    if not names or any(name not in known for name in names):
        raise InputError(
            f"The formats {','.join(texts)!r} can't be read; give some of {', '.join(known)}, with commas between."
        )
    return tuple(dict.fromkeys(map(Format, names)))


def settings_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of a command's options that are settings."""
    return {name: options[name] for name in _SETTINGS if name in options}


_SETTINGS = ("engine", "model", "runtime", "precision", "long_text", "tuned")


def page_request(query: str, mode: Mode, options: Mapping[str, Any], tuned: SearchSettings | None) -> SearchRequest:
    """Return the search that a query and the options of `page_options` ask for; what they say goes before `tuned`."""
    from search_plugin.request import make_request

    names = ("fusion", "weights", "title_boost", "facets", "size", "offset", "window", "exact", "collapse")
    given = {name: options[name] for name in (*names, "rerank")}
    join = options["executor"] or options["join"]
    return make_request(query, tuned=tuned, mode=mode, filter=options["filters"], join=join, **given)
