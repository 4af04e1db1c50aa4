"""Downloads one big file: resumes an interrupted download, checks it, and renames it when it is complete."""

from __future__ import annotations

import http.client
import re
import shutil
import ssl
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.parse import urlsplit

from corpora.checksums import sha256_of
from corpora.errors import UnavailableError
from corpora.writing import locking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from http.client import HTTPMessage

TRIES = 4
TIMEOUT_SECONDS = 30

_CHUNK = 1 << 20
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
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
    _require_https(url)
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


def _require_https(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise UnavailableError(f"{url} isn't an HTTPS address: use one, so that nobody can alter the file on its way.")


def _fetch_all(url: str, partial: _Partial, target: Path, pause_seconds: float) -> None:
    for attempt in range(TRIES):
        if attempt:
            time.sleep(pause_seconds * 2 ** (attempt - 1))
        try:
            _fetch_rest(url, partial)
        except urllib.error.HTTPError as error:
            reason = f"HTTP {error.code} {error.reason}"
            retry = error.code >= http.client.INTERNAL_SERVER_ERROR or error.code in (408, 416, 429)
            error.close()
            if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
                if error.headers.get("Content-Range") == f"bytes */{partial.size()}":
                    return  # an earlier run had the complete file and was stopped before it could rename it
                partial.drop()
        except (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError, ssl.SSLError) as error:
            reason, retry = str(getattr(error, "reason", error)) or type(error).__name__, True
        else:
            return
        if not retry:
            break
    raise UnavailableError(f"{url} can't be downloaded ({reason}); get it in another way, and save it as {target}.")


def _fetch_rest(url: str, partial: _Partial) -> None:
    have, validator = partial.size(), partial.validator()
    headers = {"User-Agent": "ses", "Accept-Encoding": "identity"}
    if have and validator:
        headers |= {"Range": f"bytes={have}-", "If-Range": validator}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310  # _require_https has seen it
    with _opener().open(request, timeout=TIMEOUT_SECONDS) as response:
        start, total = _extent(response.status, response.headers)
        if start not in (0, have):
            partial.drop()
            raise http.client.HTTPException("the server sent a part that was not requested")
        if total is not None and shutil.disk_usage(partial.bytes_path.parent).free < total - start:
            raise OSError(f"the download needs {total - start:,} bytes of free space")
        partial.validator_path.write_text(_validator(response.headers))
        with partial.bytes_path.open("ab" if start else "wb") as out, _progress(url, start, total) as advance:
            while chunk := response.read1(_CHUNK):
                out.write(chunk)
                advance(len(chunk))
    if total is not None and partial.size() != total:
        raise http.client.HTTPException(f"it broke off at {partial.size():,} of {total:,} bytes")


def _extent(status: int, headers: HTTPMessage) -> tuple[int, int | None]:
    """Return where the body begins in the file, and the file's length if the server states it."""
    if status == http.client.PARTIAL_CONTENT:
        stated = _CONTENT_RANGE.fullmatch(headers.get("Content-Range", ""))
        return (int(stated.group(1)), int(stated.group(2))) if stated else (-1, None)
    length = headers.get("Content-Length", "")
    return 0, int(length) if length.isdecimal() else None


def _validator(headers: HTTPMessage) -> str:
    etag = headers.get("ETag", "")
    return etag if etag and not etag.startswith("W/") else headers.get("Last-Modified", "")


class _HttpsRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        _require_https(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(_HttpsRedirects)


@contextmanager
def _progress(url: str, start: int, total: int | None) -> Iterator[Callable[[int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task(f"Downloading {Path(urlsplit(url).path).name}", total=total, completed=start)
        yield lambda count: progress.update(task, advance=count)
