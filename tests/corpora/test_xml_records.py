import io

from hypothesis import given
from hypothesis import strategies as st

from corpora import xml_records
from corpora.errors import InputError
from corpora.paper import Rejected
from corpora.xml_records import XmlRecord, read_records


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
    long, _, good = read_records(io.BytesIO(data), ("A",))
    assert "longer than" in long.reason
    assert good == XmlRecord(2, "A", b"<A>2</A>")
