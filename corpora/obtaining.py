"""What a corpus needs to get its files from somewhere else, before they are read: from a server, for example."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from corpora.errors import InputError, require
from corpora.installed import DISTRIBUTION, installed_version
from corpora.progress import Progress, Silent

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}:\d{2}Z)?")


@dataclass(frozen=True, slots=True)
class Harvest:
    """Which records of a server to harvest.

    Attributes:
        set: A set of the server, as it names it; all records if empty.
        from_date: Only records that changed on this day or later: a day, `2024-01-31`, or a time,
            `2024-01-31T12:00:00Z`.
        until: Only records that changed on this day or before.
        metadata_prefix: The form of the records, as the server names it; `oai_dc` if empty.
        again: Whether to ask for everything once more, in place of what changed.

    Example:
        >>> ses.Harvest(set="theses", from_date="2024-01-31").metadata_prefix
        ''
    """

    set: str = ""
    from_date: str = ""
    until: str = ""
    metadata_prefix: str = ""
    again: bool = False

    def __post_init__(self) -> None:
        for name in ("from_date", "until"):
            date = getattr(self, name)
            if date and not _DAY.fullmatch(date):
                raise InputError(
                    f"{date[:40]!r} can't be read as a date", f"write <{name}> as 2024-01-31, or 2024-01-31T12:00:00Z"
                )
        if self.from_date and self.until and self.from_date[:10] > self.until[:10]:
            raise InputError(
                f"{self.from_date} is after {self.until}", "give an earlier <from_date>, or a later <until>"
            )

    def given(self) -> tuple[str, ...]:
        """Return the names of what was chosen."""
        return tuple(one.name for one in fields(self) if getattr(self, one.name))


@dataclass(frozen=True, slots=True)
class Obtained:
    """What was obtained.

    Attributes:
        path: File or folder to read.
        identity: Text that says what it is, without the state it is in: the same when more of it is obtained later.
        name: Name of the source for an index, empty for that of the path.
        requests: Answers that a server gave in this run.
        records: Records in them.
        deleted: Those of them that say that a paper is deleted.
        refused: What the server refused to give, such as works that it does not know.
        mended: Answers with characters, entities or records that are no XML, which were mended.
        held: Records that are here now, of this run and those before.
        whole: Whether the files are all that the source holds, not only what has changed: only then may the papers that
            they lack be pruned.
        notes: Sentences for the user.
    """

    path: Path
    identity: str
    name: str = ""
    requests: int = 0
    records: int = 0
    deleted: int = 0
    refused: int = 0
    mended: int = 0
    held: int = 0
    whole: bool = True
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the counts and notes as plain values, ready for JSON."""
        counts = ("requests", "records", "deleted", "refused", "mended", "held")
        return {**{name: getattr(self, name) for name in counts}, "notes": list(self.notes), "folder": str(self.path)}


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who asks.

    Attributes:
        contact: Address of a person, which servers want to know; not sent if empty.
        username: For a server with basic authentication; empty for others.
        password: Password of that user.
    """

    contact: str = ""
    username: str = ""
    password: str = field(default="", repr=False)

    def headers(self) -> dict[str, str]:
        """Return the name and version of the program, and the contact."""
        name = f"ses/{installed_version(DISTRIBUTION) or '0'}"
        return {"User-Agent": f"{name} (mailto:{self.contact})" if self.contact else name}


@dataclass(frozen=True, slots=True)
class Order:
    """What to obtain.

    Attributes:
        place: What the user names: a file, a folder, or an address.
        folder: The data folder.
        harvest: Which records; None if the user does not say.
        visitor: Who asks.
        limit: Number of papers that are enough; None for all.
        url: Address of the service, where the user may choose another one.
        progress: Receives progress reports.
    """

    place: str
    folder: Path
    harvest: Harvest | None = None
    visitor: Visitor = field(default_factory=Visitor)
    limit: int | None = None
    url: str = ""
    progress: Progress = field(default_factory=Silent)

    @property
    def is_address(self) -> bool:
        """Whether the place is an address of the web."""
        return re.match(r"https?://", self.place, re.IGNORECASE) is not None


Obtain = Callable[[Order], Obtained | None]
"""Gets what the user names, if it is not a file to be read as it is; None if it is."""


def check_no_address(corpus: str, order: Order) -> None:
    """Raise `InputError` if a corpus whose papers are in files is to be read from an address."""
    require(
        not order.is_address,
        f"The corpus {corpus} is read from files, not from {order.place[:200]}",
        "download it, and name it with <path>",
    )
