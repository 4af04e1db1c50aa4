"""Mappings and settings of an index in a cluster, and what is read back of them.

All are explicit, because defaults change between versions.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

from corpora.custom import FieldKind
from corpora.errors import UnavailableError
from encoders.models.formats import Format
from search_plugin.contract.legs import TITLE, Sort
from search_plugin.contract.schema import SENTENCES, Bm25, Field, IndexSchema, from_stored, to_stored
from search_plugin.engines.cluster.dialect import LUCENE_BITS, TEXT, Dialect
from search_plugin.engines.cluster.passages import mapping_of
from search_plugin.words.languages import get_language

BUILT_IN = ("english", "cjk")
"""Languages for which both products' own analyzer is used."""

TITLE_ORDER = "title_order"
"""The field by which titles are sorted (`search_plugin.contract.legs.title_key`)."""

WORDS = "words"
"""The analyzer of other languages. It uses Snowball's stemmers, as the highlights and the embedded engine do."""

ELIDED = ("c", "d", "j", "l", "m", "n", "qu", "s", "t", "jusqu", "lorsqu", "puisqu", "quoiqu")
"""Articles that are removed before an apostrophe in French (l'hypertension); other languages have none."""

NAMES = {"type": "custom", "tokenizer": "standard", "filter": ["lowercase", "asciifolding"]}
"""How names of authors are analysed, for front ends that look for a part of one."""

_KEYWORD = {"type": "keyword"}
_KINDS: dict[FieldKind, dict[str, Any]] = {
    "keyword": _KEYWORD,
    "keywords": _KEYWORD,
    "boolean": {"type": "boolean"},
    "date": {"type": "date", "format": "strict_date||strict_year_month||strict_year"},
}

LOADING = {
    "refresh_interval": "-1",
    "auto_expand_replicas": "false",
    "number_of_replicas": 0,
    "merge.policy.segments_per_tier": 100,
}
"""Settings for loading. Nobody searches yet, and late replicas are faster. Only `bulk` refreshes. Segments are
merged once at the end, because each merge builds the graphs again."""

SERVING = {"refresh_interval": "1s", "auto_expand_replicas": "0-1", "merge.policy.segments_per_tier": 10}
"""One replica if there is a second node."""


def body_of(schema: IndexSchema, source: str, dialect: Dialect, shards: int) -> dict[str, Any]:
    """Return the body that creates an empty index for loading; `InputError` if the product has no such vectors.

    An interrupted build is recognised by the source of its papers.
    """
    return {
        "settings": {"index": {"number_of_shards": shards, **settings_of(schema, dialect), **LOADING}},
        "mappings": {
            "dynamic": "strict",
            "_meta": {"ses": {"schema": to_stored(schema), "source": source}},
            "properties": properties_of(schema, dialect),
        },
    }


def settings_of(schema: IndexSchema, dialect: Dialect) -> dict[str, Any]:
    """Return the settings of an index by which it is searched."""
    return {
        "similarity": similarity_of(schema.bm25),
        **analysis_of(schema),
        **dialect.settings(),
        **dialect.preferred_settings(),
    }


def similarity_of(bm25: Bm25) -> dict[str, Any]:
    """Return the setting of the BM25 similarity."""
    return {"default": {"type": "BM25", "k1": float(bm25.k1), "b": float(bm25.b)}}


def sort_field(order: Sort) -> str:
    """Return the field to sort by."""
    return TITLE_ORDER if order.field == TITLE else order.field


def analysis_of(schema: IndexSchema) -> dict[str, Any]:
    """Return the analysis settings."""
    analyzers: dict[str, Any] = {"names": NAMES}
    filters: dict[str, Any] = {}
    language = get_language(schema.language)
    if _analyzer(schema) == WORDS:
        filters = {
            "articles": {"type": "elision", "articles": sorted(ELIDED), "articles_case": True},
            "stop_words": {"type": "stop", "stopwords": sorted(language.stop_words)},
            "stems": {"type": "stemmer", "language": language.stemmer},
        }
        chain = ["articles", "lowercase", "stop_words", "stems", "asciifolding"]
        analyzers[WORDS] = {"type": "custom", "tokenizer": "standard", "filter": chain}
    return {"analysis": {"analyzer": analyzers, **({"filter": filters} if filters else {})}}


def _analyzer(schema: IndexSchema) -> str:
    return schema.language if schema.language in BUILT_IN else WORDS


def properties_of(schema: IndexSchema, dialect: Dialect) -> dict[str, Any]:
    """Return the mappings of all fields."""
    words = {"type": "text", "analyzer": _analyzer(schema)}
    own = {field.name: property_of(field, words) for field in schema.fields}
    return {
        **own,
        "authors": {**_KEYWORD, "fields": {"analyzed": {"type": "text", "analyzer": "names"}}},
        "title": {**own["title"], "copy_to": [TEXT]},
        "abstract": {**own["abstract"], "copy_to": [TEXT]},
        TEXT: words,
        TITLE_ORDER: {**_KEYWORD, "index": False},
        "content_hash": {**_KEYWORD, "index": False},
        **{field.name: {**_KEYWORD, "index": False} for field in schema.kept},
        **{field.name: mapping_of(field, dialect, schema.graph_of(field) or "none") for field in schema.written},
    }


def property_of(field: Field, words: Mapping[str, Any]) -> dict[str, Any]:
    """Return the mapping of a field; `words` is that of text."""
    if field.kind == "number":
        return {"type": "integer" if field.whole else "double"}
    return dict(words) if field.kind == "text" else _KINDS[field.kind]


def added_mapping(
    schema: IndexSchema, wider: IndexSchema, facts: Mapping[str, Any], dialect: Dialect
) -> dict[str, Any]:
    """Return the change of an index's mapping that adds fields, and stores the wider schema in the same step.

    `facts` are stored beside the schema, and kept.
    """
    held = {field.name for field in (*schema.fields, *schema.kept)}
    properties = properties_of(wider, dialect)
    fields = (*wider.fields, *wider.kept)
    added = {field.name: properties[field.name] for field in fields if field.name not in held}
    return {"_meta": {"ses": {**facts, "schema": to_stored(wider)}}, "properties": added}


def schema_of(mappings: Mapping[str, Any], label: str) -> IndexSchema:
    """Return the schema that an index, named by `label`, was made with; `UnavailableError` if ses can't read it."""
    try:
        schema = from_stored(mappings["_meta"]["ses"]["schema"])
        # Each format occurs once, and is one that ses can make.
        names = [field.format for field in schema.vectors]
        sound = len(set(names)) == len(names) and {*Format, SENTENCES}.issuperset(names)
    except (KeyError, TypeError, ValueError):
        sound = False
    if not sound:
        raise UnavailableError(f"{label} is damaged, or not made by this version of ses", "index again with <fresh>")
    return schema


def check_open(settings: Mapping[str, Any], physical: str, label: str) -> None:
    """Raise `UnavailableError` if an index is closed."""
    if settings.get("verified_before_close") == "true":
        raise UnavailableError(
            f"{label[0].upper()}{label[1:]} is closed, by somebody or by a trial of BM25 that was killed; open it with "
            f"POST /{physical}/_open, and try again."
        )


def check_unchanged(
    mappings: Mapping[str, Any], settings: Mapping[str, Any], schema: IndexSchema, dialect: Dialect, label: str
) -> None:
    """Raise `UnavailableError` if somebody has changed what the fields of an index are, or how words are scored."""
    properties = properties_of(schema, dialect)
    expected = {"dynamic": "strict", "properties": properties}
    added = (f"properties.{name}" for name in mappings.get("properties", {}) if name not in properties)
    if changed := next(chain(_differences(expected, mappings, ""), added), ""):
        raise UnavailableError(
            f"The mapping of {label} was changed by somebody else (at {changed})",
            "undo that, or index again with <fresh>",
        )
    scoring = {"similarity": similarity_of(schema.bm25), **analysis_of(schema)}
    if changed := next(_differences(scoring, settings, ""), ""):
        raise UnavailableError(
            f"The setting {changed} of {label} was changed by somebody else, or by a trial of BM25 that was killed",
            "set it back, or index again with <fresh>",
        )


def _differences(expected: Any, found: Any, path: str) -> Any:
    """Yield the places where the actual settings differ from the requested ones, except additions."""
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        for name, value in expected.items():
            inner = f"{path}.{name}".lstrip(".")
            if name in found:
                yield from _differences(value, found[name], inner)
            elif value not in _UNSAID:
                yield inner
    elif str(expected).lower() != str(found).lower():
        yield path


_UNSAID: tuple[Any, ...] = (True, {}, LUCENE_BITS)
"""Settings that servers leave out of a mapping because they are the default, or that an earlier version did not have.

An index keeps its mapping when its server is upgraded."""
