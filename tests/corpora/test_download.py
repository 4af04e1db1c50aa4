import hashlib
import socket
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest
from filelock import FileLock

from corpora.download import TRIES, download
from corpora.errors import UnavailableError
from corpora.readers import cord19

CONTENT = b"".join(b"%d,paper\n" % n for n in range(200_000))
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@dataclass
class Site:
    """How the server behaves and what it was asked."""

    etag: str = '"v1"'
    ranges: bool = True
    cuts: int = 0
    status: int = 200
    location: str = ""
    modified: str = ""
    part: str = ""
    asked: list[str] = field(default_factory=list)
    accepted: str = ""
    url: str = ""


@contextmanager
def serve(site):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            wanted = self.headers.get("Range", "")
            site.asked.append(wanted)
            site.accepted = self.headers["Accept-Encoding"]
            validators = [site.modified] if site.etag.startswith("W/") else [site.etag]
            start = int(wanted[6:-1]) if wanted and site.ranges and self.headers["If-Range"] in validators else 0
            past = start >= len(CONTENT)
            self.send_response(site.status if site.status != 200 else 416 if past else 206 if start else 200)
            if site.location:
                self.send_header("Location", site.location)
            if site.etag:
                self.send_header("ETag", site.etag)
            if site.modified:
                self.send_header("Last-Modified", site.modified)
            if start:
                self.send_header(
                    "Content-Range",
                    site.part or f"bytes {'*' if past else f'{start}-{len(CONTENT) - 1}'}/{len(CONTENT)}",
                )
            body = b"" if site.status != 200 else CONTENT[start:]
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if site.cuts:
                site.cuts -= 1
                body = body[: len(body) // 2]
                self.close_connection = True
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    site.url = f"http://127.0.0.1:{server.server_port}/metadata.csv"
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()


def get(site, target, **options):
    return download(site.url, target, pause_seconds=0, **options)


def left_in(folder):
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".lock")


def test_downloads_checks_and_records(tmp_path):
    target = tmp_path / "cord19" / "metadata.csv"
    with serve(Site()) as site:
        assert get(site, target, sha256=SHA256.upper()) == target
    assert target.read_bytes() == CONTENT
    assert (target.parent / "metadata.csv.sha256").read_text() == f"{SHA256}  metadata.csv\n"
    assert left_in(target.parent) == ["metadata.csv", "metadata.csv.sha256"]


def test_goes_on_where_it_was_cut(tmp_path):
    with serve(Site(cuts=2)) as site:
        get(site, tmp_path / "file", sha256=SHA256)
    half, quarter = len(CONTENT) // 2, len(CONTENT) // 2 + (len(CONTENT) - len(CONTENT) // 2) // 2
    assert site.asked == ["", f"bytes={half}-", f"bytes={quarter}-"]
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_goes_on_by_the_time_of_the_last_change_where_the_mark_is_weak(tmp_path):
    with serve(Site(cuts=1, etag='W/"v1"', modified="Mon, 01 Jan 2024 00:00:00 GMT")) as site:
        get(site, tmp_path / "file", sha256=SHA256)
    assert site.asked == ["", f"bytes={len(CONTENT) // 2}-"]
    # A packed answer has other bytes at the same place.
    assert site.accepted == "identity"


@pytest.mark.parametrize("part", ["bytes 7-9/20", "bytes of some", "bytes 5-9/*"])
def test_a_part_that_was_not_asked_for_is_not_taken(tmp_path, part):
    with serve(Site(cuts=1, part=part)) as site:
        get(site, tmp_path / "file", sha256=SHA256)
    # The third time from the beginning.
    assert site.asked == ["", f"bytes={len(CONTENT) // 2}-", ""]


def test_only_what_is_missing_needs_space(tmp_path, monkeypatch):
    missing = len(CONTENT) - len(CONTENT) // 2
    for short in (0, 1):
        free = iter([len(CONTENT), missing - short])
        monkeypatch.setattr("shutil.disk_usage", lambda folder, free=free: SimpleNamespace(free=next(free)))
        with serve(Site(cuts=1)) as site:
            if short:
                with pytest.raises(UnavailableError, match=f"the download needs {missing:,} bytes of free space"):
                    get(site, tmp_path / "other")
            else:
                get(site, tmp_path / "file", sha256=SHA256)


@pytest.mark.parametrize("site", [Site(cuts=1, ranges=False), Site(cuts=1, etag="")])
def test_starts_over_where_it_cannot_go_on(tmp_path, site):
    with serve(site):
        get(site, tmp_path / "file", sha256=SHA256)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert len(site.asked) == 2


def test_a_later_run_goes_on_unless_the_file_has_changed(tmp_path):
    with serve(Site(cuts=TRIES)) as site, pytest.raises(UnavailableError, match="Connection broken"):
        get(site, tmp_path / "file")
    assert left_in(tmp_path) == ["file.part", "file.part.etag"]
    (tmp_path / "file.part").write_bytes(b"of another version")
    with serve(Site(etag='"v2"')) as site:
        get(site, tmp_path / "file", sha256=SHA256)
    assert site.asked == ["bytes=18-"]


def test_a_part_that_is_whole_already_is_put_in_place(tmp_path):
    (tmp_path / "file.part").write_bytes(CONTENT)
    (tmp_path / "file.part.etag").write_text('"v1"')
    with serve(Site()) as site:
        get(site, tmp_path / "file", sha256=SHA256)
    assert site.asked == [f"bytes={len(CONTENT)}-"]
    assert (tmp_path / "file").read_bytes() == CONTENT


@pytest.mark.parametrize("recorded", [True, False])
def test_a_wrong_checksum_leaves_nothing_in_place(tmp_path, recorded):
    if recorded:
        (tmp_path / "file.sha256").write_text(f"{'0' * 64}  file\n")
    with serve(Site()) as site, pytest.raises(UnavailableError, match=f"has SHA-256 {SHA256}, not 0000"):
        get(site, tmp_path / "file", sha256=None if recorded else "0" * 64)
    assert left_in(tmp_path) == (["file.sha256"] if recorded else [])


@pytest.mark.parametrize(("status", "tries"), [(404, 1), (403, 1), (503, TRIES)])
def test_errors_say_what_to_fetch_and_where_to_put_it(tmp_path, status, tries):
    target = tmp_path / "file"
    with serve(Site(status=status)) as site, pytest.raises(UnavailableError) as caught:
        get(site, target)
    assert all(part in str(caught.value) for part in (f"HTTP {status}", site.url, f"save it as {target}."))
    assert caught.value.kind == "unavailable"
    assert len(site.asked) == tries


def test_without_a_network_cord19_says_the_same(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/metadata.csv"
    with pytest.raises(UnavailableError, match=r"refused.*cord19.metadata\.csv\."):
        download(url, tmp_path / "cord19" / "metadata.csv", pause_seconds=0)


def test_locate_prefers_what_is_there(tmp_path):
    with serve(Site()) as site:
        with pytest.raises(UnavailableError, match="has SHA-256"):
            cord19.locate(tmp_path, url=site.url, sha256="0" * 64)
        assert cord19.locate(tmp_path, url=site.url, sha256=SHA256) == tmp_path / "cord19" / "metadata.csv"
        assert cord19.locate(tmp_path, url=site.url) == tmp_path / "cord19" / "metadata.csv"
        (tmp_path / "cord19" / "metadata.csv").rename(tmp_path / "cord19" / "metadata.csv.zst")
        assert cord19.locate(tmp_path, url=site.url) == tmp_path / "cord19" / "metadata.csv.zst"
    assert len(site.asked) == 2


@pytest.mark.parametrize("url", ["http://example.org/file", "ftp://example.org/file", "file:///etc/passwd"])
def test_only_https(tmp_path, url):
    with pytest.raises(UnavailableError, match="isn't an HTTPS address"):
        download(url, tmp_path / "file")


def test_does_not_follow_to_plain_http(tmp_path):
    says = r"sends us on to http://example\.org/file, which is not safe"
    with (
        serve(Site(status=302, location="http://example.org/file")) as site,
        pytest.raises(UnavailableError, match=says),
    ):
        get(site, tmp_path / "file")


def test_two_at_once_do_not_mix(tmp_path):
    with FileLock(tmp_path / "file.lock"), pytest.raises(UnavailableError, match="Another ses is downloading"):
        download("https://127.0.0.1/file", tmp_path / "file")


def test_a_folder_in_place_of_the_lock(tmp_path):
    (tmp_path / "file.lock").mkdir()
    with pytest.raises(UnavailableError, match=r"file\.lock can't be locked \(Is a directory\)"):
        download("https://127.0.0.1/file", tmp_path / "file")


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "cord19").write_text("in the way")
    with pytest.raises(UnavailableError, match="can't be written"):
        download("https://127.0.0.1/file", tmp_path / "cord19" / "file")
