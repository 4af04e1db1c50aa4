from collections import deque, namedtuple
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from types import MappingProxyType

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import ses
from corpora.custom import CustomField
from corpora.errors import InputError
from corpora.paper import Accepted, Paper, Rejected
from ses.papers import of_corpus, of_program
from tests.commands import ses as run

TEXT = "id,title\n1,Über die Behandlung\n"


def test_a_file_in_a_named_encoding(tmp_path):
    path = tmp_path / "papers.csv"
    path.write_bytes(TEXT.encode("latin-1"))
    (record,) = of_corpus("csv", path, tmp_path, columns={}, encoding="latin-1").records()
    assert record.paper.title == "Über die Behandlung"
    (bad,) = of_corpus("csv", path, tmp_path, columns={}).records()
    assert "bytes that aren't UTF-8 (if the whole file is in another encoding, name it)" in bad.reason
    with pytest.raises(InputError, match="no encoding 'klingon'"):
        of_corpus("csv", path, tmp_path, columns={}, encoding="klingon")


def test_papers_of_a_program_have_no_encoding(tmp_path):
    library = ses.open(tmp_path / "library", data_dir=tmp_path)
    with pytest.raises(InputError, match="Papers of a program have no encoding; leave encoding out"):
        library.index("mine", [{"id": "1", "title": "t"}], encoding="latin-1")


def test_the_command_names_the_option(tmp_path):
    path = tmp_path / "papers.csv"
    path.write_bytes((TEXT * 300).replace("Behandlung", "äöü" * 20).encode("latin-1"))
    done = run(tmp_path, "index", "--corpus", "csv", "--path", path)
    assert (done.returncode, "--encoding cp1252" in done.stderr) == (2, True)
    done = run(tmp_path, "index", "--corpus", "csv", "--path", path, "--encoding", "klingon")
    assert (done.returncode, "There is no encoding 'klingon'; give --encoding as Python" in done.stderr) == (2, True)


@dataclass
class Row:
    key: str
    title: str
    year: object = None
    authors: object = ()
    read_on: object = None
    cited: object = None


def rows(**values):
    """Two papers, the second with values of its own."""
    return [Row("1", "A virus", 2020), Row(**{"key": "2", "title": "A protein", **values})]


FIELDS = [CustomField("read_on", "date"), CustomField("cited", "number")]


def read(given, columns=MappingProxyType({"id": "key"})):
    return list(of_program(given, "x", FIELDS, columns=columns).records())


def test_every_shape_of_the_same_papers_is_read_alike():
    given = rows(
        year=np.int64(2021),
        authors=np.array(["Ada Byron", "Lise Meitner"]),
        read_on=pd.Timestamp("2021-03-04"),
        cited=np.float32(3),
    )
    (_, second) = records = read(given)
    paper = second.paper
    assert (paper.year, paper.authors) == (2021, ("Ada Byron", "Lise Meitner"))
    assert paper.extra == {"read_on": "2021-03-04", "cited": 3}
    dictionaries = [vars(row) for row in given]
    named = namedtuple("Named", dictionaries[0])
    frame = pd.DataFrame(dictionaries)
    plain = [{**row, "authors": list(row["authors"])} for row in dictionaries]
    table = pa.Table.from_pylist([{**row, "year": int(row["year"]), "cited": row["cited"] and 3.0} for row in plain])
    for shape in (
        *(dictionaries, tuple(dictionaries), iter(dictionaries), (row for row in given), deque(given)),
        *([named(**row) for row in dictionaries], [MappingProxyType(row) for row in dictionaries]),
        *(frame, frame.set_index("key"), [row for _, row in frame.iterrows()], table),
    ):
        assert read(shape) == records
        source = of_program(
            shape if not isinstance(shape, Iterator) else iter(given), "x", FIELDS, columns={"id": "key"}
        )
        assert list(source.records()) == list(source.records()) == records


@pytest.mark.mteb  # which brings polars
def test_a_table_of_polars():
    import polars as pl

    frame = pl.DataFrame([vars(row) for row in rows(year=2021, read_on=date(2021, 3, 4), cited=3)])
    second = read(frame)[1].paper
    assert (second.year, second.extra) == (2021, {"read_on": "2021-03-04", "cited": 3})


def test_missing_values_of_pandas_are_missing():
    frame = pd.DataFrame(
        {"key": ["1", "2"], "title": ["A virus", "A protein"], "year": pd.array([None, 2021], "Int64"),
         "read_on": pd.to_datetime(["2020-01-02", None]), "cited": [np.nan, 2.5], "authors": [pd.NA, "A; B"]}
    )  # fmt: skip
    first, second = (record.paper for record in read(frame))
    assert (first.year, first.extra, first.authors) == (None, {"read_on": "2020-01-02"}, ())
    assert (second.year, second.extra, second.authors) == (2021, {"cited": 2.5}, ("A", "B"))


def test_a_value_that_can_not_be_read_is_a_reason_and_not_an_end():
    good, bad = read(rows(read_on=timedelta(1)))
    assert isinstance(good, Accepted)
    assert bad.reason == "The field read_on should be a date such as 2020-03-16, not a value of the type timedelta."
    bad = read(rows(authors=object()))[1]
    assert bad == Rejected(2, "The key authors holds a value of the type object, which can't be read.", "2")
    (bad,) = of_program([Paper("a", "t", extra=3)], "x").records()
    assert bad.reason == "The key extra should be a dictionary of values by field."


@pytest.mark.parametrize("given", [{"id": "1", "title": "A virus"}, Paper("1", "A virus"), 3, object()])
def test_one_paper_is_no_list_of_papers(given):
    with pytest.raises(InputError, match=r"Papers can't be of the type \w+; give a file or folder, a list of papers"):
        of_program(given, "x")


def test_keys_of_a_program_can_be_named(tmp_path):
    with pytest.raises(InputError, match="Papers have no attribute titel to map a column to"):
        read(rows(), {"titel": "title"})
    library = ses.open(tmp_path / "library", data_dir=tmp_path)
    with pytest.raises(InputError, match="Papers of a program have no corpus; leave corpus out"):
        library.index("x", rows(), corpus="jsonl")
