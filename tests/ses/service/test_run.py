"""`ses serve` as a process: its start, its end, and its workers."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest

from tests.commands import ses as command

pytestmark = [pytest.mark.serve, pytest.mark.slow]


@pytest.fixture
def start(library):
    """Return a function that starts the command, and returns the process and the address of its page."""
    started = []
    settings = library._settings

    def started_with(*options, **more):
        environment = {
            **os.environ,
            **more,
            "SES_MODEL": str(settings.model),
            "SES_DATA_DIR": str(settings.data_dir),
            "SES_CACHE_DIR": str(settings.cache_dir),
        }
        line = [sys.executable, "-m", "ses", "serve", "--engine", settings.engine_url, "--port", "0", *options]
        process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        started.append(process)
        found = re.fullmatch(r"The page is at (http://127\.0\.0\.1:\d+)/\n", process.stdout.readline())
        assert process.stdout.readline() == "It searches the index papers. Only this machine can reach it.\n"
        return process, found[1]

    yield started_with
    for one in started:
        if one.poll() is None:
            one.kill()
        one.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_is_ready_when_it_says_where_it_is_and_ends_when_it_is_asked_to(start, number):
    process, address = start()
    assert httpx.get(f"{address}/readyz").json() == {"status": "ready", "index": "papers"}
    process.send_signal(number)
    assert process.wait(60) == 0
    until_refused(address)


def test_a_request_that_has_begun_is_answered_before_the_end(start):
    process, address = start()
    body = b'{"title": "A virus in the lung"}'
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        head = f"POST /v1/similar HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body[:5])
        assert httpx.get(f"{address}/healthz").status_code == 200  # the head was read by now
        process.send_signal(signal.SIGTERM)
        until_refused(address)
        connection.sendall(body[5:])
        assert connection.recv(1000).startswith(b"HTTP/1.1 200")
    assert process.wait(60) == 0


@pytest.mark.parametrize("workers", ["1", "2"])
def test_what_outlasts_the_end_is_answered_and_no_connection_is_left(start, workers):
    process, address = start("--workers", workers, SES_SERVE_SHUTDOWN_SECONDS="5")
    host, port = address.removeprefix("http://").split(":")
    place = (host, int(port))
    with ExitStack() as stack:
        slow, kept, begun = (stack.enter_context(socket.create_connection(place, 30)) for _ in range(3))
        post = (
            f"POST /v1/similar HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n"
        )
        slow.sendall(post.encode())
        kept.sendall(f"GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        answer = b""
        while not answer.endswith(b"}"):
            answer += kept.recv(10_000)
        assert answer.startswith(b"HTTP/1.1 200")
        begun.sendall(b"GET /healthz HTTP/1.1\r\n")
        process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        assert kept.recv(10_000) == b""
        with suppress(ConnectionResetError):  # where its line had not been read yet
            assert begun.recv(10_000) == b""
        assert time.monotonic() - began < 5  # before the end
        answer = b"".join(iter(lambda: slow.recv(10_000), b""))
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503")
        assert b"connection: close" in head.lower()
        assert b"retry-after: " in head.lower()
        assert json.loads(body)["detail"] == "The service is stopping; ask again in a few seconds."
        until_refused(address)
    assert process.wait(60) == 0
    said = process.stderr.read()
    assert "Traceback" not in said
    assert '"status": 503' in said


def until_refused(address):
    with suppress(httpx.TransportError):
        while True:
            httpx.get(f"{address}/healthz")


def workers_of(process):
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return {int(pid) for pid in children.split()}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks safely")
def test_a_worker_that_dies_is_replaced_and_all_end_together(start):
    process, address = start("--workers", "2")
    before = workers_of(process)
    assert len(before) == 2
    os.kill(min(before), signal.SIGKILL)
    while len(after := workers_of(process)) < 2 or min(before) in after:
        time.sleep(0.05)
    for _ in range(20):
        assert httpx.get(f"{address}/v1/search", params={"query": "virus", "mode": "lexical"}).status_code == 200
    text = httpx.get(f"{address}/metrics").text
    assert 'ses_requests_total{method="GET",route="/v1/search",status="200"} 20.0' in text
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    for pid in after:
        assert not Path(f"/proc/{pid}").exists()


def test_a_start_that_can_not_be_is_one_sentence(library, tmp_path):
    engine = ("--engine", library._settings.engine_url)
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = str(busy.getsockname()[1])
        done = command(tmp_path, "serve", *engine, "--port", port)
    assert (done.returncode, done.stdout) == (3, "")
    assert f"Another program uses port {port} of 127.0.0.1; stop it, or choose another --port." in done.stderr
    done = command(tmp_path, "serve", *engine, "--host", "192.0.2.1")
    assert done.returncode == 2
    assert "192.0.2.1 is not an address of this machine; give another --host." in done.stderr
    done = command(tmp_path, "serve", *engine, SES_INDEX="none")
    assert done.returncode == 2
    assert "There is no index 'none'" in done.stderr
