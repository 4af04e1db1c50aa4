"""Brings the spool of a Zotero library up to date over its API, version 3, of the program here or of zotero.org.

The web API is described at zotero.org/support/dev/web_api/v3. The local one is `server_localAPI.js` of zotero/zotero:
it needs no key, and does not list what was deleted. Without that list, and for a collection, out of which items can be
taken without being deleted, all is asked for each time. Otherwise only what has changed since the version that is kept.

A list has many answers, which are all of one version of the library. A list that was stopped resumes if the library is
still at that version, and begins again if not.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from corpora.documents import json_of
from corpora.errors import InputError, UnavailableError, require
from corpora.fetching import Fetcher, Reply
from corpora.http_client import is_loopback
from corpora.obtaining import Obtained, Order
from corpora.progress import Progress
from corpora.spool import AnswerFolder, spooling

KEY = "ZOTERO_API_KEY"
"""The environment variable with a key of zotero.org, for a library that is not public."""

PAGE = 100
"""Items of an answer; the web API gives no more."""

NOT_PAPERS = {"attachment": "attachments", "note": "notes", "annotation": "annotations"}
"""Items that are no papers, and what many of them are called."""

COLLECTIONS = "collections.json"
"""The file of a spool with the name of each collection by its key, after those around it: `Bats > Caves`."""

_MOST_RESTARTS = 3
_URL = re.compile(
    r"(?P<library>https?://[^/?#@\s]+(?:/api)?/(?:users|groups)/\d+)(?P<part>/collections/[A-Z0-9]{8})?/?"
    r"(?:\?since=(?P<since>\d{1,15}))?"
)


@dataclass(frozen=True, slots=True)
class _State:
    """Where the reading of a library is.

    Attributes:
        born: When this reading began, of which later ones are a part.
        pages: Number of answers that are kept.
        items: Number of items in them.
        papers: How many of them are papers that are not deleted.
        version: Version of the library when the last list was complete; 0 before that.
        listing: Whether a list is in progress; the rest is about that list.
        target: The version that it is of.
        since: The version from which on it was asked for; 0 for all.
        start: Number of its items that are kept.
        before: Answers, items and papers before it.
    """

    born: str = ""
    pages: int = 0
    items: int = 0
    papers: int = 0
    version: int = 0
    listing: bool = False
    target: int = 0
    since: int = 0
    start: int = 0
    before: tuple[int, ...] = (0, 0, 0)


def obtain(order: Order) -> Obtained | None:
    """Read a library or a collection at an address; None if the place is a file. See `Obtain`."""
    if not order.is_address:
        return None
    headers = {"Zotero-API-Version": "3", "Accept": "application/json"}
    if key := os.environ.get(KEY, "").strip():
        headers["Zotero-API-Key"] = key
    # Zotero knows keys, not users and passwords.
    visitor = replace(order.visitor, username="", password="")
    again = bool(order.harvest and order.harvest.again)
    with closing(Fetcher(visitor, headers=headers)) as fetcher:
        return follow(order.place, order.folder / "zotero", fetcher, order.progress, order.limit, again=again)


def follow(
    url: str, folder: Path, fetcher: Fetcher, progress: Progress, limit: int | None = None, *, again: bool = False
) -> Obtained:
    """Bring the spool of a library up to date, and return where it is and what was done.

    Args:
        url: Address of a library, or of a collection of one, such as `http://127.0.0.1:23119/api/users/0` or
            `https://api.zotero.org/groups/12345/collections/ABCD2345`. With `?since=VERSION`, only what has changed
            since that version of the library.
        folder: Folder of all spools of libraries.
        fetcher: Asks the API.
        progress: Receives progress reports.
        limit: Number of papers that are enough: the next run resumes there.
        again: Whether to ask for everything once more.

    Returns:
        The spool, and counts. It is not whole if only what has changed was wanted.

    Raises:
        InputError: If the address is another one, or not safe.
        UnavailableError: If the API does not answer, refuses, or the library changes again and again.
        ConflictError: If another run reads the same.
        StoppedError: If the user stopped it.
    """
    found = _URL.fullmatch(url)
    if found is None:
        raise InputError(
            f"{url[:200]!r} is no library of Zotero",
            "give <path> as http://127.0.0.1:23119/api/users/0, or https://api.zotero.org/users/NUMBER",
        )
    require(
        url.startswith("https:") or is_loopback(url),
        f"{url[:200]} isn't an HTTPS address",
        "use one, so that nobody can read the library on its way",
    )
    library, part, since = found["library"], found["part"] or "", int(found["since"] or 0)
    identity = f"{library}{part} {since}"
    name = "/".join(f"{library}{part}".split("/")[-2:])
    with spooling(url, folder, name, identity, "json") as spool:
        run = _Run(library, part, since, spool, fetcher, progress)
        run.follow(limit, again=again)
    state = run.state
    return replace(
        run.done,
        identity=f"{identity} {state.born}",
        name=f"zotero:{name}",
        held=state.items,
        whole=not since,
        notes=run.notes(),
    )


def items_of(page: Any) -> list[Mapping[str, Any]]:
    """Return the items of an answer, those that are deleted with nothing but a key; `ValueError` if it is none."""
    if isinstance(page, dict) and isinstance(page.get("items"), list):
        return [{"key": key, "data": {"deleted": 1}} for key in page["items"] if isinstance(key, str)]
    if isinstance(page, list) and all(isinstance(one, dict) and _is_object(one) for one in page):
        return page
    raise ValueError("it holds no items of Zotero")


class _Run:
    """One run, under the lock of the spool."""

    def __init__(
        self, library: str, part: str, since: int, spool: AnswerFolder, fetcher: Fetcher, progress: Progress
    ) -> None:
        self._library, self._part, self._since = library, part, since
        self._spool, self._fetcher, self._progress = spool, fetcher, progress
        self._left_out: Counter[str] = Counter()
        self._tells_deleted = True
        self.done = Obtained(spool.place, "")
        self.state = spool.state(_State)

    def follow(self, limit: int | None, *, again: bool) -> None:
        """Ask for all that is new, answer by answer."""
        self._progress.stage("harvesting", None)
        names = _paths({one["key"]: one["data"] for page in self._collections() for one in page})
        self._spool.write(COLLECTIONS, orjson.dumps(names))
        if again:
            self._save(_State())
        if not self.state.listing:
            self._begin()
        self._spool.remove_after(self.state.pages)
        restarts = 0
        while self.state.listing and (limit is None or self.state.papers < limit):
            if not self._advance():
                restarts += 1
                self._restart()
            if restarts > _MOST_RESTARTS:
                raise UnavailableError("The library of Zotero was changed while it was read", "read it again")

    def notes(self) -> tuple[str, ...]:
        """Return what the user should know of this run."""
        counts = [f"{count:,} {what}" for what, count in sorted(self._left_out.items()) if count]
        notes = [f"Left out of the library of Zotero: {', '.join(counts) or 'nothing'}"]
        if self.state.listing:
            notes.append("The library has more items; a run without a limit resumes here")
        else:
            notes[0] += f". It is at version {self.state.version}"
        if self._since and not self._tells_deleted:
            notes.append(
                "This Zotero does not list what was deleted: read the library without since, and prune the index"
            )
        return tuple(notes)

    def _begin(self) -> None:
        """Begin a list: of what has changed where that can be known, else of everything."""
        state = self.state
        since = 0 if self._part else state.version
        deleted = self._deleted(since or self._since) if since or self._since else None
        if not since or deleted is None:
            since = self._since
            state = _State(born=state.born or datetime.now(UTC).isoformat())
        before = (state.pages, state.items, state.papers)
        self._save(replace(state, listing=True, target=0, since=since, start=0, before=before))
        if deleted is not None:
            self._keep(deleted, items_of(json_of(deleted.body)), _number(deleted, "last-modified-version"), 0)

    def _restart(self) -> None:
        """Begin the list again, without its answers so far."""
        pages, items, papers = self.state.before
        self._save(replace(self.state, listing=False, pages=pages, items=items, papers=papers))
        self._spool.remove_after(pages)
        self._left_out.clear()
        self._begin()

    def _advance(self) -> bool:
        """Keep the next answer of the list; False if the library has changed."""
        state = self.state
        parameters = {
            "format": "json",
            "include": "data",
            "includeTrashed": "1",
            "sort": "dateAdded",
            "direction": "asc",
        }
        if state.since:
            parameters["since"] = str(state.since)
        reply, page, total, version = self._page(f"{self._part}/items", parameters, state.start)
        if state.target not in (0, version):
            return False
        if page:
            self._keep(reply, page, version, len(page))
        if self.state.start >= total:
            self._save(replace(self.state, listing=False, version=version))
        return True

    def _keep(self, reply: Reply, items: list[Mapping[str, Any]], version: int, listed: int) -> None:
        """Keep an answer, with the state after it."""
        state = self.state
        self._spool.keep(state.pages + 1, reply.body)
        left_out = [NOT_PAPERS.get(str(one["data"].get("itemType"))) for one in items]
        deleted = [bool(one["data"].get("deleted")) for one in items]
        papers = sum(not what and not gone for what, gone in zip(left_out, deleted, strict=True))
        self._left_out.update(filter(None, left_out))
        if listed:
            trash = sum(gone and not what for what, gone in zip(left_out, deleted, strict=True))
            self._left_out["papers in the trash"] += trash
        self._save(
            replace(
                state,
                pages=state.pages + 1,
                items=state.items + len(items),
                papers=state.papers + papers,
                target=max(version, 0),
                start=state.start + listed,
            )
        )
        done = self.done
        self.done = replace(
            done, requests=done.requests + 1, records=done.records + len(items), deleted=done.deleted + sum(deleted)
        )
        self._progress.advance(len(items))

    def _deleted(self, since: int) -> Reply | None:
        """Return the answer with the items that are no longer in the library; None if the API has no such list."""
        reply = self._fetcher.get(f"{self._library}/deleted", {"since": str(since)})
        self._tells_deleted = reply.status != 404
        if not self._tells_deleted:
            return None
        self._checked(reply)
        try:
            items_of(json_of(reply.body))
        except ValueError:
            raise self._foreign() from None
        return reply

    def _collections(self) -> Iterator[list[Mapping[str, Any]]]:
        start, first = 0, 0
        while True:
            _, page, total, version = self._page("/collections", {}, start)
            yield page
            start, first = start + len(page), first or version
            if version != first:
                raise UnavailableError("The library of Zotero was changed while it was read", "read it again")
            if start >= total:
                return

    def _page(
        self, path: str, parameters: Mapping[str, str], start: int
    ) -> tuple[Reply, list[Mapping[str, Any]], int, int]:
        """Return an answer, its objects, the number of all objects, and the version of the library."""
        query = {**parameters, "limit": str(PAGE), "start": str(start)}
        reply = self._checked(self._fetcher.get(f"{self._library}{path}", query))
        total, version = _number(reply, "total-results"), _number(reply, "last-modified-version")
        try:
            content = json_of(reply.body)
            page = items_of(content) if isinstance(content, list) else None
        except ValueError:
            page = None
        if page is None or total < 0 or version < 0:
            raise self._foreign()
        if start < total and not page:
            raise UnavailableError(f"Zotero has sent {start:,} of {total:,} objects", "read the library again")
        return reply, page, total, version

    def _foreign(self) -> UnavailableError:
        return UnavailableError(f"{self._library} does not answer like Zotero's API", "check the address")

    def _checked(self, reply: Reply) -> Reply:
        if reply.status == 200:
            return reply
        said = reply.body[:200].decode(errors="replace").strip().rstrip(".")
        what = f"Zotero at {self._library} refuses this ({reply.status} {said})"
        hint = "try again later"
        if reply.status == 404:
            hint = "check the number of the library and the key of the collection"
        elif reply.status == 403 and is_loopback(self._library):
            hint = "let other applications on this computer talk to Zotero, in its settings"
        elif reply.status == 403:
            hint = f"set {KEY} to a key that may read this library"
        raise UnavailableError(what, hint)

    def _save(self, state: _State) -> None:
        self.state = state
        self._spool.save(state)


def _is_object(one: Mapping[str, Any]) -> bool:
    return isinstance(one.get("key"), str) and isinstance(one.get("data"), dict)


def _number(reply: Reply, header: str) -> int:
    """Return the number in a header; -1 if there is none."""
    value = reply.headers.get(header, "")
    return int(value) if value.isdecimal() and len(value) < 16 else -1


def _paths(collections: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the name of each collection by its key, after those of the collections around it: `Bats > Caves`."""
    names = {}
    for key in collections:
        path: list[str] = []
        at: Any = key
        while at in collections and len(path) < len(collections):
            path.insert(0, str(collections[at].get("name", "")))
            at = collections[at].get("parentCollection")
        names[key] = " > ".join(path)
    return names
