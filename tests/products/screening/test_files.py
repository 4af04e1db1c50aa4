"""Files of labels, in and out."""

import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
import rispy
from hypothesis import given
from hypothesis import strategies as st

from corpora.documents import LARGEST
from corpora.errors import InputError
from corpora.paper import Paper
from products.screening.decisions import Decision
from products.screening.files.labels import FileLabel, LabelFile, match
from products.screening.files.registry import FORMATS, label_format

PAPERS = [
    Paper("a", "Masks, and a virus", "An abstract.", ("Ada Byron",), 2020, "Nature", identifiers=("doi:10.1/x",)),
    Paper("b", '=HYPERLINK("x")', url="https://example.org/b"),
    Paper("c", "The galaxy"),
    Paper("d", "The Galaxy!"),
]
LABELS = {"a": True, "b": False}


def decided(labels, **parts):
    """Return decisions by id; `parts` are values of their attributes by id."""
    told = {id_: {part: held[id_] for part, held in parts.items() if id_ in held} for id_ in labels}
    return {id_: Decision(id_, label, **told[id_]) for id_, label in labels.items()}


def read(path):
    return label_format(path).read(path)


def found(path):
    return match(read(path), PAPERS)


def included(matched):
    return {id_: one.included for id_, one in matched.labels.items()}


@pytest.mark.parametrize("suffix", sorted(FORMATS))
def test_what_is_written_is_read_again(tmp_path, suffix):
    path = tmp_path / f"labels{suffix}"
    label_format(path).write(path, PAPERS, decided(LABELS))
    file = read(path)
    assert (included(match(file, PAPERS)), match(file, PAPERS).unknown, file.undecided) == (LABELS, (), 2)


@pytest.mark.parametrize("suffix", [".csv", ".ris"])
def test_reasons_and_names_are_written_and_read_again(tmp_path, suffix):
    path = tmp_path / f"labels{suffix}"
    label_format(path).write(
        path,
        PAPERS,
        decided(
            {**LABELS, "c": False},
            reason={"b": "=wrong; population"},
            by={"a": "Ada B.; C.", "b": "=Bo"},
            at={"a": "2026-11-29T09:00:00+00:00"},
        ),
    )
    said = {id_: (one.included, one.reason, one.by) for id_, one in found(path).labels.items()}
    assert said == {"a": (True, "", "Ada B.; C."), "b": (False, "=wrong; population", "=Bo"), "c": (False, "", "")}
    assert path.read_text().count("2026-11-29T09:00:00+00:00") == 1


def test_tables_hold_no_formula(tmp_path):
    label_format(tmp_path / "x.csv").write(tmp_path / "x.csv", PAPERS, decided(LABELS))
    assert "'=HYPERLINK" in (tmp_path / "x.csv").read_text()


@pytest.mark.parametrize("column", ["included", "label_included", "Included", "asreview_label", "label"])
def test_columns_of_decisions_are_those_of_asreview(tmp_path, column):
    path = tmp_path / "x.csv"
    path.write_text(f"id,title,{column}\na,t,1\nb,t,0.0\nc,t,\nd,t,-1\n")
    file = read(path)
    assert (included(match(file, PAPERS)), file.undecided) == ({"a": True, "b": False}, 2)


def test_records_are_found_by_doi_or_title_too(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(
        "record_id,title,doi,included\n1,Other words,https://doi.org/10.1/X,1\n2,=hyperlink(x),,0\n3,THE GALAXY,,1\n"
    )
    matched = found(path)
    # Two candidates are called the galaxy, so nobody knows which one is meant.
    assert (included(matched), matched.unknown) == (LABELS, (4,))


@pytest.mark.parametrize("header", ["doi,included\n", "record_id,doi,included\n7,"])
def test_an_identifier_is_enough(tmp_path, header):
    path = tmp_path / "x.csv"
    path.write_text(f"{header}https://doi.org/10.1/X,1\n")
    (label,) = read(path).labels
    assert (label.identifiers, label.title, label.included) == (("doi:10.1/x",), "", True)
    path.write_text("doi,included\n,1\n10.1/X,1\n")
    assert (len(read(path).labels), read(path).rejected) == (1, 1)


def test_notes_of_ris_are_those_of_asreview(tmp_path):
    path = tmp_path / "x.ris"
    record = "TY  - JOUR\nTI  - {}\nN1  - read twice\nN1  - {}\nER  - \n"
    notes = [("Masks and a virus", "ASReview_relevant"), ("hyperlink x", "ASReview_irrelevant"), ("c", "other")]
    path.write_text("".join(record.format(*one) for one in notes))
    assert (included(found(path)), read(path).undecided) == (LABELS, 1)


def test_labels_of_a_written_ris_have_the_ids_of_the_index(tmp_path):
    form = label_format(tmp_path / "x.ris")
    papers = [Paper("W1", "t", identifiers=("doi:10.5555/a",)), Paper("7", "u"), Paper("10.5555/c", "v")]
    form.write(tmp_path / "x.ris", papers, decided({"W1": True, "7": False, "10.5555/c": True}))
    labels = read(tmp_path / "x.ris").labels
    assert [(label.id, label.included) for label in labels] == [("W1", True), ("7", False), ("10.5555/c", True)]


def test_a_written_ris_says_what_papers_say(tmp_path):
    said = Paper("a", "A\ntitle", "Some text", ("Ada B", "C, D"), 2020, "The Lancet", identifiers=("doi:10.1/x",))
    label_format(tmp_path / "x.ris").write(tmp_path / "x.ris", [said, Paper("b", "t")], decided(LABELS))
    first, second = rispy.loads((tmp_path / "x.ris").read_text())
    assert first == {
        "type_of_reference": "JOUR", "id": "a", "title": "A title", "abstract": "Some text", "doi": "10.1/x",
        "authors": ["Ada B", "C, D"], "year": "2020", "secondary_title": "The Lancet", "notes": ["ASReview_relevant"],
    }  # fmt: skip
    assert second == {"type_of_reference": "GEN", "id": "b", "title": "t", "notes": ["ASReview_irrelevant"]}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("id,title\na,t\n", "has no column of decisions; name it one of asreview_label, included"),
        ("id,title,included\na,t,maybe\n", "Line 2 of .*'maybe' is no decision; write 1 or 0"),
        ("id,title,included\na,t,\n", "holds no decision"),
        ("id,title,included\nx,nothing,1\n", "No record of .* is a candidate of the review"),
        ("id,title,included\na,t,1\nb,t,0\na,t,0\n", r"both includes and excludes the paper 'a' \(records 2 and 4\)"),
    ],
)
def test_bad_tables_are_told_in_a_sentence(tmp_path, text, told):
    path = tmp_path / "x.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=told):
        found(path)


def test_other_files_hold_no_labels(tmp_path):
    with pytest.raises(
        InputError, match=r"Labels can't be kept in x.doc; give it a name that ends in .csv, .ris, .asr"
    ):
        label_format(Path("x.doc"))
    with pytest.raises(InputError, match="does not exist"):
        read(tmp_path / "x.asreview")
    (tmp_path / "x.asreview").write_text("no zip")
    with pytest.raises(InputError, match="is no ASReview project"):
        read(tmp_path / "x.asreview")


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ({"x": "1"}, "is no ASReview project: it has no project.json"),
        ({"project.json": "["}, "is no ASReview project"),
        ({"project.json": '{"version": "1.2"}'}, "of version 1, and only version 3 is read; open it with ASReview 3"),
        ({"project.json": '{"project_file_version": 3}', "results.db": "no database"}, "damaged ASReview project"),
        ({"project.json": "[" * 100_000}, "is no ASReview project .*nested too deep"),
        ({"project.json": '{"project_file_version": ' + "[" * 200 + "]" * 200 + "}"}, "nested too deep"),
        ({"project.json": b"\xff\xfe{\x00\xd8"}, "is no ASReview project .*can't decode"),
        ({"project.json": '{"a": "' + "x" * LARGEST + '"}'}, "is no ASReview project .it is larger than 16 MiB"),
        ({"project.json": "[]"}, "is no ASReview project"),
    ],
)
def test_other_projects_are_refused(tmp_path, members, told):
    path = tmp_path / "x.asreview"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    with pytest.raises(InputError, match=told):
        read(path)


def changed_project(tmp_path, statements):
    path, database = tmp_path / "x.asreview", tmp_path / "results.db"
    label_format(path).write(path, PAPERS, decided(LABELS))
    with zipfile.ZipFile(path) as file:
        file.extractall(tmp_path)
    with closing(sqlite3.connect(database)) as base:
        base.executescript(statements)
    with zipfile.ZipFile(path, "w") as file:
        file.write(tmp_path / "project.json", "project.json")
        file.write(database, "results.db")
    return path


@pytest.mark.parametrize(
    "statements",
    [
        "DROP TABLE record; CREATE VIEW record AS WITH RECURSIVE n(record_id) AS (SELECT 1 UNION ALL SELECT record_id "
        "FROM n) SELECT record_id, 'x' AS title, '' AS doi FROM n",
        "ALTER TABLE record DROP COLUMN title; ALTER TABLE record ADD COLUMN title AS (hex(zeroblob(99999999)))",
        "DROP TABLE results",
    ],
)
def test_tables_that_are_computed_are_refused(tmp_path, statements):
    path = changed_project(tmp_path, statements)
    with pytest.raises(InputError, match=r"holds no table re.* as ASReview makes it"):
        read(path)


LOOSE = (
    "DROP TABLE record; DROP TABLE results; CREATE TABLE record (record_id, title, doi); "
    "CREATE TABLE results (record_id, label); "
    "CREATE TEMP TABLE n AS WITH n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 30000) SELECT i FROM n; "
)


@pytest.mark.parametrize(
    ("statements", "told"),
    [
        (
            "INSERT INTO record SELECT 1, 't', '' FROM n; INSERT INTO results SELECT 1, 1 FROM n",
            "record_id '1', which is in a table twice; save the project again in ASReview",
        ),
        ("INSERT INTO record VALUES (1, 't', ''), (1, 't', '')", "record_id '1', which is in a table twice"),
        ("INSERT INTO record VALUES ('one', 't', '')", "record_id 'one', which is no number"),
        ("INSERT INTO results VALUES (NULL, 1)", "record_id 'None', which is no number"),
        ("INSERT INTO record VALUES (1.5, 't', '')", "record_id '1.5', which is no number"),
        (
            "INSERT INTO record SELECT i, printf('%.*c', 15 << 20, 'x'), '' FROM n LIMIT 9",
            "have more than 134,217,728 characters",
        ),
    ],
)
def test_tables_without_the_keys_and_limits_of_asreview_are_refused(tmp_path, statements, told):
    with pytest.raises(InputError, match=told):
        read(changed_project(tmp_path, LOOSE + statements))


def test_decisions_without_a_record_are_counted(tmp_path):
    file = read(changed_project(tmp_path, "DELETE FROM record WHERE record_id = 1"))
    assert ([one.line for one in file.labels], file.undecided, file.rejected) == ([1], 2, 1)


def test_a_project_has_what_asreview_checks(tmp_path):
    """Tables, columns, version and settings as in asreview 3 (`database.py`, `schema.py`)."""
    path = tmp_path / "mine.asreview"
    label_format(path).write(path, PAPERS, decided({"b": False, "a": True}))
    with zipfile.ZipFile(path) as file:
        assert set(file.namelist()) == {"project.json", "results.db", "data/mine.csv", "feature_matrices/"}
        config = json.loads(file.read("project.json"))
        file.extract("results.db", tmp_path)
    assert {"version", "project_file_version", "id", "mode", "name"} <= config.keys()
    assert (config["project_file_version"], config["mode"], config["review"]["status"]) == (3, "oracle", "review")
    assert config["datasets"][0]["name"] == "mine.csv"
    with closing(sqlite3.connect(tmp_path / "results.db")) as base:
        assert base.execute("PRAGMA user_version").fetchone() == (3,)
        tables = {name for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        assert tables == {"record", "results", "last_ranking", "decision_changes"}
        results = base.execute("SELECT record_id, label FROM results ORDER BY time").fetchall()
        rows = base.execute("SELECT record_id, dataset_row, group_id, title, doi, authors FROM record").fetchall()
    assert results == [(1, 0), (0, 1)]  # in the order of the decisions
    assert rows[0] == (0, 0, 0, "Masks, and a virus", "10.1/x", '["Ada Byron"]')


@given(st.lists(st.tuples(st.sampled_from("abcxyz"), st.booleans()), max_size=8))
def test_every_record_is_labelled_unknown_or_contradicted(records):
    file = LabelFile(Path("x.csv"), tuple(FileLabel(n, id_, "", (), one) for n, (id_, one) in enumerate(records)))
    known = [(id_, one) for id_, one in records if id_ in "abc"]
    if not known or len(set(known)) > len(dict(known)):
        with pytest.raises(InputError):
            match(file, PAPERS)
        return
    matched = match(file, PAPERS)
    assert included(matched) == dict(known)
    assert len(matched.unknown) == len(records) - len(known)
