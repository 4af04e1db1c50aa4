"""Folders of a server's answers: one run at a time, and what is told if it stops."""

import gzip
from dataclasses import dataclass

import pytest

from corpora.errors import ConflictError, StoppedError, UnavailableError
from corpora.spool import spooling

ORDER = ("https://example.org/oai", "Example.ORG oai: 2020", "everything", "xml")


def spool(folder, identity="everything"):
    url, readable, _, suffix = ORDER
    return spooling(url, folder, readable, identity, suffix)


def test_a_spool_is_for_one_run_and_named_for_people(tmp_path):
    with spool(tmp_path) as one, spool(tmp_path, "a part") as other:
        assert one.place != other.place
        assert one.place.name.startswith("example.org-oai-2020-")
        with pytest.raises(ConflictError, match=r"Another ses is harvesting https://example\.org/oai"), spool(tmp_path):
            pass
    with spool(tmp_path) as again:
        assert again.place == one.place
    # What a terminal passes on may not be Unicode, and names may be long or of no letters.
    with spool(tmp_path, "caf\udce9") as odd, spooling("u", tmp_path, "é" + "x" * 99, "i", "xml") as long:
        assert odd.place.name.startswith("example.org-oai-2020-")
        assert long.place.name.rpartition("-")[0] == "x" * 59


@dataclass(frozen=True)
class Reached:
    """Where a reading is."""

    pages: int = 0


def test_answers_and_the_state_are_kept_and_those_after_it_removed(tmp_path):
    with spool(tmp_path) as one:
        assert one.state(Reached) == Reached()
        one.save(Reached(2))
        for number in (1, 2, 3, 10):
            one.keep(number, b"answer")
        one.write("answer-00000003.json.gz", b"of another form")
        one.remove_after(2)
        kept = ["answer-00000001.xml.gz", "answer-00000002.xml.gz", "answer-00000003.json.gz", "harvest.json"]
        assert sorted(path.name for path in one.place.iterdir()) == kept
        # The same answer is the same file at any time.
        assert (one.place / kept[0]).read_bytes() == gzip.compress(b"answer", 6, mtime=0)
        assert one.state(Reached) == Reached(2)
        one.write("harvest.json", b'{"pages": "two"}')
        with pytest.raises(
            UnavailableError, match=r"harvest\.json can't be read \(.*\); delete its folder, and harvest"
        ):
            one.state(Reached)


def test_something_else_in_the_place_of_the_lock_is_reported(tmp_path):
    with spool(tmp_path) as one:
        pass
    lock = tmp_path / f"{one.place.name}.lock"
    lock.unlink()
    lock.mkdir()
    with pytest.raises(UnavailableError, match=r"\.lock can't be locked \(Is a directory\)"), spool(tmp_path):
        pass


def test_a_folder_that_can_not_be_made_is_reported(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UnavailableError, match=r"The folder .* can't be written"), spool(tmp_path / "file"):
        pass


def test_who_stops_it_is_told_what_is_kept(tmp_path):
    with spool(tmp_path) as one:
        for name in ("answer-00000001.xml.gz", "answer-00000002.xml.gz", "notes.json"):
            one.write(name, b"x")
    told = r"Stopped: 2 answers of https://example\.org/oai are kept"
    with pytest.raises(StoppedError, match=told), spool(tmp_path):
        raise KeyboardInterrupt
