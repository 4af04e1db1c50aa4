import csv
import io
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora import tables
from corpora.errors import InputError
from corpora.paper import Rejected
from corpora.tables import LONGEST_CELL, DelimitedRow, open_table, read_rows

HEADER = "id,title,abstract\n"


def rows(folder, text):
    """The cells of each row by its line, or the reason of its rejection."""
    path = folder / "table.csv"
    path.write_bytes((HEADER + text).encode())
    with open_table(path, "a table", ("csv",)) as table:
        return {row.line: row.reason if isinstance(row, Rejected) else list(row.cells.values()) for row in table.rows}


def test_a_quote_that_is_never_closed_costs_one_row(tmp_path):
    others = "".join(f"{n},title {n},text\n" for n in range(50))
    read = rows(tmp_path, f'x,"open,text\n{others}y,"a, b",c\nz,d,e\n')
    assert read[2] == "A quote of this row is never closed; only this line is left out."
    assert [read[line] for line in range(3, 53)] == [[str(n), f"title {n}", "text"] for n in range(50)]
    assert [read[53], read[54]] == [["y", "a, b", "c"], ["z", "d", "e"]]
    assert len(read) == 53


def test_a_quote_without_an_end_before_rows_without_quotes(tmp_path):
    read = rows(tmp_path, 'a,b,c\nx,d,"open\ne,f,g\nh,i,j')
    assert read == {2: ["a", "b", "c"], 3: read[3], 4: ["e", "f", "g"], 5: ["h", "i", "j"]}
    assert "never closed" in read[3]


def test_quotes_over_lines_and_quotes_that_are_not_doubled(tmp_path):
    assert rows(tmp_path, '1,"two\nlines, ""said""",x\r\n2,the "b" c,d\n3,"the "b" c",d\n4,"e" ,f\n') == {
        2: ["1", 'two\nlines, "said"', "x"],
        4: ["2", 'the "b" c', "d"],
        5: ["3", 'the b" c"', "d"],
        6: ["4", "e ", "f"],
    }


def test_a_row_over_lines_with_too_few_columns_says_which(tmp_path):
    assert rows(tmp_path, '1,"a\nb"\n2,c,d\n') == {
        2: "The row has 2 columns where the header has 3; the row takes up lines 2 to 3.",
        4: ["2", "c", "d"],
    }


def test_one_cell_of_20_mb_costs_one_row(tmp_path):
    read = rows(tmp_path, f"1,a,b\n2,a,{'x' * 20_000_000}\n3,c,d\n")
    assert read == {2: ["1", "a", "b"], 3: "The line is longer than 16 MiB.", 4: ["3", "c", "d"]}


def test_one_cell_of_20_mb_over_many_lines_costs_one_row(tmp_path):
    lines = ("y" * 99 + "\n") * 200_000
    read = rows(tmp_path, f'2,a,"{lines}"\n3,c,d\n')
    assert read == {2: "A cell is longer than 16 MiB; the row takes up lines 2 to 200002.", 200_003: ["3", "c", "d"]}


def test_an_open_quote_before_a_line_of_20_mb_costs_two(tmp_path):
    read = rows(tmp_path, f'1,"open,b\n2,c,d\n3,e,{"x" * 20_000_000}\n4,f,g\n')
    assert "never closed" in read.pop(2)
    assert read == {3: ["2", "c", "d"], 4: "The line is longer than 16 MiB.", 5: ["4", "f", "g"]}


@pytest.mark.slow
def test_an_open_quote_before_20_mb_of_rows_costs_one(tmp_path):
    count = LONGEST_CELL // 100 + 100
    read = rows(tmp_path, '1,"open,b\n' + ("2,c," + "d" * 95 + "\n") * count)
    assert "never closed" in read.pop(2)
    assert len(read) == count


def test_a_first_line_without_end_is_no_header(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b"a," * (10 << 20))
    with pytest.raises(InputError, match="first line is endless"), open_table(path, "a table", ("csv",)):
        pass


@pytest.mark.parametrize(
    ("name", "head", "header"),
    [
        ("a.csv", "id,title,id,,title\n", ("id", "title", "id (3)", "column (4)", "title (5)")),
        ("a.csv", '"a,b,c";title\n', ("a,b,c", "title")),
        ("a.csv", "id|title,x|y\n", ("id", "title,x", "y")),
        ("a.csv", " id \ttitle\n", ("id", "title")),
        ("a.tab", "id,x,y\ttitle\n", ("id,x,y", "title")),
        ("a.TSV.gz", "id,x,y\ttitle\n", ("id,x,y", "title")),
        # Lines before a header are passed over where the header names the title.
        ("a.csv", "\n \nsep=;\nAbout;x\n\nid;title\n", ("id", "title")),
        ("a.csv", "1,2\n2\n3\n4\nid,Article Title\n", ("id", "Article Title")),
        ("a.csv", "1,2\n2\n3\n4\n5\nid,title\n", ("1", "2")),
        ("a.csv", "1,2\ntitle\n", ("1", "2")),
    ],
)
def test_a_header_names_the_columns(tmp_path, name, head, header):
    path = tmp_path / name
    path.write_text(f"{head}\n")
    with open_table(path, "a table", ("csv",)) as table:
        assert table.header == header


EMBASE = (
    *("TITLE", "AUTHOR NAMES", "SOURCE TITLE", "SOURCE", "PUBLICATION YEAR", "ABSTRACT", "DOI", "PUI", "MEDLINE PMID"),
    *("EMTREE DRUG INDEX TERMS", "EMTREE MEDICAL INDEX TERMS", "AUTHOR KEYWORDS", "PUBLICATION TYPE", "ISSN", "VOLUME"),
    *("ARTICLE LANGUAGE", "LANGUAGE OF ARTICLE", "ISSUE", "FULL TEXT LINK", "EMBASE LINK"),
)


@pytest.mark.parametrize("second", ["AUTHOR NAMES", "SOURCE", "SOURCE TITLE", "ABSTRACT", "DOI"])
def test_fields_in_rows_are_told_by_the_second_of_them(tmp_path, second):
    (tmp_path / "a.csv").write_text(f'"TITLE","T"\n"{second}","J (2021) 3","more"\n"TITLE","U"\n')
    with open_table(tmp_path / "a.csv", "a table", ("csv",)) as table:
        rows = [(row.line, row.cells if isinstance(row, DelimitedRow) else {}) for row in table.rows]
        if second == "DOI":
            assert table.header == ("TITLE", "T")
            return
        assert table.header == EMBASE
        source = {"SOURCE": "J", "SOURCE TITLE": "J (2021) 3; more"}.get(second, "")
        empty = dict.fromkeys(table.header, "")
        assert rows == [
            (1, {**empty, "TITLE": "T", second: "J (2021) 3; more", "SOURCE TITLE": source}),
            (3, {**empty, "TITLE": "U"}),
        ]


def test_a_file_without_names_of_columns_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text(",,\n1,2,3\n")
    with pytest.raises(InputError, match="has no header"), open_table(tmp_path / "a.csv", "a table", ("csv",)):
        pass


def test_rows_have_as_many_cells_as_there_are_columns_and_are_text(tmp_path):
    (tmp_path / "a.csv").write_bytes(HEADER.encode() + b"1,a,b,,\n2,a\n3,a,b,c\n4,caf\xe9,b\n\n5,a,b\n")
    with open_table(tmp_path / "a.csv", "a table", ("csv",)) as table:
        read = [row.reason if isinstance(row, Rejected) else row.cells["id"] for row in table.rows]
    says = "The row has {} columns where the header has 3."
    assert read == ["1", says.format(2), says.format(4), read[3], "5"]
    assert "aren't UTF-8" in read[3]


@pytest.mark.parametrize("end", ["\n", ""])
def test_a_line_may_be_as_long_as_the_limit(tmp_path, monkeypatch, end):
    monkeypatch.setattr(tables, "LONGEST_CELL", 32)
    lines = [f"{number},{'x' * length},b" for number, length in ((1, 27), (2, 28), (3, 90), (4, 27))]
    read = rows(tmp_path, "\n".join(lines) + end)
    assert [read[line][0] for line in (2, 5)] == ["1", "4"]
    assert [read[line] for line in (3, 4)] == ["The line is longer than 0 MiB."] * 2


CELLS = st.text(st.characters(exclude_categories=["Cc", "Cs"]) | st.sampled_from("\r\n"), max_size=12)


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=8), st.sampled_from(["\n", "\r\n"]))
def test_any_table_is_read_as_it_was_written(tmp_path_factory, table, end):
    out = io.StringIO()
    csv.writer(out, lineterminator=end, quoting=csv.QUOTE_ALL).writerows(table)
    read = rows(tmp_path_factory.mktemp("table"), out.getvalue())
    # Line ends within cells are the file's own.
    assert list(read.values()) == [list(cells) for cells in table]


@given(st.integers(0, 10**9))
def test_a_damaged_table_loses_no_row_without_a_word(tmp_path_factory, seed):
    chance = random.Random(seed)
    lines = [f'{n},"a, {n}",b\n' for n in range(20)]
    damaged = chance.randrange(20)
    line = lines[damaged]
    place = chance.randrange(len(line) - 1)
    lines[damaged] = line[:place] + chance.choice(['"', ",", "x", '""', '",']) + line[place + chance.randrange(2) :]
    read = rows(tmp_path_factory.mktemp("damaged"), "".join(lines))
    whole = {n + 2: [str(n), f"a, {n}", "b"] for n in range(20) if n != damaged}
    assert {line: cells for line, cells in read.items() if line != damaged + 2} == whole


def test_rows_that_must_all_be_good_end_at_the_first_that_is_not(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(f"{HEADER}1,a,b\n2,c\n")
    found = read_rows(path, "a table")
    assert next(found) == (2, {"id": "1", "title": "a", "abstract": "b"})
    with pytest.raises(InputError, match=r"table\.csv, line 3: The row has 2 columns where the header has 3"):
        next(found)
