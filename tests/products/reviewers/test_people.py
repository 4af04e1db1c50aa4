"""Profiles, tables of reviewers, and conflicts."""

from __future__ import annotations

import json

import pytest

from corpora.errors import InputError
from corpora.paper import Accepted, Paper, Rejected
from products.reviewers.conflicts import count_reasons, find_conflicts
from products.reviewers.pool import make_pool
from products.reviewers.profiles import gather_profiles, read_notes, read_openreview, record_of
from products.reviewers.venue import Reviewer, read_declared, read_people


def note(name, title="A title", **content):
    return {"id": name, "content": {"title": title, **content}}


def lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_a_paper_of_two_reviewers_is_one_paper():
    records = [
        Accepted(1, Paper("a", "t", extra={"reviewers": ("x",)})),
        Accepted(2, Paper("a", "t", extra={"reviewers": ("y", "x")})),
        Accepted(3, Paper("b", "t")),
        Rejected(4, "It has no title."),
    ]
    found = gather_profiles(records)
    assert [(paper.id, paper.extra["reviewers"]) for paper in found.papers] == [("a", ("x", "y"))]
    assert [(one.line, one.reason) for one in found.rejected] == [(3, "It names no reviewer."), (4, "It has no title.")]
    assert found.sizes() == {"x": 1, "y": 1}
    with pytest.raises(InputError, match="No paper of a reviewer could be read: It names no reviewer"):
        gather_profiles(records[2:3])


def test_openreview_s_folders_and_files_read_alike(tmp_path):
    archives = tmp_path / "set" / "archives"
    archives.mkdir(parents=True)
    first = [
        note("p", abstract=None),
        {"id": "q", "content": {"title": {"value": "Version 2"}}, "cdate": 1577836800000},
    ]
    (archives / "~Ada1.jsonl").write_text(lines(*first))
    (archives / "~Bob1.jsonl").write_text(lines(note("p"), {"id": "r"}))
    (archives / "~New1.jsonl").write_text("")
    by_name = {"~Ada1": first, "~Bob1": [note("p"), {"id": "r"}], "~New1": []}
    (tmp_path / "object.json").write_text(json.dumps(by_name))
    listed = [{"id": name, "publications": notes} for name, notes in by_name.items()]
    (tmp_path / "list.json").write_text(json.dumps(listed))
    for path in (tmp_path / "set", archives, tmp_path / "object.json", tmp_path / "list.json"):
        found = read_openreview(path)
        held = {paper.id: (paper.title, paper.year, paper.extra["reviewers"]) for paper in found.papers}
        assert held == {"p": ("A title", None, ("~Ada1", "~Bob1")), "q": ("Version 2", 2020, ("~Ada1",))}
        assert found.empty == ("~New1",)
        assert [one.reason for one in found.rejected] == ["It is no note of OpenReview: it has no content."]


def test_two_reviewers_with_one_id_are_refused(tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps([{"id": "~A", "publications": [note("p")]}, {"id": "~A", "publications": []}]))
    with pytest.raises(InputError, match="has two reviewers with the id ~A: join them"):
        read_openreview(path)
    table = tmp_path / "people.csv"
    table.write_text("reviewer,name\nr,Ada\nr,Bob\n")
    with pytest.raises(InputError, match="line 3: there are two reviewers with the id r"):
        read_people(table)


@pytest.mark.parametrize("content", ["[1]", '{"a": 1}', '[{"id": 5, "publications": []}]', "{"])
def test_other_json_is_told(tmp_path, content):
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(InputError, match=r"OpenReview's form|can't be read as JSON|No paper"):
        read_openreview(tmp_path / "x.json")


def test_submissions_are_notes_too(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({"s": note("s", authors=["Ada Byron"])}))
    (tmp_path / "b.jsonl").write_text(lines(note("s", authors=["Ada Byron"])))
    for name in ("a.json", "b.jsonl"):
        (found,) = read_notes(tmp_path / name)
        assert (found.paper.id, found.paper.authors) == ("s", ("Ada Byron",))
    assert isinstance(record_of(1, None), Rejected)


def test_a_table_of_reviewers(tmp_path):
    table = tmp_path / "people.csv"
    table.write_text("Reviewer,Name,Institution,Capacity\nr,Ada Byron,Leeds; York,2\nq,,,\n")
    assert read_people(table) == {"r": Reviewer("r", "Ada Byron", ("Leeds", "York"), 2), "q": Reviewer("q")}
    for text, message in (
        ("name,x\nAda,1\n", "no column reviewer; it has: name, x"),
        ("reviewer,name\n", "has no reviewers"),
        ("reviewer,name\n ,x\n", "line 2: the reviewer has no id"),
        ("reviewer,capacity\nr,two\n", "the capacity 'two' is not a whole number"),
    ):
        table.write_text(text)
        with pytest.raises(InputError, match=message):
            read_people(table)


def test_declared_conflicts_name_what_exists(tmp_path):
    table = tmp_path / "conflicts.csv"
    table.write_text("paper,reviewer\ns,r\n")
    assert read_declared(table, {"s"}, {"r"}) == {("s", "r")}
    with pytest.raises(InputError, match="line 2: there is no submission 's'"):
        read_declared(table, {"t"}, {"r"})
    with pytest.raises(InputError, match="line 2: there is no reviewer 'r'"):
        read_declared(table, {"s"}, {"q"})
    table.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="needs the columns paper, reviewer; it has: a, b"):
        read_declared(table, (), ())


def test_conflicts_by_declaration_institution_and_co_authors():
    pool = make_pool({"ada": ["1"], "bob": ["2"], "eve": ["3"], "kim": ["4"]})
    authors = [{"Ada Byron", "Lise Meitner"}, {"Bob Hill"}, {"Eve Stone"}, {"J. Kim"}]
    people = {"eve": Reviewer("eve", "Eve Stone", ("Uni Köln",)), "bob": Reviewer("bob", "Robert Hull")}
    submissions = [
        Paper("s", "t", authors=("Meitner L", "Kim, Jiho"), extra={"institutions": ("uni köln", "X")}),
        Paper("t", "t", authors=("Otto Hahn", "Karl Kim", "R. Hull")),
        Paper("u", "t"),
    ]
    found = find_conflicts(submissions, pool, authors, people, {("s", "ada"), ("u", "bob")})
    named = {submissions[row].id: {pool.reviewers[c]: why for c, why in of.items()} for row, of in found.items()}
    assert named == {
        "s": {"ada": "declared", "eve": "institution", "kim": "co-author"},
        "t": {"bob": "co-author"},
        "u": {"bob": "declared"},
    }
    assert count_reasons(found) == {"declared": 2, "institution": 1, "co-author": 2}


def test_a_conflict_is_found_by_each_name_of_a_reviewer():
    pool = make_pool({"bob": ["1"]})
    people = {"bob": Reviewer("bob", "Robert Hull")}
    submissions = [Paper(name, "t", authors=(author,)) for name, author in (("a", "B. Hill"), ("b", "Hull, Robert"))]
    submissions.append(Paper("c", "t", authors=("Bob Hall",)))
    # The papers were written under another name than the table of reviewers has.
    found = find_conflicts(submissions, pool, [{"Bob Hill", "Lise Meitner"}], people, ())
    assert found == {0: {0: "co-author"}, 1: {0: "co-author"}}
    assert find_conflicts(submissions, pool, [set()], people, ()) == {1: {0: "co-author"}}
