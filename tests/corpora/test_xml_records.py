import io
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora import xml_records
from corpora.errors import InputError
from corpora.paper import Rejected
from corpora.xml_records import Elements, XmlRecord, read_records

CUT_OFF = "The file is cut off here: its last tag, </S>, is missing."


class Dribble(io.BytesIO):
    def __init__(self, data, step):
        super().__init__(data)
        self.step = step

    def read1(self, size=-1, /):
        return super().read1(self.step)


class Breaking(io.BytesIO):
    def read1(self, size=-1, /):
        if not (chunk := super().read1(size)):
            raise InputError("it broke")
        return chunk


BODIES = st.lists(st.text(alphabet="ab \n&é").map(lambda text: f"<i>{text}</i>"), max_size=5)


@given(BODIES, st.integers(1, 9))
def test_cuts_alike_in_any_pieces(bodies, step):
    records = [f'<Rec n="1">{body}</Rec>' for body in bodies]
    text = "<RecSet>\n" + "\n".join(records) + "\n</RecSet>"
    found = list(read_records(Dribble(text.encode(), step), ("Rec",)))
    assert [record.body.decode() for record in found] == records
    at, lines = 0, []
    for record in records:
        at = text.index(record, at)
        lines.append(text.count("\n", 0, at) + 1)
        at += len(record)
    assert [record.line for record in found] == lines


def test_broken_ones_do_not_take_their_neighbours_along():
    data = b"<S>\n<A>1</A>\n<A>2\n<A>3</A></A>\n<B/><B>4</B>\n<A>5"
    first, cut, third, stray, fourth, last = read_records(io.BytesIO(data), ("A", "B"))
    assert [first, third, fourth] == [
        XmlRecord(2, "A", b"<A>1</A>"),
        XmlRecord(4, "A", b"<A>3</A>"),
        XmlRecord(5, "B", b"<B>4</B>"),
    ]
    assert [(bad.line, bad.reason) for bad in (cut, stray, last)] == [
        (3, "The record is cut off by the next A."),
        (4, "Here ends a A that never began."),
        (6, "The record is cut off where the file ends."),
    ]


@pytest.mark.parametrize(
    ("data", "last"),
    [
        (b"<S><A>1</A></S>", None),
        (b"<?xml?><!DOCTYPE S><!-- <T> \n --><S>\n<A>1</A>\n</S>\n", None),
        (b"<!-- <T> --><S>\n<A>1</A>\n", Rejected(3, CUT_OFF)),
        # An element whose name begins like that of the records is none.
        (b"<S><AB>0</AB><A-B/><A>1</A><A/>", Rejected(1, CUT_OFF)),
        (b"no elements", None),
    ],
)
def test_a_file_has_to_end_with_its_last_tag(data, last):
    records = list(read_records(io.BytesIO(data), ("A",)))
    assert [record.body for record in records if isinstance(record, XmlRecord)] == [b"<A>1</A>"] * (b"<A>" in data)
    assert [record for record in records if isinstance(record, Rejected)] == [last] * (last is not None)


def test_elements_with_text_are_named_left_out_and_shown():
    texts = (
        "<a>one <i>two</i></a><b/><c> </c><d><a>three</a><e><a>four</a></e></d><i>x</i><f><i>five</i> six</f><a>7</a>"
    )
    record = ET.fromstring(f"<r>{texts}</r>")  # noqa: S314 - written here
    elements = Elements(record, ("i",))
    assert elements.names() == ["a", "f", "d/a", "e/a"]
    assert [elements.text(name) for name in ("a", "f", "d/a", "e/a", "b")] == [
        "one two; 7",
        "five six",
        "three",
        "four",
        "",
    ]
    left = elements.without(("a", "e/a"))
    assert ET.tostring(left) == b"<r><b /><c> </c><d><a>three</a><e /></d><i>x</i><f><i>five</i> six</f></r>"
    assert elements.text("a") == "one two; 7"
    assert Elements(record).names() == ["a", "i", "a/i", "d/a", "e/a", "f/i"]


def test_a_damaged_stream_rejects_the_rest():
    first, cut, rest = read_records(Breaking(b"<A>1</A>\n<A>2\n2"), ("A",))
    assert first.body == b"<A>1</A>"
    assert cut == Rejected(2, "The record is cut off where the file is damaged.")
    assert rest.line == 3
    assert "it broke" in rest.reason


def test_an_endless_record_is_given_up(monkeypatch):
    monkeypatch.setattr(xml_records, "LONGEST_RECORD", 1000)
    monkeypatch.setattr(xml_records, "_CHUNK", 500)
    data = b"<A>" + b"x" * 5000 + b"</A>\n<A>2</A>"
    long, end, good = read_records(io.BytesIO(data), ("A",))
    assert long == Rejected(1, "The record is longer than 0 MiB.")
    assert end == Rejected(1, "Here ends a A that never began.")
    assert good == XmlRecord(2, "A", b"<A>2</A>")
