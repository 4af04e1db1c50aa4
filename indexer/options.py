"""The options of indexing, each described once: the command line, Python's checks and the documentation are made of it.

A new setting of an index is an option and a name of `SETTINGS` here, and an attribute of its schema.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict

from corpora.options import Option
from search_plugin.contract.schema import SPARSE_RATIO, SPARSE_TOKENS, Bm25, IndexSchema, Passages, Quantization


class EncodingOptions(TypedDict, total=False):
    """What encodes the papers."""

    workers: Annotated[
        int | str | None,
        Option(
            "What encodes: a number of processes on this machine, ray for the Ray cluster that this machine is in, or "
            "ray:HOST:PORT",
            "WORKERS",
            default_help="this process",
        ),
    ]
    shards: Annotated[
        str | Path | None,
        Option(
            "Folder or URL of shards, vectors that were encoded before; with <workers>, where they put vectors, and "
            "look for them",
            "FOLDER",
            default_help="for workers, in the data folder",
        ),
    ]


class VectorOptions(TypedDict, total=False):
    """The vectors of an index, and how its words are analysed."""

    formats: Annotated[
        Sequence[str] | None,
        Option(
            "Task formats to store vectors for, such as prx,clf; prx always is, and a vector that is the same for "
            "several is stored once",
            "LIST",
            default_help="as before, else prx",
        ),
    ]
    language: Annotated[
        str | None,
        Option(
            "Language of titles and abstracts: for word analysis in a new index, for highlights in an attached one",
            choices="search_plugin.words.languages:LANGUAGES",
            default_help="as before, else english",
        ),
    ]
    quantization: Annotated[
        Quantization | None,
        Option(
            "How a cluster stores vectors in memory, in a new index", default_help="none; for an attached one as before"
        ),
    ]


class AttachedOptions(VectorOptions, EncodingOptions, total=False):
    """The vectors of an attached index, and what encodes its documents."""


class VersionOptions(VectorOptions, total=False):
    """What a new version of an index is like."""

    passages: Annotated[
        Passages | None,
        Option(
            "Passages to store vectors of in a new index, about nine a paper for sentences; searches then find a paper "
            "by its nearest sentence too, and show it",
            default_help="as before, else none",
        ),
    ]
    dimension: Annotated[
        int | None,
        Option(
            "Numbers of a vector in a new index, fewer than the model's; vectors are turned by principal components of "
            "the corpus, and cut",
            default_help="as before, else the model's",
            least=1,
        ),
    ]
    bm25: Annotated[
        Bm25 | None,
        Option(
            "BM25's constants in a new index of a cluster, such as 0.9,0.4",
            "K1,B",
            default_help="those of <tuned>, else 1.2,0.75",
            read="search_plugin.contract.schema:parse_bm25",
        ),
    ]
    sparse: Annotated[
        str,
        Option(
            "Model of learned sparse vectors for a new index, a leg of searches beside words and vectors; none for no "
            "such vectors",
            "MODEL",
            default_help="as before, else none",
        ),
    ]
    sparse_tokens: Annotated[int | None, SPARSE_TOKENS]
    sparse_ratio: Annotated[float | None, SPARSE_RATIO]
    own: Annotated[
        Mapping[str, str] | None,
        Option(
            "Model that makes the vectors of clf or rgn in place of the index's model, in a new index, such as "
            "clf=runs/journals/model; none for no such model",
            "FORMAT=MODEL",
            default_help="as before",
        ),
    ]


class RebuildOptions(VersionOptions, EncodingOptions, total=False):
    """How an index is built again from its own papers."""


class IndexOptions(RebuildOptions, total=False):
    """How a corpus is read, and what is done with its papers."""

    corpus: Annotated[
        str, Option("Name of the corpus that reads the papers", "NAME", choices="corpora.registry:CORPORA")
    ]
    encoding: Annotated[str, Option("Encoding of a text file, such as cp1252 or utf-16", "NAME", default_help="utf-8")]
    columns: Annotated[
        Mapping[str, str] | None, Option("Column or key of an attribute, or of a custom field", "ATTRIBUTE=COLUMN")
    ]
    fields: Annotated[
        Mapping[str, str] | None,
        Option(
            "A custom field to keep, such as collection=keyword, from the column of its name or of "
            "<columns=NAME=COLUMN>; kinds are text, keyword, keywords, number, date and boolean",
            "NAME=KIND",
            read="corpora.custom:parse_fields",
        ),
    ]
    limit: Annotated[int | None, Option("Take the first papers only", least=1)]
    fresh: Annotated[bool, Option("Build a new version beside the existing one, and swap at the end")]
    prune: Annotated[bool, Option("Delete papers that the corpus no longer holds; those of other corpora stay")]
    origin: Annotated[
        str | None,
        Option(
            "Name of the corpus within the index",
            "NAME",
            default_help="that of <corpus>; formats such as csv add the file's",
        ),
    ]
    tags: Annotated[str, Option("Tag the papers by this tagger when they are written", "NAME")]


SETTINGS = ("passages", "language", "dimension", "quantization", "bm25", "sparse_tokens", "sparse_ratio")
"""The options that an index keeps until it is built again: `IndexJob.settings`."""

SPARSE: Mapping[str, str] = {"sparse_tokens": "most", "sparse_ratio": "ratio"}
"""The attributes of `SparseField` that keep options of sparse vectors."""


def held_settings(schema: IndexSchema) -> dict[str, Any]:
    """Return the settings of an index, by the options that chose them."""
    held = {name: getattr(schema, name) for name in SETTINGS if hasattr(schema, name)}
    if schema.vectors:
        held["dimension"] = schema.vectors[0].dimension
    for field in schema.sparse:
        held |= {name: getattr(field, attribute) for name, attribute in SPARSE.items()}
    return held
