"""Looking whether another version of an index is published: seldom, by one thread, and without waiting for the dead."""

import threading
from types import SimpleNamespace

import pytest

from corpora.errors import NotFoundError, UnavailableError
from ses.service.index_watcher import AWAY_SECONDS, IndexWatcher

pytestmark = pytest.mark.serve


class World:
    """An engine: what it answers, how often it was asked, and what time it is."""

    def __init__(self):
        self.now, self.looks, self.revision, self.error = 0.0, 0, "1", None
        self.changed = []
        self.watcher = IndexWatcher(self.open, 1.0, self.changed.append, lambda: self.now)

    def open(self):
        self.looks += 1
        if self.error:
            raise self.error
        index = SimpleNamespace(revision=lambda: self.revision, schema=())
        return SimpleNamespace(index=index, name="a")


def test_it_looks_once_in_a_while_and_keeps_what_has_not_changed():
    world = World()
    first = world.watcher.current()
    world.now = 0.9
    assert world.watcher.current() is first
    assert world.looks == 1
    world.now = 1.0
    assert world.watcher.current() is first
    assert world.looks == 2
    world.revision = "2"
    assert world.watcher.current() is first
    assert world.watcher.current(now=True).revision == "2"
    assert [held.revision for held in world.changed] == ["1", "2"]


def test_an_engine_that_is_away_is_left_alone_for_a_moment():
    world = World()
    world.watcher.current()
    world.error, world.now = UnavailableError("away"), 5.0
    for _ in range(3):
        with pytest.raises(UnavailableError):
            world.watcher.current(now=True)
    assert world.looks == 2
    world.error, world.now = None, 5.0 + AWAY_SECONDS
    assert world.watcher.current().revision == "1"


def test_what_is_missing_is_found_as_soon_as_it_is_made():
    world = World()
    world.error = NotFoundError("none")
    with pytest.raises(NotFoundError):
        world.watcher.current()
    world.error = None
    assert world.watcher.current().revision == "1"
    world.error, world.now = NotFoundError("none"), 5.0
    with pytest.raises(NotFoundError):
        world.watcher.current()
    world.error = None
    assert world.watcher.current().revision == "1"


def test_nobody_waits_while_one_looks_for_an_engine_that_is_away():
    world, begun, go = World(), threading.Event(), threading.Event()
    world.error = UnavailableError("away")
    with pytest.raises(UnavailableError):
        world.watcher.current()
    world.now, world.error = 10.0, None
    look = world.open

    def slowly():
        begun.set()
        assert go.wait(60)
        return look()

    world.watcher._open = slowly
    found = []
    thread = threading.Thread(target=lambda: found.append(world.watcher.current()))
    thread.start()
    assert begun.wait(60)
    with pytest.raises(UnavailableError):
        world.watcher.current()
    go.set()
    thread.join()
    assert world.watcher.current() is found[0]


def test_an_index_that_is_dropped_between_two_steps_of_a_look_is_not_there():
    world = World()
    world.watcher.current()
    world.now, look = 5.0, world.open

    def revision():
        world.error = NotFoundError("none")  # it was dropped when it was open already
        raise UnavailableError("away")

    world.watcher._open = lambda: look() and SimpleNamespace(index=SimpleNamespace(revision=revision, schema=()))
    with pytest.raises(NotFoundError):
        world.watcher.current()
    assert world.looks == 3


def test_who_must_see_what_is_now_does_not_take_a_look_that_began_before():
    world, begun, go = World(), threading.Event(), threading.Event()
    first = world.watcher.current()
    world.now, look = 5.0, world.open

    def slowly():
        seen = look()
        old = world.revision
        seen.index.revision = lambda: old
        begun.set()
        assert go.wait(60)
        return seen

    world.watcher._open = slowly
    found = []
    earlier = threading.Thread(target=lambda: found.append(world.watcher.current()))
    earlier.start()
    assert begun.wait(60)
    world.revision, world.watcher._open = "2", look
    later = threading.Thread(target=lambda: found.append(world.watcher.current(now=True)))
    later.start()
    later.join(0.05)
    go.set()
    earlier.join()
    later.join()
    assert [held.revision for held in found] == ["1", "2"]
    assert found[0] is first
