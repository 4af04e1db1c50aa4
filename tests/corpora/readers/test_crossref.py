"""Works in the shapes of Crossref's API, and lists of DOIs, which a stand-in for the API answers."""

import json
import sqlite3
import threading
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from corpora.crossref_works import obtain
from corpora.custom import CustomField
from corpora.errors import StoppedError, UnavailableError
from corpora.fetching import Fetcher
from corpora.obtaining import Harvest, Order, Visitor
from corpora.paper import Accepted, Paper, Rejected
from corpora.publication import Publication
from corpora.readers import crossref

WORK = {
    "DOI": "10.5555/AbC",
    "title": ["The <i>song</i>", "Another title"],
    "original-title": ["Le chant"],
    "subtitle": ["of birds"],
    "abstract": "<jats:p>They <jats:italic>sing</jats:italic>.</jats:p>",
    "author": [
        {"given": "Ana", "family": "Sample"},
        {"given": "Eric", "family": "Toth", "suffix": "Jr."},
        {"name": "A Group"},
        {"literal": "B Group"},
        {"sequence": "additional"},
    ],
    "editor": [{"given": "Ed", "family": "Itor"}],
    "created": {"date-parts": [[2023, 1, 2]]},
    "issued": {"date-parts": [[2020, 3]]},
    "container-title": ["Letters <b>A</b>"],
    "event": {"name": "A Conference"},
    "type": "journal-article",
    "language": "en",
    "subject": ["Zoology", "Acoustics"],
    "reference": [{"DOI": "10.5555/CITED"}, {"unstructured": "A book"}, {"DOI": "10.5555/cited"}, {"DOI": "10.5555/b"}],
    "license": [{"URL": "https://creativecommons.org/licenses/by/4.0/"}] * 2,
    "updated-by": [{"type": "erratum"}, {"type": "Retraction"}],
    "is-referenced-by-count": 3,
    "volume": "12",
    "issue": "4",
    "page": "45-51",
    "article-number": "e7",
    "publisher": "A Press",
    "ISSN": ["1234-5679", "2345-678X"],
    "ISBN": ["9783540123453"],
    "funder": [{"name": "A Fund"}, {"name": "B Fund"}],
}


def read(path, custom=()):
    return list(crossref.read(path, {}, custom))


@pytest.mark.parametrize(
    "shape",
    [
        lambda work: json.dumps(work),
        lambda work: json.dumps({"status": "ok", "message-type": "work", "message": work}),
        lambda work: "\ufeff" + json.dumps({"items": [work]}, indent=1),
        lambda work: json.dumps({"status": "ok", "message": {"facets": {"a": [1]}, "items": [work], "total": 1}}),
    ],
)
def test_a_work_with_everything(tmp_path, shape):
    (tmp_path / "w.json").write_text(shape(WORK), encoding="utf-8")
    kinds = {
        **dict.fromkeys(("license", "issn", "isbn", "funders"), "keywords"),
        **dict.fromkeys(("container", "publisher"), "keyword"),
        "published": "date",
    }
    custom = [CustomField(name, kind) for name, kind in kinds.items()]
    custom.append(CustomField("cited", "number", "is-referenced-by-count"))
    (record,) = read(tmp_path, custom)
    assert record.paper == Paper(
        "10.5555/abc",
        "The song: of birds",
        abstract="They sing.",
        authors=("Ana Sample", "Eric Toth Jr.", "A Group", "B Group"),
        year=2020,
        venue="Letters A",
        types=("journal-article",),
        language="en",
        fields=("Zoology", "Acoustics"),
        identifiers=("doi:10.5555/abc",),
        references=("10.5555/cited", "10.5555/b"),
        url="https://doi.org/10.5555/abc",
        retracted=True,
        extra={
            "license": ("https://creativecommons.org/licenses/by/4.0/",),
            "issn": ("1234-5679", "2345-678X"),
            "isbn": ("9783540123453",),
            "funders": ("A Fund", "B Fund"),
            "container": "Letters <b>A</b>",
            "publisher": "A Press",
            "published": "2020-03",
            "cited": 3,
        },
        publication=Publication("12", "4", "45-51", "A Press", ("1234-5679", "2345-678X")),
    )


DAYS = {"date-parts": [[2019, 4, 5]]}
SERVER = {"container-title": [], "event": None, "institution": [{"name": "bioRxiv"}], "type": "posted-content"}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"title": [], "subtitle": []}, {"title": "Le chant"}),
        ({"title": [], "original-title": [], "subtitle": ["of birds"]}, {"title": ""}),
        ({"title": "The song of birds"}, {"title": "The song of birds"}),
        ({"author": []}, {"authors": ("Ed Itor",)}),
        ({"author": [{"given": "Plato"}]}, {"authors": ("Plato",)}),
        ({"container-title": []}, {"venue": "A Conference"}),
        (SERVER, {"venue": "bioRxiv"}),
        (SERVER | {"event": {"name": "A Conference"}}, {"venue": "A Conference"}),
        (SERVER | {"group-title": "Neuroscience"}, {"venue": "Neuroscience"}),
        (SERVER | {"type": "dataset"}, {"venue": ""}),
        (SERVER | {"institution": None}, {"venue": ""}),
        ({"page": None}, {"publication": Publication("12", "4", "e7", "A Press", ("1234-5679", "2345-678X"))}),
        *(({"updated-by": [{"type": kind}]}, {"retracted": True}) for kind in ("withdrawal", "removal")),
        ({"updated-by": [{"type": "correction"}], "update-to": [{"type": "retraction"}]}, {"retracted": False}),
        *(
            ({"issued": {"date-parts": [[None]]}, name: DAYS}, {"year": 2019, "extra": {"published": "2019-04-05"}})
            for name in ("published", "published-print", "published-online", "posted")
        ),
        ({"issued": None}, {"year": 2023, "extra": {"published": "2023-01-02"}}),
        ({"issued": None, "posted": DAYS, "published": {"date-parts": [[2018]]}}, {"extra": {"published": "2018"}}),
        *(
            ({"issued": odd, "created": None}, {"year": None})
            for odd in ({}, [], {"date-parts": []}, {"date-parts": 3})
        ),
    ],
)
def test_what_stands_in_for_what_a_work_lacks(changes, expected):
    record = crossref.read_work(1, WORK | changes, [CustomField("published", "date")])
    assert {name: getattr(record.paper, name) for name in expected} == expected


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
            self.send_response(200 if message else server.missing)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked, server.headers, server.missing = asked, headers, 404
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
    assert ["rows=20&" in one for one in api.asked] == [True, False, False, False]
    # They are for a server that is harvested.
    assert not any("Authorization" in one for one in api.headers)
    records = read(got.path)
    assert [record.paper.id for record in records if isinstance(record, Accepted)][:2] == ["10.5555/0", "10.5555/1"]
    assert [record for record in records if isinstance(record, Rejected)] == [
        Rejected(27, "Crossref has no work with this DOI.", "10.5555/none"),
        Rejected(28, "It is no DOI.", "nonsense"),
    ]
    path.write_text("10.5555/3\n10.5555/30\n10.5555/none\n")
    shorter = obtain(order(path, api))
    assert (shorter.records, shorter.identity != got.identity, shorter.path != got.path) == (1, True, True)
    assert len(api.asked) == 5
    assert obtain(order(path, api, harvest=Harvest(again=True), limit=2)).records == 2


@pytest.mark.parametrize("missing", [400, 404])
def test_that_there_is_no_work_is_believed_for_a_week(tmp_path, api, missing):
    api.missing = missing
    path = tmp_path / "dois.txt"
    path.write_text("10.5555/none\n10.5555/1\n")
    got = obtain(order(path, api))
    for days, requests in ((6.9, 2), (7.1, 3)):
        with closing(sqlite3.connect(got.path.parent / "works.sqlite")) as kept:
            kept.execute("UPDATE works SET asked = ?", [time.time() - days * 24 * 3600])
            kept.commit()
        assert [type(record) for record in read(obtain(order(path, api)).path)] == [Rejected, Accepted]
        assert len(api.asked) == requests


def test_a_line_that_is_too_long_and_what_stops_a_list(tmp_path, api, monkeypatch):
    path = tmp_path / "dois.txt"
    path.write_text("".join(f'"10.5555/{n}"\n' for n in range(25)) + "# no\n" + "1" * 300 + "\n")
    monkeypatch.setattr("corpora.opening.LONGEST_RECORD", 200)
    asked = Fetcher.get

    def get(fetcher, url, query):
        if api.asked:
            raise KeyboardInterrupt
        return asked(fetcher, url, query)

    monkeypatch.setattr(Fetcher, "get", get)
    with pytest.raises(StoppedError, match="Stopped: 20 new works are kept"):
        obtain(order(path, api))
    monkeypatch.setattr(Fetcher, "get", asked)
    got = obtain(order(path, api))
    assert (got.requests, got.records, len(api.asked)) == (1, 5, 2)
    assert read(got.path)[-1] == Rejected(27, "It is no DOI.")
    (got.path.parent / "works.sqlite").write_bytes(b"damaged" * 200)
    with pytest.raises(UnavailableError, match=r"works.sqlite can't be used \(.*\); delete it, and try again"):
        obtain(order(path, api))


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
