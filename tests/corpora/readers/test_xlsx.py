import datetime
import io
import random
import sys
import zipfile
from contextlib import suppress
from xml.sax.saxutils import escape

import pytest

from corpora.custom import CustomField
from corpora.errors import InputError, UnavailableError
from corpora.opening import Opening
from corpora.paper import Accepted, Paper, Rejected
from corpora.readers import xlsx

HEADER = ["Nr", "Title", "Year", "Bought"]


def cell(value):
    if isinstance(value, datetime.date):  # style 1 is a date; days are counted from 1899-12-30
        return f'<c s="1"><v>{(value - datetime.date(1899, 12, 30)).days}</v></c>'
    if isinstance(value, int | float):
        return f"<c><v>{value}</v></c>"
    return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'


def workbook(*sheets):
    """The bytes of an .xlsx, after ECMA-376: the fewest parts that it may have."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    numbers = range(1, len(sheets) + 1)
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types">'
        '<Default Extension="xml" ContentType="application/xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r" '
        f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>'
        + "".join(f'<sheet name="S{n}" sheetId="{n}" r:id="s{n}"/>' for n in numbers)
        + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">'
        + "".join(f'<Relationship Id="s{n}" Type="{office}/worksheet" Target="worksheets/s{n}.xml"/>' for n in numbers)
        + f'<Relationship Id="y" Type="{office}/styles" Target="styles.xml"/></Relationships>',
        "xl/styles.xml": f'<styleSheet xmlns="{main}"><cellXfs><xf/><xf numFmtId="14"/></cellXfs></styleSheet>',
    }
    for number, rows in zip(numbers, sheets, strict=True):
        lines = "".join(
            f'<row r="{line}">' + "".join(map(cell, row)) + "</row>" for line, row in enumerate(rows, start=1) if row
        )
        parts[f"xl/worksheets/s{number}.xml"] = f'<worksheet xmlns="{main}"><sheetData>{lines}</sheetData></worksheet>'
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return out.getvalue()


def read(folder, data, columns=None, custom=()):
    path = folder / "library.xlsx"
    path.write_bytes(data)
    return list(xlsx.read(path, columns or {"id": "Nr"}, custom))


def test_the_first_sheet_with_rows_is_read(tmp_path):
    rows = [
        [],
        HEADER,
        [1, "Größe & <b>", 2014, datetime.date(2020, 3, 16)],
        [],
        [2.5, "B", "", ""],
        ["3", "", 2000, ""],
    ]
    records = read(tmp_path, workbook([], rows, [["id", "title"]]), custom=[CustomField("bought", "date")])
    assert records == [
        Accepted(3, Paper("1", "Größe & <b>", year=2014, extra={"bought": "2020-03-16"})),
        Accepted(5, Paper("2.5", "B")),
        Rejected(6, "The record has neither title nor abstract.", "3"),
    ]


@pytest.mark.parametrize("before", [[["About the data: a sentence"]], [["My library", 2024], [], ["Title"]]])
def test_rows_before_a_header_are_passed_over(tmp_path, before):
    rows = [*before, ["Nr", "Title"], [], [1, "Owls"]]
    assert read(tmp_path, workbook(rows)) == [Accepted(len(rows), Paper("1", "Owls"))]


def test_columns_are_checked_as_for_csv(tmp_path):
    with pytest.raises(InputError, match="has no column Name; it has: Nr, Title, Year, Bought"):
        read(tmp_path, workbook([HEADER]), {"title": "Name"})
    assert read(tmp_path, workbook([HEADER])) == []
    with pytest.raises(InputError, match="Papers have no attribute colour"):
        read(tmp_path, workbook([HEADER]), {"colour": "Nr"})
    with pytest.raises(InputError, match="is a folder where a spreadsheet is wanted"):
        list(xlsx.read(tmp_path, {}))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (workbook([]), "is an empty spreadsheet"),
        (b"id,title\n1,a\n", "isn't a spreadsheet that can be read"),
        (workbook([HEADER])[:300], "isn't a spreadsheet that can be read"),
        (b"", "isn't a spreadsheet that can be read"),
    ],
    ids=["empty", "text", "cut", "nothing"],
)
def test_what_is_no_spreadsheet(tmp_path, data, says):
    with pytest.raises(InputError, match=says):
        read(tmp_path, data)


def test_damage_raises_no_other_error(tmp_path):
    whole = workbook([HEADER, *([n, f"Title {n}", 2000, ""] for n in range(20))])
    chance = random.Random(7)
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(chance.randrange(1, 6)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        with suppress(InputError):
            read(tmp_path, bytes(data))


def test_limits_and_what_goes_with_other_files(tmp_path, monkeypatch):
    path = tmp_path / "library.xlsx"
    path.write_bytes(workbook([HEADER]))
    with pytest.raises(InputError, match="leave encoding out"):
        list(xlsx.read(path, {}, (), Opening("cp1252")))
    monkeypatch.setattr(xlsx, "LONGEST_FILE", 1000)
    with pytest.raises(InputError, match="is longer than 0 MiB: save it as CSV"):
        list(xlsx.read(path, {}))


def test_entities_are_not_expanded(tmp_path):
    data = workbook([["id", "title"], ["1", "PLACE"]])
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            text = old.read(name).decode().replace("PLACE", "&b;&b;")
            bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
            new.writestr(name, bomb + text if "worksheets" in name else text)
    try:
        records = read(tmp_path, out.getvalue(), {"id": "id"})
    except InputError:
        return
    assert "aaaa" not in repr(records)


def test_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(UnavailableError, match=r"pip install '.+\[spreadsheets\]'"):
        read(tmp_path, workbook([HEADER]))
