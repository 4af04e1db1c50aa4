import csv
import io
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import InputError
from corpora.paper import Accepted, Paper
from corpora.readers import delimited

WORDS = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=5)


def read(tmp_path, text, columns=None, name="papers.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return list(delimited.read(path, columns or {}))


@pytest.mark.parametrize(
    ("name", "delimiter"), [("a.csv", ","), ("a.csv", ";"), ("a.csv", "|"), ("a.tsv", "\t"), ("a", "\t")]
)
def test_usual_names_in_any_case_and_delimiter(tmp_path, name, delimiter):
    rows = [["ID", "Title", "Publication Year", "Journal", "DOI", "Authors"], ["1", "A", "1999", "J", "10.1/X", "B, C"]]
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows(rows)
    assert read(tmp_path, out.getvalue(), name=name) == [
        Accepted(2, Paper(id="1", title="A", authors=("B, C",), year=1999, venue="J", identifiers=("doi:10.1/x",)))
    ]


def test_columns_map_and_are_checked(tmp_path):
    text = "label,key,title\nX,7,A\n"
    columns = {"id": "KEY", "fields": "label"}
    assert read(tmp_path, text, columns) == [Accepted(2, Paper(id="7", title="A", fields=("X",)))]
    for wrong, says in [
        ({"year": "when", "id": "nr"}, "has no column nr, when; it has: label, key, title"),
        ({"colour": "key"}, "no attribute colour"),
        ({"id": "key", "title": "label", "year": "when"}, "has no column when"),
    ]:
        with pytest.raises(InputError, match=says):
            read(tmp_path, text, wrong)


def test_an_apostrophe_before_a_formula_goes_where_ses_has_written_it(tmp_path):
    rows = "%s,id,title,abstract,key\n1,2,3,a,'=1+1,'t is,'-k\n"
    own, other = (read(tmp_path, rows % names) for names in ("rank,score,weak", "rank,score,other"))
    assert [(record.paper.title, record.paper.abstract) for record in (*own, *other)] == [
        ("=1+1", "'t is"),
        ("'=1+1", "'t is"),
    ]
    assert own[0].paper.identifiers == ("key:-k",)


def test_lines_and_ragged_rows(tmp_path):
    text = '\n\nid,title,abstract\n1,A,"x\n\ny"\n\n2,B\n3,C,z,\n4,D,z,more\n'
    records = read(tmp_path, text)
    assert [(record.line, isinstance(record, Accepted)) for record in records] == [
        (4, True),
        (8, False),
        (9, True),
        (10, False),
    ]


@given(st.lists(st.tuples(WORDS, WORDS, st.text(st.characters(exclude_categories=["C"])))))
def test_what_csv_writes_is_read_back(tmp_path_factory, rows):
    out = io.StringIO()
    csv.writer(out).writerows([("id", "title", "abstract"), *rows])
    records = read(tmp_path_factory.mktemp("csv"), out.getvalue())
    assert [(r.paper.id, r.paper.title, r.paper.abstract) for r in records] == [
        (id_, title, " ".join(abstract.split())) for id_, title, abstract in rows
    ]


@pytest.mark.realdata
def test_real_tables_of_systematic_reviews(data_dir, tmp_path):
    with tarfile.open(data_dir / "eval" / "systematic-reviews.tar.xz") as archive:
        files = {member.name: archive.extractfile(member).read() for member in archive if member.name.endswith(".csv")}
    assert len(files) == 21
    for name, data in files.items():
        rows = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig", "replace"), newline="")))
        columns = {"id": "title"} if name.endswith("Hamilton_2022.csv") else {}
        accepted = [record.paper for record in read(tmp_path, data, columns) if isinstance(record, Accepted)]
        assert len(accepted) == sum(bool(row["title"].strip()) for row in rows), name
        assert all("[" not in paper.authors[0] for paper in accepted if paper.authors), name
