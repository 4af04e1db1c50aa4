"""One writer at a time, wherever it runs: a second is refused, a dead one is followed, a slow one is stopped."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest

from corpora.errors import UnavailableError
from search_plugin.contract.connection import Connection
from search_plugin.engines.cluster import lease
from search_plugin.engines.cluster.lease import here
from search_plugin.engines.registry import connect
from tests.engines.conftest import SCHEMA, documents

HELD = "Another run is writing the index papers"
LOCK = f"/{lease.INDEX}/_doc/papers"


def is_free(engine):
    with engine.lock("papers"):
        return True


def held_by(engine, **holder):
    """Make somebody else the holder."""
    lease._make_index(engine.cluster)
    document = {"holder": "another", "host": "elsewhere", "process": 1, "renewed": time.time(), **holder}
    engine.cluster.call("PUT", LOCK, document)


@pytest.fixture
def quick(monkeypatch):
    """Leases that end after a second."""
    monkeypatch.setattr(lease, "SECONDS", 1.0)


def test_a_second_writer_is_refused_and_told_where_the_first_is(server):
    with server.lock("papers"):
        for other in (server, connect(server.url)):
            with pytest.raises(UnavailableError, match=HELD) as caught, other.lock("papers"):
                pass
            assert f"process {os.getpid()}" in str(caught.value)
        assert is_free_elsewhere(server)
    assert is_free(server)


def is_free_elsewhere(server):
    """Other indexes are no business of this one's writer."""
    with server.lock("other"):
        return True


def test_of_many_who_want_it_at_once_one_gets_it(server):
    got, refusals, start = [], [], threading.Barrier(6)
    kept = threading.Event()

    def want():
        engine = connect(server.url)
        start.wait()
        try:
            with engine.lock("papers"):
                got.append(engine)
                kept.wait(20)
        except UnavailableError as error:
            refusals.append(str(error))
            if len(refusals) == 5:
                kept.set()

    threads = [threading.Thread(target=want) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 1
    assert [HELD in refusal for refusal in refusals] == [True] * 5


def test_a_killed_process_of_this_machine_is_followed_at_once(server):
    code = (
        "import sys; from search_plugin.engines.registry import connect\n"
        f"with connect({server.url!r}).lock('papers'): print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1, text=True) as child:
        assert child.stdout.readline() == "held\n"
        with pytest.raises(UnavailableError, match=f"process {child.pid} on "), server.lock("papers"):
            pass
        child.kill()
        child.wait()
        begun = time.monotonic()
        assert is_free(server)
        assert time.monotonic() - begun < 15  # long before it would expire


def test_a_silent_holder_elsewhere_is_followed_after_its_time(server, quick):
    held_by(server)
    with pytest.raises(UnavailableError, match=r"process 1 on elsewhere"), server.lock("papers"):
        pass
    time.sleep(1.0)
    assert is_free(server)


def test_a_holder_elsewhere_whose_clock_is_wrong_is_not_robbed(server, quick):
    stopped = threading.Event()
    held_by(server, renewed=time.time() - 3600)

    def renew():
        while not stopped.wait(0.1):
            server.cluster.call("PUT", LOCK, {"holder": "another", "host": "elsewhere", "renewed": time.time() - 3600})

    other = threading.Thread(target=renew)
    other.start()
    try:
        with pytest.raises(UnavailableError, match=HELD), server.lock("papers"):
            pass
    finally:
        stopped.set()
        other.join()


def test_what_is_no_lease_is_no_trouble(server, quick):
    held_by(server, process=2**31 - 1, host=here())  # no process has such a number
    assert is_free(server)
    held_by(server, renewed=time.time() + 3600)
    assert is_free(server)


def test_a_lease_is_renewed_as_long_as_it_is_held(server, quick):
    with server.lock("papers"):
        time.sleep(1.5)
        with pytest.raises(UnavailableError, match=HELD), connect(server.url).lock("papers"):
            pass


@pytest.mark.parametrize("way", ["taken over", "deleted"])
def test_who_lost_the_lease_writes_and_publishes_nothing_more(server, quick, way):
    with server.lock("papers"):
        index = server.build("papers", SCHEMA, "source")
        index.upsert(documents(10))
        if way == "deleted":
            server.cluster.call("DELETE", LOCK)
        else:
            held = server.cluster.call("GET", LOCK)
            server.cluster.call("PUT", LOCK, {**held["_source"], "holder": "another", "host": "elsewhere"})
        with pytest.raises(UnavailableError, match="has taken over the index papers"):
            server.publish(index)
        with pytest.raises(UnavailableError, match="has taken over the index papers"):
            index.upsert(documents(20)[10:])
    assert list(server.names()) == []
    assert connect(server.url).build("papers", SCHEMA, "source").count() == 10
    # And who has lost it does not give back what is another's.
    if way == "taken over":
        assert server.cluster.call("GET", LOCK)["_source"]["holder"] == "another"


def test_who_was_cut_off_for_long_asks_before_it_writes(server, proxy, quick):
    engine = connect(proxy.url, Connection(patience=5))
    with engine.lock("papers"):
        index = engine.build("papers", SCHEMA, "source")
        proxy.cut(match=LOCK, times=100)
        time.sleep(0.7)
        server.cluster.call("PUT", LOCK, {"holder": "another", "host": "elsewhere", "renewed": time.time()})
        proxy.clear()
        with pytest.raises(UnavailableError, match="has taken over"):
            index.upsert(documents(3))
    assert server.build("papers", SCHEMA, "source").count() == 0


def test_answers_that_are_lost_lose_no_lease(server, proxy, quick):
    engine = connect(proxy.url)
    proxy.cut(match=f"PUT {LOCK}", after_forward=True)
    with engine.lock("papers"):
        proxy.cut(match=f"PUT {LOCK}", after_forward=True, times=2)
        time.sleep(1.0)
        engine.build("papers", SCHEMA, "source").upsert(documents(3))
        proxy.cut(match=f"DELETE {LOCK}", after_forward=True)
    assert is_free(server)


def test_a_lease_that_could_not_be_given_back_holds_nobody_of_this_machine_off(server, proxy):
    with connect(proxy.url).lock("papers"):
        proxy.fail(status=400, times=1000)
    assert is_free(server)


def has_locks(server):
    return bool(server.cluster.call("GET", f"/{lease.INDEX}*"))


def test_the_index_of_leases_goes_with_the_last_index(server):
    assert is_free(server)
    assert not has_locks(server)
    with server.lock("papers"):
        index = server.build("papers", SCHEMA, "source")
        server.publish(index)
    assert has_locks(server)
    with server.lock("papers"):
        server.drop("papers")
    assert not has_locks(server)


def test_the_index_of_leases_stays_while_somebody_holds_one(server):
    with server.lock("other"):
        assert is_free(server)
        assert has_locks(server)
        assert not is_closed(server)
        with pytest.raises(UnavailableError, match="Another run is writing the index other"), server.lock("other"):
            pass
    assert not has_locks(server)
    # What a killed process of this machine has left does not count.
    with server.lock("other"):
        held_by(server, process=2**31 - 1, host=here())
    assert not has_locks(server)


def is_closed(server):
    found = server.cluster.call("GET", f"/{lease.INDEX}/_settings", params={"flat_settings": True})
    return found[lease.INDEX]["settings"].get("index.blocks.write") == "true"


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_lease_that_is_taken_while_the_index_is_removed_holds(server, proxy, when):
    """The second writer comes before the index is closed, or between that and the deletion."""
    second, held = connect(server.url), threading.Event()
    done = threading.Event()

    def take():
        with second.lock("papers"):
            held.set()
            done.wait(20)

    writer = threading.Thread(target=take)

    def meddle(_, forward):
        if when == "before":
            writer.start()
            assert held.wait(20)
        reply = forward()
        if when == "after":
            writer.start()
            time.sleep(0.5)
            assert not held.is_set()
        return reply

    proxy.handle(meddle, match=f"PUT /{lease.INDEX}/_block", times=1)
    try:
        assert is_free(connect(proxy.url))
        assert held.wait(20)
        assert not is_closed(server)
        with pytest.raises(UnavailableError, match=HELD), server.lock("papers"):
            pass
    finally:
        done.set()
        writer.join()
    assert not has_locks(server)


def test_an_index_of_leases_that_a_killed_run_has_closed_is_opened(server, monkeypatch):
    monkeypatch.setattr(lease, "_WAIT", 0.01)
    with server.lock("other"):
        server.cluster.call("PUT", f"/{lease.INDEX}/_block/write")
        with connect(server.url).lock("papers"):
            assert not is_closed(server)
