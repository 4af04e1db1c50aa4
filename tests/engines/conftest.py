"""Every engine runs the same suite: a new one is one more parameter here."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

import ses
from corpora.errors import NotFoundError
from search_plugin.contract.engine import Document
from search_plugin.contract.plan import Counting
from search_plugin.contract.schema import IndexSchema, paper_vector
from search_plugin.engines import registry
from search_plugin.engines.registry import connect
from tests.conftest import NODES, SECURED, SERVERS, server_connection, server_url
from tests.engines.killing import Server
from tests.engines.numpy_engine import NumpyEngine
from tests.faults import FaultProxy
from tests.tiny import make_model, papers, write_jsonl

DIMENSION = 16
SCHEMA = IndexSchema(
    "tiny", "0123456789abcdef", (paper_vector("prx", DIMENSION, "cosine"), paper_vector("clf", 8, "l2"))
)


def _lanes(names):
    return [pytest.param(lane, marks=getattr(pytest.mark, lane)) for lane in names]


def _with_time(names):
    return [pytest.param(lane, marks=[getattr(pytest.mark, lane), pytest.mark.long]) for lane in names]


registry.ENGINES["numpy"] = lambda url, _: NumpyEngine(url)
NUMPY = pytest.param("numpy", marks=pytest.mark.slow)
"""Shows that an engine needs no more than its contract: `make test` searches by the embedded engine alone."""
CLUSTERS = _lanes(SERVERS)
STORED = ["embedded", *CLUSTERS]
"""The engines that write into files: they keep earlier versions, and say when they were published and how large."""
ENGINES = [NUMPY, *STORED]
"""For requests that no other test sends to older versions."""
NEWEST_CLUSTERS = [*_lanes(["opensearch", "elasticsearch9"]), *_with_time(["opensearch2", "elasticsearch"])]
"""For all else: the older versions run in the lane long."""
NEWEST_STORED = ["embedded", *NEWEST_CLUSTERS]
NEWEST = [NUMPY, *NEWEST_STORED]
EVERYWHERE = [*ENGINES, *_with_time(SECURED), *_lanes(NODES)]
"""Also where there are two nodes: for the tests of what every engine does. A password changes none of it."""
NEWEST_EVERYWHERE = [*NEWEST, *_with_time(SECURED), *_with_time(NODES)]
"""All engines in the lane long, and the newest in each run."""


@pytest.fixture(params=NEWEST)
def engine(request, tmp_path):
    """An engine without any index, in a folder or on a real server; the newest unless the test is of `every_engine`."""
    yield from emptied(request.param, tmp_path)


def emptied(lane, folder):
    """Give the engine of a lane without any index, and leave none behind."""
    if lane in ("numpy", "embedded"):
        yield connect(f"{lane}:{folder / 'indexes'}")
        return
    server = connect(server_url(lane), server_connection(lane))
    empty(server)
    yield server
    empty(server)


def another(engine):
    """A second connection to where an engine's indexes are, as another process would have."""
    return connect(engine.url, engine.cluster.connection if hasattr(engine, "cluster") else None)


def forget(engine, name):
    """Delete an index, if there is one of that name."""
    with suppress(NotFoundError):
        engine.drop(name)


def empty(server):
    """Delete all that ses ever made there, what was never published and the locks too."""
    names = list(server.cluster.call("GET", "/ses.*"))
    # In one change of the cluster's state, as many as a line of HTTP holds.
    for start in range(0, len(names), 20):
        server.cluster.call("DELETE", f"/{','.join(names[start : start + 20])}")


every_engine = pytest.mark.parametrize("engine", ENGINES, indirect=True)
"""For tests that send what one version of a server may understand another way than the next."""
stored = pytest.mark.parametrize("engine", NEWEST_STORED, indirect=True)
"""For tests of what an engine may do, and the one in memory does not."""
every_stored = pytest.mark.parametrize("engine", STORED, indirect=True)
"""The same, for what may depend on the version of a server."""
every_version = pytest.mark.parametrize("server", _lanes(SERVERS), indirect=True)
"""For tests of what one version may do another way than the next."""
newest_version = pytest.mark.parametrize("server", NEWEST_CLUSTERS, indirect=True)
"""For tests of what all versions of a product do the same way: the older ones run in the lane long."""


@pytest.fixture(params=_lanes(["opensearch", "elasticsearch9"]))
def server(request):
    """A real server without any index of ses; one of each product unless the test is of `every_version`."""
    plain = connect(server_url(request.param))
    empty(plain)
    yield plain
    empty(plain)


@pytest.fixture(scope="session")
def started(request):
    """A server of a kind for tests that kill it; all of them share it, since a start takes as long as many tests."""
    own = Server(request.param)
    yield own
    own.remove()


@pytest.fixture
def own(started):
    """The same, running, and without any index of ses."""
    started.wait()
    started.do("start")
    empty(connect(started.url))
    return started


@pytest.fixture
def proxy(server):
    """Stands before the server, and misbehaves when told to."""
    with FaultProxy(server.url) as between:
        yield between


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with a model and a corpus of 120 papers."""
    folder = tmp_path_factory.mktemp("home")
    make_model(folder / "model")
    write_jsonl(folder / "corpus.jsonl", papers(120))
    return folder


def library_of(engine, models, folder, **settings):
    """A library of an engine's indexes, with the model of a folder of models and its graphs."""
    given = {"model": str(models / "model"), "precision": "fp32", "data_dir": folder / "data", "threads": 1}
    return ses.open(engine.url, **given | {"cache_dir": models / "cache"} | settings)


def documents(count, *, seed=0):
    draw = np.random.default_rng(seed)
    made = []
    for paper in papers(count, seed=seed):
        prx = draw.standard_normal(DIMENSION).astype(np.float32)
        clf = draw.standard_normal(8).astype(np.float32)
        made.append(Document(paper, paper.content_hash(), {"prx": prx / np.linalg.norm(prx), "clf": clf}))
    return made


def facets_of(index, plan, found, fields, size):
    """The counts of a page without hits."""
    papers, facets = index.fetch([], Counting(plan, list(found), fields, size))
    assert not papers
    return facets


def publish(engine, written, *, schema=SCHEMA, name="papers", source="source"):
    """Write documents, none of which is refused, publish their index, and open it."""
    index = engine.build(name, schema, source)
    assert not index.upsert(written)
    index.finish()
    engine.publish(index)
    return engine.open(name)


def filled_in(engine):
    """Publish an index of 200 papers, and open it."""
    return publish(engine, documents(200))


@pytest.fixture
def filled(engine):
    """An index of 200 papers that a test may change."""
    return filled_in(engine)


def kept_on(lanes):
    """Return the fixture of an engine with an index of 200 papers, for all tests of a module that only read it."""

    @pytest.fixture(scope="module", params=lanes)
    def kept(request, tmp_path_factory):
        for engine in emptied(request.param, tmp_path_factory.mktemp("kept")):
            filled_in(engine)
            yield engine

    return kept


kept = kept_on(NEWEST)


@pytest.fixture
def opened(kept):
    """The index of `kept`, opened for each test, which only reads it."""
    return kept.open("papers")


@pytest.fixture(params=["in process", pytest.param("service", marks=pytest.mark.serve)])
def asking(request, tmp_path, monkeypatch):
    """How a test searches: in this process, and by the Python client of a service, as of one more engine.

    The names that a test module searches by are replaced, so that the tests are the same: 141 on the embedded engine.
    Those that only write, ask the engine's own protocol or count its requests can't run so; they don't ask for this
    fixture. `test_numbers_and_dates_are_sorted_page_by_page` could, but takes 8 seconds.
    """
    if request.param == "in process":
        yield
        return
    from tests.engines.over_http import OverHttp

    service = OverHttp(tmp_path / "service")
    for name in ("search", "similar", "make_request", "parse_filter"):
        if hasattr(request.module, name):
            monkeypatch.setattr(request.module, name, getattr(service, name))
    yield
    assert service.searches, "This test never searches, so it proves nothing about a service"


def pytest_collection_modifyitems(config, items):
    """Search over HTTP on the embedded engine alone: what a service adds does not depend on the engine."""
    again = {one for one in items if _over_http(one) and (_is_numpy(one) or any(map(one.get_closest_marker, SERVERS)))}
    items[:] = [one for one in items if one not in again]
    config.hook.pytest_deselected(items=list(again))


def _over_http(item):
    return hasattr(item, "callspec") and item.callspec.params.get("asking") == "service"


def _is_numpy(item):
    return "numpy" in item.callspec.params.values()


by_http_too = pytest.mark.usefixtures("asking")
"""For tests that search by `search_plugin.search` alone."""
