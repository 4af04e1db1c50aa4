"""ASReview's project files, version 3 (asreview 3, `asreview/project/api.py` and `asreview/database/database.py`).

A project is a zip of `project.json`, the imported file under `data/`, and the SQLite database `results.db` with the
tables `record` and `results`.
"""

from __future__ import annotations

import json
import sqlite3
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from corpora.documents import json_of, read_within
from corpora.errors import InputError, require
from corpora.identifiers import identifier_of
from corpora.paper import Paper
from corpora.writing import replacing
from products.screening.decisions import Decision
from products.screening.files import csv
from products.screening.files.labels import FileLabel, LabelFile

VERSION = 3
_CONFIG, _DATABASE = "project.json", "results.db"
_LARGEST = 1 << 30  # bytes of one file of the zip, unpacked
_LONGEST = 16 << 20  # bytes of a value or a row
_MOST_TEXT = 1 << 27  # characters of all rows that are read

_TABLES = """
PRAGMA user_version = 3;
CREATE TABLE record (
    record_id INTEGER NOT NULL PRIMARY KEY, dataset_row INTEGER NOT NULL, dataset_id VARCHAR NOT NULL,
    title VARCHAR, abstract VARCHAR, authors JSON NOT NULL, keywords JSON NOT NULL, year INTEGER, doi VARCHAR,
    url VARCHAR, included INTEGER, duplicate_of INTEGER REFERENCES record (record_id) ON DELETE SET NULL,
    group_id INTEGER GENERATED ALWAYS AS (COALESCE(duplicate_of, record_id)) VIRTUAL,
    UNIQUE (dataset_row, dataset_id),
    CONSTRAINT no_self_duplicate CHECK (duplicate_of IS NULL OR duplicate_of != record_id));
CREATE INDEX idx_record_group_id ON record (group_id);
CREATE TABLE results (
    record_id INTEGER UNIQUE, label INTEGER, classifier TEXT, querier TEXT, balancer TEXT, feature_extractor TEXT,
    training_set INTEGER, time FLOAT, note TEXT, tags JSON, user_id INTEGER);
CREATE TABLE last_ranking (
    record_id INTEGER UNIQUE, ranking INT, classifier TEXT, querier TEXT, balancer TEXT, feature_extractor TEXT,
    training_set INTEGER, time FLOAT);
CREATE TABLE decision_changes (record_id INTEGER, label INTEGER, time FLOAT, user_id INTEGER);
"""


def read(path: Path) -> LabelFile:
    """Read the labels of a project; `InputError` if it is no project, or of another version.

    A record's id is its number in the project, so that papers are found by DOI or title.
    """
    with TemporaryDirectory() as folder:
        database = _unpacked(path, Path(folder))
        try:
            with closing(_opened(database)) as connection:
                _check_tables(connection, path)
                return _labels(connection, path)
        except sqlite3.Error as error:
            raise InputError(f"{path} holds a damaged ASReview project ({error}).") from error


def _labels(connection: sqlite3.Connection, path: Path) -> LabelFile:
    """Read each table by itself: a join of tables whose keys are equal has rows without end."""
    decisions = dict(_rows(connection, "SELECT record_id, label FROM results", path))
    labels, records = [], 0
    for number, (title, doi) in _rows(connection, "SELECT record_id, title, doi FROM record", path):
        records += 1
        (label,) = decisions.pop(number, (None,))
        if label in (0, 1):
            identifiers = (f"doi:{str(doi).lower()}",) if doi else ()
            labels.append(FileLabel(number + 1, "", str(title or ""), identifiers, bool(label)))
    labels.sort(key=lambda one: one.line)
    without_record = sum(label in (0, 1) for (label,) in decisions.values())
    return LabelFile(path, tuple(labels), records - len(labels), without_record)


def _rows(connection: sqlite3.Connection, query: str, path: Path) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Give the rows of a table by their first column, the id of a record.

    Pages and texts of a crafted database can be parts of many rows, so its size limits neither their number nor their
    length: ids are used once, and all texts together have a limit.
    """
    ids: set[int] = set()
    length = 0
    for number, *values in connection.execute(query):
        if not isinstance(number, int) or number in ids:
            raise InputError(
                f"{path} holds the record_id {str(number)[:40]!r}, which is "
                f"{'in a table twice' if number in ids else 'no number'}",
                "save the project again in ASReview",
            )
        ids.add(number)
        length += sum(len(value) for value in values if isinstance(value, str | bytes))
        require(length <= _MOST_TEXT, f"The titles and DOIs in {path} have more than {_MOST_TEXT:,} characters.")
        yield number, tuple(values)


def write(path: Path, papers: Iterable[Paper], decisions: Mapping[str, Decision]) -> None:
    """Write a project of all candidates that ASReview opens and continues.

    Labels, in the order of the decisions, are its decisions, not prior knowledge. Reasons, and who decided when, are in
    its table of papers.
    """
    import time

    listed = list(papers)
    data = f"{path.stem}.csv"
    now = int(time.time())
    order = {id_: now + place for place, id_ in enumerate(decisions)}
    config: dict[str, Any] = {
        "version": "3.0",
        "project_file_version": VERSION,
        "id": path.stem,
        "mode": "oracle",
        "name": path.stem,
        "created_at_unix": now,
        "feature_matrices": [],
        "tags": None,
        "datasets": [{"id": path.stem, "name": data}],
        "review": {"status": "review", "model": {}},
    }
    with TemporaryDirectory() as folder:
        table, database = Path(folder, data), Path(folder, _DATABASE)
        csv.write(table, listed, decisions, without_labels=True)
        with closing(sqlite3.connect(database)) as connection, connection:
            connection.executescript(_TABLES)
            connection.executemany(
                "INSERT INTO record (record_id, dataset_row, dataset_id, title, abstract, authors, keywords, year, "
                "doi, url) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (_record(row, paper, path.stem) for row, paper in enumerate(listed)),
            )
            connection.executemany(
                "INSERT INTO results (record_id, label, time) VALUES (?, ?, ?)",
                (
                    (row, int(decisions[p.id].included), order[p.id])
                    for row, p in enumerate(listed)
                    if p.id in decisions
                ),
            )
        with replacing(path) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr(_CONFIG, json.dumps(config))
            file.write(table, f"data/{data}")
            file.write(database, _DATABASE)
            file.writestr("feature_matrices/", "")


def _record(row: int, paper: Paper, dataset: str) -> tuple[Any, ...]:
    doi = identifier_of(paper, "doi") or None
    lists = json.dumps(list(paper.authors)), json.dumps(list(paper.fields))
    return row, row, dataset, paper.title, paper.abstract or None, *lists, paper.year, doi, paper.url or None


def _unpacked(path: Path, folder: Path) -> Path:
    """Unpack the database of a project into a folder."""
    try:
        with zipfile.ZipFile(path) as file:
            names = file.namelist()
            require(_CONFIG in names, f"{path} is no ASReview project: it has no {_CONFIG}.")
            with file.open(_CONFIG) as config:
                version = json_of(read_within(config)).get("project_file_version", 1)
            if version != VERSION or _DATABASE not in names:
                raise InputError(
                    f"{path} is an ASReview project of version {version!r:.20}, and only version {VERSION} is read",
                    "open it with ASReview 3 and save it again, or export it as CSV",
                )
            if file.getinfo(_DATABASE).file_size > _LARGEST:
                raise InputError(f"The database in {path} is larger than {_LARGEST >> 30} GiB unpacked.")
            return Path(file.extract(_DATABASE, folder))
    except FileNotFoundError:
        raise InputError(f"{path} does not exist.") from None
    except OSError as error:
        raise InputError(f"{path} can't be read ({error.strerror or error}).") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, AttributeError) as error:
        # RuntimeError: it is encrypted, or packed in a way that Python can't unpack.
        raise InputError(f"{path} is no ASReview project ({error}).") from error


def _opened(database: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
    return connection


def _check_tables(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse views, virtual tables and computed columns: a short one can give rows without end."""
    for table, columns in {"record": {"record_id", "title", "doi"}, "results": {"record_id", "label"}}.items():
        plain = "SELECT 1 FROM sqlite_schema WHERE name = ? AND sql LIKE 'CREATE TABLE%'"
        stored = "SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0"
        held = {name for (name,) in connection.execute(stored, (table,))}
        if not connection.execute(plain, (table,)).fetchone() or not columns <= held:
            raise InputError(
                f"{path} holds no table {table} as ASReview makes it", "save the project again in ASReview"
            )
