import pytest

from corpora.custom import CustomField
from corpora.errors import InputError
from corpora.opening import Opening
from corpora.paper import Accepted, Paper, Rejected
from corpora.readers import index

DOCUMENT = {
    "_id": "AX-7",
    "title_t": "A title",
    "summary": {"de": "Eine Zusammenfassung"},
    "authors": [{"name": "Ana Sample"}, {"name": "B. Example"}],
    "bib.year": 2014,
    "shelf": {"code": ["B 12", "C 3"]},
}
COLUMNS = {"title": "title_t", "abstract": "summary.de", "authors": "authors.name", "year": "bib.year"}


def read(tmp_path, documents, columns, custom=()):
    return list(index.read(tmp_path, columns, custom, Opening(documents=lambda: iter(documents))))


def test_fields_are_mapped_with_dots_into_objects(tmp_path):
    custom = [CustomField("shelf", "keywords", "shelf.code")]
    assert read(tmp_path, [DOCUMENT], COLUMNS, custom) == [
        Accepted(
            1,
            Paper(
                "AX-7",
                "A title",
                "Eine Zusammenfassung",
                ("Ana Sample", "B. Example"),
                2014,
                extra={"shelf": ("B 12", "C 3")},
            ),
        )
    ]


def test_usual_names_need_no_mapping_and_the_id_can_be_mapped(tmp_path):
    document = {"id": "0", "_id": "1", "key": "K", "Title": "T", "doi": "10.1/X"}
    (plain,) = read(tmp_path, [document], {})
    (mapped,) = read(tmp_path, [document], {"id": "key"})
    assert (plain.paper.id, mapped.paper.id, plain.paper.identifiers) == ("1", "K", ("doi:10.1/x",))


def test_a_document_without_a_title_is_rejected_by_its_number(tmp_path):
    assert read(tmp_path, [DOCUMENT, {"_id": "2"}, DOCUMENT], COLUMNS)[1] == Rejected(
        2, "The record has neither title nor abstract.", "2"
    )


@pytest.mark.parametrize(
    ("document", "field", "value"),
    [
        ({"a": {"b": 1}}, "a.b", 1),
        ({"a.b": 1}, "a.b", 1),
        ({"a": {"b.c": 1}}, "a.b.c", 1),
        ({"a.b": {"c": 1}}, "a.b.c", 1),
        ({"a": [{"b": 1}, {"b": [2, 3]}, {"c": 4}, 5]}, "a.b", [1, 2, 3]),
        ({"a": 1}, "a.b", None),
        ({"a": [1]}, "a.b", None),
        ({}, "a", None),
    ],
)
def test_where_a_field_is_found(document, field, value):
    assert index.value_at(document, field) == value


def test_columns_and_encodings_that_make_no_sense(tmp_path):
    with pytest.raises(InputError, match="no attribute colour"):
        read(tmp_path, [], {"colour": "x"})
    with pytest.raises(InputError, match="leave encoding out"):
        list(index.read(tmp_path, {}, (), Opening("cp1252", lambda: iter(()))))
