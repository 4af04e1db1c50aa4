"""How many requests run and wait, and how long one may take."""

import asyncio
from types import SimpleNamespace

import pytest

from ses.service.admission import Admission
from ses.service.metrics import Metrics
from ses.service.settings import ServiceSettings

pytestmark = pytest.mark.serve

SCOPE = {"type": "http", "method": "GET", "path": "/v1/search", "headers": []}


class Client:
    """A layer around an application that answers when it may, and what it sent."""

    def __init__(self, **settings):
        self.service = SimpleNamespace(settings=ServiceSettings(**settings), metrics=Metrics())
        self.go, self.running, self.most = asyncio.Event(), 0, 0
        self.layer = Admission(self.app, self.service)

    async def app(self, scope, receive, send):
        body = b""
        if scope["method"] == "POST":
            while True:
                part = await receive()
                body += part["body"]
                if not part.get("more_body"):
                    break
        self.running += 1
        self.most = max(self.most, self.running)
        await self.go.wait()
        self.running -= 1
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})

    async def ask(self, path="/v1/search", parts=()):
        sent, left = [], list(parts)

        async def receive():
            return left.pop(0)

        async def send(message):
            sent.append(message)

        await self.layer({**SCOPE, "path": path, "method": "POST" if parts else "GET"}, receive, send)
        return sent

    def figure(self, name):
        return float(self.service.metrics.text().decode().partition(f"\n{name} ")[2].partition("\n")[0])


def statuses(answers):
    return sorted(sent[0]["status"] for sent in answers)


def test_more_than_may_wait_are_refused_at_once():
    async def check():
        client = Client(concurrency=2, waiting=1)
        tasks = [asyncio.create_task(client.ask()) for _ in range(5)]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.sleep(0)
        probes = asyncio.create_task(client.ask("/healthz"))
        client.go.set()
        answers = await asyncio.gather(*tasks)
        assert statuses(answers) == [200, 200, 200, 503, 503]
        assert statuses([await probes]) == [200]
        retry = [dict(sent[0]["headers"]) for sent in answers if sent[0]["status"] == 503]
        assert all(int(headers[b"retry-after"]) > 0 for headers in retry)
        assert client.most <= 3  # two, and what asks whether it lives
        assert client.figure("ses_refused_total") == 2
        assert statuses([await client.ask()]) == [200]

    asyncio.run(check())


def test_a_late_answer_is_an_error_and_its_work_counts_until_it_is_done():
    async def check():
        client = Client(concurrency=1, waiting=0, request_seconds=0.01)
        (late,) = statuses([await client.ask()])
        assert late == 503
        assert client.figure("ses_late_total") == 1
        assert statuses([await client.ask()]) == [503]
        assert client.figure("ses_refused_total") == 1
        client.go.set()
        while client.layer._present:
            await asyncio.sleep(0)
        assert statuses([await client.ask()]) == [200]

    asyncio.run(check())


def test_a_body_is_read_before_its_request_takes_a_turn():
    async def check():
        client = Client(concurrency=1, waiting=5)
        client.go.set()
        parts = [
            {"type": "http.request", "body": b"a", "more_body": True},
            {"type": "http.request", "body": b"b", "more_body": False},
        ]
        sent = await client.ask(parts=parts)
        assert sent[1]["body"] == b"ab"

    asyncio.run(check())
