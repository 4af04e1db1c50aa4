"""Records are written by hand after the data set's own description (kaggle.com/datasets/Cornell-University/arxiv)."""

import json
from datetime import datetime

import pytest

from corpora.custom import CustomField
from corpora.errors import InputError
from corpora.paper import Accepted, Paper, Rejected
from corpora.readers import arxiv

ENTRY = {
    "id": "0704.0001",
    "submitter": "A. Sample",
    "authors": "C. Bal\\'azs, B. Example",
    "title": "Schr\\\"odinger's\n  cat at $\\'x<y$",
    "comments": "37 pages, 15 figures",
    "journal-ref": "Phys.Rev.D76:013009,2007",
    "doi": "10.1103/PhysRevD.76.013009",
    "report-no": "ANL-07-12",
    "categories": "hep-ph math.CO",
    "license": None,
    "abstract": "  We find a<b in\nPoincar\\'e's lines.\n",
    "versions": [
        {"version": "v1", "created": "Mon, 2 Apr 2007 19:18:42 GMT"},
        {"version": "v2", "created": "Tue, 24 Jul 2008 20:10:27 GMT"},
    ],
    "update_date": "2008-11-26",
    "authors_parsed": [["Balázs", "C.", ""], ["Example", "B.", "Jr", "A University"], ["LHCb Collaboration", "", ""]],
}


def read(folder, *entries, custom=()):
    path = folder / "arxiv-metadata-oai-snapshot.json"
    path.write_text("".join(entry if isinstance(entry, str) else json.dumps(entry) + "\n" for entry in entries))
    return list(arxiv.read(path, {}, custom))


def test_an_entry_with_everything(tmp_path):
    assert read(tmp_path, ENTRY) == [
        Accepted(
            1,
            Paper(
                id="0704.0001",
                title="Schrödinger's cat at $\\'x<y$",
                abstract="We find a<b in Poincaré's lines.",
                authors=("C. Balázs", "B. Example Jr", "LHCb Collaboration"),
                year=2007,
                venue="arXiv",
                fields=("hep-ph", "math.CO"),
                identifiers=("doi:10.1103/physrevd.76.013009", "arxiv:0704.0001"),
                url="https://arxiv.org/abs/0704.0001",
            ),
        )
    ]


def test_custom_fields(tmp_path):
    names = {"published": "date", "update_date": "date", "journal_ref": "keyword", "comments": "text"}
    names |= dict.fromkeys(("license", "submitter", "report_no", "report-no"), "keyword")
    (record,) = read(
        tmp_path, ENTRY | {"license": "CC"}, custom=[CustomField(name, kind) for name, kind in names.items()]
    )
    assert record.paper.extra == {
        "published": "2007-04-02",
        "update_date": "2008-11-26",
        "journal_ref": "Phys.Rev.D76:013009,2007",
        "comments": "37 pages, 15 figures",
        "license": "CC",
        "submitter": "A. Sample",
        "report_no": "ANL-07-12",
        "report-no": "ANL-07-12",
    }


@pytest.mark.parametrize(
    ("change", "year"),
    [
        ({"versions": []}, 2008),
        ({"versions": None}, 2008),
        ({"versions": [{"created": "Mon, 31 Foo 2007"}]}, 2008),
        ({"versions": ["v1"], "update_date": None}, None),
    ],
)
def test_the_year_without_a_first_version(tmp_path, change, year):
    (record,) = read(tmp_path, ENTRY | change)
    assert record.paper.year == year


@pytest.mark.parametrize("month", ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"])
def test_the_date_of_the_first_version_is_read_in_every_month(tmp_path, month):
    number = datetime.strptime(month, "%b").month
    versions = [{"created": f"Mon, 2 {month} 2007 19:18:42 GMT"}]
    (record,) = read(tmp_path, ENTRY | {"versions": versions}, custom=[CustomField("published", "date")])
    assert record.paper.extra == {"published": f"2007-{number:02d}-02"}


def test_odd_entries(tmp_path):
    first, broken, third = read(
        tmp_path, ENTRY | {"authors_parsed": None}, "{cut off\n", ENTRY | {"authors_parsed": [7, []]}
    )
    assert first.paper.authors == ("C. Bal\\'azs, B. Example",)
    assert (broken.line, type(broken)) == (2, Rejected)
    assert third.paper.authors == ()


def test_another_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="should be arXiv's metadata in JSON, but it looks like a table"):
        read(tmp_path, "id,title\n1,a\n")
