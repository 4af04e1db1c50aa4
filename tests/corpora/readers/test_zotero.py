"""A stand-in answers as `server_localAPI.js` of zotero/zotero does, and as the documentation of the web API says."""

import json
import threading
from collections import Counter
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ses
from corpora.custom import CustomField
from corpora.errors import InputError, UnavailableError
from corpora.fetching import Fetcher
from corpora.obtaining import Order, Visitor
from corpora.paper import Accepted, Deleted, Paper, Rejected
from corpora.publication import Publication
from corpora.readers import zotero
from corpora.zotero_library import _paths, follow, items_of, obtain
from ses.papers import of_corpus
from tests.corpora.test_harvesting import Noting

FIELDS = (
    CustomField("collections", "keywords"),
    CustomField("tags", "keywords"),
    CustomField("added", "date", "dateAdded"),
)
ARTICLE = {
    "itemType": "journalArticle",
    "title": "Uptake of H<sub>2</sub>O by <i>moss</i>",
    "creators": [
        {"creatorType": "editor", "firstName": "Ed", "lastName": "Itor"},
        {"creatorType": "author", "firstName": "Ana", "lastName": "Sample"},
        {"creatorType": "author", "name": "World Health Organization"},
    ],
    "abstractNote": "Moss drinks.",
    "publicationTitle": "Letters on Nothing",
    "date": "May 2021",
    "language": "en",
    "DOI": "10.5555/ABC",
    "url": "https://example.org/1",
    "dateAdded": "2024-01-02T03:04:05Z",
    "extra": "Citation Key: sample\nPMID: 123\narXiv:2101.00001 [q-bio]\nPMCID: PMC99",
    "volume": "12",
    "issue": "3",
    "pages": "45-51",
    "publisher": "A Press",
    "ISSN": "1234-5679",
    "tags": [{"tag": "Moss"}, {"tag": "Water", "type": 1}],
    "collections": ["CAVESAAA", "GONEAAAA"],
}


def item(key, version, **data):
    return {"key": key, "version": version, "meta": {}, "data": {"key": key, "version": version, **data}}


class Zotero(ThreadingHTTPServer):
    """A library of 205 articles, an attachment, a note, an article in the trash, and one deleted later."""

    def __init__(self, **changes):
        super().__init__(("127.0.0.1", 0), Answers)
        self.local, self.version, self.asked, self.heard = True, 300, [], []
        self.items = [item(f"PAPER{n:03}", n + 1, itemType="book", title=f"Book {n}") for n in range(204)]
        self.items += [
            {**item("ARTICLE1", 250, **ARTICLE), "meta": {"parsedDate": "2021-05"}},
            item("ATTACHED", 251, itemType="attachment", parentItem="ARTICLE1", title="PDF"),
            item("NOTENOTE", 252, itemType="note", note="<p>x</p>"),
            item("TRASHED1", 260, itemType="book", title="Old", deleted=1),
        ]
        self.collections = [
            item("BATSAAAA", 1, name="Bats", parentCollection=False),
            item("CAVESAAA", 1, name="Caves", parentCollection="BATSAAAA"),
        ]
        self.failures, self.headers, self.key = [], {}, ""
        self.changing = 0
        for name, value in changes.items():
            setattr(self, name, value)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/api/users/0"


class Answers(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def say(self, status, body, **headers):
        content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {**headers, **self.server.headers, "Content-Length": len(content)}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self):
        server = self.server
        server.asked.append(self.path)
        server.heard.append(self.headers)
        split = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(split.query).items()}
        if server.failures:
            status, headers = server.failures.pop(0)
            return self.say(status, "Not now.", **headers)
        if server.key and self.headers["Zotero-API-Key"] != server.key:
            return self.say(403, "Forbidden")
        if self.headers["Zotero-API-Version"] != "3":
            return self.say(501, "API version not implemented")
        path = split.path.removeprefix("/api/users/0")
        since = int(asked.get("since", 0))
        if path == "/deleted" and not server.local:
            return self.say(200, {"collections": [], "items": ["DELETED1"], "searches": [], "tags": [], "settings": {}})
        if path == "/collections":
            found = server.collections
        elif path in ("/items", "/collections/BATSAAAA/items"):
            within = path != "/items"
            found = [
                one
                for one in server.items
                if one.get("version", 1) > since
                and (asked.get("includeTrashed") == "1" or not one.get("data", {}).get("deleted"))
                and (not within or one["key"] == "ARTICLE1")
            ]
        else:
            return self.say(404, "Not found")
        start, limit = int(asked.get("start", 0)), min(int(asked.get("limit", 25)), 100)
        if server.changing:
            server.version, server.changing = server.version + 1, server.changing - 1
        return self.say(
            200, found[start : start + limit], Total_Results=len(found), Last_Modified_Version=server.version
        )


@pytest.fixture
def library():
    """Starts a stand-in with changes."""
    started = []

    def start(**changes):
        server = Zotero(**changes)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        started.append(server)
        return server

    yield start
    for server in started:
        server.shutdown()
        server.server_close()


@pytest.fixture
def following(tmp_path):
    """Brings a spool up to date, without waiting."""

    def follow_(url, folder="spools", **more):
        headers = {"Zotero-API-Version": "3"}
        with closing(Fetcher(Visitor(), lambda seconds: None, headers=headers)) as fetcher:
            return follow(url, tmp_path / folder, fetcher, follow_.progress, **more)

    follow_.progress = Noting()
    return follow_


def read(got, custom=()):
    return list(zotero.read(got.path, {}, custom))


def ids(got):
    return [(type(one).__name__, getattr(one, "id", "") or one.paper.id) for one in read(got)]


def test_a_library_is_read_whole(library, following):
    server = library()
    got = following(server.url)
    records = read(got, FIELDS)
    papers = [one for one in records if isinstance(one, Accepted)]
    assert [paper.paper.id for paper in papers] == [*(f"PAPER{n:03}" for n in range(204)), "ARTICLE1"]
    assert papers[-1].paper == Paper(
        "ARTICLE1",
        "Uptake of H2O by moss",
        abstract="Moss drinks.",
        authors=("Sample, Ana", "World Health Organization"),
        year=2021,
        venue="Letters on Nothing",
        types=("journalArticle",),
        language="en",
        fields=("Moss", "Water"),
        identifiers=("doi:10.5555/abc", "pmid:123", "pmc:PMC99", "arxiv:2101.00001"),
        url="https://example.org/1",
        extra={"collections": ("Bats > Caves",), "tags": ("Moss", "Water"), "added": "2024-01-02"},
        publication=Publication("12", "3", "45-51", "A Press", ("1234-5679",)),
    )
    # What is in the trash is deleted by the corpus, and is counted as such.
    assert [one for one in records if not isinstance(one, Accepted)] == [Deleted(206, "TRASHED1")]
    (said,) = got.notes
    assert said.endswith(": 1 attachments, 1 notes, 1 papers in the trash. It is at version 300")
    assert len([path for path in server.asked if "/items" in path]) == 3
    assert (got.requests, got.records, got.deleted, got.held, got.whole) == (3, 208, 1, 208, True)
    assert got.name == "zotero:users/0"


def test_later_runs_take_what_changed_where_deletions_are_listed(library, following):
    server = library(local=False)
    first = following(server.url)
    server.items[3] = item("PAPER003", 301, itemType="book", title="Another title")
    server.version = 301
    server.asked.clear()
    assert following.progress.stages == {"harvesting": first.records}
    got = following(server.url)
    assert [path.split("?")[0].rpartition("/")[2] for path in server.asked] == ["collections", "deleted", "items"]
    assert all("since=300" in path for path in server.asked[1:])
    assert (got.requests, got.records, got.deleted, got.held) == (2, 2, 1, 210)
    assert ids(got)[-2:] == [("Deleted", "DELETED1"), ("Accepted", "PAPER003")]
    assert (got.identity, got.whole) == (first.identity, True)
    got = following(server.url, again=True)
    assert (got.held, len(ids(got))) == (208, 206)
    assert got.identity != first.identity


def test_all_is_asked_for_where_deletions_are_not_listed(library, following):
    server = library()
    first = following(server.url)
    del server.items[:5]
    got = following(server.url)
    assert (got.held, got.identity) == (203, first.identity)
    collection = f"{server.url}/collections/BATSAAAA"
    server.local = False
    assert [following(collection).held, following(collection).held] == [1, 1]


def test_what_changed_since_a_version_is_read(library, following):
    server = library(local=False)
    got = following(f"{server.url}?since=204")
    assert ids(got) == [("Deleted", "DELETED1"), ("Accepted", "ARTICLE1"), ("Deleted", "TRASHED1")]
    assert not got.whole
    got = following(f"{library().url}?since=204")
    assert [kind for kind, _ in ids(got)] == ["Accepted", "Deleted"]
    assert "does not list what was deleted" in got.notes[1]


def test_a_list_that_stopped_resumes_unless_the_library_has_changed(library, following):
    server = library()
    got = following(server.url, limit=150)
    assert (got.requests, got.held) == (2, 200)
    assert "a run without a limit resumes here" in got.notes[1]
    got = following(server.url)
    assert (got.requests, len(ids(got))) == (1, 206)
    got = following(server.url, "other", limit=50)
    server.version += 1
    got = following(server.url, "other")
    assert (got.held, len(ids(got))) == (208, 206)
    assert len(list(got.path.glob("answer-*"))) == 3


def test_a_list_that_begins_again_counts_and_keeps_nothing_twice(library, following):
    server = library(local=False, changing=3)
    server.items.reverse()
    server.items.insert(0, item("MARKMARK", 253, itemType="annotation"))
    got = following(server.url)
    counts = ": 1 annotations, 1 attachments, 1 notes, 1 papers in the trash."
    assert counts in got.notes[0]
    assert (got.held, len(ids(got))) == (209, 206)
    server.items = [item(one["key"], 400, itemType="book", title="New") for one in server.items]
    server.version = 400
    assert "a run without a limit resumes here" in following(server.url, limit=got.held + 1).notes[1]
    server.version = 401
    got = following(server.url)
    # The first list, that which was stopped and began again, and the list of what was deleted.
    assert (got.held, Counter(key for _, key in ids(got))["PAPER007"]) == (209 + 1 + 209, 2)


def test_a_collection_is_read_by_itself(library, following):
    got = following(f"{library().url}/collections/BATSAAAA")
    assert ids(got) == [("Accepted", "ARTICLE1")]
    assert got.name == "zotero:collections/BATSAAAA"


def test_collections_inside_each_other_have_an_end():
    around = {"A": {"name": "a", "parentCollection": "B"}, "B": {"name": "b", "parentCollection": "A"}}
    assert _paths({**around, "C": {"name": "c", "parentCollection": "GONE"}}) == {
        "A": "a > b > a",
        "B": "b > a > b",
        "C": "c",
    }


def test_what_changed_is_not_taken_for_the_whole(library, tmp_path):
    url = f"{library().url}?since=200"
    source = of_corpus("zotero", url, tmp_path, columns={})
    assert (source.whole, source.origin, [*source.records()]) == (False, "zotero:users/0", [*source.records()])
    opened = ses.open(tmp_path / "indexes", data_dir=tmp_path, cache_dir=tmp_path)
    with pytest.raises(InputError, match="would delete all papers"):
        opened.index("papers", url, corpus="zotero", prune=True)


def test_a_key_is_sent_and_needed(library, monkeypatch, tmp_path):
    server = library(key="secret")
    order = Order(server.url, tmp_path, visitor=Visitor("", "ada", "password"))
    with pytest.raises(UnavailableError, match=r"403 Forbidden.*settings"):
        obtain(order)
    monkeypatch.setenv("ZOTERO_API_KEY", "secret")
    assert len(read(obtain(order))) == 206
    assert {one["Accept"] for one in server.heard} == {"application/json"}
    assert not any("Authorization" in one for one in server.heard)
    assert not any("secret" in file.read_text(errors="replace") for file in tmp_path.rglob("*") if file.is_file())


def test_a_busy_server_is_asked_again_and_a_broken_one_is_not_believed(library, following):
    server = library(failures=[(429, {"Retry-After": 0}), (503, {}), (500, {})])
    assert len(read(following(server.url))) == 206
    for number, (changes, said) in enumerate(
        (
            ({"failures": [(503, {})] * 6}, "503"),
            ({"failures": [(404, {})]}, "404"),
            ({"failures": [(302, {"Location": "ftp://127.0.0.1:1/"})]}, "not safe"),
            ({"changing": 99}, "changed while it was read"),
            ({"items": [{"key": "A"}]}, "like Zotero's API"),
            ({"headers": {"Total_Results": "x"}}, "like Zotero's API"),
            ({"headers": {"Total_Results": "999"}}, "2 of 999"),
        )
    ):
        with pytest.raises(UnavailableError, match=said):
            following(library(**changes).url, f"spools{number}")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:23119/",
        "ftp://127.0.0.1/api/users/0",
        "http://api.zotero.org/users/1",
        "https://me@api.zotero.org/users/1",
        "https://api.zotero.org/users/1/items",
    ],
)
def test_other_addresses_are_refused(url, following):
    with pytest.raises(InputError):
        following(url)


def test_a_zotero_that_is_not_running_is_said_at_once(library, tmp_path):
    server = library()
    url = server.url
    server.shutdown()
    server.server_close()
    with pytest.raises(UnavailableError, match="nothing answers there"):
        obtain(Order(url, tmp_path))


def test_a_damaged_spool_is_said(library, following):
    got = following(library().url)
    (got.path / "answer-00000001.json.gz").write_bytes(b"[1]")
    with pytest.raises(InputError, match="no items of Zotero"):
        read(got)
    (got.path / "collections.json").unlink()
    with pytest.raises(InputError, match="is a folder where an export of Zotero is wanted"):
        read(got)


CSL = [
    {
        "id": "http://zotero.org/users/123/items/ABCD2345",
        "type": "article-journal",
        "title": "Bats at <i>night</i>",
        "abstract": "They fly.",
        "author": [{"family": "Sample", "given": "Ana"}, {"literal": "The Bat Group"}],
        "issued": {"date-parts": [["2020", 3, 1]]},
        "container-title": "Annals of Examples",
        "DOI": "10.5555/b",
        "PMID": "77",
        "note": "PMCID: PMC5",
        "keyword": "Bats; Night, Caves",
        "publisher": "A Press",
        "language": "en-GB",
        "URL": "https://example.org/b",
        "volume": "12",
        "issue": "3",
        "page": "45-51",
        "number": "e7",
        "ISSN": "1234-5679",
    },
    {
        "id": "sample2019",
        "type": "book",
        "title": "Caves",
        "editor": [{"family": "Itor"}],
        "issued": {"literal": "1999?"},
    },
    {"id": "untitled", "type": "book"},
]


def test_exports_in_csl_json(tmp_path):
    path = tmp_path / "library.json"
    path.write_text(json.dumps(CSL, indent=2))
    first, second, third = zotero.read(path, {}, [CustomField("publisher", "keyword")])
    assert first.paper == Paper(
        "ABCD2345",
        "Bats at night",
        abstract="They fly.",
        authors=("Sample, Ana", "The Bat Group"),
        year=2020,
        venue="Annals of Examples",
        types=("article-journal",),
        language="en-GB",
        fields=("Bats", "Night", "Caves"),
        identifiers=("doi:10.5555/b", "pmid:77", "pmc:PMC5"),
        url="https://example.org/b",
        extra={"publisher": "A Press"},
        publication=Publication("12", "3", "45-51", "A Press", ("1234-5679",)),
    )
    assert (second.paper.identifiers, second.paper.authors, second.paper.year) == (("key:sample2019",), ("Itor",), 1999)
    assert second.paper.id.startswith("hash-")
    assert third == Rejected(third.line, "The record has neither title nor abstract.", "untitled")
    path.write_text(json.dumps([item("ARTICLE1", 1, **ARTICLE)]))
    (saved,) = zotero.read(path, {})
    assert (saved.paper.id, saved.paper.year) == ("ARTICLE1", 2021)


TITLES = ("title", "caseName", "nameOfAct", "subject")
VENUES = (
    *("publicationTitle", "bookTitle", "proceedingsTitle", "encyclopediaTitle", "dictionaryTitle", "websiteTitle"),
    *("blogTitle", "forumTitle", "conferenceName", "repository", "university", "institution", "publisher"),
)
CONTAINERS = ("container-title", "collection-title", "event-title", "publisher")
CREATORS = [{"creatorType": kind, "lastName": kind.title()} for kind in ("inventor", "attorneyAgent", "inventor")]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        # What a kind of item calls its title, and what it is in, is in Zotero's schema.
        *(
            ({"caseName": "", **{name: name for name in TITLES[at:]}}, {"title": name})
            for at, name in enumerate(TITLES)
        ),
        *(({name: name for name in VENUES[at:]}, {"venue": name}) for at, name in enumerate(VENUES)),
        ({"creators": CREATORS}, {"authors": ("Inventor",)}),
        ({"creators": [{"creatorType": "author", "name": "A Group"}]}, {"authors": ("A Group",)}),
        ({"creators": [{"creatorType": "author", "lastName": "Plato", "firstName": ""}]}, {"authors": ("Plato",)}),
        ({"date": "c. 1888"}, {"year": 1888}),
        (
            {"extra": "PMID: 5\n pmcid:PMC6\nPMID: 7\nnot DOI: 10.5555/no", "PMCID": "PMC8"},
            {"identifiers": ("pmid:5", "pmc:PMC8")},
        ),
        ({"extra": "DOI: 10.5555/a", "DOI": "10.5555/b", "PMID": "9"}, {"identifiers": ("doi:10.5555/b", "pmid:9")}),
        ({"archiveID": "arXiv:2101.00001", "extra": "arXiv: 2102.00002"}, {"identifiers": ("arxiv:2101.00001",)}),
        ({"archiveID": "jstor:2101.00001"}, {"identifiers": ()}),
        ({"collections": ["CAVESAAA"]}, {"extra": {}}),
    ],
)
def test_what_kinds_of_items_have(tmp_path, data, expected):
    path = tmp_path / "items.json"
    path.write_text(json.dumps([{"key": "ARTICLE1", "data": {"itemType": "document", "caseName": "T"} | data}]))
    (record,) = zotero.read(path, {}, FIELDS)
    assert {name: getattr(record.paper, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("cited", "expected"),
    [
        ({"id": "12/ABCD2345"}, {"id": "ABCD2345", "identifiers": ()}),
        ({"id": "12/items/ABCD2345"}, {"id": "ABCD2345"}),
        ({"id": "https://zotero.org/groups/12/items/ABCD2345"}, {"id": "ABCD2345"}),
        ({"id": "ABCD2345", "DOI": "10.5555/B"}, {"id": "10.5555/b", "identifiers": ("doi:10.5555/b", "key:ABCD2345")}),
        *(({name: name for name in CONTAINERS[at:]}, {"venue": name}) for at, name in enumerate(CONTAINERS)),
        ({"issued": {"raw": "March 2019", "literal": "2018"}}, {"year": 2019}),
        ({"issued": "2017-01-02"}, {"year": 2017}),
        ({"issued": {"date-parts": [], "literal": "2016"}}, {"year": 2016}),
        ({"number": "e7"}, {"publication": Publication(pages="e7")}),
        ({"keyword": "Bats;; ,Night"}, {"fields": ("Bats", "Night")}),
    ],
)
def test_what_citations_of_csl_have(tmp_path, cited, expected):
    path = tmp_path / "library.json"
    path.write_text("\ufeff \n" + json.dumps([{"id": "x", "title": "T", **cited}]), encoding="utf-8")
    (record,) = zotero.read(path, {})
    assert {name: getattr(record.paper, name) for name in expected} == expected


@pytest.mark.parametrize("text", ['{"config": {}, "items": []}', "@book{a, title={x}}", "<rdf:RDF/>"])
def test_other_files_are_refused_with_what_to_do(tmp_path, text):
    path = tmp_path / "library"
    path.write_text(text)
    with pytest.raises(InputError, match="CSL JSON"):
        list(zotero.read(path, {}))


PLAIN = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
PARTS = st.dictionaries(st.sampled_from(["family", "tag", "lastName", "date-parts", "creatorType"]), PLAIN, max_size=2)
VALUES = PLAIN | PARTS | st.lists(PLAIN | PARTS | st.lists(PLAIN, max_size=2), max_size=2)


@given(
    st.dictionaries(st.sampled_from([*ARTICLE, "deleted", "archiveID", "key"]), VALUES, max_size=5),
    st.dictionaries(st.sampled_from([*CSL[0], "editor"]), VALUES, max_size=5),
)
def test_any_values_give_a_record(data, cited):
    assert isinstance(zotero._item(1, {"key": "A", "data": data}, FIELDS), Accepted | Rejected | Deleted)
    assert isinstance(zotero._cited(1, cited, FIELDS), Accepted | Rejected)


@given(st.lists(VALUES | st.fixed_dictionaries({"key": PLAIN, "data": VALUES}), max_size=3) | PARTS | PLAIN)
def test_any_answer_gives_items_or_one_reason(page):
    items = []
    with suppress(ValueError):
        items = items_of(page)
    assert all(isinstance(zotero._item(1, one, FIELDS), Accepted | Rejected | Deleted) for one in items)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ({"family": "Berg", "given": "Ludwig", "non-dropping-particle": "van den"}, "van den Berg, Ludwig"),
        (
            {"family": "Fontaine", "given": "Jean", "dropping-particle": "de", "non-dropping-particle": "La"},
            "La Fontaine, Jean de",
        ),
        ({"family": "Toth", "given": "Eric", "suffix": "Jr."}, "Toth, Eric, Jr."),
        ({"literal": "WHO"}, "WHO"),
    ],
)
def test_particles_and_suffixes_of_csl_belong_to_the_name(tmp_path, name, written):
    path = tmp_path / "library.json"
    path.write_text(json.dumps([{"id": "x", "title": "T", "author": [name]}]))
    (record,) = zotero.read(path, {})
    assert record.paper.authors == (written,)


def test_attachments_and_notes_of_the_api_are_no_papers(tmp_path):
    path = tmp_path / "items.json"
    kinds = ("attachment", "note", "annotation")
    others = [item(f"OTHER{number:03}", 1, itemType=kind, title="PDF") for number, kind in enumerate(kinds)]
    path.write_text(json.dumps([item("ARTICLE1", 1, **ARTICLE), *others]))
    assert [record.paper.id for record in zotero.read(path, {})] == ["ARTICLE1"]


TEXTS = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8)


@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS, TEXTS, st.integers(1500, 2030)), min_size=1, max_size=3))
def test_csl_json_is_read_back(tmp_path_factory, papers):
    items = [
        {
            "id": f"i{number}",
            "type": "article-journal",
            "title": title,
            "abstract": abstract,
            "author": [{"family": family, "given": title}],
            "container-title": venue,
            "issued": {"date-parts": [[year]]},
            "DOI": f"10.5555/{number}",
        }
        for number, (title, abstract, family, venue, year) in enumerate(papers)
    ]
    path = tmp_path_factory.mktemp("csl") / "library.json"
    path.write_text(json.dumps(items))
    found = [record.paper for record in zotero.read(path, {})]
    assert [(p.id, p.title, p.abstract, p.authors, p.venue, p.year) for p in found] == [
        (f"10.5555/{number}", title, abstract, (f"{family}, {title}",), venue, year)
        for number, (title, abstract, family, venue, year) in enumerate(papers)
    ]
