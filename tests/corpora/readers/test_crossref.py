"""Works in the shapes of Crossref's API, and lists of DOIs, which a stand-in for the API answers."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from corpora.crossref_works import obtain
from corpora.custom import CustomField
from corpora.errors import UnavailableError
from corpora.fetching import Visitor
from corpora.obtaining import Harvest, Order
from corpora.paper import Accepted, Rejected
from corpora.readers import crossref

WORK = {
    "DOI": "10.5555/AbC",
    "title": ["The <i>song</i>"],
    "subtitle": ["of birds"],
    "abstract": "<jats:p>They <jats:italic>sing</jats:italic>.</jats:p>",
    "author": [{"given": "Ana", "family": "Sample"}, {"name": "A Group"}],
    "issued": {"date-parts": [[2020, 3]]},
    "container-title": ["Letters"],
    "type": "journal-article",
    "language": "en",
    "reference": [{"DOI": "10.5555/CITED"}, {"unstructured": "A book"}],
    "license": [{"URL": "https://creativecommons.org/licenses/by/4.0/"}],
    "updated-by": [{"type": "retraction"}],
    "is-referenced-by-count": 3,
}


def read(path, custom=()):
    return list(crossref.read(path, {}, custom))


@pytest.mark.parametrize(
    "shape",
    [
        lambda work: json.dumps(work),
        lambda work: json.dumps({"status": "ok", "message-type": "work", "message": work}),
        lambda work: json.dumps({"items": [work]}, indent=1),
        lambda work: json.dumps({"status": "ok", "message": {"facets": {"a": [1]}, "items": [work], "total": 1}}),
    ],
)
def test_a_work_with_everything(tmp_path, shape):
    (tmp_path / "w.json").write_text(shape(WORK))
    custom = [CustomField("license", "keywords"), CustomField("cited", "number", "is-referenced-by-count")]
    (record,) = read(tmp_path, custom)
    paper = record.paper
    assert (paper.id, paper.title, paper.abstract) == ("10.5555/abc", "The song: of birds", "They sing.")
    assert (paper.authors, paper.year, paper.venue) == (("Ana Sample", "A Group"), 2020, "Letters")
    assert (paper.references, paper.identifiers, paper.retracted) == (("10.5555/cited",), ("doi:10.5555/abc",), True)
    assert paper.extra == {"license": ("https://creativecommons.org/licenses/by/4.0/",), "cited": 3}


def test_damage_is_rejected(tmp_path):
    (tmp_path / "w.json").write_text('{"items": [' + json.dumps(WORK) + ', 3, {"DOI": "10.1/x"}, {"a"')
    kinds = [type(one) for one in read(tmp_path / "w.json")]
    assert kinds == [Accepted, Rejected, Rejected, Rejected]


@pytest.fixture
def api():
    works = {f"10.5555/{n}": WORK | {"DOI": f"10.5555/{n}"} for n in range(50)} | {"10.5555/a,b": WORK}
    asked, headers = [], []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            headers.append(self.headers)
            url = urlsplit(self.path)
            if url.path == "/works":
                named = [one.removeprefix("doi:") for one in parse_qs(url.query)["filter"][0].split(",")]
                message = {"items": [works[doi] for doi in named if doi in works]}
            else:
                message = works.get(unquote(url.path.removeprefix("/works/")))
            body = json.dumps({"message": message}).encode() if message else b"Resource not found."
            self.send_response(200 if message else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked, server.headers = asked, headers
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def order(path, api, **more):
    url = f"http://127.0.0.1:{api.server_address[1]}/"
    return Order(str(path), path.parent / "data", visitor=Visitor("me@example.org", "ada", "secret"), url=url, **more)


def test_a_list_of_dois_is_looked_up_once(tmp_path, api):
    path = tmp_path / "dois.txt"
    lines = ["# mine", *(f"https://doi.org/10.5555/{n}" for n in range(25)), "10.5555/none", "nonsense", "10.5555/a,b"]
    path.write_text("\n".join(lines))
    got = obtain(order(path, api))
    # Two batches, and alone the one that is unknown and the one with a comma.
    assert (got.requests, got.records, got.refused, got.held, len(api.asked)) == (4, 26, 1, 27, 4)
    assert all("mailto=me%40example.org" in one for one in api.asked)
    # They are for a server that is harvested.
    assert not any("Authorization" in one for one in api.headers)
    records = read(got.path)
    assert [record.paper.id for record in records if isinstance(record, Accepted)][:2] == ["10.5555/0", "10.5555/1"]
    assert [record for record in records if isinstance(record, Rejected)] == [
        Rejected(27, "Crossref has no work with this DOI.", "10.5555/none"),
        Rejected(28, "It is no DOI.", "nonsense"),
    ]
    path.write_text("10.5555/3\n10.5555/30\n10.5555/none\n")
    assert obtain(order(path, api)).records == 1
    assert len(api.asked) == 5
    assert obtain(order(path, api, harvest=Harvest(again=True), limit=2)).records == 2


def test_what_the_user_can_have_wrong(tmp_path, api):
    path = tmp_path / "dois.txt"
    path.write_text("10.5555/3\n")
    api.RequestHandlerClass.do_GET = lambda handler: (
        handler.send_response(200),
        handler.end_headers(),
        handler.wfile.write(b"<html>"),
    )
    with pytest.raises(UnavailableError, match="does not answer as Crossref does"):
        obtain(order(path, api))
    path.write_text(json.dumps(WORK))
    assert obtain(order(path, api)) is None
