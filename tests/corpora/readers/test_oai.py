"""Answers are written by hand after openarchives.org/OAI/openarchivesprotocol.html."""

import gzip

import pytest

from corpora.custom import CustomField
from corpora.errors import InputError
from corpora.paper import Accepted, Deleted, Paper, Rejected
from corpora.publication import Publication
from corpora.readers import oai
from tests.corpora.repository import MARC, dublin_core


def answer(*records):
    listed = "".join(
        f"<record><header{status}><identifier>{name}</identifier><datestamp>2024-05-0{number}</datestamp>"
        f"<setSpec>bees</setSpec><setSpec>wasps</setSpec></header>{metadata}</record>"
        for number, (name, status, metadata) in enumerate(records, start=1)
    )
    return f"<OAI-PMH><ListRecords>{listed}</ListRecords></OAI-PMH>".encode()


def given(name, metadata, status=""):
    return name, status, f"<metadata>{metadata}</metadata>"


BEES = given(
    "oai:x:1", dublin_core(title="Bees", publisher="A Press", rights=["CC", "BY"], date="2020", coverage="Bonn")
)
DELETED = ' status="deleted"'


def read(path, custom=()):
    return list(oai.read(path, {}, custom))


def test_records_of_dublin_core_are_papers_or_say_why_not(tmp_path):
    path = tmp_path / "answer.xml"
    path.write_bytes(
        answer(
            BEES,
            ("oai:x:2", DELETED, ""),
            ("", DELETED, ""),
            ("oai:x:4", "", ""),
            given("oai:x:5", dublin_core(subject="no title")),
            given("", dublin_core(title="no id")),
        )
    )
    kinds = {"datestamp": "date", "sets": "keywords", "rights": "keywords", "publisher": "keyword", "coverage": "text"}
    assert read(path, [CustomField(name, kind) for name, kind in kinds.items()]) == [
        Accepted(
            1,
            Paper(
                "oai:x:1",
                "Bees",
                year=2020,
                extra={
                    "datestamp": "2024-05-01",
                    "sets": ("bees", "wasps"),
                    "rights": ("CC", "BY"),
                    "publisher": "A Press",
                    "coverage": "Bonn",
                },
                publication=Publication(publisher="A Press"),
            ),
        ),
        Deleted(2, "oai:x:2"),
        Rejected(3, "The record has no id."),
        Rejected(4, "The record has no metadata that can be read.", "oai:x:4"),
        Rejected(5, "The record has neither title nor abstract.", "oai:x:5"),
        Rejected(6, "The record has no id."),
    ]


def test_records_of_marcxml_have_the_servers_name_and_their_own_fields(tmp_path):
    field = '<datafield tag="{}" ind1=" " ind2=" "><subfield code="{}">{}</subfield></datafield>'
    given_fields = [("245", "a", "Bees :"), ("264", "b", "A Press"), ("852", "h", "R 1")]
    own = '<leader>00000nam a2200000 a 4500</leader><controlfield tag="001">own</controlfield>'
    fields = "".join(field.format(*one) for one in given_fields)
    marc = f'<record xmlns="{MARC}">{own}{fields}</record>'
    (tmp_path / "a.xml").write_bytes(answer(given("oai:x:m", marc)))
    custom = [CustomField("publisher", "keyword"), CustomField("shelf", "keyword", "852h")]
    custom.append(CustomField("sets", "keywords"))
    (record,) = read(tmp_path / "a.xml", custom)
    assert (record.paper.id, record.paper.title, record.paper.types) == ("oai:x:m", "Bees", ("book",))
    assert "852h" in record.made_of.parts.names()
    assert record.paper.extra == {"publisher": "A Press", "shelf": "R 1", "sets": ("bees", "wasps")}


def test_a_folder_of_answers_is_read_in_order_and_another_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"holds no \.xml or \.xml\.gz file, as a harvest does"):
        read(tmp_path)
    (tmp_path / "b.xml").write_bytes(answer(given("2", dublin_core(title="Second"))))
    (tmp_path / "a.xml.gz").write_bytes(gzip.compress(answer(BEES, given("x", dublin_core()))))
    (tmp_path / "c.txt").write_text("not read")
    first, bad, second = read(tmp_path)
    assert [first.paper.id, second.paper.id] == ["oai:x:1", "2"]
    assert bad == Rejected(2, "a.xml.gz: The record has neither title nor abstract.", "x")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("<OAI-PMH><ListRecords>", "should be an answer of OAI-PMH, but it isn't XML"),
        ("<OAI-PMH/>", "but it has neither records nor an error; harvest it again"),
        ("<html/>", "but it isn't an answer of OAI-PMH"),
        ("TY  - JOUR", "should be answers of OAI-PMH, but it looks like RIS; use corpus=ris"),
    ],
)
def test_another_file_is_refused(tmp_path, text, says):
    (tmp_path / "a.xml").write_text(text)
    with pytest.raises(InputError, match=says):
        read(tmp_path / "a.xml")
