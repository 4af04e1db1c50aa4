"""Downloads one big file: resumes an interrupted download, checks it, and renames it when it is complete."""

from __future__ import annotations

import re
import shutil
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from corpora.checksums import sha256_of
from corpora.errors import UnavailableError
from corpora.http_client import BUSY, HttpClient, TransientError, is_loopback, reason_of, retried
from corpora.writing import locking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from urllib3 import BaseHTTPResponse

TRIES = 4
TIMEOUT_SECONDS = 30

_CHUNK = 1 << 20
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+)")


@dataclass(frozen=True, slots=True)
class _Partial:
    """What an earlier attempt left: the bytes, and the HTTP validator that identifies their version."""

    bytes_path: Path
    validator_path: Path

    def size(self) -> int:
        return self.bytes_path.stat().st_size if self.bytes_path.exists() else 0

    def validator(self) -> str:
        return self.validator_path.read_text() if self.validator_path.exists() else ""

    def drop(self) -> None:
        self.bytes_path.unlink(missing_ok=True)
        self.validator_path.unlink(missing_ok=True)


def download(url: str, target: Path, *, sha256: str | None = None, pause_seconds: float = 2.0) -> Path:
    """Download a file; an interrupted download resumes.

    The bytes are written to `<target>.part`, which survives failures. When the length and the checksum are right, the
    file is renamed. Their SHA-256 is recorded in `<target>.sha256` (as sha256sum writes it); if no checksum is given,
    the download must match the record of an earlier one.

    Args:
        url: An HTTPS address (plain HTTP only on this machine).
        target: Path of the downloaded file.
        sha256: Expected checksum in hexadecimal.
        pause_seconds: Seconds to wait before the first retry; doubled before each further one.

    Returns:
        The target.

    Raises:
        UnavailableError: If the download fails; the message names the URL and where to put the file by hand.
    """
    if not _is_safe(url):
        raise UnavailableError(f"{url} isn't an HTTPS address: use one, so that nobody can alter the file on its way.")
    partial = _Partial(target.with_name(f"{target.name}.part"), target.with_name(f"{target.name}.part.etag"))
    record = target.with_name(f"{target.name}.sha256")
    busy = UnavailableError(f"Another ses is downloading {target}: wait for it to finish.")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with locking(target.with_name(f"{target.name}.lock"), busy):
            _fetch_all(url, partial, target, pause_seconds)
            expected = sha256 or (record.read_text().split(maxsplit=1)[0] if record.exists() else None)
            digest = sha256_of(partial.bytes_path)
            if expected and digest != expected.lower():
                partial.drop()
                raise UnavailableError(
                    f"What {url} sends has SHA-256 {digest}, not {expected.lower()}: try again, or put the right file "
                    f"at {target}."
                )
            record.write_text(f"{digest}  {target.name}\n")
            partial.bytes_path.replace(target)
            partial.drop()
    except OSError as error:
        raise UnavailableError(f"{target} can't be written ({error}): free space or choose another folder.") from error
    return target


def _is_safe(url: str) -> bool:
    """Return whether nobody can alter a file on its way."""
    return url.startswith("https:") or (url.startswith("http:") and is_loopback(url))


def _fetch_all(url: str, partial: _Partial, target: Path, pause_seconds: float) -> None:
    def pause(_: TransientError, attempt: int) -> None:
        time.sleep(pause_seconds * 2 ** (attempt - 1))

    with closing(HttpClient(TIMEOUT_SECONDS, TIMEOUT_SECONDS, proxies=True)) as client:
        try:
            refused = retried(lambda: _fetch_rest(client, url, partial), TRIES, pause)
        except TransientError as error:
            refused = error.reason
    if refused:
        raise UnavailableError(
            f"{url} can't be downloaded ({refused}); get it in another way, and save it as {target}."
        )


def _fetch_rest(client: HttpClient, url: str, partial: _Partial) -> str:
    """Fetch what is missing; return why that can't be, or nothing."""
    from urllib3.exceptions import HTTPError

    have, validator = partial.size(), partial.validator()
    headers = {"User-Agent": "ses", "Accept-Encoding": "identity"}
    if have and validator:
        headers |= {"Range": f"bytes={have}-", "If-Range": validator}
    try:
        with client.follow(url, lambda _: headers, lambda _, target: _is_safe(target)) as reply:
            if reply.status >= HTTPStatus.BAD_REQUEST:
                return _refusal(reply, partial)
            start, total = _extent(reply.status, reply.headers)
            if start not in (0, have):
                partial.drop()
                raise TransientError("the server sent a part that was not requested")
            if total is not None and shutil.disk_usage(partial.bytes_path.parent).free < total - start:
                raise OSError(f"the download needs {total - start:,} bytes of free space")
            partial.validator_path.write_text(_validator(reply.headers))
            with partial.bytes_path.open("ab" if start else "wb") as out, _progress(url, start, total) as advance:
                while chunk := reply.read1(_CHUNK):
                    out.write(chunk)
                    advance(len(chunk))
    except HTTPError as error:
        raise TransientError(reason_of(error)) from error
    if total is not None and partial.size() != total:
        raise TransientError(f"it broke off at {partial.size():,} of {total:,} bytes")
    return ""


def _refusal(reply: BaseHTTPResponse, partial: _Partial) -> str:
    """Return why a server sends nothing, or nothing if all is there; raise `TransientError` if it may send it later."""
    reason = f"HTTP {reply.status} {reply.reason or ''}".rstrip()
    if reply.status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
        if reply.headers.get("Content-Range") == f"bytes */{partial.size()}":
            return ""  # an earlier run had the complete file and was stopped before it could rename it
        partial.drop()
    elif reply.status not in BUSY:
        return reason
    raise TransientError(reason)


def _extent(status: int, headers: Mapping[str, str]) -> tuple[int, int | None]:
    """Return where the body begins in the file, and the file's length if the server states it."""
    if status == HTTPStatus.PARTIAL_CONTENT:
        stated = _CONTENT_RANGE.fullmatch(headers.get("Content-Range", ""))
        return (int(stated.group(1)), int(stated.group(2))) if stated else (-1, None)
    length = headers.get("Content-Length", "")
    return 0, int(length) if length.isdecimal() else None


def _validator(headers: Mapping[str, str]) -> str:
    etag = headers.get("ETag", "")
    return etag if etag and not etag.startswith("W/") else headers.get("Last-Modified", "")


@contextmanager
def _progress(url: str, start: int, total: int | None) -> Iterator[Callable[[int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task(f"Downloading {Path(urlsplit(url).path).name}", total=total, completed=start)
        yield lambda count: progress.update(task, advance=count)
