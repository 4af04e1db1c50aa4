"""Files of selected papers, and of a page of hits."""

import json

import pytest

pytestmark = pytest.mark.serve


@pytest.mark.parametrize(("form", "ending"), [("bibtex", "bib"), ("ris", "ris"), ("csv", "csv"), ("jsonl", "jsonl")])
def test_a_page_of_hits_is_that_of_python(client, library, form, ending):
    reply = client.get("/export", params={"query": "virus", "mode": "lexical", "size": 4, "format": form})
    assert reply.status_code == 200
    assert reply.text == library["papers"].search("virus", mode="lexical", size=4).format(form)
    assert reply.headers["content-disposition"] == f'attachment; filename="papers.{ending}"'


def test_a_selection_keeps_its_order(client):
    ids = ["p00003", "citing/1", "p00001", "p00003"]
    reply = client.get("/export", params={"id": ids, "format": "jsonl", "query": "virus"})
    assert [json.loads(line)["id"] for line in reply.text.splitlines()] == ["p00003", "citing/1", "p00001"]
    found = client.get("/export", params={"id": ids, "format": "json"}).json()["papers"]
    assert [one["id"] for one in found] == ["p00003", "citing/1", "p00001"]


def test_what_a_page_lists_is_exported_if_nothing_is_selected(client):
    asked = {"listed": ["p00002", "p00001"], "format": "jsonl"}
    found = client.get("/export", params=asked).text
    assert [json.loads(line)["id"] for line in found.splitlines()] == ["p00002", "p00001"]
    found = client.get("/export", params={**asked, "id": ["p00001"]}).text
    assert [json.loads(line)["id"] for line in found.splitlines()] == ["p00001"]


def test_a_page_as_json(client):
    found = client.get("/export", params={"query": "virus", "size": 2, "format": "json"}).json()
    assert len(found["hits"]) == 2


@pytest.mark.parametrize(
    ("asked", "status", "detail"),
    [
        ({"id": ["p00001", "zz"]}, 404, "holds no paper 'zz'"),
        ({"id": [f"p{i}" for i in range(501)]}, 400, "501 papers were selected"),
        ({"format": "xls"}, 400, "format can't be 'xls'"),
        ({"formats": "ris"}, 400, "There is no parameter formats, the nearest is format."),
    ],
)
def test_a_wrong_request_is_a_problem(client, asked, status, detail):
    reply = client.get("/export", params=asked)
    assert reply.status_code == status
    assert detail in reply.json()["detail"]
