"""Looks up the works of a list of DOIs at Crossref, and keeps them, so that no work is asked for twice.

Several DOIs are asked for at once, by Crossref's filter `doi`; those that it does not return are asked for one by one,
so that each has a reason. Works, and the fact that there is none, are kept in a SQLite file of the data folder.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import orjson

from corpora.documents import LARGEST, json_of
from corpora.errors import StoppedError, UnavailableError, require
from corpora.fetching import Fetcher, checked_status
from corpora.identifiers import read_identifier
from corpora.obtaining import Obtained, Order, check_no_address
from corpora.opening import bounded_lines, open_binary
from corpora.paper import Rejected
from corpora.sniffing import guess_kind
from corpora.writing import WRITABLE_DATA, explaining, replacing

AT_ONCE = 20
"""DOIs of one request; an address with 20 of them is still short enough for any server."""

MOST = 1_000_000
"""DOIs of a list."""

_BELIEVED_SECONDS = 7 * 24 * 3600
"""How long it is believed that Crossref has no work of a DOI: it may be registered later."""
_LONGEST_FILTERED = 200
_NO_DOI = "It is no DOI."
_UNKNOWN = "Crossref has no work with this DOI."


class _Listed(NamedTuple):
    """A line of a list: its number, its text, and the DOI in it, empty if there is none."""

    line: int
    text: str
    doi: str


def obtain(order: Order) -> Obtained | None:
    """Look up a list of DOIs, one a line; None if the file holds works, or is a folder. See `Obtain`."""
    check_no_address("crossref", order)
    path = Path(order.place)
    if path.is_dir() or not _is_list(path):
        return None
    listed = list(_read_list(path, order.limit))
    folder = order.folder / "crossref"
    with explaining(f"The folder {folder}", WRITABLE_DATA):
        folder.mkdir(parents=True, exist_ok=True)
    dois = list(dict.fromkeys(one.doi for one in listed if one.doi))
    identity = f"{path.resolve()} {hashlib.blake2b(' '.join(dois).encode(), digest_size=8).hexdigest()}"
    works = folder / f"list-{hashlib.blake2b(identity.encode(errors='replace'), digest_size=8).hexdigest()}.jsonl"
    # The user and password are those of a server that is harvested.
    visitor = replace(order.visitor, username="", password="")
    with closing(Fetcher(visitor)) as fetcher, closing(_open_kept(folder / "works.sqlite")) as kept:
        run = _LookUp(order, fetcher, kept)
        try:
            run.look_up(dois, again=bool(order.harvest and order.harvest.again))
            with explaining(works, WRITABLE_DATA), replacing(works) as part, part.open("wb") as out:
                for one in listed:
                    out.write(_line_of(one, run.answer(one.doi)))
        except KeyboardInterrupt:
            hint = "run the same command again to resume"
            raise StoppedError(f"Stopped: {run.done.records:,} new works are kept", hint) from None
        except sqlite3.Error as error:
            raise UnavailableError(f"The works in {folder} can't be kept ({error})", WRITABLE_DATA) from error
    return replace(run.done, path=works, identity=identity, held=len(dois))


def _is_list(path: Path) -> bool:
    """Return whether a file begins with a DOI; a line that begins with # is a remark."""
    with open_binary(path) as stream:
        if guess_kind(stream.peek()) == "jsonl":
            return False
        for line in bounded_lines(stream):
            if not isinstance(line, Rejected) and not line.raw.startswith(b"#"):
                return bool(_doi_of(line.raw.decode(errors="replace")))
    return False


def _read_list(path: Path, limit: int | None) -> Iterator[_Listed]:
    dois = 0
    with open_binary(path) as stream:
        for line in bounded_lines(stream):
            if isinstance(line, Rejected):
                yield _Listed(line.line, "", "")
                continue
            text = line.raw.decode(errors="replace")
            if text.startswith("#"):
                continue
            doi = _doi_of(text)
            yield _Listed(line.number, text[:200], doi)
            dois += bool(doi)
            require(dois <= MOST, f"{path} lists more than {MOST:,} DOIs", "divide it, or use Crossref's public data")
            if dois == limit:
                return


def _doi_of(text: str) -> str:
    found = read_identifier(text.strip().strip('"'), "doi")
    return found[1] if found and found[0] == "doi" else ""


def _line_of(one: _Listed, answer: bytes) -> bytes:
    """Return a line for the reader: the DOI as it was listed, and the work, or why there is none."""
    return orjson.dumps({"line": one.line, "looked_up": one.doi or one.text})[:-1] + b"," + answer + b"}\n"


def _open_kept(path: Path) -> sqlite3.Connection:
    with explaining(f"The folder {path.parent}", WRITABLE_DATA):
        try:
            kept = sqlite3.connect(path, timeout=60)
            kept.execute(
                "CREATE TABLE IF NOT EXISTS works "
                "(doi TEXT PRIMARY KEY, work BLOB, reason TEXT, asked REAL) WITHOUT ROWID"
            )
        except sqlite3.Error as error:
            raise UnavailableError(f"{path} can't be used ({error})", "delete it, and try again") from error
    return kept


class _LookUp:
    """Looks up DOIs that are not kept."""

    def __init__(self, order: Order, fetcher: Fetcher, kept: sqlite3.Connection) -> None:
        self._base = order.url.rstrip("/")
        self._contact = {"mailto": order.visitor.contact} if order.visitor.contact else {}
        self._progress, self._fetcher, self._kept = order.progress, fetcher, kept
        self.done = Obtained(Path(), "")

    def look_up(self, dois: Sequence[str], *, again: bool) -> None:
        """Ask for all works that are not kept; for all if `again`."""
        missing = [doi for doi in dois if again or not self._is_kept(doi)]
        self._progress.stage("looking up", len(missing))
        for start in range(0, len(missing), AT_ONCE):
            part = missing[start : start + AT_ONCE]
            # A comma separates filters, so a DOI with one can't be in a filter.
            together = [doi for doi in part if "," not in doi and len(doi) <= _LONGEST_FILTERED]
            found = self._together(together) if len(together) > 1 else {}
            for doi in part:
                work = found.get(doi) or self._alone(doi)
                self._keep(doi, work)
            self._kept.commit()
            self._progress.advance(len(part))

    def answer(self, doi: str) -> bytes:
        """Return `"work":...` or `"reason":...` of a DOI that was looked up."""
        row = self._kept.execute("SELECT work, reason FROM works WHERE doi = ?", [doi]).fetchone()
        if row and row[0] is not None:
            return b'"work":' + zlib.decompressobj().decompress(row[0], LARGEST)
        return b'"reason":' + orjson.dumps(row[1] if row else _NO_DOI)

    def _is_kept(self, doi: str) -> bool:
        row = self._kept.execute("SELECT work IS NOT NULL, asked FROM works WHERE doi = ?", [doi]).fetchone()
        return bool(row) and bool(row[0] or row[1] > time.time() - _BELIEVED_SECONDS)

    def _keep(self, doi: str, work: dict[str, Any] | None) -> None:
        packed = None if work is None else zlib.compress(orjson.dumps(work))
        reason = _UNKNOWN if work is None else None
        self._kept.execute("INSERT OR REPLACE INTO works VALUES (?, ?, ?, ?)", [doi, packed, reason, time.time()])
        missing = work is None
        self.done = replace(self.done, records=self.done.records + (not missing), refused=self.done.refused + missing)

    def _together(self, dois: Sequence[str]) -> dict[str, dict[str, Any]]:
        query = {"filter": ",".join(f"doi:{doi}" for doi in dois), "rows": str(len(dois)), **self._contact}
        message = self._message(f"{self._base}/works", query) or {}
        items = message.get("items")
        works = [work for work in items if isinstance(work, dict)] if isinstance(items, list) else []
        return {str(work.get("DOI", "")).lower(): work for work in works}

    def _alone(self, doi: str) -> dict[str, Any] | None:
        return self._message(f"{self._base}/works/{quote(doi, safe='')}", self._contact)

    def _message(self, url: str, query: dict[str, str]) -> dict[str, Any] | None:
        """Return the message of an answer, None if there is no such work."""
        reply = self._fetcher.get(url, query)
        self.done = replace(self.done, requests=self.done.requests + 1)
        if reply.status in (400, 404):  # Crossref answers 400 to a DOI that none can be
            return None
        checked_status(url, reply)
        try:
            message = json_of(reply.body)["message"]
        except (ValueError, KeyError, TypeError):
            message = None
        if not isinstance(message, dict):
            raise UnavailableError(f"{url} does not answer as Crossref does", "check SES_CROSSREF_URL")
        return message
