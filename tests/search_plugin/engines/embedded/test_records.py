"""Records of papers, whole and damaged."""

from __future__ import annotations

import pytest

from corpora.paper import Paper
from search_plugin.engines.embedded import records
from search_plugin.engines.embedded.records import (
    Stored,
    damaged_record,
    encoded,
    from_record,
    id_of,
    ids_of,
    to_record,
)

PAPERS = [Stored(Paper("a", "Masks", year=2020, authors=("Ångström, A.",)), "h1"), Stored(Paper("b" * 300, ""), "")]
RECORDS = [to_record(encoded(paper)) for paper in PAPERS]
PLACES = (0, len(RECORDS[0]))


def test_a_record_holds_a_paper_and_its_hash():
    assert [from_record(record, 0) for record in RECORDS] == PAPERS
    together = memoryview(b"".join(RECORDS))
    assert ids_of(together, PLACES) == ["a", "b" * 300]
    assert [id_of(together, place) for place in PLACES] == ["a", "b" * 300]


@pytest.mark.parametrize("place", range(0, len(RECORDS[0]), 3))
def test_every_byte_of_a_record_is_checked(place):
    changed = bytearray(RECORDS[0])
    changed[place] ^= 1
    with pytest.raises(ValueError, match=r"was changed after it was written|the record at byte 5"):
        from_record(bytes(changed), 5)


def test_a_damaged_record_is_named_by_its_id_or_its_place():
    assert [damaged_record(record, 7) for record in RECORDS] == ["", ""]
    assert damaged_record(RECORDS[0][:-1], 7) == "the record of the paper a"
    for damaged in (RECORDS[0][:16], RECORDS[0][:15], b"", bytes(40)):
        assert damaged_record(damaged, 7_000) == "the record at byte 7,000"
    with pytest.raises(ValueError, match="the checksum of an id is wrong"):
        id_of(memoryview(bytes(40)), 0)


def test_values_have_a_longest_length_when_written_and_when_read(monkeypatch):
    paper = Stored(Paper("a", "Mask"), "h")
    size, record = len(encoded(paper).values), to_record(encoded(paper))
    monkeypatch.setattr(records, "_LONGEST", size)
    assert from_record(to_record(encoded(paper)), 0) == paper
    monkeypatch.setattr(records, "_LONGEST", size - 1)
    with pytest.raises(ValueError, match="it is longer than 0 MiB"):
        encoded(paper)
    with pytest.raises(ValueError, match="the record at byte 1,234 is longer than 0 MiB, or has lost its end"):
        from_record(record, 1_234)


def test_what_is_no_text_is_refused():
    with pytest.raises(ValueError, match="surrogates"):
        encoded(Stored(Paper("a", "\ud800"), "h"))
