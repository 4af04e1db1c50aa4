"""Harvests of a real server (oai_repo), with faults in front of it."""

import gzip
import re
from dataclasses import replace
from datetime import timedelta
from email.utils import formatdate
from time import time

import pytest

from corpora.errors import InputError, UnavailableError
from corpora.fetching import Fetcher
from corpora.harvesting import harvest, obtain
from corpora.obtaining import Harvest, Order, Visitor
from corpora.paper import Accepted, Deleted
from corpora.progress import Silent
from corpora.readers import oai
from tests.corpora.repository import MARC, START, Data, Item, Repository
from tests.faults import FaultProxy

EVERYTHING = Harvest()


@pytest.fixture
def server():
    data = Data()
    for number in range(35):
        data.put(f"oai:x:{number}", number, sets=("odd",) if number % 2 else (), title=f"Title {number}")
    with Repository(data) as repository:
        yield repository


class Noting(Silent):
    """A progress that notes stages, and how many records came since."""

    def __init__(self):
        self.stages = {}

    def stage(self, name, total):
        self.stages[name] = 0

    def advance(self, papers, rejected=0, **_):
        self.stages[next(reversed(self.stages))] += papers


class Client:
    """Harvests into a folder, and notes how long it was told to wait."""

    def __init__(self, folder):
        self.folder, self.waits, self.progress = folder, [], Noting()

    def harvest(self, url, wanted=EVERYTHING, limit=None):
        fetcher = Fetcher(Visitor(), self.waits.append, 1 << 20)
        try:
            return harvest(url, wanted, self.folder, fetcher, self.progress, limit)
        finally:
            fetcher.close()

    def papers(self, got):
        held = {}
        for record in oai.read(got.path, {}):
            if isinstance(record, Deleted):
                held.pop(record.id, None)
            elif isinstance(record, Accepted):
                held[record.paper.id] = record.paper.title
        return held


@pytest.fixture
def client(tmp_path):
    return Client(tmp_path)


def asked(server, verb="ListRecords"):
    return [{k: v for k, v in one.items() if k != "verb"} for one in server.asked if one["verb"] == verb]


def test_the_first_harvest_takes_all_and_the_next_what_changed(server, client):
    first = client.harvest(server.url)
    assert (first.requests, first.records, first.deleted, first.held) == (4, 35, 0, 35)
    assert client.progress.stages == {"harvesting": 35}
    assert first.notes == ()
    assert client.papers(first) == {f"oai:x:{n}": f"Title {n}" for n in range(35)}
    server.asked.clear()
    server.data.put("oai:x:3", 90_000, title="Another title")
    server.data.delete("oai:x:4", 90_001)
    server.clock = server.clock.replace(day=4)
    second = client.harvest(server.url)
    # One second before the server's time at the beginning of the first list.
    assert asked(server) == [{"metadataPrefix": "oai_dc", "from": "2024-01-01T23:59:59Z"}]
    assert (second.requests, second.records, second.deleted) == (1, 2, 1)
    held = client.papers(second)
    assert held["oai:x:3"] == "Another title"
    assert "oai:x:4" not in held
    assert second.identity == first.identity
    server.clock = server.clock.replace(day=6)
    assert client.harvest(server.url).requests == 0  # noRecordsMatch
    client.harvest(server.url)
    assert asked(server)[-1]["from"] == "2024-01-05T23:59:59Z", "an empty list counts as a harvest"


def test_an_order_is_a_harvest_of_an_address(server, tmp_path):
    wanted = Harvest(set="odd")
    got = obtain(Order(server.url, tmp_path, wanted, limit=3))
    assert (got.held, got.path.parent) == (10, tmp_path / "harvests")
    assert obtain(Order(server.url, tmp_path, wanted)).held == 17
    assert asked(server)[0]["set"] == "odd"
    assert obtain(Order(str(tmp_path), tmp_path)) is None


def test_an_interrupted_harvest_goes_on_from_its_token(server, client):
    got = client.harvest(server.url, limit=15)
    assert got.held == 20
    assert "The server has more records" in got.notes[0]
    (got.path / "answer-00000009.xml.gz").write_bytes(b"half")  # of a list that was asked for again
    server.asked.clear()
    got = client.harvest(server.url)
    assert got.requests == 2
    assert ["resumptionToken" in one for one in asked(server)] == [True, True]
    assert not asked(server, "Identify")
    assert len(client.papers(got)) == 35


@pytest.mark.parametrize("ordered", [True, False])
def test_a_forgotten_token_restarts_from_the_last_stamp_or_the_beginning(server, client, ordered):
    if not ordered:
        server.data.items = dict(reversed(server.data.items.items()))
    client.harvest(server.url, limit=15)
    server.asked.clear()
    expired = b"<OAI-PMH><error code='badResumptionToken'>gone</error></OAI-PMH>"
    with FaultProxy(server.base) as proxy:
        moved = client.folder / "moved"
        other = Client(moved)
        other.harvest(f"{proxy.url}/oai", limit=15)
        proxy.fail(status=200, match="resumptionToken", body=expired)
        got = other.harvest(f"{proxy.url}/oai")
    windows = [one.get("from") for one in asked(server) if "resumptionToken" not in one]
    assert windows == [None, "2024-01-01T00:00:19Z" if ordered else None]
    assert len(other.papers(got)) == 35
    assert got.held == (36 if ordered else 35)  # the last stamp is asked for again


def test_a_list_that_begins_again_is_no_circle(server, client):
    server.data.items = dict(reversed(server.data.items.items()))
    answers = []

    def change(body):
        answers.append(body)
        # After Identify, ListMetadataFormats and two answers of the list.
        expired = b"<OAI-PMH><error code='badResumptionToken'>gone</error></OAI-PMH>"
        return expired if len(answers) == 5 else body

    server.change = change
    got = client.harvest(server.url)
    assert got.held == len(client.papers(got)) == 35
    assert len(answers) == 9


def test_faults_on_the_way_are_waited_for(server, client):
    with FaultProxy(server.base) as proxy:
        proxy.fail(status=503, match="ListRecords", headers={"Retry-After": "7"})
        proxy.fail(status=429, match="ListRecords", headers={"Retry-After": formatdate(time() + 60, usegmt=True)})
        proxy.cut(match="ListRecords")
        proxy.fail(status=200, match="ListRecords", body=b"<OAI-PMH><ListRecords><record>")
        got = client.harvest(f"{proxy.url}/oai")
    assert got.held == 35
    assert client.waits[0] == 7
    assert 55 < client.waits[1] <= 60
    assert len(client.waits) == 3


def test_a_server_that_wants_us_to_wait_too_long_is_left_alone(server, client):
    with FaultProxy(server.base) as proxy:
        proxy.fail(status=503, match="ListRecords", headers={"Retry-After": "7200"})
        with pytest.raises(UnavailableError, match="asks to come back in 120 minutes"):
            client.harvest(f"{proxy.url}/oai")


def test_redirects_stay_safe(server, client):
    with FaultProxy(server.base) as proxy:
        proxy.fail(status=302, match="Identify", headers={"Location": f"{server.url}?verb=Identify"})
        proxy.fail(status=302, match="ListRecords", headers={"Location": "ftp://example.org/"})
        with pytest.raises(UnavailableError, match=re.escape("sends us on to ftp://example.org/")):
            client.harvest(f"{proxy.url}/oai")
    assert len(asked(server, "Identify")) == 1


def test_what_never_ends_is_stopped(server, client):
    token = b"<resumptionToken>same</resumptionToken>"
    page = (
        b"<OAI-PMH><ListRecords><record><header><identifier>a</identifier></header></record>%s</ListRecords></OAI-PMH>"
    )
    with FaultProxy(server.base) as proxy:
        proxy.fail(status=200, match="ListRecords", times=3, body=page % token)
        with pytest.raises(UnavailableError, match="the same records with the same resumption token"):
            client.harvest(f"{proxy.url}/oai")
        proxy.clear()
        proxy.fail(status=200, match="ListRecords", body=b" " * (2 << 20))
        with pytest.raises(UnavailableError, match="has more than 1 MiB"):
            client.harvest(f"{proxy.url}/oai")


def test_entities_are_refused_and_forbidden_characters_taken_out(server, client):
    server.change = lambda body: body.replace(b"Title 1<", b"Title\x0c &#x1B;1<")
    got = client.harvest(server.url)
    assert got.mended == 1
    assert client.papers(got)["oai:x:1"] == "Title 1"
    bomb = b'<!DOCTYPE OAI-PMH [<!ENTITY a "aaaa">]><OAI-PMH><Identify>&a;</Identify></OAI-PMH>'
    server.change = lambda body: bomb
    with pytest.raises(UnavailableError, match="it has a document type"):
        client.harvest(server.url)


def test_what_the_user_can_have_wrong(server, client):
    with pytest.raises(InputError, match=r"no records of the form 'ddi'; give .* oai_dc, marc21, mods"):
        client.harvest(server.url, Harvest(metadata_prefix="ddi"))
    with pytest.raises(InputError, match=r"'mods' can't be read; give .* oai_dc, marc21"):
        client.harvest(server.url, Harvest(metadata_prefix="mods"))
    with pytest.raises(InputError, match="no records of that set and those dates"):
        client.harvest(server.url, Harvest(set="none"))
    server.change = lambda body: b"<html><p>Welcome</p></html>"
    with pytest.raises(InputError, match="does not speak OAI-PMH"):
        client.harvest(server.url, Harvest(set="odd"))
    for url in (f"{server.url}?verb=Identify", "http://[::1/oai"):
        with pytest.raises(InputError, match=r"the address of one request|no address of the web"):
            client.harvest(url)
    with pytest.raises(InputError, match="can't be read as a date"):
        Harvest(from_date="yesterday")
    with pytest.raises(InputError, match="plain text"):
        Fetcher(Visitor(username="me")).get("http://example.org/oai", {})


def test_sets_and_dates_in_the_servers_granularity(server, client):
    wanted = Harvest(set="odd", from_date="2024-01-01", until="2024-01-01")
    assert client.harvest(server.url, wanted).held == 17
    first = asked(server)[0]
    assert (first["from"], first["until"]) == ("2024-01-01T00:00:00Z", "2024-01-01T23:59:59Z")
    server.data.granularity, server.data.deleted_record = "YYYY-MM-DD", "no"
    got = client.harvest(server.url, replace(wanted, from_date="2024-01-01T00:00:05Z"))
    assert "tells not at all what it deleted" in got.notes[0]
    assert asked(server)[-2]["from"] == "2024-01-01"


def test_again_takes_the_place_of_what_was_harvested(server, client):
    before = client.harvest(server.url)
    server.data.items.pop("oai:x:0")
    got = client.harvest(server.url, Harvest(again=True))
    assert (got.held, got.path) == (34, before.path)
    assert got.identity != before.identity


def test_answers_are_kept_as_they_came(server, client):
    got = client.harvest(server.url)
    kept = gzip.decompress((got.path / "answer-00000001.xml.gz").read_bytes())
    query = {"verb": "ListRecords", "metadataPrefix": "oai_dc"}
    assert kept == server.answer(query)


def test_marcxml(server, client):
    field = '<datafield tag="245" ind1="0" ind2="0"><subfield code="a">Bees :</subfield></datafield>'
    marc = f'<record xmlns="{MARC}"><leader>00000nam a2200000 a 4500</leader>{field}</record>'
    server.data.items = {"oai:x:m": Item(next(iter(server.data.items.values())).stamp, {"marc21": marc})}
    got = client.harvest(server.url, Harvest(metadata_prefix="marc21"))
    assert client.papers(got) == {"oai:x:m": "Bees"}


def test_what_a_harvest_is_called_and_says(server, client, caplog):
    server.data.deleted_record = "transient"
    server.change = lambda body: body.replace(b"Title 1<", b"Title\x0c1<").replace(b'Size="17"', b'Size="1700"')
    got = client.harvest(server.url, Harvest(set="odd"))
    place = server.url.partition("//")[2]
    assert (got.name, got.path.name.startswith("127.0.0.1-odd-")) == (f"oai:{place} odd", True)
    mended, deleted = got.notes
    assert mended.endswith("mended in 1 answers")
    assert "tells only for some time what it deleted (deletedRecord: transient)" in deleted
    assert [one.message for one in caplog.records] == [f"{server.url} announced 1,700 records and sent 17."]
    caplog.clear()
    server.change = lambda body: body
    whole = client.harvest(server.url)
    assert (whole.name, whole.path.name.startswith("127.0.0.1-all-"), caplog.records) == (f"oai:{place}", True, [])


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (
            b"<error code='noSetHierarchy'>None here</error>",
            r"has no sets \(noSetHierarchy: None here\); leave set out",
        ),
        (b"<error code='badArgument'/>", r"refuses the request \(badArgument\); check set, from_date, until"),
        (b"<error code='badResumptionToken'/>", r"refuses the request \(badResumptionToken\)"),
    ],
)
def test_a_refusal_is_said_with_what_to_do(server, client, body, says):
    with FaultProxy(server.base) as proxy:
        proxy.fail(status=200, match="ListRecords", body=b"<OAI-PMH>%s</OAI-PMH>" % body)
        with pytest.raises(InputError, match=says):
            client.harvest(f"{proxy.url}/oai")
        proxy.clear()
        proxy.fail(status=200, match="Identify", body=b"<OAI-PMH/>")
        with pytest.raises(InputError, match="does not say what it is"):
            client.harvest(f"{proxy.url}/oai", Harvest(set="odd"))


def test_a_server_that_forgets_every_token_is_given_up(server, client):
    server.data.items = dict(reversed(server.data.items.items()))
    expired = b"<OAI-PMH><error code='badResumptionToken'>gone</error></OAI-PMH>"
    with FaultProxy(server.base) as proxy:
        proxy.fail(status=200, match="resumptionToken", body=expired, times=40)
        with pytest.raises(UnavailableError, match="forgets its resumption tokens"):
            client.harvest(f"{proxy.url}/oai")
    # The first time, and twenty more.
    assert sum("resumptionToken" not in one for one in asked(server)) == 21


def test_a_later_harvest_begins_a_day_before_or_at_the_beginning_or_not_at_all(server, client):
    server.data.granularity = "YYYY-MM-DD"
    client.harvest(server.url)
    client.harvest(server.url)
    assert [one["from"] for one in asked(server) if "from" in one] == ["2024-01-01"]
    # A server without a readable clock is asked for all that was wanted at first.
    server.change = lambda body: re.sub(rb"<responseDate>[^<]*", b"<responseDate>today", body)
    dated = Harvest(from_date="2023-12-31")
    for _ in range(2):
        server.asked.clear()
        client.harvest(server.url, dated)
        assert asked(server)[0]["from"] == "2023-12-31"
    server.change = lambda body: body
    past = Harvest(until="2023-12-31")
    server.data.items["oai:x:0"] = replace(server.data.items["oai:x:0"], stamp=START - timedelta(days=3))
    assert client.harvest(server.url, past).held == 1
    server.asked.clear()
    assert (client.harvest(server.url, past).held, server.asked) == (1, [])
