"""API keys: made and revoked on the command line, kept as hashes, and looked up for every request.

A key is `ses_ID_SECRET`: the id is public and finds the key, and the secret is 256 random bits. The file holds SHA-256
of whole keys. A slow hash, as for passwords, would protect nothing: nobody can try 2^256 secrets.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, get_args

from corpora.errors import ConflictError, NotFoundError, UnavailableError, require
from corpora.lazy import orjson
from corpora.writing import WRITABLE_DATA, explaining, locking, private_folder, replacing

Scope = Literal["search", "encode", "write", "admin"]
"""What a client may do: search and read, encode texts, change what is kept, and all the rest."""

SCOPES: tuple[Scope, ...] = get_args(Scope)

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._@-]{0,63}")
_KEY = re.compile(r"ses_([0-9a-f]{12})_[A-Za-z0-9_-]{43}")
_WAIT = 10.0  # seconds for another process to finish its change
_NOBODY = "0" * 64  # compared where there is no such key, so that an unknown id takes as long as a wrong secret


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as it is kept: without its secret.

    Attributes:
        id: The public part of the key.
        name: Name of who has it.
        scopes: What it allows.
        sha256: SHA-256 of the whole key, as hexadecimal digits.
        created: When it was made, as ISO 8601 in UTC.
        expires: From when on it is refused, as ISO 8601 in UTC; empty for never.
    """

    id: str
    name: str
    scopes: tuple[Scope, ...]
    sha256: str = field(repr=False)
    created: str
    expires: str = ""

    def has_expired(self, now: datetime) -> bool:
        """Say whether the key is refused at a time."""
        return bool(self.expires) and datetime.fromisoformat(self.expires) <= now


class Keys:
    """The keys of a data folder; several processes may change them, and see each other's changes.

    Args:
        path: The file of all keys, which only its owner may read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read: tuple[object, Mapping[str, ApiKey]] = (None, {})

    def all(self) -> Mapping[str, ApiKey]:
        """Return the keys by their ids, as the file has them now.

        Returns:
            The keys; none if there is no file.

        Raises:
            UnavailableError: If the file can't be read or is damaged: then nobody is let in.
        """
        try:
            status = self.path.stat()
            # Each writing makes a new file, so that its number differs even if time and size do not.
            state = (status.st_ino, status.st_mtime_ns, status.st_size)
            if self._read[0] != state:
                self._read = (state, _parsed(self.path))
        except FileNotFoundError:
            self._read = (None, {})
        except OSError as error:
            raise UnavailableError(f"{self.path} can't be read ({error.strerror}).") from error
        return self._read[1]

    def find(self, given: str) -> ApiKey | None:
        """Return the key that a client gave, or None if it is unknown or has expired."""
        matched = _KEY.fullmatch(given)
        kept = self.all().get(matched[1]) if matched else None
        same = hmac.compare_digest(hashed(given), kept.sha256 if kept else _NOBODY)
        return kept if kept and same and not kept.has_expired(datetime.now(UTC)) else None

    def create(self, name: str, scopes: Sequence[Scope], *, days: int = 0) -> str:
        """Make a key for somebody, whose name is used once, and return it: it is kept nowhere.

        It allows the scopes, and expires after some days; never after 0. Raises `InputError` if the name is taken or
        can't be one, or the scopes or days are wrong.
        """
        require(
            _NAME.fullmatch(name),
            f"A key can't be named {name[:64]!r}",
            "use up to 64 letters, digits, spaces and . _ @ -, beginning with a letter or a digit",
        )
        wrong = next((one for one in scopes if one not in SCOPES), "")
        require(scopes and not wrong, f"A key can't have the scopes {list(scopes)}", f"choose of {', '.join(SCOPES)}")
        require(0 <= days <= 36_500, f"A key can't expire after {days:,} days", "give <days> from 0 to 36500")
        now = datetime.now(UTC).replace(microsecond=0)
        with self._changing() as keys:
            require(
                name not in {one.name for one in keys.values()},
                f"There is a key {name} already",
                "choose another name, or revoke it",
            )
            identity = secrets.token_hex(6)
            key = f"ses_{identity}_{secrets.token_urlsafe(32)}"
            expires = (now + timedelta(days=days)).isoformat() if days else ""
            listed = tuple(one for one in SCOPES if one in scopes)
            keys[identity] = ApiKey(identity, name, listed, hashed(key), now.isoformat(), expires)
        return key

    def revoke(self, name: str) -> None:
        """Remove a key by its name or id; `NotFoundError` if there is none."""
        with self._changing() as keys:
            found = next((one.id for one in keys.values() if name in (one.name, one.id)), None)
            if found is None:
                known = ", ".join(sorted(one.name for one in keys.values()))
                raise NotFoundError(
                    f"There is no key {name[:64]!r}", f"choose one of {known}" if known else "create the first key"
                )
            del keys[found]

    @contextmanager
    def _changing(self) -> Iterator[dict[str, ApiKey]]:
        busy = ConflictError("Another run is changing the keys", "try again later")
        with explaining(self.path, WRITABLE_DATA):
            private_folder(self.path.parent)
            with locking(self.path.with_suffix(".lock"), busy, wait=_WAIT, private=True):
                keys = dict(self.all())
                yield keys
                with replacing(self.path, locked=True, private=True) as part:
                    part.write_bytes(orjson.dumps(list(keys.values()), option=orjson.OPT_INDENT_2))


def keys_of(data_dir: Path) -> Keys:
    """Return the keys of a data folder."""
    return Keys(data_dir / "serve" / "keys.json")


def looks_like_key(given: str) -> bool:
    """Say whether a client's credential has the form of a key of ses."""
    return _KEY.fullmatch(given) is not None


def hashed(key: str) -> str:
    """Return what is kept of a key: SHA-256, as hexadecimal digits."""
    return hashlib.sha256(key.encode()).hexdigest()


def _parsed(path: Path) -> Mapping[str, ApiKey]:
    from pydantic import TypeAdapter, ValidationError

    try:
        read = TypeAdapter(list[ApiKey]).validate_json(path.read_bytes(), extra="forbid")
        for one in read:
            one.has_expired(datetime.now(UTC))
    except (ValidationError, ValueError, TypeError) as error:
        hint = "move it away, and create new keys"
        raise UnavailableError(f"{path} was not written by this version of ses, or is damaged", hint) from error
    return {one.id: one for one in read}
