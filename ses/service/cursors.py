"""Cursors, by which clients read all results of a search; `search_plugin.reading` says in what order.

A cursor says how far a client has read, which search it reads, and under which key the order of a ranking is kept. That
order is made once, and all worker processes share the file that it is kept in. A listing needs no file.
"""

from __future__ import annotations

import secrets
import sqlite3
import time
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from starlette.exceptions import HTTPException

from corpora.errors import InputError, UnavailableError
from search_plugin import reading
from search_plugin.contract.legs import TITLE, Position
from search_plugin.contract.trace import Clock
from search_plugin.pages.page import Page
from search_plugin.ranking.state import SearchState
from ses.indexes.open_index import reading_like, reading_of
from ses.service.service import Service

FIRST = "*"
"""The cursor that begins to read."""
KEPT_SECONDS = 600.0
"""How long the order of a ranking is kept after its last use."""
MOST_KEPT = 200
"""Orders that are kept; the one that was used longest ago goes first."""
LONGEST = 2_000
"""Characters of a cursor; the ones made here are far shorter."""

_VERSION = 1
_CHECK_BYTES = 8
_FILE = "service-cursors.sqlite"
_EXPIRED = (
    "This cursor has expired: the order of a ranking is kept for 10 minutes after its last use; begin again with "
    "cursor=*."
)
_OF_NO_USE = "The index has changed, so that this cursor can't be used any more; begin again with cursor=*."


class ReadPage(NamedTuple):
    """A page of all results, and the cursor of the next one; empty at the end."""

    page: Page
    next_cursor: str


@dataclass(frozen=True, slots=True)
class Cursor:
    """What a cursor holds.

    Attributes:
        search: Fingerprint of the search that is read.
        place: How far it was read.
        key: Name under which the order of its ranking is kept; empty for a listing.
    """

    search: str
    place: reading.Bookmark
    key: str = ""


def fingerprint(options: Mapping[str, Any], *parts: str) -> str:
    """Return 16 hex digits for a search: for its options, without those that may change, and for what else it is of."""
    fixed = {name: value for name, value in options.items() if name not in ("size", "facets")}
    return blake2b(orjson.dumps([fixed, *parts], option=orjson.OPT_SORT_KEYS), digest_size=8).hexdigest()


def written(cursor: Cursor) -> str:
    """Return a cursor as text for URLs."""
    place = cursor.place
    content = orjson.dumps([_VERSION, cursor.search, cursor.key, place.read, place.after and [*place.after]])
    return urlsafe_b64encode(blake2b(content, digest_size=_CHECK_BYTES).digest() + content).decode().rstrip("=")


def parsed(text: str) -> Cursor:
    """Return what a cursor says; `InputError` if it was cut, changed, or written by another version."""
    try:
        return _parsed(text)
    except ValueError as error:  # of base64, text and JSON too
        raise InputError("This cursor can't be read; use one as it was answered, or begin with cursor=*.") from error


def _parsed(text: str) -> Cursor:
    if len(text) > LONGEST:
        raise ValueError("too long")
    raw = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    check, content = raw[:_CHECK_BYTES], raw[_CHECK_BYTES:]
    if check != blake2b(content, digest_size=_CHECK_BYTES).digest():
        raise ValueError("changed")
    match orjson.loads(content):
        case [int(version), str(search), str(key), int(read), after] if version == _VERSION and read >= 0:
            return Cursor(search, reading.Bookmark(read, _position(after)), key)
    raise ValueError("of another version")


def _position(value: Any) -> Position | None:
    match value:
        case None:
            return None
        case [None | str() | int() | float() as key, str(id_)]:
            return Position(key, id_)
    raise ValueError("no position")


class KeptOrders:
    """The orders of rankings that clients read: in one file, which worker processes share.

    Args:
        folder: Folder of the file.
        seconds: How long an order is kept after its last use.
        most: How many are kept.
        now: Clock (seconds).
    """

    def __init__(
        self,
        folder: Path,
        *,
        seconds: float = KEPT_SECONDS,
        most: int = MOST_KEPT,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._path, self._seconds, self._most, self._now = folder / _FILE, seconds, most, now

    def put(self, order: reading.FixedRanking) -> str:
        """Keep an order, and return its key."""
        key = secrets.token_urlsafe(12)
        content = zlib.compress(orjson.dumps(asdict(order)), 1)
        with self._opened() as file:
            file.execute("INSERT INTO orders VALUES (?, ?, ?)", (key, self._now(), content))
            file.execute("DELETE FROM orders WHERE used < ?", (self._now() - self._seconds,))
            newest = "SELECT key FROM orders ORDER BY used DESC, rowid DESC LIMIT ?"
            file.execute(f"DELETE FROM orders WHERE key NOT IN ({newest})", (self._most,))  # noqa: S608 - a constant
        return key

    def get(self, key: str) -> reading.FixedRanking | None:
        """Return an order, which is kept longer then; None if it has expired."""
        with self._opened() as file:
            oldest = self._now() - self._seconds
            found = file.execute("SELECT content FROM orders WHERE key = ? AND used >= ?", (key, oldest)).fetchone()
            if found:
                file.execute("UPDATE orders SET used = ? WHERE key = ?", (self._now(), key))
        return reading.FixedRanking(**orjson.loads(zlib.decompress(found[0]))) if found else None

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if not self._path.exists():
                self._path.touch(mode=0o600)
            with closing(sqlite3.connect(self._path, timeout=5)) as file, file:
                file.execute("CREATE TABLE IF NOT EXISTS orders (key TEXT PRIMARY KEY, used REAL, content BLOB)")
                yield file
        except (OSError, sqlite3.Error) as error:
            raise UnavailableError(
                f"{self._path} can't be used ({error})", "delete it, or choose a cache folder that can be written"
            ) from error


def read_page(orders: KeptOrders, search: str, asked: Callable[[Clock, bool], SearchState], cursor: str) -> ReadPage:
    """Return the page of a cursor.

    Args:
        orders: Where orders of rankings are kept.
        search: Fingerprint of the search.
        asked: Function that returns the search before its first stage; it is called with a clock, and with whether the
            papers are ranked already.
        cursor: The cursor, or `*` for the first page.

    Returns:
        The page, and the cursor of the next one.

    Raises:
        InputError: If the cursor can't be read, or is of another search.
        HTTPException: 410 if the order of its ranking is not kept any more.
    """
    clock = Clock()
    if cursor == FIRST:
        state = asked(clock, False)  # noqa: FBT003 - by position
        order, place, key = reading.order_of(state, clock), reading.START, ""
    else:
        held = parsed(cursor)
        if held.search != search:
            raise InputError("This cursor is of another search; repeat all parameters of the first request with it.")
        place, key = held.place, held.key
        order = orders.get(key) if key else None
        if key and order is None:
            raise HTTPException(410, _EXPIRED)
        state = asked(clock, bool(key))
        if bool(state.plan.order) == bool(key) or not _is_of(state, place):
            raise HTTPException(410, _OF_NO_USE)
    page, following = reading.read(state, order, place, clock)
    if following is None:
        return ReadPage(page, "")
    key = key or (orders.put(order) if order else "")
    return ReadPage(page, written(Cursor(search, following, key)))


def _is_of(state: SearchState, place: reading.Bookmark) -> bool:
    """Return whether the position of a bookmark can be one in the order of a listing."""
    if state.plan.order is None or place.after is None or place.after.key is None:
        return True
    return (state.plan.order.field == TITLE) == isinstance(place.after.key, str) or _is_infinite(place.after.key)


def _is_infinite(key: str | float) -> bool:
    """Return whether a cluster wrote the key for a paper without a value."""
    return key in ("Infinity", "-Infinity")


def search_page(service: Service, asked: Any) -> ReadPage:
    """Return the page of a search that a cursor names; errors as of `read_page`."""
    opened, options = service.opened(asked.index), asked.options()
    search = fingerprint(options, opened.name, asked.query)
    return read_page(
        _orders(service),
        search,
        lambda clock, ranked: reading_of(opened, asked.query, options, clock, ranked=ranked),
        asked.cursor,
    )


def similar_page(service: Service, asked: Any, paper_id: str) -> ReadPage:
    """Return the page of papers like one that a cursor names; errors as of `read_page`."""
    opened, options = service.opened(asked.index), asked.options()
    search = fingerprint(options, opened.name, "like", paper_id)
    return read_page(
        _orders(service), search, lambda clock, _: reading_like(opened, paper_id, options, clock), asked.cursor
    )


def _orders(service: Service) -> KeptOrders:
    return KeptOrders(service.library._settings.cache_dir)
