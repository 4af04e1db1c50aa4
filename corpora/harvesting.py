"""Harvests a server that speaks OAI-PMH into a spool.

The state is written after each answer, so a harvest that was stopped resumes with the resumption token that it had. If
the server has forgotten the token, the list is asked for again: from the last date stamp on if its records came in the
order of their date stamps, else from its beginning. The next harvest asks for what changed since the last one began, by
the server's own clock, and one day or second more, since a server may publish a record a moment after it stamped it.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree.ElementTree import Element

from corpora.errors import InputError, UnavailableError, require, short_list
from corpora.fetching import Fetcher, checked_status
from corpora.http_client import address_of
from corpora.oai import OaiPage, formats_of, identity_of, page_of, parse_mended
from corpora.obtaining import Harvest, Obtained, Order
from corpora.progress import Progress
from corpora.spool import AnswerFolder, spooling

DEFAULT_PREFIX = "oai_dc"
NAMESPACES = {"http://www.openarchives.org/OAI/2.0/oai_dc/": "Dublin Core", "http://www.loc.gov/MARC21/slim": "MARCXML"}
"""The forms of metadata that can be read."""

_TRIES = 3
"""How often an answer is asked for that is no XML."""
_MOST_RESTARTS = 20


@dataclass(frozen=True, slots=True)
class _State:
    """Where a harvest is.

    Attributes:
        granularity: How exact the server's date stamps are.
        born: When this harvest began, of which later ones are a part.
        deletions: Whether the server tells what was deleted.
        pages: Number of answers that are kept.
        records: Number of records in them.
        deleted: How many of them say that a paper is deleted.
        complete: The server's time when the last complete list began; empty before that.
        listing: Whether a list is in progress; the rest is about that list.
        token: The token to resume with; empty at its beginning.
        window: The date from which on it was asked for; empty for all.
        began: The server's time when it began.
        first: Number of answers before it.
        before: Records and deleted ones before it.
        reached: The highest date stamp, if all came in their order so far; else empty.
        restarts: How often it was asked for again.
    """

    granularity: str = "days"
    born: str = ""
    deletions: str = "no"
    pages: int = 0
    records: int = 0
    deleted: int = 0
    complete: str = ""
    listing: bool = False
    token: str = ""
    window: str = ""
    began: str = ""
    first: int = 0
    before: tuple[int, ...] = (0, 0)
    reached: str = ""
    restarts: int = 0


def obtain(order: Order) -> Obtained | None:
    """Harvest an address; None if the place is a file or a folder of answers. See `Obtain`."""
    if not order.is_address:
        return None
    wanted = order.harvest or Harvest()
    with closing(Fetcher(order.visitor)) as fetcher:
        return harvest(order.place, wanted, order.folder / "harvests", fetcher, order.progress, order.limit)


def harvest(
    url: str, wanted: Harvest, folder: Path, fetcher: Fetcher, progress: Progress, limit: int | None = None
) -> Obtained:
    """Bring the harvest of a server up to date, and return where it is and what was done.

    Args:
        url: The server's address (its base URL).
        wanted: Which of its records.
        folder: Folder of all harvests.
        fetcher: Asks the server.
        progress: Receives progress reports.
        limit: Number of records that are enough: the next run resumes there.

    Returns:
        The folder of the server's answers, and counts.

    Raises:
        InputError: If the address, the set or the prefix is wrong.
        UnavailableError: If the server fails; what came before is kept.
        ConflictError: If another run harvests the same.
        StoppedError: If the user stopped it.
    """
    prefix = wanted.metadata_prefix or DEFAULT_PREFIX
    parts = address_of(url)
    require(
        "verb=" not in parts.query,
        f"{url[:200]} is the address of one request, not of the server",
        "leave out what follows the question mark",
    )
    identity = " ".join((url, prefix, wanted.set, wanted.from_date, wanted.until))
    readable = f"{parts.hostname}-{wanted.set or 'all'}"
    name = f"oai:{parts.netloc.rpartition('@')[2]}{parts.path}" + (f" {wanted.set}" if wanted.set else "")
    with spooling(url, folder, readable, identity, "xml") as spool:
        run = _Run(url, replace(wanted, metadata_prefix=prefix), spool, fetcher, progress)
        run.harvest(limit)
    identity = f"{identity} {run.state.born}"
    return replace(run.done, identity=identity, name=name, held=run.state.records, notes=run.notes())


class _Run:
    """One run of a harvest, under its lock."""

    def __init__(self, url: str, wanted: Harvest, spool: AnswerFolder, fetcher: Fetcher, progress: Progress) -> None:
        self._url, self._wanted, self._spool = url, wanted, spool
        self._fetcher, self._progress = fetcher, progress
        self._seen: set[str] = set()
        self._announced: int | None = None
        self.done = Obtained(spool.place, "")
        self.state = spool.state(_State)

    def harvest(self, limit: int | None) -> None:
        """Ask for all that is new, answer by answer."""
        if self._wanted.again or not (self.state.complete or self.state.listing):
            self._begin_anew()
        self._spool.remove_after(self.state.pages)
        if not self.state.listing:
            window = self._next_window()
            until = self._bound(self._wanted.until, last=True)
            if self.state.complete and until and window > until:
                return
            before = (self.state.records, self.state.deleted)
            self._save(listing=True, token="", window=window, began="", first=self.state.pages, before=before)
        self._progress.stage("harvesting", None)
        while self.state.listing:
            if limit is not None and self.state.records - self.state.deleted >= limit:
                return
            self._advance()

    def notes(self) -> tuple[str, ...]:
        """Return what the user should know of this harvest."""
        notes = []
        if self.done.mended:
            notes.append(f"Characters and entities that XML forbids were mended in {self.done.mended:,} answers")
        if self.state.listing:
            notes.append("The server has more records; a run without a limit resumes here")
        if self.state.deletions != "persistent":
            how = "only for some time" if self.state.deletions == "transient" else "not at all"
            notes.append(
                f"The server tells {how} what it deleted (deletedRecord: {self.state.deletions}); to delete that here "
                "too, ask for everything again and prune"
            )
        return tuple(notes)

    def _begin_anew(self) -> None:
        """Ask the server what it is and which forms it has, and forget an earlier harvest once it has answered."""
        try:
            identity = identity_of(self._document({"verb": "Identify"}))
        except ValueError as error:
            raise InputError(f"{self._url} does not say what it is: {error}", "check <path>") from None
        forms = formats_of(self._document({"verb": "ListMetadataFormats"}))
        prefix = self._wanted.metadata_prefix
        listed = short_list(list(forms), 20) or "none"
        if prefix not in forms:
            raise InputError(
                f"{self._url} has no records of the form {prefix!r}",
                f"give a <metadata_prefix> of the server: {listed}",
            )
        if forms[prefix] not in NAMESPACES:
            readable = [name for name, namespace in forms.items() if namespace in NAMESPACES]
            raise InputError(
                f"Records of the form {prefix!r} can't be read", f"give a <metadata_prefix> of: {', '.join(readable)}"
            )
        self.state = _State()
        born = datetime.now(UTC).isoformat()
        self._save(granularity=identity.granularity, deletions=identity.deletions, born=born)
        self._spool.remove_after(0)

    def _advance(self) -> None:
        """Ask for the next answer of the list, and keep it with the state after it."""
        page, body, mended = self._page(self._query())
        code, message = page.error
        if code == "badResumptionToken" and self.state.token:
            self._restart()
            return
        if code and code != "noRecordsMatch":
            raise _refusal(self._url, code, message)
        if code:
            self._finish(page)
            return
        self._refuse_circle(page)
        self._spool.keep(self.state.pages + 1, body)
        deleted = sum(record.deleted for record in page.records)
        done = self.done
        self.done = replace(
            done,
            requests=done.requests + 1,
            records=done.records + len(page.records),
            deleted=done.deleted + deleted,
            mended=done.mended + mended,
        )
        self._announced = page.announced if page.announced is not None else self._announced
        self._progress.advance(len(page.records))
        self._save(
            pages=self.state.pages + 1,
            records=self.state.records + len(page.records),
            deleted=self.state.deleted + deleted,
            began=self.state.began or page.stamp,
            reached=self._reached(page),
            token=page.token,
        )
        if not page.token:
            self._finish(page)

    def _query(self) -> dict[str, str]:
        if self.state.token:
            return {"verb": "ListRecords", "resumptionToken": self.state.token}
        query = {
            "verb": "ListRecords",
            "metadataPrefix": self._wanted.metadata_prefix,
            "set": self._wanted.set,
            "from": self.state.window,
            "until": self._bound(self._wanted.until, last=True),
        }
        return {name: value for name, value in query.items() if value}

    def _finish(self, page: OaiPage) -> None:
        """Note that the list is complete."""
        listed = self.state.records - self.state.before[0]
        if self._announced and not self.state.restarts and self._announced != listed:
            logging.getLogger("ses").warning(
                "%s announced %s records and sent %s.", self._url, f"{self._announced:,}", f"{listed:,}"
            )
        if not self.state.complete and not self.state.records:
            raise InputError(
                f"{self._url} has no records of that set and those dates", "check <set>, <from_date> and <until>"
            )
        self._save(
            complete=self.state.began or page.stamp or self.state.complete,
            listing=False,
            token="",
            reached="",
            restarts=0,
        )

    def _restart(self) -> None:
        """Ask for the list again, since the server has forgotten the token."""
        if self.state.restarts >= _MOST_RESTARTS:
            raise UnavailableError(
                f"{self._url} forgets its resumption tokens before they are used", "try again at another time"
            )
        logging.getLogger("ses").warning("%s has forgotten where the list was; it is asked for again.", self._url)
        restarts = self.state.restarts + 1
        self._seen.clear()
        if self.state.reached > self.state.window:
            self._save(token="", window=self._bound(self.state.reached, last=False), restarts=restarts)
            return
        records, deleted = self.state.before
        self._save(token="", pages=self.state.first, records=records, deleted=deleted, reached="", restarts=restarts)
        self._spool.remove_after(self.state.pages)

    def _refuse_circle(self, page: OaiPage) -> None:
        """Raise if the same token led to the same records before: the list would never end."""
        headers = "\n".join(f"{record.identifier} {record.stamp}" for record in page.records)
        mark = f"{page.token} {hashlib.blake2b(headers.encode(errors='replace')).hexdigest()}"
        if page.token and (mark in self._seen or (page.token == self.state.token and not page.records)):
            raise UnavailableError(
                f"{self._url} sends the same records with the same resumption token again", "tell those who run it"
            )
        self._seen.add(mark)

    def _reached(self, page: OaiPage) -> str:
        """Return the last date stamp of the list, empty where one was lower than one before it."""
        if not self.state.reached and self.state.pages > self.state.first:
            return ""
        last = self.state.reached
        for record in page.records:
            if not record.stamp or record.stamp < last:
                return ""
            last = record.stamp
        return last

    def _next_window(self) -> str:
        """Return the date from which on to ask, one day or second before the last complete list began."""
        if not self.state.complete:
            return self._bound(self._wanted.from_date, last=False)
        began = _time_of(self.state.complete)
        if began is None:  # a server without a readable clock
            return self._bound(self._wanted.from_date, last=False)
        day = self.state.granularity == "days"
        earlier = began - (timedelta(days=1) if day else timedelta(seconds=1))
        return earlier.strftime("%Y-%m-%d" if day else "%Y-%m-%dT%H:%M:%SZ")

    def _bound(self, date: str, *, last: bool) -> str:
        """Return a date in the server's granularity: both ends of a window must have the same."""
        if not date or self.state.granularity == "days":
            return date[:10]
        return date if "T" in date else f"{date}T{'23:59:59' if last else '00:00:00'}Z"

    def _page(self, query: Mapping[str, str]) -> tuple[OaiPage, bytes, bool]:
        for attempt in range(_TRIES):
            reply = self._fetcher.get(self._url, query)
            try:
                # A broken answer is often whole when it is asked for again.
                root, mended = parse_mended(reply.body, without_broken=attempt == _TRIES - 1)
                return page_of(root), reply.body, mended
            except ValueError as error:
                # A broken answer comes with status 200 too.
                checked_status(self._url, reply)
                if attempt == _TRIES - 1:
                    raise UnavailableError(
                        f"An answer of {self._url} can't be read: {error}",
                        f"run the same command again; answers before it are kept ({self.state.pages:,})",
                    ) from None
        raise AssertionError

    def _document(self, query: Mapping[str, str]) -> Element:
        reply = self._fetcher.get(self._url, query)
        try:
            root, _ = parse_mended(reply.body)
        except ValueError:
            root = None
        if root is None or not str(root.tag).endswith("OAI-PMH"):
            checked_status(self._url, reply)
            raise InputError(f"What is at {self._url} does not speak OAI-PMH", "check <path>")
        return root

    def _save(self, **changes: object) -> None:
        self.state = replace(self.state, **changes)  # type: ignore[arg-type]  # attributes of the state
        self._spool.save(self.state)


def _time_of(text: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def _refusal(url: str, code: str, message: str) -> InputError:
    said = f" ({code}: {message})" if message else f" ({code})"
    if code == "noSetHierarchy":
        return InputError(f"{url} has no sets{said}", "leave <set> out")
    return InputError(f"{url} refuses the request{said}", "check <set>, <from_date>, <until> and <metadata_prefix>")
