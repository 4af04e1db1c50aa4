"""What an index is in a cluster, key by key.

The values are those of the products' own documentation: for OpenSearch "k-NN vector", "Methods and engines" and
"Memory-optimized vectors" (compression 8x and 32x belong to faiss, and exclude an encoder), for Elasticsearch "Dense
vector field type". Where a server is at hand, tests/engines shows that it takes them.
"""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import pytest

from corpora.errors import InputError, UnavailableError
from search_plugin.contract.legs import Sort
from search_plugin.contract.schema import Field, IndexSchema, paper_vector, to_stored
from search_plugin.engines.cluster.dialects import dialect_of
from search_plugin.engines.cluster.mapping import NAMES, body_of, check_unchanged, properties_of, schema_of, sort_field
from search_plugin.engines.cluster.product import Product
from search_plugin.words.languages import LANGUAGES

OPENSEARCH = dialect_of(Product("opensearch", "3.6.0", (3, 6)))
OPENSEARCH2 = dialect_of(Product("opensearch", "2.19.1", (2, 19)))
ELASTICSEARCH = dialect_of(Product("elasticsearch", "9.4.3", (9, 4)))
ELASTICSEARCH8 = dialect_of(Product("elasticsearch", "8.16.6", (8, 16)))
BOTH = [OPENSEARCH, ELASTICSEARCH]
PRX = paper_vector("prx", 128, "l2")
SCHEMA = IndexSchema("specter", "0123", (PRX, paper_vector("clf", 64, "cosine")), "int8")
GRAPH = {"m": 16, "ef_construction": 100}


def lucene(space, **encoder):
    parameters = GRAPH | ({"encoder": {"name": "sq", "parameters": encoder["sq"]}} if encoder else {})
    method = {"name": "hnsw", "engine": "lucene", "space_type": space, "parameters": parameters}
    return {"type": "knn_vector", "dimension": 128, "method": method}


def faiss(space, level):
    method = {"name": "hnsw", "engine": "faiss", "space_type": space, "parameters": GRAPH}
    return {"type": "knn_vector", "dimension": 128, "mode": "on_disk", "compression_level": level, "method": method}


def dense(kind, similarity="l2_norm"):
    options = {"type": kind, **GRAPH}
    return {"type": "dense_vector", "dims": 128, "index": True, "similarity": similarity, "index_options": options}


@pytest.mark.parametrize(
    ("dialect", "quantization", "mapping"),
    [
        (OPENSEARCH, "none", lucene("l2")),
        (OPENSEARCH2, "none", lucene("l2")),
        (OPENSEARCH, "int8", lucene("l2", sq={"bits": 7})),
        (OPENSEARCH2, "int8", lucene("l2", sq={})),
        (OPENSEARCH, "int4", faiss("l2", "8x")),
        (OPENSEARCH2, "int4", faiss("l2", "8x")),
        (OPENSEARCH, "1bit", faiss("l2", "32x")),
        (OPENSEARCH2, "1bit", faiss("l2", "32x")),
        *((dialect, "none", dense("hnsw")) for dialect in (ELASTICSEARCH, ELASTICSEARCH8)),
        *((dialect, "int8", dense("int8_hnsw")) for dialect in (ELASTICSEARCH, ELASTICSEARCH8)),
        *((dialect, "int4", dense("int4_hnsw")) for dialect in (ELASTICSEARCH, ELASTICSEARCH8)),
        *((dialect, "1bit", dense("bbq_hnsw")) for dialect in (ELASTICSEARCH, ELASTICSEARCH8)),
    ],
)
def test_vectors_are_mapped_with_nothing_left_to_defaults(dialect, quantization, mapping):
    assert dialect.vector(PRX, quantization) == mapping


@pytest.mark.parametrize(
    ("similarity", "space", "name"),
    [("cosine", "cosinesimil", "cosine"), ("dot", "innerproduct", "max_inner_product"), ("l2", "l2", "l2_norm")],
)
def test_similarity_is_the_models(similarity, space, name):
    field = replace(PRX, similarity=similarity)
    assert OPENSEARCH.vector(field, "none") == lucene(space)
    assert OPENSEARCH.vector(field, "1bit") == faiss(space, "32x")
    assert ELASTICSEARCH.vector(field, "1bit") == dense("bbq_hnsw", name)


def test_vectors_a_product_cannot_keep_are_refused():
    ELASTICSEARCH.vector(replace(PRX, dimension=4096), "none")
    with pytest.raises(InputError, match=r"up to 4,096 numbers and the model gives 4,097; choose another model"):
        ELASTICSEARCH.vector(replace(PRX, dimension=4097), "none")
    for dimension, quantization in ((129, "int4"), (63, "1bit")):
        with pytest.raises(InputError, match=f"{dimension} numbers in {quantization}; choose quantization=int8"):
            ELASTICSEARCH.vector(replace(PRX, dimension=dimension), quantization)
    ELASTICSEARCH.vector(replace(PRX, dimension=64), "1bit")
    OPENSEARCH.vector(replace(PRX, dimension=4097), "none")


def test_a_missing_plugin_is_told():
    OPENSEARCH.check(frozenset({"opensearch-knn", "x"}))
    with pytest.raises(UnavailableError, match=r"This OpenSearch 3\.6\.0 lacks the plugin opensearch-knn.*install"):
        OPENSEARCH.check(frozenset({"x"}))
    ELASTICSEARCH.check(frozenset())


@pytest.mark.parametrize("dialect", BOTH)
def test_the_whole_body(dialect):
    body = body_of(SCHEMA, "source", dialect, 3)
    english = {"type": "text", "analyzer": "english"}
    word = {"type": "keyword"}
    words = ["id", "venue", "language", "types", "fields", "identifiers", "references", "url", "origins"]
    assert body["mappings"] == {
        "dynamic": "strict",
        "_meta": {"ses": {"schema": to_stored(SCHEMA), "source": "source"}},
        "properties": {
            **dict.fromkeys(words, word),
            "year": {"type": "integer"},
            "retracted": {"type": "boolean"},
            "title": {**english, "copy_to": ["title_abstract"]},
            "abstract": {**english, "copy_to": ["title_abstract"]},
            "title_abstract": english,
            "title_order": {**word, "index": False},
            "authors": {**word, "fields": {"analyzed": {"type": "text", "analyzer": "names"}}},
            "content_hash": {**word, "index": False},
            "vector_prx": dialect.vector(SCHEMA.vectors[0], "int8"),
            "vector_clf": dialect.vector(SCHEMA.vectors[1], "int8"),
        },
    }
    assert body["settings"]["index"] == {
        "number_of_shards": 3,
        "number_of_replicas": 0,
        "auto_expand_replicas": "false",
        "refresh_interval": "-1",
        "merge.policy.segments_per_tier": 100,
        "similarity": {"default": {"type": "BM25", "k1": 1.2, "b": 0.75}},
        "analysis": {"analyzer": {"names": NAMES}},
        **({"knn": True} if dialect is OPENSEARCH else {"dense_vector": {"hnsw_filter_heuristic": "fanout"}}),
    }
    # Elasticsearch has that setting from 9.1 on.
    assert "dense_vector" not in body_of(SCHEMA, "source", ELASTICSEARCH8, 1)["settings"]["index"]


def kept(schema=SCHEMA, dialect=OPENSEARCH):
    """The mappings as they come back over the wire."""
    return json.loads(json.dumps(body_of(schema, "source", dialect, 1)["mappings"]))


def test_the_schema_comes_back():
    for quantization in ("none", "int8", "int4", "1bit"):
        schema = replace(SCHEMA, quantization=quantization)
        assert schema_of(kept(schema), "It") == schema


@pytest.mark.parametrize(
    "change",
    [
        lambda schema: schema.clear(),
        lambda schema: schema.pop("vectors"),
        lambda schema: schema.update(vectors="prx"),
        lambda schema: schema.update(vectors=[3]),
        lambda schema: schema.update(quantization="2bit"),
        lambda schema: schema.update(of_a_newer_ses=1),
        lambda schema: schema["vectors"][0].update(dimension="128"),
        lambda schema: schema["vectors"][0].update(dimension="many"),
        lambda schema: schema["vectors"][0].update(similarity="hamming"),
        lambda schema: schema["vectors"][0].update(name="x') + System.exit(1); ('"),
        lambda schema: schema["vectors"][0].pop("name"),
        lambda schema: schema["vectors"][0].update(of_a_newer_ses=1),
        lambda schema: schema["vectors"][0].update(format="abc"),
        lambda schema: schema["fields"][0].update(kind="picture"),
        lambda schema: schema["fields"].append(schema["fields"][0]),
        lambda schema: schema.update(language="klingon"),
        lambda schema: schema.pop("fields"),
    ],
)
def test_a_schema_that_cannot_be_trusted_is_told(change):
    mappings = kept()
    change(mappings["_meta"]["ses"]["schema"])
    with pytest.raises(UnavailableError, match="It is damaged, or not made by this version of ses; index again with"):
        schema_of(mappings, "It")


@pytest.mark.parametrize("meta", [None, [], {"ses": None}, {"ses": "x"}, {"ses": {"schema": []}}, {"other": 1}])
def test_an_index_that_ses_did_not_make_is_told(meta):
    with pytest.raises(UnavailableError, match="It is damaged, or not made by this version of ses"):
        schema_of({"_meta": meta}, "It")


SCORING = {
    "similarity": {"default": {"type": "BM25", "k1": "1.2", "b": "0.75"}},
    "analysis": {
        "analyzer": {"names": {"filter": ["lowercase", "asciifolding"], "type": "custom", "tokenizer": "standard"}}
    },
}
"""As servers show it: numbers are strings."""


@pytest.mark.parametrize("default", [{}, {"type": "BM25", "k1": "0.9", "b": "0.75"}, {"type": "boolean"}])
def test_other_constants_of_bm25_are_a_change(default):
    with pytest.raises(UnavailableError, match=r"setting similarity\S* of it was changed by somebody else"):
        check_unchanged(kept(), {"similarity": {"default": default}}, SCHEMA, OPENSEARCH, "it")


@pytest.mark.parametrize("quantization", ["none", "int8", "int4", "1bit"])
@pytest.mark.parametrize("dialect", [OPENSEARCH, OPENSEARCH2, ELASTICSEARCH, ELASTICSEARCH8])
def test_what_servers_say_otherwise_or_add_is_no_change(dialect, quantization):
    schema = replace(SCHEMA, quantization=quantization)
    mappings = kept(schema, dialect)
    properties = mappings["properties"]
    check_unchanged(mappings, SCORING, schema, dialect, "it")
    mappings |= {"dynamic": "STRICT", "_size": {"enabled": False}}
    properties["content_hash"]["index"] = "false"
    prx = properties["vector_prx"]
    prx |= {"similarity_of_another": 1} | ({"dims": "128"} if "dims" in prx else {})
    properties["vector_clf"].pop("index", None)
    properties["title_abstract"]["search_analyzer"] = "english"
    encoder = prx.get("method", {}).get("parameters", {}).get("encoder", {})
    if encoder.get("parameters") == {}:
        del encoder["parameters"]
    check_unchanged(mappings, SCORING, schema, dialect, "it")


@pytest.mark.parametrize("quantization", ["none", "int8", "int4", "1bit"])
def test_an_index_keeps_its_mapping_when_its_server_is_upgraded(quantization):
    schema = replace(SCHEMA, quantization=quantization)
    check_unchanged(kept(schema, OPENSEARCH2), SCORING, schema, OPENSEARCH, "it")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("dynamic", "true"),
        ("properties", None),
        ("properties.year", None),
        ("properties.year.type", "keyword"),
        ("properties.venue.type", "text"),
        ("properties.title.analyzer", "standard"),
        ("properties.title.copy_to", ["title_abstract", "other"]),
        ("properties.abstract.copy_to", None),
        ("properties.abstract.analyzer", "standard"),
        ("properties.authors.fields.analyzed.analyzer", "english"),
        ("properties.vector_prx", None),
        ("properties.vector_prx.dimension", 127),
        ("properties.vector_prx.method.engine", "faiss"),
        ("properties.vector_prx.method.space_type", "cosinesimil"),
        ("properties.vector_prx.method.parameters.m", 8),
        ("properties.vector_prx.method.parameters.encoder", None),
        ("properties.vector_prx.method.parameters.encoder.parameters.bits", 1),
    ],
)
def test_every_change_is_found_and_named(path, value):
    mappings = copy.deepcopy(kept())
    *outer, last = path.split(".")
    inside = mappings
    for name in outer:
        inside = inside[name]
    if value is None:
        del inside[last]
    else:
        inside[last] = value
    with pytest.raises(UnavailableError, match=rf"mapping of it was changed by somebody else \(at {path}\); undo that"):
        check_unchanged(mappings, SCORING, SCHEMA, OPENSEARCH, "it")


@pytest.mark.parametrize("version", [2, 4])
def test_an_index_of_another_version_is_refused(version):
    stored = to_stored(SCHEMA) | {"version": version, "what": "ever"}
    told = rf"Another version of ses made this index \(its schema is version {version}, .* 3\); index again with fresh"
    with pytest.raises(UnavailableError, match=told):
        schema_of({"_meta": {"ses": {"schema": stored}}}, "It")


def test_titles_have_a_field_to_sort_by():
    assert sort_field(Sort("title")) == "title_order"
    assert sort_field(Sort("year")) == "year"


@pytest.mark.parametrize("dialect", BOTH)
def test_every_kind_of_field_is_mapped(dialect):
    kinds = {"text": "text", "keyword": "keyword", "keywords": "keyword", "number": "double", "boolean": "boolean"}
    schema = SCHEMA.with_fields([Field(f"a_{kind}", kind) for kind in [*kinds, "date"]])
    properties = properties_of(schema, dialect)
    assert {kind: properties[f"a_{kind}"]["type"] for kind in kinds} == kinds
    assert properties["a_text"]["analyzer"] == "english"
    assert properties["a_date"] == {"type": "date", "format": "strict_date||strict_year_month||strict_year"}
    assert properties["year"] == {"type": "integer"}


@pytest.mark.parametrize("language", ["german", "french", "spanish"])
def test_languages_have_the_stop_words_and_stemmers_of_highlights(language):
    schema = replace(SCHEMA, language=language)
    body = body_of(schema, "source", ELASTICSEARCH, 1)
    analysis = body["settings"]["index"]["analysis"]
    chain = ["articles", "lowercase", "stop_words", "stems", "asciifolding"]
    assert analysis["analyzer"]["words"] == {"type": "custom", "tokenizer": "standard", "filter": chain}
    assert analysis["filter"]["stems"] == {"type": "stemmer", "language": language}
    assert set(analysis["filter"]["stop_words"]["stopwords"]) == LANGUAGES[language].stop_words
    for name in ("title", "abstract", "title_abstract"):
        assert body["mappings"]["properties"][name]["analyzer"] == "words"
    scoring = SCORING | {"analysis": analysis}
    check_unchanged(kept(schema, ELASTICSEARCH), scoring, schema, ELASTICSEARCH, "it")
    changed = copy.deepcopy(scoring)
    changed["analysis"]["filter"]["stop_words"]["stopwords"].append("virus")
    with pytest.raises(UnavailableError, match=r"setting analysis\.filter\.stop_words\.stopwords of it was changed"):
        check_unchanged(kept(schema, ELASTICSEARCH), changed, schema, ELASTICSEARCH, "it")


def test_chinese_japanese_and_korean_have_the_products_own_analyzer():
    properties = properties_of(replace(SCHEMA, language="cjk"), OPENSEARCH)
    assert properties["title_abstract"] == {"type": "text", "analyzer": "cjk"}


def test_the_kind_of_an_elasticsearch_index_may_not_change():
    mappings = kept(dialect=ELASTICSEARCH)
    mappings["properties"]["vector_clf"]["index_options"]["type"] = "bbq_hnsw"
    with pytest.raises(UnavailableError, match=r"at properties\.vector_clf\.index_options\.type"):
        check_unchanged(mappings, SCORING, SCHEMA, ELASTICSEARCH, "it")
    assert set(properties_of(SCHEMA, ELASTICSEARCH)) == set(mappings["properties"])
