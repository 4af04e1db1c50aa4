"""All results of a condition: each face gives the same papers, each once, and says the same number."""

from __future__ import annotations

import csv
import io
import json
import re

import bibtexparser
import pytest
import rispy

import ses
from corpora.paper import Paper
from ses.assistants.tools import assistant_of
from tests.commands import ses as run
from tests.tiny import make_model

pytestmark = pytest.mark.serve

TOPICS = ("cancer of mice", "therapeutic cancers", "hospital windows", "the mind", "hospitalized mice")
PAPERS = [
    Paper(f"p{at:03}", f"Study {at} on {TOPICS[at % 5]}", "", year=2000 + at % 20, identifiers=(f"doi:10.5555/{at}",))
    for at in range(700)
]


def about(*wanted, years=()):
    return sorted(
        paper.id for paper in PAPERS if any(one in paper.title for one in wanted) or (paper.year in years and years)
    )


CONDITIONS = {
    "cancer[tiab] OR (hospitaliz*[tiab] AND mice[tiab])": about("cancer", "hospitalized"),
    "(therap* OR hospitaliz* OR cancer) AND NOT windows": about("cancer", "hospitalized"),
    "cancer OR year:2003": about("cancer", years=(2003,)),
    "NOT hospital*": about("cancer", "mind"),
    "TI=(mice) AND PY=2000-2010": sorted(p.id for p in PAPERS if "mice" in p.title and p.year <= 2010),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("every")


@pytest.fixture(scope="module")
def library(home):
    opened = ses.open(
        model=str(make_model(home / "model")), data_dir=home / "data", cache_dir=home / "cache", index="papers"
    )
    opened.index("papers", PAPERS)
    return opened


@pytest.fixture(scope="module")
def client(library):
    from starlette.testclient import TestClient

    from ses.service.app import make_app
    from ses.service.service import Service
    from ses.service.settings import ServiceSettings

    with TestClient(make_app(Service(library, ServiceSettings()))) as made:
        yield made


def by_api(client, query, form, **options):
    """The papers of all pages in a format, by following the links."""
    texts, address = [], "/v1/search"
    reply = client.get(address, params={"query": query, "cursor": "*", "format": form, "size": 100, **options})
    while True:
        assert reply.status_code == 200, reply.text
        texts.append(reply.text)
        if "link" not in reply.headers:
            return texts
        reply = client.get(address + reply.headers["link"].partition(">")[0].removeprefix("<"))


def by_assistant(library, query):
    ids, cursor = [], ""
    while True:
        answer = assistant_of(library).search(query, size=50, cursor=cursor, max_tokens=20_000)
        ids += [one["id"] for one in answer["results"]]
        cursor = answer.get("next_cursor", "")
        if not cursor:
            return ids, answer["total"]


@pytest.mark.slow
@pytest.mark.parametrize("query", CONDITIONS)
def test_every_face_gives_all_papers_of_a_condition(home, library, client, query):
    expected, index = CONDITIONS[query], library["papers"]
    assert len(expected) > 100
    for mode in ("hybrid", "lexical"):
        page = index.search(query, mode=mode, facets="year")
        assert page.matches == page.facets.matches == len(expected)
        assert sorted(hit.id for hit in index.iterate(query, mode=mode)) == expected
    assert index.search(query).matches == len(expected)
    ris = [record["id"] for text in by_api(client, query, "ris") for record in rispy.loads(text)]
    assert sorted(ris) == expected
    rows = [json.loads(line) for text in by_api(client, query, "jsonl") for line in text.splitlines()]
    assert sorted(row["id"] for row in rows) == expected
    assert client.get("/v1/search", params={"query": query}).json()["matches"] == len(expected)
    done = run(home, "search", "--index", "papers", "--all", "--format", "ris", "--", query)
    assert sorted(record["id"] for record in rispy.loads(done.stdout)) == expected
    assert f"{len(expected)} papers" in done.stderr.splitlines()
    ids, total = by_assistant(library, query)
    assert (sorted(ids), total) == (expected, len(expected))


@pytest.mark.slow
@pytest.mark.parametrize("query", CONDITIONS)
def test_the_page_exports_all_papers_of_a_condition(client, query):
    expected = CONDITIONS[query]
    page = client.get("/", params={"query": query}).text
    assert f"{len(expected)} papers found" in page
    assert f"Export all {len(expected)}" in page
    form = re.search(r'<form id="export".*?</form>', page, re.DOTALL)[0]
    given = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', form)
    names = [(name, value) for name, value in given if name != "query"]

    def exported(form):
        reply = client.get("/export", params=[*names, ("query", query), ("format", form), ("all", "true")])
        assert reply.status_code == 200, reply.text
        return reply.text

    assert sorted(record["id"] for record in rispy.loads(exported("ris"))) == expected
    assert sorted(row["id"] for row in csv.DictReader(io.StringIO(exported("csv")))) == expected
    assert sorted(json.loads(line)["id"] for line in exported("jsonl").splitlines()) == expected
    assert len({entry.key for entry in bibtexparser.parse_string(exported("bibtex")).entries}) == len(expected)


def test_words_that_only_rank_count_the_papers_that_hold_one(library, client):
    said = len(about("cancer", "mice"))
    page = library["papers"].search("cancer mice")
    assert (page.matches, page.candidates) == (said, said + page.near)
    assert library["papers"].search("cancer -windows").matches == len(about("cancer"))
    assert library["papers"].search("").matches == len(PAPERS)
    assert f"Export all {said}" in client.get("/", params={"query": "cancer mice"}).text


@pytest.mark.slow
def test_versions_of_a_work_are_exported_once(tmp_path):
    opened = ses.open(tmp_path / "indexes", model=str(make_model(tmp_path / "model")), cache_dir=tmp_path / "cache")
    twins = [
        Paper(f"{kind}{at}", f"Study {at} of cancer", "", year=2020, identifiers=(f"doi:10.5555/{at}",))
        for at in range(60)
        for kind in "ab"
    ]
    opened.index("papers", twins)
    index = opened["papers"]
    assert index.search("study AND cancer").matches == 120
    assert len(list(index.iterate("study AND cancer"))) == 120
    for query in ("study AND cancer", "year:2020 OR masks"):
        assert len(list(index.iterate(query, collapse="work", mode="lexical"))) == 60
