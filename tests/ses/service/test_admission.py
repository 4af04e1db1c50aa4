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

    async def ask(self, path="/v1/search", parts=(), more=None):
        sent, left = [], list(parts)

        async def receive():
            if not left:
                await more.wait()
                left.append(part(b"b"))
            return left.pop(0)

        async def send(message):
            sent.append(message)

        await self.layer({**SCOPE, "path": path, "method": "POST" if parts else "GET"}, receive, send)
        return sent

    def figure(self, name):
        return float(self.service.metrics.text().decode().partition(f"\n{name} ")[2].partition("\n")[0])


def part(body, *, more=False):
    return {"type": "http.request", "body": body, "more_body": more}


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
        while client.layer._light.present:
            await asyncio.sleep(0)
        assert statuses([await client.ask()]) == [200]

    asyncio.run(check())


def test_a_body_is_read_before_its_request_takes_a_turn():
    async def check():
        client = Client(concurrency=1, waiting=5)
        client.go.set()
        sent = await client.ask(parts=[part(b"a", more=True), part(b"b")])
        assert sent[1]["body"] == b"ab"

    asyncio.run(check())


async def settled(condition):
    while not condition():
        await asyncio.sleep(0)


def test_bodies_that_are_slow_take_no_place_and_no_time_of_their_request():
    async def check():
        client, whole = Client(concurrency=1, waiting=2, request_seconds=0.05), asyncio.Event()
        client.go.set()
        slow = [asyncio.create_task(client.ask(parts=[part(b"a", more=True)], more=whole)) for _ in range(60)]
        await settled(lambda: client.layer._held == 60)
        assert statuses([await client.ask()]) == [200]
        await asyncio.sleep(0.1)
        assert not any(one.done() for one in slow)
        whole.set()
        answers = statuses(await asyncio.gather(*slow))
        assert answers.count(200) >= 3  # those that find a place when they are read
        assert set(answers) == {200, 503}
        assert client.layer._held == 0

    asyncio.run(check())


def test_bodies_of_all_clients_are_bounded_together():
    async def check():
        client, whole = Client(concurrency=1, waiting=200, max_body=10), asyncio.Event()
        client.go.set()
        most = 640
        slow = [asyncio.create_task(client.ask(parts=[part(b"a" * 10, more=True)], more=whole)) for _ in range(64)]
        await settled(lambda: client.layer._held == most)
        assert statuses([await client.ask(parts=[part(b"a")])]) == [503]
        assert client.layer._held == most
        whole.set()
        await asyncio.gather(*slow)

    asyncio.run(check())


def test_a_client_that_leaves_while_it_sends_is_not_answered():
    async def check():
        client = Client(concurrency=1, waiting=2)
        assert await client.ask(parts=[part(b"a", more=True), {"type": "http.disconnect"}]) == []
        assert client.figure("ses_refused_total") == 0
        assert client.layer._held == 0

    asyncio.run(check())


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/map", b""),
        ("/map.json", b""),
        ("/v1/maps", b""),
        ("/feeds/like.atom", b""),
        ("/v1/feeds/a.atom", b""),
        ("/v1/encode", b"a" * 100_001),
    ],
)
def test_heavy_requests_hold_up_each_other_alone(path, body):
    async def check():
        client = Client(concurrency=8, waiting=20)
        parts = [part(body)] if body else ()
        heavy = [asyncio.create_task(client.ask(path, parts)) for _ in range(8)]
        await asyncio.wait(heavy, return_when=asyncio.FIRST_COMPLETED)
        await settled(lambda: client.running == 2)  # a quarter of the turns, and a tenth of the places to wait
        light = [asyncio.create_task(client.ask()) for _ in range(8)]
        await settled(lambda: client.running == 10)
        client.go.set()
        assert statuses(await asyncio.gather(*light)) == [200] * 8
        assert statuses(await asyncio.gather(*heavy)) == [200] * 4 + [503] * 4

    asyncio.run(check())


@pytest.mark.parametrize(("path", "body"), [("/mapped", b""), ("/feeds", b""), ("/v1/encode", b"a" * 100_000)])
def test_other_requests_are_not_heavy(path, body):
    async def check():
        client = Client(concurrency=8, waiting=0)
        client.go.set()
        tasks = [client.ask(path, [part(body)] if body else ()) for _ in range(8)]
        assert statuses(await asyncio.gather(*tasks)) == [200] * 8

    asyncio.run(check())
