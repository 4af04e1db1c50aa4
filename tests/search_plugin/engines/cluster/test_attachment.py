"""What is found in the mappings of somebody else's index, and kept of it, without a server."""

from __future__ import annotations

from dataclasses import replace

import pytest

from corpora.errors import InputError, UnavailableError
from search_plugin.contract.schema import ForeignField
from search_plugin.engines.cluster.attached.attachment import check_apart, read_attachments
from search_plugin.engines.cluster.attached.field_mappings import (
    FieldMapping,
    as_stored,
    check_field_mappings,
    find_field_mappings,
    record_of,
)
from search_plugin.engines.cluster.attached.vectors import NamedVectors, check_vectors, find_vectors
from search_plugin.engines.cluster.dialects import dialect_of
from search_plugin.engines.cluster.product import Product
from tests.search_plugin.engines.cluster.conversations import INSIDE, PLACES, attachment

VECTOR = {"type": "dense_vector", "dims": 3, "similarity": "cosine", "index_options": {"type": "int8_hnsw"}}
PROPERTIES = {
    "headline": {"type": "text", "fields": {"raw": {"type": "keyword"}, "number": {"type": "long"}}},
    "summary": {"type": "match_only_text"},
    "plain": {"type": "text", "doc_values": False},
    "issued": {"type": "date"},
    "count": {"type": "short"},
    "price": {"type": "double"},
    "lent": {"type": "boolean"},
    "journal": {"properties": {"name": {"type": "text", "fields": {"exact": {"type": "keyword"}}}}},
    "people": {"type": "nested", "properties": {"name": {"type": "keyword"}, "bio": {"type": "text"}}},
    "paper": {"type": "alias", "path": "journal.name"},
    "doi_s": {"type": "keyword", "doc_values": False},
    "hidden": {"type": "keyword", "index": False},
    "uncounted": {"type": "keyword", "doc_values": False},
    "place": {"type": "geo_point"},
    "emb": VECTOR,
    "emb2": {"type": "knn_vector", "dimension": 3},
    "parts": {"type": "nested", "properties": {"emb": {**VECTOR, "similarity": "l2_norm"}}},
    "ses": {"properties": {"prx_f": VECTOR}},
}
DESCRIBED = {"shelf-a": {"mappings": {"properties": PROPERTIES}}}
ELASTICSEARCH = dialect_of(Product("elasticsearch", "9.4.0", (9, 4)))


@pytest.mark.parametrize(
    ("given", "path", "found"),
    [
        (" Title ", "headline", FieldMapping("title", "headline", "headline", "text")),
        ("abstract", "summary", FieldMapping("abstract", "summary", "summary", "text")),
        ("year", "issued", FieldMapping("year", "issued", "issued", "date")),
        ("year", "count", FieldMapping("year", "count", "count", "number")),
        ("journal", "journal.name", FieldMapping("venue", "journal.name.exact", "journal.name", "keywords")),
        ("venue", "paper", FieldMapping("venue", "journal.name.exact", "journal.name", "keywords")),
        ("venue", "headline.raw", FieldMapping("venue", "headline.raw", "headline", "keywords")),
        ("author", "people.name", FieldMapping("authors", "people.name", "people.name", "keywords", "people")),
        ("doi", "doi_s", FieldMapping("doi", "doi_s", "doi_s", "keywords")),
        ("url", "doi_s", FieldMapping("url", "doi_s", "doi_s", "keywords")),
        ("price", "price", FieldMapping("price", "price", "price", "number")),
        ("lent", "lent", FieldMapping("lent", "lent", "lent", "boolean")),
        ("note", "plain", FieldMapping("note", "plain", "plain", "text")),
    ],
)
def test_fields_are_found_in_a_mapping(given, path, found):
    assert find_field_mappings(DESCRIBED, {given: path}, "shelves") == (found,)


KINDS = {
    "text": "text match_only_text search_as_you_type",
    "keywords": "keyword constant_keyword wildcard",
    "number": "long integer short byte unsigned_long double float half_float scaled_float",
    "date": "date date_nanos",
    "boolean": "boolean",
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_type_of_a_mapping_holds_values_of_a_kind(kind):
    for type_ in KINDS[kind].split():
        (found,) = find_field_mappings({"a": {"mappings": {"properties": {"x": {"type": type_}}}}}, {"shelf": "x"}, "a")
        assert found == FieldMapping("shelf", "x", "x", kind)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"title": "nothing"}, "has no field nothing for title; its fields are count, doi_s, emb, emb2, headline, "),
        ({"title": "headline.no"}, "shelves has no field headline.no for title"),
        ({"title": "journal"}, "journal of shelf-a is an object; name one of its fields, such as journal.name."),
        ({"x": "place"}, "The field place of shelf-a is of the type geo_point, which ses can't search by; name one of"),
        ({"title": "doi_s"}, "doi_s of shelf-a is of the type keyword, and title has to be text; name another field."),
        ({"year": "doi_s"}, "of the type keyword, and year has to be a number or a date"),
        ({"venue": "count"}, "of the type short, and venue has to be keywords"),
        ({"title": "people.bio"}, "people.bio of shelf-a is in nested objects, so it can't be the title of a paper."),
        ({"venue": "plain"}, "is analysed text, whose values can't be compared or counted; name a keyword"),
        ({"x": "hidden"}, "The field hidden of shelf-a is not indexed there"),
        ({"x": "uncounted"}, "The field uncounted of shelf-a has no doc_values in its mapping"),
        ({"journal": "doi_s", "venue": "doi_s"}, "doi_s of shelf-a has no doc_values"),
        ({"doi": "doi_s", "DOI": "doi_s"}, "The field doi is given twice; leave one DOI=doi_s out."),
        ({"id": "doi_s"}, "A document's id is that of the index; leave one id=doi_s out."),
        ({"origin": "doi_s"}, "Origins are the corpora of an index that ses made"),
    ],
)  # fmt: skip
def test_fields_that_can_not_serve_are_told(fields, told):
    with pytest.raises(InputError) as refused:
        find_field_mappings(DESCRIBED, fields, "shelves")
    assert told in str(refused.value)


def test_a_field_is_alike_in_all_indexes_that_have_it():
    other = {"mappings": {"properties": {"count": {"type": "date"}}}}
    several = {**DESCRIBED, "shelf-b": other, "shelf-c": {}}
    assert find_field_mappings(several, {"title": "headline"}, "shelves")[0].path == "headline"
    with pytest.raises(InputError, match=r"has no field no for title; its fields are count\."):
        find_field_mappings({"b": other, "c": {"mappings": {}}}, {"title": "no"}, "b")
    told = (
        r"The field count is not the same in all indexes behind shelves \(such as number in shelf-a, date in shelf-b\)"
    )
    with pytest.raises(InputError, match=told):
        find_field_mappings(several, {"year": "count"}, "shelves")


def test_what_an_owner_changed_is_told():
    field_mappings = (
        FieldMapping("title", "headline", "headline", "text"),
        FieldMapping("year", "issued", "issued", "date"),
    )
    check_field_mappings(DESCRIBED, field_mappings, "shelves")
    check_field_mappings({"a": {"mappings": {"properties": {"headline": {"type": "text"}}}}}, field_mappings, "shelves")
    for properties, told in (
        ({}, "its field headline is gone, from which title is taken"),
        ({"headline": {"type": "keyword"}}, "its field headline is of another type, from which title is taken"),
        ({**PROPERTIES, "issued": {"type": "long"}}, "its field issued is of another type, from which year is taken"),
        ({**PROPERTIES, "headline": {"type": "nested", "properties": {}}}, "its field headline is of another type"),
    ):
        with pytest.raises(InputError, match=f"shelves was changed by its owner: {told}"):
            check_field_mappings({"a": {"mappings": {"properties": properties}}}, field_mappings, "shelves")


def test_a_document_is_a_paper_in_the_form_of_ses():
    source = {
        "headline": ["A title", "Another"], "summary": 7, "journal": {"exact": 1}, "doi_s": "https://doi.org/10.1/X",
        "people": [{"name": {"exact": "Ana"}}, {"name": {"exact": "Bo"}}], "shelf": [3, "x"], "issued": "05/2020",
    }  # fmt: skip
    field_mappings = (*PLACES[:3], FieldMapping("authors", "p", "people.name.exact", "keywords", "people"), *PLACES[5:])
    record = record_of(4, {"_id": 12, "_source": source, "fields": {"issued": ["2020-05-01"]}}, field_mappings)
    assert as_stored(record) == {
        "id": "12", "title": "A title", "abstract": "7", "authors": ["Ana", "Bo"], "year": 2020,
        "identifiers": ["doi:10.1/x"],
    }  # fmt: skip
    rejected = record_of(4, {"_id": "x", "_source": {"headline": []}}, field_mappings)
    assert (rejected.line, rejected.id, rejected.reason) == (4, "x", "The record has neither title nor abstract.")


NAMED = NamedVectors("emb", "tiny", "f", 3, "dot")
EMB = ForeignField("emb", "emb", 3, "cosine", "paper", "int8", "tiny", "f", True, "")
PARTS = ForeignField("parts.emb", "parts.emb", 3, "l2", "passage", "int8", "tiny", "f", True, "parts")


def test_vectors_of_papers_come_before_those_of_passages():
    named = (replace(NAMED, field="parts.emb"), NAMED)
    assert find_vectors(DESCRIBED, named, ELASTICSEARCH, "shelves") == (EMB, PARTS)
    check_vectors(DESCRIBED, (EMB, PARTS), ELASTICSEARCH, "shelves")
    bare = {"a": {"mappings": {"properties": {"emb": {"type": "dense_vector", "dims": 3, "index": False}}}}}
    (found,) = find_vectors(bare, [NAMED], ELASTICSEARCH, "a")
    assert found == replace(EMB, similarity="dot", quantization="none", graph=False)
    check_vectors(bare, [found], ELASTICSEARCH, "a")


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ([replace(NAMED, field="no")], "shelf-a has no field no; its fields of vectors are: emb, emb2, parts.emb."),
        ([replace(NAMED, field="lexical")], "A leg of each search is called lexical"),
        ([replace(NAMED, field="prx")], "A leg of each search is called prx"),
        ([replace(NAMED, field="count")], "The field count of shelf-a can't be searched by meaning: it is of the type"),
        ([replace(NAMED, dimension=4_000)], "holds vectors of 3 numbers, and tiny gives 4,000; name the model"),
        ([NAMED] * 9, "9 fields of vectors are too many; name at most 8"),
    ],
)  # fmt: skip
def test_vectors_that_can_not_be_searched_are_told(named, told):
    with pytest.raises(InputError) as refused:
        find_vectors(DESCRIBED, named, ELASTICSEARCH, "shelves")
    assert told in str(refused.value)


def test_vectors_that_differ_between_indexes_are_told():
    several = {**DESCRIBED, "b": {"mappings": {"properties": {"emb": {**VECTOR, "similarity": "l2_norm"}}}}}
    with pytest.raises(
        InputError, match="The field emb is not the same in all indexes behind shelves; attach each index"
    ):
        find_vectors(several, [NAMED], ELASTICSEARCH, "shelves")
    assert len(find_vectors(DESCRIBED, [NAMED] * 8, ELASTICSEARCH, "shelves")) == 8
    none = {"a": {"mappings": {"properties": {"ses": PROPERTIES["ses"]}}}}
    with pytest.raises(InputError, match="its fields of vectors are: none"):
        find_vectors(none, [NAMED], ELASTICSEARCH, "a")


@pytest.mark.parametrize(
    ("emb", "told"),
    [
        (None, "is gone; attach it again with the fields that it has now"),
        ({**VECTOR, "dims": 4}, "is another one"),
        ({**VECTOR, "similarity": "l2_norm"}, "is another one"),
        ({"type": "nested", "properties": {}}, "is another one"),
        ({"type": "alias", "path": "parts.emb"}, "is another one"),
        ({"type": "text"}, "can't be searched any more: it is of the type text, and not dense_vector"),
    ],
)
def test_vectors_that_an_owner_changed_are_told(emb, told):
    changed = {name: one for name, one in {**PROPERTIES, "emb": emb}.items() if one}
    with pytest.raises(UnavailableError, match=f"shelves was changed by its owner: the field emb of shelf-a {told}"):
        check_vectors({"shelf-a": {"mappings": {"properties": changed}}}, [EMB], ELASTICSEARCH, "shelves")


FULL = {"indexes": ("shelf-a", "shelf-b"), "foreign": (EMB, PARTS), "seen": {"u": 7}}


@pytest.mark.parametrize("kept", [attachment(), attachment(beside="you asked for it"), attachment(**FULL)])
def test_an_attachment_is_read_as_it_was_kept(kept):
    reply = {"ses.attached.catalogue.v1": {"mappings": {"_meta": kept.facts(), "properties": {}}}}
    assert read_attachments({**reply, "ses.attached.v1": {}, "ses.papers.v1": {}, "ses.attached.x.v2": {}}) == [kept]


@pytest.mark.parametrize(
    ("part", "value"),
    [("places", [{"name": "x"}]), ("places", None), ("moment", "x"), ("seen", {"u": "x"}), ("seen", []),
     ("foreign", [{"name": 1}]), ("indexes", 3)],
)  # fmt: skip
def test_a_damaged_attachment_is_told(part, value):
    facts = attachment(**FULL).facts()
    facts["ses"]["attached"][part] = value
    with pytest.raises(
        UnavailableError, match="of the attached index catalogue is damaged; detach it, and attach it again"
    ):
        read_attachments({"ses.attached.catalogue.v1": {"mappings": {"_meta": facts, "properties": {}}}})
    with pytest.raises(UnavailableError, match="of the attached index catalogue is damaged"):
        read_attachments({"ses.attached.catalogue.v1": {}})


def test_where_the_vectors_are_is_told():
    own = "searched by its own vectors emb (tiny), parts.emb (tiny)"
    for kept, inside, told in (
        (attachment(), True, "vectors in its documents"),
        (attachment(beside="so"), False, "vectors beside its documents (so)"),
        (attachment(**FULL), True, f"vectors in its documents, {own}"),
        (attachment(schema=replace(INSIDE, vectors=()), **FULL), False, own),
    ):
        assert (kept.inside, kept.vectors_place) == (inside, told)
    searched = attachment(**FULL).searched
    assert (searched.foreign, [field.name for field in searched.fields][-1]) == ((EMB, PARTS), "shelf")


def test_another_attachment_of_the_same_documents_is_told():
    other = replace(attachment(), name="other")
    hint = "detach {other}, or take {target}"
    check_apart({"shelves": {}}, attachment(), [attachment()], hint)
    for described, by in (({"shelves": {}}, ""), ({"shelf-a": {"aliases": {"shelves": {}}}}, " (by shelves)")):
        with pytest.raises(InputError) as told:
            check_apart(described, attachment(), [attachment(), other], hint)
        (name,) = described
        assert str(told.value) == (
            f"The documents of {name} are attached as other already{by}, and each would rewrite the vectors of the "
            "other; detach other, or take shelves."
        )
